// TensorList and Optional: what TensorFlow answered, against a plain model, as values, and as it writes them.

#include <cstdint>
#include <new>
#include <string>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "graph/value/tstring.h"
#include "graph/value/variant.h"
#include "gtest/gtest.h"
#include "kernels/lists/optional.h"
#include "kernels/lists/tensor_list.h"
#include "kernels/memory/tracking_allocator.h"
#include "tests/kernels/array/tensors.h"
#include "tests/testing/hostile_values.h"
#include "tests/testing/kernel_runner.h"
#include "tests/testing/status_matchers.h"

namespace sluice {
namespace {

using ::testing::ElementsAre;
using Rows = std::vector<std::vector<float>>;  // Of a list; an element that was never set is empty.

constexpr DType kFloat = DType::kFloat;
constexpr absl::StatusCode kInvalid = absl::StatusCode::kInvalidArgument;

Tensor Floats(std::vector<float> values) { return Tensor::Vector<float>(values); }
Tensor Longs(std::vector<int64_t> values) { return Tensor::Vector<int64_t>(values); }
Tensor Matrix(int64_t rows, int64_t columns, std::vector<float> values) {
  return Tensor::Of<float>(Shape::Of({rows, columns}), values);
}
const Tensor& AnyShape() {
  static const Tensor& any = *new Tensor(Int(-1));
  return any;
}

absl::StatusOr<Tensor> RunOp(const std::string& op, std::vector<Tensor> inputs, DType dtype = kFloat) {
  KernelRunner runner(op);
  if (op != "TensorListLength" && op != "TensorListResize" && op != "TensorListElementShape") {
    runner.Attr("element_dtype", dtype);
  }
  if (op == "TensorListElementShape") runner.Attr("shape_type", DType::kInt64);
  absl::StatusOr<std::vector<Tensor>> outputs = runner.Run(std::move(inputs));
  if (!outputs.ok()) return outputs.status();
  return std::move(outputs->front());
}

// A list of which some elements were never set: those that are empty.
Tensor ListOf(const Rows& rows, const Tensor& shape = AnyShape()) {
  Tensor list = RunOp("TensorListReserve", {shape, Int(static_cast<int32_t>(rows.size()))}).value();
  for (size_t i = 0; i < rows.size(); ++i) {
    if (rows[i].empty()) continue;
    list = RunOp("TensorListSetItem", {list, Int(static_cast<int32_t>(i)), Floats(rows[i])}).value();
  }
  return list;
}

const TensorList& ListIn(const Tensor& handle) { return *handle.flat<Variant>()[0].Get<TensorList>(); }

Rows RowsOf(const Tensor& handle) {
  Rows rows;
  for (const Tensor& element : ListIn(handle).elements()) {
    rows.push_back(element.has_value() ? Values<float>(element) : std::vector<float>());
  }
  return rows;
}

// Each call gives a new list, and the one that it was made of stays as it is.
TEST(ListOpsTest, BehavesAsAVectorThatIsCopied) {
  FuzzRandom random(7);
  for (int round = 0; round < 20; ++round) {
    std::vector<std::pair<Tensor, Rows>> history = {{ListOf({}), {}}};
    for (int step = 0; step < 60; ++step) {
      const auto& [list, rows] = history[random.Below(history.size())];
      Rows wanted = rows;
      const float number = static_cast<float>(step);
      const size_t at = random.Below(rows.size() + 1);
      absl::StatusOr<Tensor> changed = absl::InternalError("");
      switch (random.Int(4)) {
        case 0:
          wanted.push_back({number});
          changed = RunOp("TensorListPushBack", {list, Floats({number})});
          break;
        case 1:
          if (!rows.empty()) wanted.pop_back();
          changed = RunOp("TensorListPopBack", {list, Ints({1})});
          break;
        case 2:
          if (at < rows.size()) wanted[at] = {number, number};
          changed = RunOp("TensorListSetItem", {list, Int(static_cast<int32_t>(at)), Floats({number, number})});
          break;
        default:
          wanted.resize(at);
          changed = RunOp("TensorListResize", {list, Int(static_cast<int32_t>(at))});
          break;
      }
      if (!changed.ok()) continue;  // Nothing to pop, or no such element.
      EXPECT_EQ(RowsOf(*changed), wanted);
      history.emplace_back(*changed, wanted);
    }
    for (const auto& [list, rows] : history) EXPECT_EQ(RowsOf(list), rows);
  }
}

TEST(ListOpsTest, TheLastReaderChangesTheListInPlace) {
  KernelRunner set("TensorListSetItem");
  set.Attr("element_dtype", kFloat);
  Tensor list = ListOf(Rows(1000));
  const TensorList* const before = &ListIn(list);
  for (int i = 0; i < 1000; ++i) {
    std::vector<Tensor> inputs;
    inputs.push_back(std::move(list));
    inputs.push_back(Int(i));
    inputs.push_back(Floats({1.0f, 2.0f}));
    ASSERT_OK_AND_ASSIGN(list, set.Run1(std::move(inputs), /*movable=*/true));
    ASSERT_EQ(&ListIn(list), before);
  }
  const Tensor second = list;
  ASSERT_OK_AND_ASSIGN(const Tensor copy, set.Run1({list, Int(0), Floats({3.0f})}, /*movable=*/true));
  EXPECT_NE(&ListIn(copy), before);
  EXPECT_EQ(RowsOf(second)[0], (std::vector<float>{1, 2}));
}

TEST(ListOpsTest, ElementsThatWereNeverSetAreZeros) {
  ASSERT_OK_AND_ASSIGN(const Tensor stacked, RunOp("TensorListStack", {ListOf({{}, {5, 6}, {}}), AnyShape()}));
  EXPECT_THAT(Dims(stacked), ElementsAre(3, 2));
  EXPECT_THAT(Values<float>(stacked), ElementsAre(0, 0, 5, 6, 0, 0));
  ASSERT_OK_AND_ASSIGN(const Tensor item, RunOp("TensorListGetItem", {ListOf({{}, {5}}), Int(0), AnyShape()}));
  EXPECT_THAT(Values<float>(item), ElementsAre(0));
  ASSERT_OK_AND_ASSIGN(const Tensor texts, RunOp("TensorListReserve", {Ints({2}), Int(1)}, DType::kString));
  ASSERT_OK_AND_ASSIGN(const Tensor empty, RunOp("TensorListStack", {texts, AnyShape()}, DType::kString));
  EXPECT_EQ(empty.ToString(), Tensor::Of<TString>(Shape::Of({1, 2}), std::vector<TString>(2)).ToString());
}

TEST(ListOpsTest, RowsAndElements) {
  const Tensor rows = Matrix(3, 2, {1, 2, 3, 4, 5, 6});
  ASSERT_OK_AND_ASSIGN(const Tensor list, RunOp("TensorListFromTensor", {rows, Ints({-1})}));
  EXPECT_EQ(RowsOf(list), (Rows{{1, 2}, {3, 4}, {5, 6}}));
  ASSERT_OK_AND_ASSIGN(const Tensor gathered, RunOp("TensorListGather", {list, Ints({2, 0, 2}), AnyShape()}));
  EXPECT_THAT(Values<float>(gathered), ElementsAre(5, 6, 1, 2, 5, 6));
  const Tensor two = Matrix(2, 1, {1, 2});
  ASSERT_OK_AND_ASSIGN(const Tensor scattered, RunOp("TensorListScatter", {two, Ints({2, 0}), AnyShape()}));
  EXPECT_EQ(RowsOf(scattered), (Rows{{2}, {}, {1}}));
  ASSERT_OK_AND_ASSIGN(const Tensor longer, RunOp("TensorListScatterV2", {two, Ints({2, 0}), AnyShape(), Int(4)}));
  EXPECT_EQ(RowsOf(longer), (Rows{{2}, {}, {1}, {}}));
  ASSERT_OK_AND_ASSIGN(const Tensor existing,
                       RunOp("TensorListScatterIntoExistingList", {ListOf({{9}, {8}, {7}}), two, Ints({2, 0})}));
  EXPECT_EQ(RowsOf(existing), (Rows{{2}, {8}, {1}}));
  ASSERT_OK_AND_ASSIGN(const Tensor grown,
                       RunOp("TensorListScatterIntoExistingList", {ListOf({{9}, {8}}), two, Ints({4, 0})}));
  EXPECT_EQ(RowsOf(grown), (Rows{{2}, {8}, {}, {}, {1}}));
  ASSERT_OK_AND_ASSIGN(const Tensor parts, RunOp("TensorListSplit", {Floats({1, 2, 3}), AnyShape(), Longs({1, 0, 2})}));
  EXPECT_EQ(RowsOf(parts), (Rows{{1}, {}, {2, 3}}));
  EXPECT_EQ(ListIn(parts).at(1).num_elements(), 0);
}

// The tensor may be the memory of a variable that is overwritten later.
TEST(ListOpsTest, ElementsShareNoMemoryWithTheTensorTheyAreTakenFrom) {
  const Tensor rows = Counting({4, 2048});
  const std::pair<std::string, std::vector<Tensor>> calls[] = {
      {"TensorListFromTensor", {rows, AnyShape()}},
      {"TensorListScatterV2", {rows, Ints({0, 1, 2, 3}), AnyShape(), Int(4)}},
      {"TensorListScatterIntoExistingList", {ListOf({}), rows, Ints({0, 1, 2, 3})}},
      {"TensorListSplit", {rows, AnyShape(), Longs({2, 2})}},
  };
  for (const auto& [op, inputs] : calls) {
    ASSERT_OK_AND_ASSIGN(const Tensor list, RunOp(op, inputs));
    EXPECT_FALSE(ListIn(list).at(1).SharesBufferWith(rows)) << op;
  }
}

// Large enough to be cut into shards.
TEST(ListOpsTest, LargeTensorsAreTakenApartAndPutTogether) {
  const Tensor rows = Counting({100, 2048});
  ASSERT_OK_AND_ASSIGN(const Tensor list, RunOp("TensorListFromTensor", {rows, AnyShape()}));
  ASSERT_OK_AND_ASSIGN(const Tensor back, RunOp("TensorListStack", {list, AnyShape()}));
  EXPECT_EQ(Values<float>(back), Values<float>(rows));
}

TEST(ListOpsTest, ConcatPutsElementsEndToEnd) {
  const auto concat = [](const Rows& rows, const Tensor& shape, std::vector<int64_t> leading) {
    KernelRunner runner("TensorListConcatV2");
    return runner.Attr("element_dtype", kFloat).Run({ListOf(rows), shape, Longs(std::move(leading))});
  };
  struct Case {
    Rows rows;
    std::vector<int64_t> leading;
    std::vector<float> values;
    std::vector<int64_t> lengths;
  };
  // As TensorFlow answered.
  for (const Case& c : std::vector<Case>{{{{1}, {2, 3}}, {}, {1, 2, 3}, {1, 2}},
                                         {{{1}, {}}, {1, 2}, {1, 0, 0}, {1, 2}},
                                         {{{1, 2, 3}, {}}, {}, {1, 2, 3, 0, 0, 0}, {3, 3}},
                                         {{{1, 2}, {}, {}}, {7, 1, 0}, {1, 2, 0}, {2, 1, 0}},
                                         {{{1}, {2}}, {2, 2}, {1, 2}, {1, 1}}}) {
    ASSERT_OK_AND_ASSIGN(const std::vector<Tensor> outputs, concat(c.rows, AnyShape(), c.leading));
    EXPECT_EQ(Values<float>(outputs[0]), c.values);
    EXPECT_EQ(Values<int64_t>(outputs[1]), c.lengths);
  }
  EXPECT_THAT(concat({{1}, {2, 3}, {}}, AnyShape(), {}), StatusIs(kInvalid));
  EXPECT_THAT(concat({{}, {}}, AnyShape(), {1, 2}), StatusIs(kInvalid));
  EXPECT_THAT(concat({{1}, {2, 3}}, Ints({1}), {}), StatusIs(kInvalid));
  EXPECT_THAT(concat({{1}, {}}, AnyShape(), {1, -2}), StatusIs(kInvalid));
  EXPECT_THAT(concat({}, Ints({-1, 2}), {}), IsOk());
  EXPECT_THAT(concat({}, AnyShape(), {}), StatusIs(kInvalid));
}

TEST(ListOpsTest, TensorsOfListsAreJoinedAndPushedTo) {
  const auto pair = [](const Tensor& a, const Tensor& b) {
    Tensor both = Tensor::Make(DType::kVariant, Shape::Of({2})).value();
    both.flat<Variant>()[0] = a.flat<Variant>()[0];
    both.flat<Variant>()[1] = b.flat<Variant>()[0];
    return both;
  };
  const Tensor lists = pair(ListOf({{1}}), ListOf({}));
  ASSERT_OK_AND_ASSIGN(const Tensor pushed, RunOp("TensorListPushBackBatch", {lists, Matrix(2, 1, {8, 9})}));
  ASSERT_OK_AND_ASSIGN(const Tensor joined, RunOp("TensorListConcatLists", {pushed, lists}));
  EXPECT_EQ(joined.flat<Variant>()[0].Get<TensorList>()->size(), 3);
  EXPECT_EQ(joined.flat<Variant>()[1].Get<TensorList>()->size(), 1);
  EXPECT_EQ(lists.flat<Variant>()[0].Get<TensorList>()->size(), 1);
  EXPECT_THAT(RunOp("TensorListPushBackBatch", {lists, Matrix(1, 1, {8})}), StatusIs(kInvalid));
  EXPECT_THAT(RunOp("TensorListConcatLists", {pushed, ListOf({})}), StatusIs(kInvalid));
  EXPECT_THAT(RunOp("TensorListConcatLists", {ListOf({}, Ints({1})), ListOf({}, Ints({2}))}), StatusIs(kInvalid));
}

TEST(ListOpsTest, WhatIsWrongIsInvalid) {
  const Tensor list = ListOf({{1, 2}, {3}}), fixed = ListOf({}, Ints({2})), empty = ListOf({});
  Tensor null = Tensor::Make(DType::kVariant, Shape()).value();
  const std::vector<std::pair<std::string, std::vector<Tensor>>> calls = {
      {"EmptyTensorList", {AnyShape(), Ints({1})}},
      {"EmptyTensorList", {Int(3), Int(1)}},
      {"EmptyTensorList", {Ints({-2}), Int(1)}},
      {"EmptyTensorList", {Tensor::Of<int32_t>(Shape::Of({1, 1}), {1}), Int(1)}},
      {"EmptyTensorList", {Longs({int64_t{1} << 40, int64_t{1} << 40}), Int(1)}},
      {"TensorListReserve", {AnyShape(), Int(-1)}},
      {"TensorListReserve", {AnyShape(), Ints({1})}},
      {"TensorListLength", {null}},
      {"TensorListResize", {list, Int(-1)}},
      {"TensorListPushBack", {fixed, Floats({1})}},
      {"TensorListPushBack", {fixed, Ints({1, 2})}},
      {"TensorListPopBack", {empty, AnyShape()}},
      {"TensorListPopBack", {ListOf({{1}, {}}), AnyShape()}},
      {"TensorListGetItem", {list, Int(2), AnyShape()}},
      {"TensorListGetItem", {list, Int(-1), AnyShape()}},
      {"TensorListGetItem", {list, Ints({0, 1}), AnyShape()}},
      {"TensorListGetItem", {ListOf({{}, {1}, {1, 2}}), Int(0), AnyShape()}},
      {"TensorListSetItem", {list, Int(2), Floats({1})}},
      {"TensorListSetItem", {list, Ints({0}), Floats({1})}},
      {"TensorListSetItem", {ListOf({{}}, Ints({2})), Int(0), Floats({1})}},
      {"TensorListStack", {list, AnyShape()}},
      {"TensorListStack", {empty, Ints({-1})}},
      {"TensorListStack", {ListOf({{}, {}}), AnyShape()}},
      {"TensorListStack", {fixed, Ints({3})}},
      {"TensorListGather", {list, Ints({2}), AnyShape()}},
      {"TensorListGather", {list, Ints({0, 1}), AnyShape()}},
      {"TensorListFromTensor", {Tensor::Scalar(1.0f), AnyShape()}},
      {"TensorListFromTensor", {Matrix(1, 1, {1}), Ints({2})}},
      {"TensorListScatter", {Matrix(2, 1, {1, 2}), Ints({2, -1}), AnyShape()}},
      {"TensorListScatter", {Matrix(2, 1, {1, 2}), Ints({2}), AnyShape()}},
      {"TensorListScatterV2", {Matrix(2, 1, {1, 2}), Ints({2, 0}), AnyShape(), Int(2)}},
      {"TensorListScatterV2", {Matrix(2, 1, {1, 2}), Ints({2, 0}), AnyShape(), Int(-2)}},
      {"TensorListScatterIntoExistingList", {list, Matrix(1, 1, {1}), Ints({-1})}},
      {"TensorListSplit", {Floats({1, 2}), AnyShape(), Longs({1})}},
      {"TensorListSplit", {Floats({1, 2}), AnyShape(), Longs({3})}},
      {"TensorListSplit", {Floats({1, 2}), AnyShape(), Longs({-1, 3})}},
      {"TensorListSplit", {Matrix(1, 1, {1}), Ints({-1, 3}), Longs({1})}},
  };
  for (const auto& [op, inputs] : calls) EXPECT_THAT(RunOp(op, inputs), StatusIs(kInvalid)) << op;
  EXPECT_THAT(RunOp("TensorListGetItem", {list, Int(0), AnyShape()}, DType::kInt32), StatusIs(kInvalid));
  ASSERT_OK_AND_ASSIGN(const Tensor full, RunOp("EmptyTensorList", {AnyShape(), Int(0)}));
  EXPECT_THAT(RunOp("TensorListPushBack", {full, Floats({1})}), StatusIs(kInvalid));
}

TEST(ListOpsTest, SizesThatNoMemoryHoldsAreRefused) {
  TrackingAllocator allocator(HostAllocator(), 1 << 20);
  KernelRunner reserve("TensorListReserve");
  reserve.Attr("element_dtype", kFloat).run().allocator = &allocator;
  EXPECT_THROW((void)reserve.Run({AnyShape(), Int(1 << 22)}), std::bad_alloc);  // An executor makes a status of it.
  EXPECT_THAT(reserve.Run({AnyShape(), Int(0x7fffffff)}), StatusIs(absl::StatusCode::kResourceExhausted));
  KernelRunner set("TensorListSetItem");
  set.Attr("element_dtype", kFloat).Attr("resize_if_index_out_of_bounds", true);
  EXPECT_THAT(set.Run({ListOf({}), Int(0x7fffffff), Floats({1})}), StatusIs(absl::StatusCode::kResourceExhausted));
  EXPECT_THAT(set.Run({ListOf({}), Int(-1), Floats({1})}), StatusIs(kInvalid));
  ASSERT_OK_AND_ASSIGN(const Tensor grown, set.Run1({ListOf({}), Int(2), Floats({1})}));
  EXPECT_EQ(RowsOf(grown), (Rows{{}, {}, {1}}));
}

TEST(ListOpsTest, ShapesAreKnownAsStated) {
  ASSERT_OK_AND_ASSIGN(const Tensor known, RunOp("TensorListElementShape", {ListOf({}, Ints({-1, 2}))}));
  EXPECT_THAT(Values<int64_t>(known), ElementsAre(-1, 2));
  ASSERT_OK_AND_ASSIGN(const Tensor unknown, RunOp("TensorListElementShape", {ListOf({})}));
  EXPECT_EQ(*unknown.AsScalar<int64_t>(), -1);
}

TEST(ListOpsTest, AddNAndZerosLikeWorkElementByElement) {
  const auto add = [](const Tensor& a, const Tensor& b) { return KernelRunner("AddN").Attr("N", 2).Run1({a, b}); };
  ASSERT_OK_AND_ASSIGN(const Tensor sum, add(ListOf({{1, 2}, {}, {3}, {}}), ListOf({{4, 5}, {6}, {}, {}})));
  EXPECT_EQ(RowsOf(sum), (Rows{{5, 7}, {6}, {3}, {}}));
  ASSERT_OK_AND_ASSIGN(const Tensor zeros, KernelRunner("ZerosLike").Run1({sum}));
  EXPECT_EQ(RowsOf(zeros), (Rows{{0, 0}, {0}, {0}, {}}));
  EXPECT_THAT(add(ListOf({{1}}), ListOf({{1}, {2}})), StatusIs(kInvalid));
  EXPECT_THAT(add(ListOf({{1}}), ListOf({{1, 2}})), StatusIs(kInvalid));
  EXPECT_THAT(add(ListOf({}, Ints({1})), ListOf({}, Ints({2}))), StatusIs(kInvalid));
}

TEST(ListOpsTest, ListsOfListsHaveNoEnd) {
  Tensor list = RunOp("EmptyTensorList", {AnyShape(), Int(-1)}, DType::kVariant).value();
  for (int i = 0; i < 100'000; ++i) {
    const Tensor empty = RunOp("EmptyTensorList", {AnyShape(), Int(-1)}, DType::kVariant).value();
    list = RunOp("TensorListPushBack", {empty, list}, DType::kVariant).value();
    if (i == 50) {
      EXPECT_OK(KernelRunner("ZerosLike").Run1({list}).status());
    }
  }
  EXPECT_THAT(KernelRunner("ZerosLike").Run1({list}), StatusIs(absl::StatusCode::kUnimplemented));
}

// The bytes are what TensorFlow wrote.
TEST(ListOpsTest, ReadsAndWritesWhatTensorFlowWrites) {
  const std::string minus_one = "\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01";
  const std::string wanted =
      std::string("\x02\x00\x02\x01", 4) + minus_one + "\x12\x0b\x08" + minus_one + "\x12\x02\x08\x02";
  Tensor list = ListOf({{}, {}, {}}, Ints({-1, 2}));
  list = RunOp("TensorListSetItem", {list, Int(1), Matrix(1, 2, {1, 2})}).value();
  std::string metadata;
  std::vector<Tensor> tensors;
  ASSERT_OK(ListIn(list).Encode(&metadata, &tensors));
  EXPECT_EQ(metadata, wanted);
  ASSERT_EQ(tensors.size(), 1u);
  ASSERT_OK_AND_ASSIGN(const Variant read, TensorList::Decode(metadata, absl::MakeSpan(tensors)));
  EXPECT_EQ(read.Get<TensorList>()->size(), 3);
  EXPECT_EQ(read.Get<TensorList>()->element_shape().ToString(), "[?,2]");
  EXPECT_THAT(Values<float>(read.Get<TensorList>()->at(1)), ElementsAre(1, 2));
  // No prefix of the bytes, and no changed one, ends the program or reads past the end.
  for (size_t size = 0; size < wanted.size(); ++size) {
    std::vector<Tensor> one = {Matrix(1, 2, {1, 2})};
    (void)TensorList::Decode(wanted.substr(0, size), absl::MakeSpan(one));
    for (int bit = 0; bit < 8; ++bit) {
      std::string changed = wanted;
      changed[size] = static_cast<char>(changed[size] ^ (1 << bit));
      one = {Matrix(1, 2, {1, 2})};
      (void)TensorList::Decode(changed, absl::MakeSpan(one));
    }
  }
  EXPECT_FALSE(TensorList::Decode(wanted.substr(0, 3), absl::MakeSpan(tensors)).ok());
}

TEST(ListOpsTest, ConstantsHoldLists) {
  KernelRunner constant("Const");
  constant.Attr("value", ListOf({{}, {1, 2}})).Attr("dtype", DType::kVariant);
  ASSERT_OK_AND_ASSIGN(const Tensor list, constant.Run1({}));
  EXPECT_EQ(RowsOf(list), (Rows{{}, {1, 2}}));
}

TEST(MapOpsTest, HoldsValuesByKey) {
  const auto run = [](const std::string& op, std::vector<Tensor> inputs) {
    KernelRunner runner(op);
    if (op == "TensorMapStackKeys") runner.Attr("key_dtype", DType::kString);
    if (op == "TensorMapErase" || op == "TensorMapLookup") runner.Attr("value_dtype", kFloat);
    return runner.Run1(std::move(inputs));
  };
  const Tensor empty = run("EmptyTensorMap", {}).value();
  const Tensor one = run("TensorMapInsert", {empty, Tensor::String("a"), Floats({1})}).value();
  const Tensor two = run("TensorMapInsert", {one, Tensor::String("b"), Floats({2, 3})}).value();
  const Tensor other = run("TensorMapInsert", {two, Tensor::String("a"), Floats({9})}).value();
  EXPECT_EQ(*run("TensorMapSize", {one})->AsScalar<int32_t>(), 1);
  EXPECT_EQ(*run("TensorMapSize", {other})->AsScalar<int32_t>(), 2);
  EXPECT_THAT(Values<float>(*run("TensorMapLookup", {two, Tensor::String("a")})), ElementsAre(1));
  EXPECT_THAT(Values<float>(*run("TensorMapLookup", {other, Tensor::String("a")})), ElementsAre(9));
  EXPECT_THAT(run("TensorMapLookup", {one, Tensor::String("b")}), StatusIs(kInvalid));
  EXPECT_FALSE(*run("TensorMapHasKey", {one, Tensor::String("b")})->AsScalar<bool>());
  EXPECT_TRUE(*run("TensorMapHasKey", {two, Tensor::String("b")})->AsScalar<bool>());
  EXPECT_EQ(run("TensorMapStackKeys", {two})->ToString(), Tensor::Strings({"a", "b"}).ToString());
  EXPECT_THAT(run("TensorMapStackKeys", {empty}), StatusIs(kInvalid));
  EXPECT_EQ(*run("TensorMapSize", {run("TensorMapErase", {two, Tensor::String("a")}).value()})->AsScalar<int32_t>(), 1);
  EXPECT_THAT(run("TensorMapErase", {one, Tensor::String("b")}), StatusIs(kInvalid));
  EXPECT_THAT(run("TensorMapSize", {ListOf({})}), StatusIs(kInvalid));
  ASSERT_OK_AND_ASSIGN(const Tensor sum, KernelRunner("AddN").Attr("N", 2).Run1({one, two}));
  EXPECT_THAT(Values<float>(*run("TensorMapLookup", {sum, Tensor::String("a")})), ElementsAre(2));
}

TEST(OptionalOpsTest, HoldsComponentsOrNothing) {
  const std::vector<DType> types = {kFloat, DType::kInt32};
  const auto get = [](const Tensor& optional, std::vector<DType> dtypes, std::vector<PartialShape> shapes) {
    return KernelRunner("OptionalGetValue")
        .Attr("output_types", std::move(dtypes))
        .Attr("output_shapes", std::move(shapes))
        .Run({optional});
  };
  ASSERT_OK_AND_ASSIGN(const Tensor some,
                       KernelRunner("OptionalFromValue").Attr("Toutput_types", types).Run1({Floats({1, 2}), Int(3)}));
  ASSERT_OK_AND_ASSIGN(const Tensor none, KernelRunner("OptionalNone").Run1({}));
  EXPECT_TRUE(*KernelRunner("OptionalHasValue").Run1({some})->AsScalar<bool>());
  EXPECT_FALSE(*KernelRunner("OptionalHasValue").Run1({none})->AsScalar<bool>());
  ASSERT_OK_AND_ASSIGN(const std::vector<Tensor> values, get(some, types, {PartialShape::Of({-1}), PartialShape()}));
  EXPECT_THAT(Values<float>(values[0]), ElementsAre(1, 2));
  EXPECT_EQ(*values[1].AsScalar<int32_t>(), 3);
  EXPECT_THAT(get(none, types, {PartialShape(), PartialShape()}), StatusIs(kInvalid));
  EXPECT_THAT(get(some, {kFloat}, {PartialShape()}), StatusIs(kInvalid));
  EXPECT_THAT(get(some, {kFloat, kFloat}, {PartialShape(), PartialShape()}), StatusIs(kInvalid));
  EXPECT_THAT(get(some, types, {PartialShape::Of({3}), PartialShape()}), StatusIs(kInvalid));
  EXPECT_THAT(get(ListOf({}), types, {PartialShape(), PartialShape()}), StatusIs(kInvalid));

  ASSERT_OK_AND_ASSIGN(const Tensor sum, KernelRunner("AddN").Attr("N", 2).Run1({some, some}));
  EXPECT_THAT(Values<float>(sum.flat<Variant>()[0].Get<Optional>()->components()[0]), ElementsAre(2, 4));
  EXPECT_THAT(KernelRunner("AddN").Attr("N", 2).Run1({some, none}), StatusIs(kInvalid));
  ASSERT_OK_AND_ASSIGN(const Tensor zeros, KernelRunner("ZerosLike").Run1({some}));
  EXPECT_THAT(Values<float>(zeros.flat<Variant>()[0].Get<Optional>()->components()[0]), ElementsAre(0, 0));

  std::string metadata;
  std::vector<Tensor> tensors;
  ASSERT_OK(some.flat<Variant>()[0].object()->Encode(&metadata, &tensors));
  EXPECT_EQ(metadata, "\x01");
  ASSERT_OK_AND_ASSIGN(const Variant read, Optional::Decode(metadata, absl::MakeSpan(tensors)));
  EXPECT_EQ(read.Get<Optional>()->components().size(), 2u);
  EXPECT_THAT(Optional::Decode("", {}), StatusIs(kInvalid));
}

}  // namespace
}  // namespace sluice

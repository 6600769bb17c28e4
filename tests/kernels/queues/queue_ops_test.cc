// The ops of kernels/queues, each a kernel of its own on resources that the calls share. Numbers are TensorFlow's.

#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "graph/value/tstring.h"
#include "gtest/gtest.h"
#include "kernels/queues/mutex_resource.h"
#include "kernels/resources/resource_manager.h"
#include "tests/testing/counting_allocator.h"
#include "tests/testing/kernel_runner.h"
#include "tests/testing/status_matchers.h"

namespace sluice {
namespace {

using Types = std::vector<DType>;
using Shapes = std::vector<PartialShape>;

Tensor Floats(const std::vector<float>& values) { return Tensor::Vector<float>(values); }
Tensor Pairs(const std::vector<float>& values) {
  return Tensor::Of<float>(Shape::Of({static_cast<int64_t>(values.size()) / 2, 2}), values);
}
std::vector<float> Values(const Tensor& tensor) {
  const absl::Span<const float> values = tensor.flat<float>();
  return {values.begin(), values.end()};
}

class QueueOpsTest : public ::testing::Test {
 protected:
  absl::StatusOr<std::vector<Tensor>> Run(const std::string& op, std::vector<Tensor> inputs,
                                          const PreparedKernel::Attrs& attrs = {}) {
    KernelRunner runner(op);
    for (const auto& [name, value] : attrs) runner.Attr(name, value);
    runner.run().resources = &resources_;
    return runner.Run(std::move(inputs));
  }
  // The same on a reference to the two strings of a handle.
  absl::StatusOr<std::vector<Tensor>> RunOnNames(const std::string& op, Tensor names, std::vector<Tensor> inputs,
                                                 const PreparedKernel::Attrs& attrs = {}) {
    const CountedPtr<RefCell> cell = MakeCounted<RefCell>(DType::kString);
    {
      MutexLock lock(&cell->mu);
      cell->tensor = std::move(names);
    }
    Types types = {RefType(DType::kString)};
    std::vector<KernelInput> all = {cell.get()};
    for (Tensor& input : inputs) {
      types.push_back(input.dtype());
      all.emplace_back(std::move(input));
    }
    const auto kernel = PreparedKernel::Make(op, attrs, types, nullptr);
    if (!kernel.ok()) return kernel.status();
    RunContext run;
    run.resources = &resources_;
    run.allocator = allocator_;
    return (*kernel)->Run(run, std::move(all), /*movable=*/false);
  }

  ResourceManager resources_;
  Allocator* allocator_ = nullptr;  // Of calls on names; null: the host's.
};

TEST_F(QueueOpsTest, AttrsThatContradictEachOtherAreRefused) {
  const Types one = {DType::kFloat};
  const Shapes scalar = {PartialShape::Scalar()};
  const std::vector<std::pair<std::string, PreparedKernel::Attrs>> bad = {
      {"FIFOQueueV2", {{"component_types", one}, {"shapes", Shapes{PartialShape::Of({-1})}}}},
      {"FIFOQueueV2", {{"component_types", one}, {"shapes", scalar}, {"shared_name", "_a"}}},
      {"FIFOQueueV2", {{"component_types", one}, {"shapes", scalar}, {"container", "a b"}}},
      {"PaddingFIFOQueueV2", {{"component_types", one}}},
      {"PaddingFIFOQueueV2", {{"component_types", one}, {"shapes", Shapes{PartialShape()}}}},
      {"PriorityQueueV2", {{"component_types", one}, {"shapes", Shapes{}}}},
      {"RandomShuffleQueueV2", {{"component_types", one}, {"capacity", 4}, {"min_after_dequeue", 4}}},
      {"RandomShuffleQueueV2", {{"component_types", one}, {"capacity", 4}, {"min_after_dequeue", -1}}},
      {"Barrier", {{"component_types", one}, {"capacity", 4}}},
  };
  for (const auto& [op, attrs] : bad) {
    EXPECT_THAT(Run(op, {}, attrs).status(), StatusIs(absl::StatusCode::kInvalidArgument)) << op;
  }
}

TEST_F(QueueOpsTest, NodesOfOneNameMustAgree) {
  const PreparedKernel::Attrs attrs = {{"component_types", Types{DType::kFloat}}, {"shared_name", "q"}};
  EXPECT_OK(Run("FIFOQueueV2", {}, attrs).status());
  EXPECT_OK(Run("FIFOQueue", {}, attrs).status());
  PreparedKernel::Attrs other = attrs;
  other.emplace_back("capacity", 3);
  EXPECT_THAT(Run("FIFOQueueV2", {}, other).status(), IsError(ErrorCode::kResourceType));
  EXPECT_THAT(Run("RandomShuffleQueueV2", {}, attrs).status(), IsError(ErrorCode::kResourceType));
}

TEST_F(QueueOpsTest, ElementsAreCheckedAndPadded) {
  const Types types = {DType::kFloat};
  const absl::StatusOr<std::vector<Tensor>> made =
      Run("PaddingFIFOQueueV2", {}, {{"component_types", types}, {"shapes", Shapes{PartialShape::Of({-1, 2})}}});
  ASSERT_OK(made);
  const Tensor q = made->at(0);
  const auto enqueue = [&](Tensor value) { return Run("QueueEnqueueV2", {q, std::move(value)}).status(); };
  EXPECT_OK(enqueue(Pairs({1, 2, 3, 4})));
  EXPECT_OK(enqueue(Pairs({5, 6})));
  EXPECT_OK(enqueue(Pairs({})));
  EXPECT_THAT(enqueue(Floats({1, 2})), StatusIs(absl::StatusCode::kInvalidArgument));
  EXPECT_THAT(enqueue(Tensor::Scalar(1)), StatusIs(absl::StatusCode::kInvalidArgument));
  const PreparedKernel::Attrs attrs = {{"component_types", types}};
  EXPECT_THAT(Run("QueueDequeueManyV2", {q, Tensor::Scalar(-1)}, attrs).status(), IsError(ErrorCode::kOpValue));
  const absl::StatusOr<std::vector<Tensor>> taken = Run("QueueDequeueManyV2", {q, Tensor::Scalar(3)}, attrs);
  ASSERT_OK(taken);
  EXPECT_EQ(taken->at(0).shape(), Shape::Of({3, 2, 2}));
  EXPECT_EQ(Values(taken->at(0)), (std::vector<float>{1, 2, 3, 4, 5, 6, 0, 0, 0, 0, 0, 0}));
  const absl::StatusOr<std::vector<Tensor>> none = Run("QueueDequeueUpToV2", {q, Tensor::Scalar(0)}, attrs);
  ASSERT_OK(none);
  EXPECT_EQ(none->at(0).shape(), Shape::Of({0, 0, 2}));
}

TEST_F(QueueOpsTest, RowsWithoutElementsAreNotWithoutNumber) {
  const Tensor q = Run("FIFOQueueV2", {}, {{"component_types", Types{DType::kFloat}}})->at(0);
  const Tensor rows = Tensor::Make(DType::kFloat, Shape::Of({int64_t{1} << 45, 0})).value();
  EXPECT_THAT(Run("QueueEnqueueManyV2", {q, rows}).status(), IsError(ErrorCode::kOpTooLarge));
}

TEST_F(QueueOpsTest, StringsGoThroughQueuesOfTheFirstForm) {
  const Types types = {DType::kString};
  const absl::StatusOr<std::vector<Tensor>> made = Run("FIFOQueue", {}, {{"component_types", types}});
  ASSERT_OK(made);
  const Tensor q = made->at(0);
  EXPECT_OK(RunOnNames("QueueEnqueueMany", q, {Tensor::Strings({"a", "a longer one that has memory of its own"})}));
  EXPECT_THAT(RunOnNames("QueueEnqueueMany", q, {Tensor::String("rank 0")}).status(), IsError(ErrorCode::kOpShape));
  EXPECT_EQ(RunOnNames("QueueSize", q, {})->at(0).AsScalar<int32_t>().value(), 2);
  EXPECT_OK(RunOnNames("QueueClose", q, {}));
  EXPECT_TRUE(RunOnNames("QueueIsClosed", q, {})->at(0).AsScalar<bool>().value());
  const absl::StatusOr<std::vector<Tensor>> taken = RunOnNames("QueueDequeue", q, {}, {{"component_types", types}});
  ASSERT_OK(taken);
  EXPECT_EQ(taken->at(0).flat<TString>()[0].view(), "a");
  EXPECT_THAT(RunOnNames("QueueDequeueMany", q, {Tensor::Scalar(1)}, {{"component_types", types}}).status(),
              IsError(ErrorCode::kOpShape));  // Shapes are not known.
  EXPECT_THAT(RunOnNames("QueueEnqueue", q, {Tensor::String("late")}).status(), StatusIs(absl::StatusCode::kCancelled));
  EXPECT_THAT(RunOnNames("QueueSize", Tensor::Strings({"localhost", "none"}), {}).status(),
              StatusIs(absl::StatusCode::kNotFound));
}

TEST_F(QueueOpsTest, AccumulatorsAverageWhatIsNotStale) {
  const PreparedKernel::Attrs attrs = {{"dtype", DType::kFloat}, {"shape", PartialShape::Of({2})}};
  const Tensor h = Run("ConditionalAccumulator", {}, attrs)->at(0);
  const auto apply = [&](int64_t step, Tensor gradient) {
    return RunOnNames("AccumulatorApplyGradient", h, {Tensor::Scalar(step), std::move(gradient)}).status();
  };
  const auto take = [&](int32_t required) {
    return RunOnNames("AccumulatorTakeGradient", h, {Tensor::Scalar(required)}, {{"dtype", DType::kFloat}});
  };
  EXPECT_OK(apply(0, Floats({1, 2})));
  EXPECT_OK(apply(0, Floats({3, 5})));
  EXPECT_THAT(apply(0, Floats({3, 5, 6})), IsError(ErrorCode::kOpShapes));
  EXPECT_THAT(take(0).status(), IsError(ErrorCode::kOpValue));
  EXPECT_EQ(Values(take(1)->at(0)), (std::vector<float>{2, 3.5f}));
  EXPECT_OK(apply(0, Floats({1, 2})));  // Of the step before: dropped.
  EXPECT_EQ(RunOnNames("AccumulatorNumAccumulated", h, {})->at(0).AsScalar<int32_t>().value(), 0);
  EXPECT_OK(RunOnNames("AccumulatorSetGlobalStep", h, {Tensor::Scalar(int64_t{0})}));
  EXPECT_OK(apply(0, Floats({1, 2})));
  EXPECT_EQ(RunOnNames("AccumulatorNumAccumulated", h, {})->at(0).AsScalar<int32_t>().value(), 1);
}

TEST_F(QueueOpsTest, SparseAccumulatorsAverageEachRow) {
  const PreparedKernel::Attrs attrs = {{"dtype", DType::kFloat}, {"shape", PartialShape::Of({4, 2})}};
  const Tensor h = Run("SparseConditionalAccumulator", {}, attrs)->at(0);
  const auto apply = [&](const std::vector<int64_t>& rows, Tensor values) {
    return RunOnNames("SparseAccumulatorApplyGradient", h,
                      {Tensor::Scalar(int64_t{0}), Tensor::Vector<int64_t>(rows), std::move(values),
                       Tensor::Vector<int64_t>({4, 2})},
                      {{"has_known_shape", true}})
        .status();
  };
  EXPECT_OK(apply({1, 3}, Pairs({1, 2, 3, 4})));
  EXPECT_OK(apply({0, 3}, Pairs({1, 2, 3, 6})));
  EXPECT_THAT(apply({4}, Pairs({1, 2})), IsError(ErrorCode::kOpValue));
  EXPECT_THAT(apply({0, 1}, Pairs({1, 2})), IsError(ErrorCode::kOpShapes));
  const absl::StatusOr<std::vector<Tensor>> taken =
      RunOnNames("SparseAccumulatorTakeGradient", h, {Tensor::Scalar(1)}, {{"dtype", DType::kFloat}});
  ASSERT_OK(taken);
  EXPECT_EQ(taken->at(0).bytes(), Tensor::Vector<int64_t>({0, 1, 3}).bytes());
  EXPECT_EQ(Values(taken->at(1)), (std::vector<float>{1, 2, 1, 2, 3, 5}));
  EXPECT_EQ(taken->at(2).bytes(), Tensor::Vector<int64_t>({4, 2}).bytes());
}

TEST_F(QueueOpsTest, StagingAreasHoldSoMuch) {
  const PreparedKernel::Attrs area = {{"shared_name", "s"}, {"memory_limit", 16}};
  PreparedKernel::Attrs floats = area;
  floats.emplace_back("dtypes", Types{DType::kFloat});
  EXPECT_OK(Run("Stage", {Floats({1, 2})}, area).status());
  EXPECT_THAT(Run("Stage", {Floats({1, 2, 3, 4, 5})}, area).status(), StatusIs(absl::StatusCode::kResourceExhausted));
  EXPECT_OK(Run("Stage", {Floats({3, 4})}, area).status());
  EXPECT_EQ(Values(Run("StagePeek", {Tensor::Scalar(1)}, floats)->at(0)), (std::vector<float>{3, 4}));
  EXPECT_THAT(Run("StagePeek", {Tensor::Scalar(-1)}, floats).status(), IsError(ErrorCode::kOpValue));
  PreparedKernel::Attrs ints = area;
  ints.emplace_back("dtypes", Types{DType::kInt32});
  EXPECT_THAT(Run("Unstage", {}, ints).status(), StatusIs(absl::StatusCode::kInternal));
  EXPECT_EQ(Values(Run("Unstage", {}, floats)->at(0)), (std::vector<float>{1, 2}));
  EXPECT_EQ(Run("StageSize", {}, floats)->at(0).AsScalar<int32_t>().value(), 1);
  EXPECT_OK(Run("StageClear", {}, floats).status());
  EXPECT_EQ(Run("StageSize", {}, floats)->at(0).AsScalar<int32_t>().value(), 0);
}

class StagingMapTest : public QueueOpsTest, public ::testing::WithParamInterface<const char*> {
 protected:
  static constexpr DType kF = DType::kFloat, kI = DType::kInt32;

  std::string Op(const char* rest) const { return std::string(GetParam()) + rest; }
  static PreparedKernel::Attrs Attrs(const Types& types) {
    return {{"shared_name", "m"}, {"capacity", 2}, {"memory_limit", 40}, {"dtypes", types}};
  }
  absl::Status Stage(int64_t key, const std::vector<int32_t>& indices, std::vector<Tensor> values) {
    PreparedKernel::Attrs attrs = Attrs({kF, kI});
    Types types;
    for (const Tensor& value : values) types.push_back(value.dtype());
    attrs.emplace_back("fake_dtypes", types);
    std::vector<Tensor> inputs = {Tensor::Scalar(key), Tensor::Vector<int32_t>(indices)};
    for (Tensor& value : values) inputs.push_back(std::move(value));
    return Run(Op("MapStage"), std::move(inputs), attrs).status();
  }
  absl::StatusOr<std::vector<Tensor>> Get(const char* op, int64_t key, const std::vector<int32_t>& indices,
                                          const Types& types) {
    return Run(Op(op), {Tensor::Scalar(key), Tensor::Vector<int32_t>(indices)}, Attrs(types));
  }
  // Complete ones, and incomplete ones.
  std::vector<int32_t> Sizes() {
    return {Run(Op("MapSize"), {}, Attrs({}))->at(0).AsScalar<int32_t>().value(),
            Run(Op("MapIncompleteSize"), {}, Attrs({}))->at(0).AsScalar<int32_t>().value()};
  }
};

TEST_P(StagingMapTest, AnElementComesInPartsAndGoesInParts) {
  EXPECT_OK(Stage(3, {1}, {Tensor::Scalar(7)}));
  EXPECT_EQ(Sizes(), (std::vector<int32_t>{0, 1}));
  EXPECT_THAT(Stage(3, {1}, {Tensor::Scalar(8)}), IsError(ErrorCode::kOpValue));
  EXPECT_OK(Stage(3, {0}, {Floats({1, 2})}));
  EXPECT_EQ(Sizes(), (std::vector<int32_t>{1, 0}));
  EXPECT_EQ(Values(Get("MapPeek", 3, {0, 1}, {kF, kI})->at(0)), (std::vector<float>{1, 2}));
  EXPECT_THAT(Get("MapUnstage", 3, {1}, {kF}).status(), StatusIs(absl::StatusCode::kInternal));
  EXPECT_EQ(Get("MapUnstage", 3, {1}, {kI})->at(0).AsScalar<int32_t>().value(), 7);
  EXPECT_THAT(Get("MapPeek", 3, {0, 1}, {kF, kI}).status(), IsError(ErrorCode::kOpValue));
  EXPECT_EQ(Values(Get("MapUnstage", 3, {0}, {kF})->at(0)), (std::vector<float>{1, 2}));
  EXPECT_EQ(Sizes(), (std::vector<int32_t>{0, 0}));
}

TEST_P(StagingMapTest, WhatIsThereUnderAKeyStays) {
  EXPECT_OK(Stage(5, {0, 1}, {Floats({1}), Tensor::Scalar(1)}));
  EXPECT_OK(Stage(5, {0, 1}, {Floats({2}), Tensor::Scalar(2)}));
  EXPECT_OK(Stage(5, {0}, {Floats({3})}));
  EXPECT_OK(Stage(5, {1}, {Tensor::Scalar(3)}));
  EXPECT_EQ(Sizes(), (std::vector<int32_t>{1, 0}));
  EXPECT_OK(Stage(2, {0, 1}, {Floats({4}), Tensor::Scalar(4)}));
  const auto any = [&] { return Run(Op("MapUnstageNoKey"), {Tensor::Vector<int32_t>({0, 1})}, Attrs({kF, kI})); };
  const absl::StatusOr<std::vector<Tensor>> first = any(), second = any();
  ASSERT_OK(first);
  ASSERT_OK(second);
  EXPECT_EQ(first->at(0).AsScalar<int64_t>().value(), 2);
  EXPECT_EQ(Values(second->at(1)), (std::vector<float>{1}));
  EXPECT_EQ(second->at(0).AsScalar<int64_t>().value(), 5);
}

TEST_P(StagingMapTest, InputsAreChecked) {
  EXPECT_THAT(Stage(1, {1, 0}, {Tensor::Scalar(1), Floats({1})}), IsError(ErrorCode::kOpValue));
  EXPECT_THAT(Stage(1, {0, 0}, {Floats({1}), Floats({1})}), IsError(ErrorCode::kOpValue));
  EXPECT_THAT(Stage(1, {2}, {Floats({1})}), IsError(ErrorCode::kOpValue));
  EXPECT_THAT(Stage(1, {-1}, {Floats({1})}), IsError(ErrorCode::kOpValue));
  EXPECT_THAT(Stage(1, {0, 1}, {Floats({1})}), IsError(ErrorCode::kOpShapes));
  EXPECT_THAT(Stage(1, {}, {Floats({1})}), IsError(ErrorCode::kOpShapes));
  EXPECT_THAT(Stage(1, {0}, {Floats(std::vector<float>(11))}), StatusIs(absl::StatusCode::kResourceExhausted));
  EXPECT_THAT(Stage(1, {0, 1}, {Floats(std::vector<float>(10)), Tensor::Scalar(1)}),
              StatusIs(absl::StatusCode::kResourceExhausted));
  EXPECT_THAT(Run(Op("MapPeek"), {Tensor::Vector<int64_t>({1, 2}), Tensor::Vector<int32_t>({0})}, Attrs({kF})).status(),
              IsError(ErrorCode::kOpShape));
  EXPECT_EQ(Sizes(), (std::vector<int32_t>{0, 0}));
  EXPECT_OK(Stage(1, {0, 1}, {Floats({1}), Tensor::Scalar(1)}));
  EXPECT_OK(Stage(2, {0}, {Floats({1})}));
  EXPECT_THAT(Get("MapUnstage", 1, {0, 2}, {kF, kI}).status(), IsError(ErrorCode::kOpValue));
  EXPECT_THAT(Get("MapUnstage", 1, {0}, {kF, kI}).status(), IsError(ErrorCode::kOpShapes));
  EXPECT_EQ(Sizes(), (std::vector<int32_t>{1, 1}));
  EXPECT_OK(Run(Op("MapClear"), {}, Attrs({})).status());
  EXPECT_EQ(Sizes(), (std::vector<int32_t>{0, 0}));
}

INSTANTIATE_TEST_SUITE_P(Kinds, StagingMapTest, ::testing::Values("", "Ordered"));

TEST_F(QueueOpsTest, BarriersGiveElementsThatAreComplete) {
  const Types types = {DType::kFloat, DType::kFloat};
  const Shapes shapes = {PartialShape::Scalar(), PartialShape::Of({2})};
  const Tensor h = Run("Barrier", {}, {{"component_types", types}, {"shapes", shapes}})->at(0);
  const auto insert = [&](const std::vector<absl::string_view>& keys, Tensor values, int64_t component) {
    return RunOnNames("BarrierInsertMany", h, {Tensor::Strings(keys), std::move(values)},
                      {{"component_index", component}})
        .status();
  };
  const auto take = [&](int32_t count, bool small) {
    return RunOnNames("BarrierTakeMany", h, {Tensor::Scalar(count)},
                      {{"component_types", types}, {"allow_small_batch", small}});
  };
  const auto size = [&](const char* op) { return RunOnNames(op, h, {})->at(0).AsScalar<int32_t>().value(); };
  EXPECT_OK(insert({"a", "b"}, Floats({1, 2}), 0));
  EXPECT_THAT(insert({"a"}, Floats({1}), 0), IsError(ErrorCode::kOpValue));
  EXPECT_THAT(insert({"a"}, Floats({1}), 1), IsError(ErrorCode::kOpShapes));
  EXPECT_THAT(insert({"a"}, Floats({1}), 1), StatusIs(absl::StatusCode::kInvalidArgument, "input 2"));
  EXPECT_THAT(insert({"a"}, Floats({1}), 2), IsError(ErrorCode::kOpAttr));
  EXPECT_OK(insert({"b", "c"}, Pairs({1, 2, 3, 4}), 1));
  EXPECT_EQ(size("BarrierReadySize"), 1);
  EXPECT_EQ(size("BarrierIncompleteSize"), 2);
  const absl::StatusOr<std::vector<Tensor>> taken = take(1, false);
  ASSERT_OK(taken);
  EXPECT_EQ(taken->at(0).flat<int64_t>()[0], std::numeric_limits<int64_t>::min());
  EXPECT_EQ(taken->at(1).flat<TString>()[0].view(), "b");
  EXPECT_EQ(Values(taken->at(3)), (std::vector<float>{1, 2}));
  EXPECT_THAT(take(-1, false).status(), StatusIs(absl::StatusCode::kInvalidArgument, "num_elements"));
  EXPECT_OK(RunOnNames("BarrierClose", h, {}));
  EXPECT_THAT(insert({"new"}, Floats({1}), 0), StatusIs(absl::StatusCode::kCancelled));
  EXPECT_THAT(take(3, false).status(), StatusIs(absl::StatusCode::kOutOfRange));
  EXPECT_OK(insert({"a"}, Pairs({5, 6}), 1));
  EXPECT_EQ(take(3, true)->at(0).dim(0), 1);
  EXPECT_THAT(take(3, true).status(), StatusIs(absl::StatusCode::kOutOfRange));
  EXPECT_THAT(RunOnNames("BarrierClose", h, {}).status(), StatusIs(absl::StatusCode::kCancelled));
}

TEST_F(QueueOpsTest, WhatABarrierHasNoMemoryToGiveStaysThere) {
  const Types types = {DType::kFloat};
  const Tensor h = Run("Barrier", {}, {{"component_types", types}, {"shapes", Shapes{PartialShape::Of({100})}}})->at(0);
  const Tensor values = Tensor::Of<float>(Shape::Of({2, 100}), std::vector<float>(200, 3));
  ASSERT_OK(RunOnNames("BarrierInsertMany", h, {Tensor::Strings({"b", "a"}), values}, {{"component_index", 0}}));
  const auto take = [&] { return RunOnNames("BarrierTakeMany", h, {Tensor::Scalar(2)}, {{"component_types", types}}); };
  CountingAllocator small;
  small.set_limit(500);
  allocator_ = &small;
  EXPECT_THAT(take().status(), StatusIs(absl::StatusCode::kResourceExhausted));
  allocator_ = nullptr;
  const absl::StatusOr<std::vector<Tensor>> taken = take();
  ASSERT_OK(taken);
  EXPECT_EQ(taken->at(1).flat<TString>()[0].view(), "b");
}

TEST_F(QueueOpsTest, AMutexIsHeldAsLongAsItsLockIsAlive) {
  const Tensor m = Run("MutexV2", {}, {{"shared_name", "m"}})->at(0);
  ASSERT_OK_AND_ASSIGN(const CountedPtr<MutexResource> mutex, resources_.Lookup<MutexResource>("", "m"));
  absl::StatusOr<std::vector<Tensor>> held = Run("MutexLock", {m});
  ASSERT_OK(held);
  std::vector<int> order;
  std::vector<Variant> locks(3);
  CancellationManager cancellation;
  for (int i = 0; i < 3; ++i) {
    mutex->Lock(i == 0 ? &cancellation : nullptr, [&order, &locks, i](const absl::Status& status, Variant lock) {
      order.push_back(status.ok() ? i : -1);
      locks[static_cast<size_t>(i)] = std::move(lock);
    });
  }
  EXPECT_TRUE(order.empty());
  cancellation.StartCancel();
  EXPECT_EQ(order, (std::vector<int>{-1}));
  std::vector<Tensor> last = {std::move(held->at(0))};
  held->clear();
  ASSERT_OK(Run("ConsumeMutexLock", std::move(last)).status());
  EXPECT_EQ(order, (std::vector<int>{-1, 1}));
  locks[1] = Variant();
  EXPECT_EQ(order, (std::vector<int>{-1, 1, 2}));
  locks[2] = Variant();
  EXPECT_EQ(mutex->DebugString(), "mutex");
}

TEST_F(QueueOpsTest, OnlyLocksOfMutexesAreConsumed) {
  EXPECT_THAT(Run("ConsumeMutexLock", {Tensor::Of<Variant>(Shape(), {Variant()})}).status(),
              IsError(ErrorCode::kOpValue, "'mutex_lock'"));
  EXPECT_THAT(Run("ConsumeMutexLock", {Tensor::Of<Variant>(Shape::Of({0}), {})}).status(),
              IsError(ErrorCode::kOpShape));
  const Tensor q = Run("FIFOQueueV2", {}, {{"component_types", Types{DType::kFloat}}})->at(0);
  EXPECT_THAT(Run("MutexLock", {q}).status(), IsError(ErrorCode::kResourceType));
}

// Unlike queues, which are private without a shared_name.
TEST_F(QueueOpsTest, AStagingAreaWithoutASharedNameHasThatOfItsNode) {
  ASSERT_OK(Run("Stage", {Floats({1})}));
  EXPECT_EQ(resources_.Items()[0].name, "op");
}

}  // namespace
}  // namespace sluice

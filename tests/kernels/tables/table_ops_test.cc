// Lookup tables: against plain maps, with what TensorFlow answered, and from many threads.

#include <cstdint>
#include <fstream>
#include <limits>
#include <map>
#include <new>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "graph/value/tstring.h"
#include "gtest/gtest.h"
#include "kernels/memory/tracking_allocator.h"
#include "kernels/resources/resource_manager.h"
#include "tests/kernels/array/tensors.h"
#include "tests/testing/hostile_values.h"
#include "tests/testing/kernel_runner.h"
#include "tests/testing/status_matchers.h"

namespace sluice {
namespace {

using ::testing::ElementsAre;
using Attrs = std::vector<std::pair<std::string, AttrValue>>;

constexpr absl::StatusCode kInvalid = absl::StatusCode::kInvalidArgument;
constexpr absl::StatusCode kPrecondition = absl::StatusCode::kFailedPrecondition;

Tensor Longs(std::vector<int64_t> values) { return Tensor::Vector<int64_t>(values); }
Tensor Long(int64_t value) { return Tensor::Scalar(value); }
Tensor Texts(std::vector<absl::string_view> values) { return Tensor::Strings(values); }
std::vector<std::string> TextsOf(const Tensor& tensor) {
  std::vector<std::string> texts;
  for (const TString& text : tensor.flat<TString>()) texts.emplace_back(text.view());
  return texts;
}

class TableOpsTest : public ::testing::Test {
 protected:
  absl::StatusOr<std::vector<Tensor>> Call(const std::string& op, std::vector<Tensor> inputs, const Attrs& attrs = {}) {
    KernelRunner runner(op);
    for (const auto& [name, value] : attrs) runner.Attr(name, value);
    runner.run().resources = &resources_;
    runner.run().allocator = allocator_;
    return runner.Run(std::move(inputs));
  }
  absl::StatusOr<Tensor> Make(const std::string& op, DType key, DType value, Attrs attrs = {},
                              std::vector<Tensor> inputs = {}) {
    attrs.emplace_back("key_dtype", key);
    attrs.emplace_back("value_dtype", value);
    absl::StatusOr<std::vector<Tensor>> handle = Call(op, std::move(inputs), attrs);
    if (!handle.ok()) return handle.status();
    return (*handle)[0];
  }
  Tensor Made(const std::string& op, DType key, DType value, Attrs attrs = {}, std::vector<Tensor> inputs = {}) {
    attrs.emplace_back("shared_name", absl::StrCat("table", ++tables_));
    return Make(op, key, value, std::move(attrs), std::move(inputs)).value();
  }
  absl::StatusOr<Tensor> Find(const Tensor& table, const Tensor& keys, const Tensor& missing) {
    absl::StatusOr<std::vector<Tensor>> values = Call("LookupTableFindV2", {table, keys, missing});
    if (!values.ok()) return values.status();
    return (*values)[0];
  }
  absl::Status Change(const std::string& op, std::vector<Tensor> inputs) {
    return Call(op, std::move(inputs)).status();
  }
  int64_t Size(const Tensor& table) { return *Call("LookupTableSizeV2", {table}).value()[0].AsScalar<int64_t>(); }
  std::vector<Tensor> Export(const Tensor& table, DType key, DType value) {
    return Call("LookupTableExportV2", {table}, {{"Tkeys", key}, {"Tvalues", value}}).value();
  }
  std::string FileOf(const std::string& text) {
    const std::string path = absl::StrCat(::testing::TempDir(), "/vocabulary", ++tables_);
    std::ofstream(path, std::ios::binary) << text;
    return path;
  }

  TrackingAllocator limited_{HostAllocator(), 64 << 20};  // Outlives the tables.
  Allocator* allocator_ = &limited_;
  ResourceManager resources_;
  int tables_ = 0;
};

TEST_F(TableOpsTest, AHashTableIsFilledOnce) {
  const Tensor table = Made("HashTableV2", DType::kString, DType::kInt64);
  EXPECT_THAT(Find(table, Texts({"a"}), Long(0)), StatusIs(kPrecondition));
  EXPECT_EQ(Size(table), 0);
  EXPECT_THAT(Call("LookupTableExportV2", {table}, {{"Tkeys", DType::kString}, {"Tvalues", DType::kInt64}}),
              StatusIs(absl::StatusCode::kAborted));
  const std::vector<Tensor> wrong_keys = {table, Texts({"a", "b"}), Longs({1})};
  EXPECT_THAT(Change("InitializeTableV2", wrong_keys), StatusIs(kInvalid));
  EXPECT_THAT(Change("InitializeTableV2", {table, Texts({}), Longs({})}), StatusIs(kInvalid));
  EXPECT_THAT(Change("InitializeTableV2", {table, Texts({"a"}), Ints({1})}), StatusIs(kInvalid));
  EXPECT_THAT(Change("InitializeTableV2", {table, Texts({"a", "a"}), Longs({1, 2})}), StatusIs(kPrecondition));
  EXPECT_EQ(Size(table), 0);
  EXPECT_OK(Change("InitializeTableV2", {table, Texts({"a", "b", "a"}), Longs({1, 2, 1})}));
  EXPECT_EQ(Size(table), 2);
  EXPECT_OK(Change("InitializeTableV2", {table, Texts({"a", "b"}), Longs({1, 2})}));
  EXPECT_THAT(Change("InitializeTableV2", {table, Texts({"c"}), Longs({1})}), StatusIs(kPrecondition));
  ASSERT_OK_AND_ASSIGN(const Tensor found, Find(table, Texts({"b", "zz", "a"}), Long(-1)));
  EXPECT_THAT(Values<int64_t>(found), ElementsAre(2, -1, 1));
  ASSERT_OK_AND_ASSIGN(const Tensor others, Find(table, Texts({"b", "zz"}), Longs({-1, -2})));
  EXPECT_THAT(Values<int64_t>(others), ElementsAre(2, -1));  // As in TensorFlow, the first one counts.
  EXPECT_THAT(Find(table, Texts({"b", "zz"}), Longs({-1})), StatusIs(kInvalid));
  EXPECT_THAT(Find(table, Ints({1}), Long(-1)), StatusIs(kInvalid));
  EXPECT_THAT(Change("LookupTableInsertV2", {table, Texts({"a"}), Longs({1})}),
              StatusIs(absl::StatusCode::kUnimplemented));
  EXPECT_THAT(Change("LookupTableRemoveV2", {table, Texts({"a"})}), StatusIs(absl::StatusCode::kUnimplemented));
  EXPECT_THAT(Find(Made("MutableHashTableV2", DType::kInt64, DType::kInt64), Longs({}), Long(1)), IsOk());
  EXPECT_THAT(
      Change("InitializeTableV2", {Made("MutableHashTableV2", DType::kInt64, DType::kInt64), Longs({1}), Longs({1})}),
      StatusIs(kInvalid));
}

TEST_F(TableOpsTest, TablesOfOneNameAreOneTable) {
  const Attrs shared = {{"shared_name", "shared"}};
  const Tensor first = Make("MutableHashTableV2", DType::kInt64, DType::kInt64, shared).value();
  const Tensor second = Make("MutableHashTableV2", DType::kInt64, DType::kInt64, shared).value();
  EXPECT_OK(Change("LookupTableInsertV2", {first, Longs({1, 2}), Longs({3, 4})}));
  EXPECT_EQ(Size(second), 2);
  EXPECT_THAT(Make("MutableHashTableV2", DType::kInt64, DType::kFloat, shared), StatusIs(kInvalid));
  const Attrs elsewhere = {{"shared_name", "shared"}, {"container", "other"}};
  EXPECT_EQ(Size(Make("MutableHashTableV2", DType::kInt64, DType::kInt64, elsewhere).value()), 0);
  // Without a name it is the node's own, also where one is shared under the node's name ('op' here).
  const Tensor own = Make("MutableHashTableV2", DType::kInt64, DType::kInt64).value();
  const Tensor named = Make("MutableHashTableV2", DType::kInt64, DType::kInt64, {{"shared_name", "op"}}).value();
  EXPECT_OK(Change("LookupTableInsertV2", {own, Longs({1}), Longs({3})}));
  EXPECT_EQ(Size(named), 0);
  const Tensor anonymous = Make("AnonymousMutableHashTable", DType::kInt64, DType::kInt64).value();
  EXPECT_OK(Change("LookupTableInsertV2", {anonymous, Longs({1}), Longs({3})}));
  EXPECT_EQ(Size(anonymous), 1);
  EXPECT_EQ(Size(Make("AnonymousMutableHashTable", DType::kInt64, DType::kInt64).value()), 0);
  resources_.ClearContainer("");
  EXPECT_THAT(Call("LookupTableSizeV2", {first}), StatusIs(absl::StatusCode::kNotFound));
  EXPECT_EQ(Size(anonymous), 1);
}

TEST_F(TableOpsTest, EveryPairOfDtypesWorks) {
  const std::vector<DType> numbers = {DType::kInt32, DType::kInt64, DType::kFloat, DType::kDouble};
  FuzzRandom random(3);
  int made = 0;
  for (const char* const op : {"MutableHashTableV2", "MutableHashTableOfTensorsV2", "HashTableV2"}) {
    for (const DType key : {DType::kString, DType::kInt32, DType::kInt64}) {
      for (const DType value :
           {DType::kString, DType::kInt32, DType::kInt64, DType::kFloat, DType::kDouble, DType::kBool}) {
        Attrs attrs = {{"shared_name", absl::StrCat(op, made)}};
        const bool of_tensors = std::string(op) == "MutableHashTableOfTensorsV2";
        if (of_tensors) attrs.emplace_back("value_shape", PartialShape::Of({3}));
        const absl::StatusOr<Tensor> table = Make(op, key, value, attrs);
        if (!table.ok()) continue;  // TensorFlow has no kernel either.
        ++made;
        const Tensor keys = key == DType::kString  ? Texts({"x", "a key that is longer than 22 bytes"})
                            : key == DType::kInt32 ? Ints({-7, 1 << 30})
                                                   : Longs({-7, int64_t{1} << 60});
        const Tensor values =
            HostileTensor(value, of_tensors ? Shape::Of({2, 3}) : Shape::Of({2}), ElementKind::kSigned, random);
        const Tensor missing = HostileTensor(value, of_tensors ? Shape::Of({3}) : Shape(), ElementKind::kSmall, random);
        const bool is_filled_once = std::string(op) == "HashTableV2";
        EXPECT_OK(Change(is_filled_once ? "InitializeTableV2" : "LookupTableInsertV2", {*table, keys, values}));
        ASSERT_OK_AND_ASSIGN(const Tensor found, Find(*table, keys, missing));
        EXPECT_EQ(found.ToString(100), values.ToString(100));
        const std::vector<Tensor> items = Export(*table, key, value);
        EXPECT_EQ(items[0].ToString(100), keys.ToString(100));
        EXPECT_EQ(items[1].ToString(100), values.ToString(100));
        if (is_filled_once) continue;
        EXPECT_OK(Change("LookupTableRemoveV2", {*table, keys}));
        EXPECT_EQ(Size(*table), 0);
        EXPECT_OK(Change("LookupTableImportV2", {*table, keys, values}));
        EXPECT_EQ(Size(*table), 2);
      }
    }
  }
  EXPECT_EQ(made, 13 + 13 + 15);
}

// Random changes, with keys that collide, against a map; the rows of values move when keys are removed. Dense tables
// only grow here: as in TensorFlow, a key can come twice after removals (ADenseTableReusesBucketsOfRemovedKeys).
TEST_F(TableOpsTest, BehavesAsAMap) {
  FuzzRandom random(11);
  const Tensor mutable_table =
      Made("MutableHashTableOfTensorsV2", DType::kInt64, DType::kInt64, {{"value_shape", PartialShape::Of({2})}});
  const Tensor dense = Made("MutableDenseHashTableV2", DType::kInt64, DType::kInt64,
                            {{"value_shape", PartialShape::Of({2})}, {"initial_num_buckets", 4}}, {Long(-1), Long(-2)});
  std::map<int64_t, int64_t> wanted, inserted;
  for (int step = 0; step < 400; ++step) {
    std::vector<int64_t> keys, values;
    for (int i = random.Int(6); i >= 0; --i) {
      keys.push_back(random.Int(40) * (random.OneIn(2) ? 64 : 1));
      for (int k = 0; k < 2; ++k) values.push_back(step * 10 + i);
    }
    const bool is_removal = random.OneIn(3);
    for (size_t i = 0; i < keys.size(); ++i) {
      if (is_removal) wanted.erase(keys[i]);
      if (!is_removal) wanted[keys[i]] = inserted[keys[i]] = values[2 * i];
    }
    const Tensor rows = Tensor::Of<int64_t>(Shape::Of({static_cast<int64_t>(keys.size()), 2}), values);
    for (const bool is_dense : {false, true}) {
      if (is_dense && is_removal) continue;
      const Tensor& table = is_dense ? dense : mutable_table;
      ASSERT_OK(is_removal ? Change("LookupTableRemoveV2", {table, Longs(keys)})
                           : Change("LookupTableInsertV2", {table, Longs(keys), rows}));
      ASSERT_EQ(Size(table), static_cast<int64_t>((is_dense ? inserted : wanted).size()));
    }
  }
  std::vector<int64_t> all(40 * 64);
  for (size_t i = 0; i < all.size(); ++i) all[i] = static_cast<int64_t>(i);
  for (const bool is_dense : {false, true}) {
    const std::map<int64_t, int64_t>& items = is_dense ? inserted : wanted;
    ASSERT_OK_AND_ASSIGN(const Tensor found, Find(is_dense ? dense : mutable_table, Longs(all), Longs({-5, -5})));
    for (size_t i = 0; i < all.size(); ++i) {
      const auto entry = items.find(all[i]);
      ASSERT_EQ(found.flat<int64_t>()[2 * i + 1], entry == items.end() ? -5 : entry->second) << i;
    }
  }
}

// The order and the contents of the buckets are TensorFlow's.
TEST_F(TableOpsTest, ADenseTableShowsItsBuckets) {
  const auto dense = [this](const Tensor& empty, const Tensor& deleted, DType key, int64_t buckets) {
    return Made("MutableDenseHashTableV2", key, DType::kInt64, {{"initial_num_buckets", buckets}}, {empty, deleted});
  };
  const Tensor table = dense(Long(0), Long(-1), DType::kInt64, 8);
  EXPECT_OK(Change("LookupTableInsertV2", {table, Longs({1, 2, 3}), Longs({10, 20, 30})}));
  EXPECT_OK(Change("LookupTableRemoveV2", {table, Longs({2, 77})}));
  std::vector<Tensor> items = Export(table, DType::kInt64, DType::kInt64);
  EXPECT_THAT(Dims(items[0]), ElementsAre(8, 1));
  EXPECT_THAT(Values<int64_t>(items[0]), ElementsAre(0, 1, -1, 3, 0, 0, 0, 0));
  EXPECT_THAT(Values<int64_t>(items[1]), ElementsAre(0, 10, 20, 30, 0, 0, 0, 0));
  EXPECT_OK(Change("LookupTableImportV2", {table, items[0], items[1]}));
  EXPECT_EQ(Size(table), 2);

  const Tensor pairs = dense(Longs({0, 0}), Longs({1, 1}), DType::kInt64, 8);
  EXPECT_OK(
      Change("LookupTableInsertV2", {pairs, Tensor::Of<int64_t>(Shape::Of({2, 2}), {1, 2, 3, 4}), Longs({10, 20})}));
  EXPECT_THAT(Values<int64_t>(Export(pairs, DType::kInt64, DType::kInt64)[1]), ElementsAre(0, 0, 0, 10, 0, 0, 0, 20));

  const Tensor texts = dense(Tensor::String(""), Tensor::String("x"), DType::kString, 4);
  EXPECT_OK(Change("LookupTableInsertV2",
                   {texts, Texts({"a", "b", "hello", "a longer key, above 8", "c"}), Longs({1, 2, 3, 4, 5})}));
  EXPECT_THAT(TextsOf(Export(texts, DType::kString, DType::kInt64)[0]),
              ElementsAre("", "", "b", "hello", "a", "a longer key, above 8", "c", ""));

  EXPECT_THAT(Find(table, Longs({0}), Long(1)), StatusIs(kInvalid));
  EXPECT_THAT(Find(table, Longs({-1}), Long(1)), StatusIs(kInvalid));
  EXPECT_THAT(Change("LookupTableInsertV2", {table, Longs({0}), Longs({1})}), StatusIs(kInvalid));
  EXPECT_THAT(Change("LookupTableInsertV2", {table, Longs({5}), Longs({1, 2})}), StatusIs(kInvalid));
  EXPECT_THAT(Find(pairs, Longs({1, 2, 3}), Long(1)), StatusIs(kInvalid));
  EXPECT_THAT(Change("LookupTableImportV2", {table, Longs({8, 9}), Longs({1})}), StatusIs(kInvalid));
}

// What TensorFlow 2.19.1 exports after the same calls.
TEST_F(TableOpsTest, ADenseTableReusesBucketsOfRemovedKeys) {
  const auto dense = [this](int64_t buckets) {
    return Made("MutableDenseHashTableV2", DType::kInt64, DType::kInt64, {{"initial_num_buckets", buckets}},
                {Long(-1), Long(-2)});
  };
  const auto insert = [&](const Tensor& table, std::vector<int64_t> keys, std::vector<int64_t> values) {
    EXPECT_OK(Change("LookupTableInsertV2", {table, Longs(std::move(keys)), Longs(std::move(values))}));
  };
  const Tensor two = dense(8);
  insert(two, {1}, {1});
  insert(two, {9}, {2});
  EXPECT_OK(Change("LookupTableRemoveV2", {two, Longs({1})}));
  insert(two, {9}, {3});  // It stands behind a removed key, and comes a second time.
  EXPECT_THAT(Values<int64_t>(Export(two, DType::kInt64, DType::kInt64)[0]), ElementsAre(-1, 9, 9, -1, -1, -1, -1, -1));
  EXPECT_THAT(Values<int64_t>(Export(two, DType::kInt64, DType::kInt64)[1]), ElementsAre(0, 3, 2, 0, 0, 0, 0, 0));
  EXPECT_EQ(Size(two), 2);
  ASSERT_OK_AND_ASSIGN(const Tensor found, Find(two, Longs({1, 9}), Long(-9)));
  EXPECT_THAT(Values<int64_t>(found), ElementsAre(-9, 3));

  // Removed keys come to fill the table, which does not grow: then a missing key is not found, nor removed.
  const Tensor full = dense(8);
  insert(full, {1, 2, 3, 4}, {10, 20, 30, 40});
  EXPECT_OK(Change("LookupTableRemoveV2", {full, Longs({2, 3})}));
  insert(full, {5}, {50});
  insert(full, {4}, {44});
  EXPECT_OK(Change("LookupTableRemoveV2", {full, Longs({4})}));
  for (int64_t key = 20; key < 40; ++key) {
    insert(full, {key}, {key});
    EXPECT_OK(Change("LookupTableRemoveV2", {full, Longs({key})}));
  }
  const std::vector<Tensor> items = Export(full, DType::kInt64, DType::kInt64);
  EXPECT_THAT(Values<int64_t>(items[0]), ElementsAre(-2, 1, -2, -2, -2, 5, -2, -2));
  EXPECT_THAT(Values<int64_t>(items[1]), ElementsAre(32, 10, 34, 35, 36, 50, 38, 39));
  EXPECT_THAT(Find(full, Longs({100}), Long(0)), StatusIs(absl::StatusCode::kInternal));
  EXPECT_THAT(Change("LookupTableRemoveV2", {full, Longs({100})}), StatusIs(absl::StatusCode::kInternal));
  insert(full, {1}, {11});
  EXPECT_EQ(Size(full), 2);
  // An export is imported unchanged.
  const Tensor other = dense(4);
  EXPECT_OK(Change("LookupTableImportV2", {other, items[0], items[1]}));
  EXPECT_THAT(Values<int64_t>(Export(other, DType::kInt64, DType::kInt64)[0]),
              ElementsAre(-2, 1, -2, -2, -2, 5, -2, -2));
  EXPECT_EQ(Size(other), 2);
}

TEST_F(TableOpsTest, DenseTablesThatCannotBeAreRefused) {
  const auto make = [this](Tensor empty, Tensor deleted, int64_t buckets, float load) {
    return Make(
        "MutableDenseHashTableV2", DType::kInt64, DType::kInt64,
        {{"initial_num_buckets", buckets}, {"max_load_factor", load}, {"shared_name", absl::StrCat("d", ++tables_)}},
        {std::move(empty), std::move(deleted)});
  };
  EXPECT_THAT(make(Long(0), Long(1), 4, 0.99f), IsOk());
  EXPECT_THAT(make(Long(0), Long(0), 4, 0.5f), StatusIs(kInvalid));
  EXPECT_THAT(make(Longs({}), Longs({}), 4, 0.5f), StatusIs(kInvalid));
  EXPECT_THAT(make(Long(0), Longs({1}), 4, 0.5f), StatusIs(kInvalid));
  for (const int64_t buckets : {int64_t{0}, int64_t{7}, int64_t{2}, int64_t{-4}, INT64_MIN}) {
    EXPECT_THAT(make(Long(0), Long(1), buckets, 0.5f), StatusIs(kInvalid)) << buckets;
  }
  for (const float load : {0.0f, 1.0f, -1.0f, std::numeric_limits<float>::quiet_NaN()}) {
    EXPECT_THAT(make(Long(0), Long(1), 4, load), StatusIs(kInvalid)) << load;
  }
  EXPECT_THAT(make(Long(0), Long(1), int64_t{1} << 28, 0.5f), StatusIs(absl::StatusCode::kResourceExhausted));
  EXPECT_THAT(make(Long(0), Long(1), int64_t{1} << 62, 0.5f), StatusIs(absl::StatusCode::kResourceExhausted));
}

TEST_F(TableOpsTest, AVocabularyIsTheLinesOfAFile) {
  struct Case {
    std::string text;
    DType key, value;
    int64_t key_index, value_index, vocab_size, offset;
    std::string delimiter;
    absl::StatusCode code;
    std::string keys, values;
  };
  const auto kText = DType::kString;
  const auto kLong = DType::kInt64;
  const auto kOk = absl::StatusCode::kOk;
  const auto kRange = absl::StatusCode::kOutOfRange;
  for (const Case& c :
       std::vector<Case>{{"a\nb\nc\n", kText, kLong, -2, -1, -1, 0, "\t", kOk, "{'a', 'b', 'c'}", "{0, 1, 2}"},
                         {"a\nb\nc", kText, kLong, -2, -1, 2, 10, "\t", kOk, "{'a', 'b'}", "{10, 11}"},
                         {"a\nb\n", kLong, kText, -1, -2, -1, 5, "\t", kOk, "{5, 6}", "{'a', 'b'}"},
                         {"a\r\nb\r\n", kText, kLong, -2, -1, -1, 0, "\t", kOk, "{'a', 'b'}", "{0, 1}"},
                         {"a\tx\t5\nb\ty\t6", kText, DType::kInt32, 1, 2, -1, 0, "\t", kOk, "{'x', 'y'}", "{5, 6}"},
                         {"1.5,a\n", kText, DType::kFloat, 1, 0, -1, 0, ",", kOk, "{'a'}", "{1.5}"},
                         {"a\nb\n", kText, kLong, -2, -1, 3, 0, "\t", kInvalid, "", ""},
                         {"a\nb\n", kText, kLong, -2, -1, 0, 0, "\t", kRange, "", ""},
                         {"", kText, kLong, -2, -1, 3, 0, "\t", kInvalid, "", ""},
                         {"a\nb\r\n\r", kText, kLong, -2, -1, -1, 0, "\t", kOk, "{'a', 'b'}", "{0, 1}"},
                         {"a\rb\r\r\n", kText, kLong, -2, -1, -1, -7, "\t", kOk, "{'a\\rb\\r'}", "{-7}"},
                         {"7\n", kLong, kLong, -2, -1, -1, INT64_MIN, "\t", kOk, "{7}", "{-9223372036854775808}"},
                         {"x\t5\n", kText, DType::kInt32, 0, 1, -1, -3, "\t", kOk, "{'x'}", "{2}"},
                         {"x\t5\n", kText, DType::kInt32, 0, 1, -1, INT64_MAX, "\t", kOk, "{'x'}", "{4}"},
                         {"x\t5\n", kText, kLong, 0, 1, -1, -3, "\t", kOk, "{'x'}", "{5}"},
                         {"x\t0x10\n", kText, DType::kFloat, 0, 1, -1, 0, "\t", kOk, "{'x'}", "{16}"},
                         {"x\t 1e99\n", kText, DType::kFloat, 0, 1, -1, 0, "\t", kOk, "{'x'}", "{inf}"},
                         {"1.5\n", kText, DType::kFloat, -2, -2, -1, 0, "\t", kInvalid, "", ""},
                         {"", kText, kLong, -2, -1, -1, 0, "\t", kRange, "", ""},
                         {"a\n\nb\n", kText, kLong, -2, -1, -1, 0, "\t", kInvalid, "", ""},
                         {"a\nb\na\n", kText, kLong, -2, -1, -1, 0, "\t", kPrecondition, "", ""},
                         {"a\tb\nc\n", kText, kText, 0, 1, -1, 0, "\t", kInvalid, "", ""},
                         {"a\tb\n", kText, kLong, 0, 1, -1, 0, "\t", kInvalid, "", ""},
                         {"a\n", kText, DType::kInt32, -2, -1, -1, 0, "\t", kInvalid, "", ""},
                         {"a\n", kText, DType::kBool, -2, 0, -1, 0, "\t", kInvalid, "", ""},
                         {"a\n", kText, kLong, -2, -1, -1, 0, "", kInvalid, "", ""},
                         {"a\n", kText, kLong, -2, -1, -1, 0, "ab", kInvalid, "", ""}}) {
    const Tensor table = Made("HashTableV2", c.key, c.value);
    const absl::Status status = Call("InitializeTableFromTextFileV2", {table, Tensor::String(FileOf(c.text))},
                                     {{"key_index", c.key_index},
                                      {"value_index", c.value_index},
                                      {"vocab_size", c.vocab_size},
                                      {"offset", c.offset},
                                      {"delimiter", c.delimiter}})
                                    .status();
    EXPECT_EQ(status.code(), c.code) << c.text << status;
    if (!status.ok()) continue;
    const std::vector<Tensor> items = Export(table, c.key, c.value);
    EXPECT_THAT(items[0].ToString(9), ::testing::EndsWith(c.keys));
    EXPECT_THAT(items[1].ToString(9), ::testing::EndsWith(c.values));
  }
}

TEST_F(TableOpsTest, AVocabularyIsReadOnce) {
  const auto kText = DType::kString;
  const auto kLong = DType::kInt64;
  const Attrs whole = {{"key_index", -2}, {"value_index", -1}};
  const Tensor table = Made("HashTableV2", kText, kLong);
  EXPECT_THAT(Call("InitializeTableFromTextFileV2", {table, Tensor::String("/no/such/file")}, whole),
              StatusIs(absl::StatusCode::kNotFound));
  EXPECT_THAT(Call("InitializeTableFromTextFileV2", {table, Texts({FileOf("a\n")})}, whole), StatusIs(kInvalid));
  EXPECT_THAT(Call("InitializeTableFromTextFileV2",
                   {Made("MutableHashTableV2", kText, kLong), Tensor::String(FileOf("a\n"))}, whole),
              StatusIs(kInvalid));
  // A file beside what the table has already is no error, and no change; only its first line is looked at.
  EXPECT_OK(Call("InitializeTableFromTextFileV2", {table, Tensor::String(FileOf("a\n"))}, whole).status());
  EXPECT_OK(Call("InitializeTableFromTextFileV2", {table, Tensor::String(FileOf("b\n\nc\n"))}, whole).status());
  EXPECT_THAT(Call("InitializeTableFromTextFileV2", {table, Tensor::String(FileOf("\nb\n"))}, whole),
              StatusIs(kInvalid));
  EXPECT_THAT(TextsOf(Export(table, kText, kLong)[0]), ElementsAre("a"));
}

TEST_F(TableOpsTest, MemoryIsThatOfTheRun) {
  TrackingAllocator small(HostAllocator(), 1 << 20);
  allocator_ = &small;
  const Tensor table = Make("AnonymousMutableHashTable", DType::kInt64, DType::kInt64).value();
  std::vector<int64_t> many(1 << 14);
  for (size_t i = 0; i < many.size(); ++i) many[i] = static_cast<int64_t>(i);
  EXPECT_OK(Change("LookupTableInsertV2", {table, Longs(many), Longs(many)}));
  many.resize(1 << 18);
  for (size_t i = 0; i < many.size(); ++i) many[i] = static_cast<int64_t>(i);
  bool is_refused = false;
  try {
    is_refused = absl::IsResourceExhausted(Change("LookupTableInsertV2", {table, Longs(many), Longs(many)}));
  } catch (const std::bad_alloc&) {  // What executors make of it: RESOURCE_EXHAUSTED.
    is_refused = true;
  }
  EXPECT_TRUE(is_refused);
  ASSERT_OK_AND_ASSIGN(const Tensor found, Find(table, Longs({5, 16383}), Long(-1)));
  EXPECT_THAT(Values<int64_t>(found), ElementsAre(5, 16383));
}

TEST_F(TableOpsTest, EachCallSeesAWholeTable) {
  const Tensor table = Made("MutableHashTableV2", DType::kString, DType::kInt64);
  const Tensor dense =
      Made("MutableDenseHashTableV2", DType::kInt64, DType::kInt64, {{"initial_num_buckets", 4}}, {Long(-1), Long(-2)});
  const auto work = [&](int64_t number) {
    for (int64_t i = 0; i < 200; ++i) {
      EXPECT_OK(Change("LookupTableInsertV2", {table, Texts({"a", "b"}), Longs({number, number})}));
      EXPECT_OK(Change("LookupTableInsertV2", {dense, Longs({i, i + 1000}), Longs({number, number})}));
      const Tensor found = Find(table, Texts({"a", "b"}), Long(-1)).value();
      EXPECT_EQ(found.flat<int64_t>()[0], found.flat<int64_t>()[1]);
      const Tensor both = Find(dense, Longs({i, i + 1000}), Long(-1)).value();
      EXPECT_EQ(both.flat<int64_t>()[0], both.flat<int64_t>()[1]);
    }
  };
  std::vector<std::thread> threads;
  for (int64_t number = 0; number < 4; ++number) threads.emplace_back(work, number);
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(Size(table), 2);
  EXPECT_EQ(Size(dense), 400);
}

}  // namespace
}  // namespace sluice

#include "kernels/checkpoint/table_checkpoint.h"

#include <cstdint>
#include <fstream>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "kernels/checkpoint/sorted_table.h"
#include "tests/kernels/checkpoint/bundle_values.h"
#include "tests/kernels/checkpoint/table_bytes.h"
#include "tests/testing/hostile_values.h"
#include "tests/testing/status_matchers.h"

namespace sluice {
namespace {

std::string TestPath(const std::string& name) {
  return ::testing::TempDir() + "/table_" + ::testing::UnitTest::GetInstance()->current_test_info()->name() + name;
}

TableSource Whole(const std::string& name, const Tensor& value) {
  return {name, value.shape(), WholeSlice(value.rank()), &value};
}

absl::StatusOr<Tensor> ReadWhole(const std::vector<std::string>& files, const std::string& name) {
  absl::StatusOr<TableCheckpoint> checkpoint = TableCheckpoint::Open(files);
  if (!checkpoint.ok()) return checkpoint.status();
  const absl::StatusOr<const TableTensor*> tensor = checkpoint->Find(name);
  if (!tensor.ok()) return tensor.status();
  const SliceBox box = BoxOf(WholeSlice((*tensor)->shape.rank()), (*tensor)->shape).value();
  Tensor value = Tensor::Make((*tensor)->dtype, box.shape).value();
  const absl::Status read = checkpoint->Read(name, **tensor, box, &value);
  if (!read.ok()) return read;
  return value;
}

TEST(TableCheckpointTest, WhatIsWrittenIsRead) {
  FuzzRandom random(3);
  std::vector<Tensor> values;
  for (const DType dtype : {DType::kFloat, DType::kDouble, DType::kHalf, DType::kInt8, DType::kUInt8, DType::kInt16,
                            DType::kUInt16, DType::kInt32, DType::kInt64, DType::kBool, DType::kComplex64,
                            DType::kComplex128, DType::kQInt8, DType::kQUInt8, DType::kQInt32, DType::kString}) {
    for (const ElementKind kind : kElementKinds) {
      for (const Shape& shape : {Shape(), Shape::Of({0, 3}), Shape::Of({5}), Shape::Of({200, 7})}) {
        values.push_back(HostileTensor(dtype, shape, kind, random));
      }
    }
  }
  std::vector<TableSource> sources;
  for (size_t i = 0; i < values.size(); ++i) sources.push_back(Whole("v" + std::to_string(i), values[i]));
  ASSERT_OK(WriteTableCheckpoint(TestPath(""), sources));
  for (size_t i = 0; i < values.size(); ++i) {
    ASSERT_OK_AND_ASSIGN(const Tensor read, ReadWhole({TestPath("")}, sources[i].name));
    EXPECT_TRUE(AreEqual(read, values[i])) << values[i].ToString() << " and " << read.ToString();
  }
  EXPECT_THAT(ReadWhole({TestPath("")}, "w"), IsError(ErrorCode::kCheckpointName, "'w'"));
}

TEST(TableCheckpointTest, PartsInSeveralFilesAreOneTensor) {
  const Tensor first = Tensor::Vector<int32_t>({1, 2}), second = Tensor::Vector<int32_t>({3, 4, 5});
  const Shape full = Shape::Of({5});
  ASSERT_OK(WriteTableCheckpoint(TestPath("0"), {{"w", full, {{0, 2}}, &first}}));
  ASSERT_OK(WriteTableCheckpoint(TestPath("1"), {{"w", full, {{2, 3}}, &second}, Whole("x", first)}));
  ASSERT_OK_AND_ASSIGN(const Tensor read, ReadWhole({TestPath("0"), TestPath("1")}, "w"));
  EXPECT_TRUE(AreEqual(read, Tensor::Vector<int32_t>({1, 2, 3, 4, 5})));
  EXPECT_THAT(ReadWhole({TestPath("0")}, "w"), IsError(ErrorCode::kCheckpointSlice));
  ASSERT_OK(WriteTableCheckpoint(TestPath("2"), {Whole("w", first)}));
  EXPECT_THAT(ReadWhole({TestPath("0"), TestPath("2")}, "w"), StatusIs(absl::StatusCode::kInternal));
}

TEST(TableCheckpointTest, WhatTheFormDoesNotHoldIsRefused) {
  for (const DType dtype : {DType::kBFloat16, DType::kUInt32, DType::kUInt64, DType::kQInt16, DType::kResource}) {
    const Tensor value = Tensor::Make(dtype, Shape::Of({2})).value();
    EXPECT_THAT(WriteTableCheckpoint(TestPath(""), {Whole("w", value)}), StatusIs(absl::StatusCode::kUnimplemented));
  }
  const Tensor a = Tensor::Vector<int32_t>({1}), b = Tensor::Vector<float>({1});
  EXPECT_THAT(WriteTableCheckpoint(TestPath(""), {Whole("w", a), Whole("w", b)}),
              StatusIs(absl::StatusCode::kInternal));
}

TEST(TableCheckpointTest, DamagedFilesGiveAnErrorOrTheRightAnswer) {
  const Tensor value = Tensor::Vector<int64_t>({-1, 0, int64_t{1} << 60});
  const Tensor text = Tensor::Strings({"a", "", "words"});
  ASSERT_OK(WriteTableCheckpoint(TestPath(""), {Whole("v", value), Whole("text", text)}));
  std::ifstream file(TestPath(""), std::ios::binary);
  const std::string whole(std::istreambuf_iterator<char>(file), {});
  int bad = 0;
  for (size_t at = 0; at < 2 * whole.size(); ++at) {
    std::string damaged = at < whole.size() ? whole.substr(0, at) : whole;
    if (at >= whole.size()) damaged[at - whole.size()] ^= static_cast<char>(1 << (at % 8));
    std::ofstream(TestPath("d"), std::ios::binary) << damaged;
    for (const auto& [name, want] : {std::make_pair("v", value), std::make_pair("text", text)}) {
      const absl::StatusOr<Tensor> read = ReadWhole({TestPath("d")}, name);
      bad += read.ok() ? 0 : 1;
      EXPECT_TRUE(!read.ok() || AreEqual(*read, want)) << at;
    }
  }
  EXPECT_GT(bad, 100);
}

TEST(TableCheckpointTest, EntriesAreFoundByKey) {
  std::vector<std::pair<std::string, std::string>> entries;
  for (int i = 100; i < 400; i += 2) entries.emplace_back("k" + std::to_string(i), std::to_string(i));
  for (const TableCompression compression : {TableCompression::kNone, TableCompression::kSnappy}) {
    const std::string file = TableBytes(entries, 7, compression);
    ASSERT_OK_AND_ASSIGN(const SortedTable table, SortedTable::Open(file));
    for (int i = 98; i < 403; ++i) {
      std::string found;
      const absl::Status status = table.Find("k" + std::to_string(i), [&found](absl::string_view value) {
        found = std::string(value);
        return absl::OkStatus();
      });
      const bool is_there = i >= 100 && i < 400 && i % 2 == 0;
      EXPECT_EQ(status.ok(), is_there) << i;
      EXPECT_EQ(found, is_there ? std::to_string(i) : "");
    }
  }
}

}  // namespace
}  // namespace sluice

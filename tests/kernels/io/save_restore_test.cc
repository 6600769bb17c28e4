// SaveV2, RestoreV2, MergeV2Checkpoints, Save, SaveSlices, Restore, RestoreSlice.

#include <cstdint>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "graph/value/tstring.h"
#include "gtest/gtest.h"
#include "kernels/memory/tracking_allocator.h"
#include "tests/kernels/checkpoint/bundle_values.h"
#include "tests/testing/kernel_runner.h"
#include "tests/testing/status_matchers.h"

namespace sluice {
namespace {

using Code = absl::StatusCode;
using Values = std::vector<Tensor>;
using Names = std::vector<absl::string_view>;

std::string TestPath(const std::string& name) {
  const std::string directory =
      ::testing::TempDir() + "/" + ::testing::UnitTest::GetInstance()->current_test_info()->name();
  std::filesystem::create_directories(directory);
  return directory + "/" + name;
}

// Each test begins with an empty directory.
class SaveRestoreTest : public ::testing::Test {
 protected:
  SaveRestoreTest() { std::filesystem::remove_all(TestPath("")); }
};

std::vector<DType> TypesOf(const Values& values) {
  std::vector<DType> types;
  for (const Tensor& value : values) types.push_back(value.dtype());
  return types;
}

// Either form: `op` is SaveV2, Save or SaveSlices.
absl::Status Save(const std::string& op, const std::string& path, const Names& names, const Names& slices,
                  const Values& values) {
  Values inputs = {Tensor::String(path), Tensor::Strings(names)};
  if (op != "Save") inputs.push_back(Tensor::Strings(slices));
  inputs.insert(inputs.end(), values.begin(), values.end());
  return KernelRunner(op).Attr(op == "SaveV2" ? "dtypes" : "T", TypesOf(values)).Run(std::move(inputs)).status();
}

absl::StatusOr<Values> RestoreV2(const std::string& prefix, const Names& names, const Names& slices,
                                 const std::vector<DType>& dtypes) {
  return KernelRunner("RestoreV2")
      .Attr("dtypes", dtypes)
      .Run({Tensor::String(prefix), Tensor::Strings(names), Tensor::Strings(slices)});
}

absl::StatusOr<Tensor> RestoreV1(const std::string& pattern, const std::string& name, const std::string& slice,
                                 DType dtype) {
  return KernelRunner("RestoreSlice")
      .Attr("dt", dtype)
      .Run1({Tensor::String(pattern), Tensor::String(name), Tensor::String(slice)});
}

const Tensor& Matrix() {
  static const Tensor& matrix =
      *new Tensor(Tensor::Of<float>(Shape::Of({3, 4}), {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}));
  return matrix;
}

TEST_F(SaveRestoreTest, PartsOfTensorsAreSavedAndRestored) {
  const Values halves = {Matrix(), Matrix(), Tensor::Strings({"a", "bc"})};
  for (const char* op : {"SaveV2", "SaveSlices"}) {
    const std::string path = TestPath(op);
    ASSERT_OK(Save(op, path, {"w", "w", "s"}, {"3 8 -:0,4", "3 8 -:4,4", ""}, halves));
    // Of both forms by the same op.
    ASSERT_OK_AND_ASSIGN(const Values read, RestoreV2(path, {"s", "w", "w"}, {"", "", "3 8 1,2:3,2"},
                                                      {DType::kString, DType::kFloat, DType::kFloat}));
    EXPECT_TRUE(AreEqual(read[0], halves[2]));
    EXPECT_EQ(read[1].shape(), Shape::Of({3, 8}));
    EXPECT_TRUE(AreEqual(read[2], Tensor::Of<float>(Shape::Of({2, 2}), {7, 4, 11, 8}))) << read[2].ToString();
    EXPECT_THAT(RestoreV2(path, {"w"}, {""}, {DType::kInt32}), StatusIs(Code::kInvalidArgument));
    EXPECT_THAT(RestoreV2(path, {"x"}, {""}, {DType::kInt32}), StatusIs(Code::kNotFound));
    EXPECT_THAT(RestoreV2(path, {"w"}, {"3 9 -:-"}, {DType::kFloat}), StatusIs(Code::kInvalidArgument));
    EXPECT_THAT(RestoreV2(path, {"w"}, {"3 8 -:8,1"}, {DType::kFloat}), StatusIs(Code::kInternal));
  }
  ASSERT_OK_AND_ASSIGN(const Tensor part, RestoreV1(TestPath("SaveSl*"), "w", "3 8 2,1:-", DType::kFloat));
  EXPECT_TRUE(AreEqual(part, Tensor::Of<float>(Shape::Of({1, 8}), {8, 9, 10, 11, 8, 9, 10, 11})));
  EXPECT_THAT(RestoreV1(TestPath("none*"), "w", "", DType::kFloat), StatusIs(Code::kNotFound));
  EXPECT_THAT(KernelRunner("Restore")
                  .Attr("dt", DType::kFloat)
                  .Attr("preferred_shard", -2)
                  .Run1({Tensor::String("a"), Tensor::String("w")}),
              StatusIs(Code::kInvalidArgument));
}

TEST_F(SaveRestoreTest, WrongInputsAreRefused) {
  const std::string path = TestPath("a");
  for (const char* op : {"SaveV2", "SaveSlices"}) {
    EXPECT_THAT(Save(op, path, {"w", "x"}, {"", ""}, {Matrix()}), StatusIs(Code::kInvalidArgument)) << op;
    EXPECT_THAT(Save(op, path, {"w"}, {"", ""}, {Matrix()}), StatusIs(Code::kInvalidArgument)) << op;
    EXPECT_THAT(Save(op, path, {"w"}, {"6 4 0,2:-"}, {Matrix()}), StatusIs(Code::kInvalidArgument)) << op;
    EXPECT_THAT(Save(op, path, {"w"}, {"6 4 4,3:-"}, {Matrix()}), StatusIs(Code::kInternal)) << op;
    EXPECT_THAT(Save(op, TestPath("no/no/a"), {"w"}, {""}, {Matrix()}), StatusIs(Code::kNotFound)) << op;
    EXPECT_THAT(Save(op, std::string("a\0b", 3), {"w"}, {""}, {Matrix()}), StatusIs(Code::kInvalidArgument)) << op;
  }
  EXPECT_THAT(Save("Save", path, {"w", "x"}, {}, {Matrix()}), StatusIs(Code::kInvalidArgument));
  EXPECT_THAT(Save("SaveV2", path, {"w", "w"}, {"", ""}, {Matrix(), Matrix()}), StatusIs(Code::kInvalidArgument));
  EXPECT_THAT(RestoreV2(path, {"w"}, {""}, {DType::kFloat, DType::kFloat}), StatusIs(Code::kInvalidArgument));
  const Tensor names = Tensor::Strings({"w"}), matrix = Tensor::Make(DType::kString, Shape::Of({1, 1})).value();
  EXPECT_THAT(KernelRunner("RestoreV2")
                  .Attr("dtypes", std::vector<DType>{DType::kFloat})
                  .Run({Tensor::Strings({path, path}), names, names}),
              StatusIs(Code::kInvalidArgument));
  EXPECT_THAT(KernelRunner("RestoreV2")
                  .Attr("dtypes", std::vector<DType>{DType::kFloat})
                  .Run({Tensor::String(path), matrix, matrix}),
              StatusIs(Code::kInvalidArgument));
  EXPECT_TRUE(std::filesystem::is_empty(TestPath(""))) << "nothing is left behind";
}

TEST_F(SaveRestoreTest, CheckpointsAreMergedAndTheirDirectoriesRemoved) {
  std::filesystem::create_directories(TestPath("part"));
  ASSERT_OK(Save("SaveV2", TestPath("part/0"), {"v"}, {""}, {Matrix()}));
  ASSERT_OK(Save("SaveV2", TestPath("part/1"), {"w"}, {""}, {Matrix()}));
  const auto merge = [](const std::vector<std::string>& prefixes, const std::string& to, bool allow_missing) {
    return KernelRunner("MergeV2Checkpoints")
        .Attr("allow_missing_files", allow_missing)
        .Run({Tensor::Strings(Names(prefixes.begin(), prefixes.end())), Tensor::String(to)})
        .status();
  };
  const std::vector<std::string> parts = {TestPath("part/0"), TestPath("part/1")};
  EXPECT_THAT(merge({parts[0], TestPath("none")}, TestPath("m"), false), StatusIs(Code::kInvalidArgument));
  ASSERT_OK(merge(parts, TestPath("m"), false));
  EXPECT_FALSE(std::filesystem::exists(TestPath("part")));
  EXPECT_TRUE(std::filesystem::exists(TestPath("m.data-00001-of-00002")));
  ASSERT_OK_AND_ASSIGN(const Values read,
                       RestoreV2(TestPath("m"), {"w", "v"}, {"", ""}, {DType::kFloat, DType::kFloat}));
  EXPECT_TRUE(AreEqual(read[0], Matrix()) && AreEqual(read[1], Matrix()));
  EXPECT_THAT(merge({}, TestPath("n"), true), StatusIs(Code::kInvalidArgument));
}

TEST_F(SaveRestoreTest, WhatIsReadTakesNoSecondCopy) {
  constexpr int64_t kElements = 4 << 20;
  const std::string path = TestPath("a");
  const Tensor large = Tensor::MakeZeros(DType::kFloat, Shape::Of({kElements})).value();
  const Tensor half = Tensor::MakeZeros(DType::kFloat, Shape::Of({kElements / 2})).value();
  ASSERT_OK(Save("SaveV2", path, {"v"}, {""}, {large}));
  ASSERT_OK(Save("SaveV2", path + "2", {"v", "v"}, {"4194304 0,2097152", "4194304 2097152,2097152"}, {half, half}));
  for (const std::string& prefix : {path, path + "2"}) {
    TrackingAllocator allocator(HostAllocator(), kElements * 4 + (64 << 10));
    KernelRunner runner("RestoreV2");
    runner.Attr("dtypes", std::vector<DType>{DType::kFloat}).run().allocator = &allocator;
    ASSERT_OK_AND_ASSIGN(const Values read,
                         runner.Run({Tensor::String(prefix), Tensor::Strings({"v"}), Tensor::Strings({""})}));
    EXPECT_TRUE(AreEqual(read[0], large));
  }
}

}  // namespace
}  // namespace sluice

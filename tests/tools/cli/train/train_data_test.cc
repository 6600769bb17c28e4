#include "tools/cli/train/train_data.h"

#include <cmath>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "graph/base/error.h"
#include "graph/base/file.h"
#include "graph/value/tstring.h"
#include "gtest/gtest.h"
#include "tests/testing/status_matchers.h"
#include "tools/cli/train/tensor_numbers.h"

namespace sluice {
namespace {

std::string MakeNpz(const std::vector<NamedTensor>& arrays) {
  const std::string path = ::testing::TempDir() + "/arrays.npz";
  absl::StatusOr<std::string> bytes = WriteNpz(arrays);
  EXPECT_OK(bytes);
  EXPECT_OK(WriteFile(path, *bytes));
  return path;
}

TrainInput Input(const std::string& name, DType dtype, PartialShape shape) { return {name, name, name, dtype, shape}; }

TEST(TrainDataTest, RowsAreGathered) {
  const std::string path = MakeNpz(
      {{"x", Tensor::Of<float>(Shape::Of({3, 2}), {1, 2, 3, 4, 5, 6})}, {"y", Tensor::Vector<int32_t>({7, 8, 9})}});
  const TrainInput inputs[] = {Input("x", DType::kFloat, PartialShape::Of({-1, 2})),
                               Input("y", DType::kInt32, PartialShape())};
  ASSERT_OK_AND_ASSIGN(const TrainData data, TrainData::Read(path, inputs, {false, 2, LoadLimits()}));
  EXPECT_EQ(data.num_rows(), 3);
  ASSERT_OK_AND_ASSIGN(const Tensor x, data.Gather(0, {2, 0, 2}));
  EXPECT_EQ(x.shape(), Shape::Of({3, 2}));
  const auto values = x.flat<float>();
  EXPECT_EQ(std::vector<float>(values.begin(), values.end()), (std::vector<float>{5, 6, 1, 2, 5, 6}));
  ASSERT_OK_AND_ASSIGN(const Tensor y, data.Gather(1, {1}));
  EXPECT_EQ(y.flat<int32_t>()[0], 8);
}

TEST(TrainDataTest, WhatDoesNotFitIsSaidAtOnce) {
  const std::string path = MakeNpz({{"x", Tensor::Of<float>(Shape::Of({3, 2}), {1, 2, 3, 4, 5, 6})},
                                    {"y", Tensor::Vector<int32_t>({7, 8})},
                                    {"one", Tensor::Scalar(1.0f)}});
  const auto refused = [&](const TrainInput& input, const char* text) {
    const TrainInput inputs[] = {Input("x", DType::kFloat, PartialShape()), input};
    const absl::Status status = TrainData::Read(path, inputs, {false, 2, LoadLimits()}).status();
    EXPECT_TRUE(absl::StrContains(FormatError(status), text)) << text << "\n" << FormatError(status);
  };
  refused(Input("z", DType::kFloat, PartialShape()), "no array for the input 'z'");
  refused(Input("y", DType::kInt32, PartialShape()), "2 rows");
  refused(Input("y", DType::kInt64, PartialShape()), "y.astype('int64')");
  refused(Input("x", DType::kFloat, PartialShape::Of({-1, 3})), "[3,2]");
  refused(Input("x", DType::kFloat, PartialShape::Of({4, 2})), "--batch 4");
  refused(Input("one", DType::kFloat, PartialShape()), "has no rows");
  const TrainInput two[] = {Input("z", DType::kFloat, PartialShape()), Input("v", DType::kFloat, PartialShape())};
  EXPECT_EQ(AllErrors(TrainData::Read(path, two, {false, 2, LoadLimits()}).status()).size(), 2);
}

TEST(TrainDataTest, NumbersAreConvertedWhereThatIsAskedFor) {
  const std::string path = MakeNpz({{"x", Tensor::Vector<double>({0.5, 2})}, {"y", Tensor::Vector<int64_t>({1, 300})}});
  const auto read = [&](const TrainInput& input) {
    const TrainInput inputs[] = {input};
    return TrainData::Read(path, inputs, {true, 2, LoadLimits()});
  };
  ASSERT_OK_AND_ASSIGN(const TrainData x, read(Input("x", DType::kFloat, PartialShape())));
  EXPECT_EQ(x.Gather(0, {1})->flat<float>()[0], 2);
  EXPECT_OK(read(Input("y", DType::kInt32, PartialShape())));
  EXPECT_FALSE(read(Input("x", DType::kInt32, PartialShape())).ok()) << "0.5 is no integer";
  EXPECT_FALSE(read(Input("y", DType::kUInt8, PartialShape())).ok()) << "300 is too large";
}

TEST(TensorNumbersTest, MeansOfEveryKind) {
  EXPECT_EQ(MeanOf(Tensor::Vector<float>({1, 2, 6})), 3);
  EXPECT_EQ(MeanOf(Tensor::Vector<int64_t>({1, 2})), 1.5);
  EXPECT_EQ(MeanOf(Tensor::Vector<Half>({Half(0.5f)})), 0.5);
  const bool truths[] = {true, false, false, true};
  EXPECT_EQ(MeanOf(Tensor::Vector<bool>(truths)), 0.5);
  EXPECT_TRUE(std::isnan(MeanOf(Tensor::Vector<float>({1, std::nanf("")}))));
  EXPECT_TRUE(std::isnan(MeanOf(Tensor::Of<float>(Shape::Of({0}), {}))));
}

TEST(TensorNumbersTest, IntegersStayWhatTheyAre) {
  const Tensor large = Tensor::Vector<int64_t>({(int64_t{1} << 53) + 2});
  EXPECT_FALSE(ConvertNumbers(large, DType::kUInt64).ok()) << "a double might have been another number";
  ASSERT_OK_AND_ASSIGN(const Tensor small, ConvertNumbers(Tensor::Vector<int64_t>({-128, 127}), DType::kInt8));
  EXPECT_EQ(small.flat<int8_t>()[0], -128);
  EXPECT_FALSE(ConvertNumbers(Tensor::Vector<int64_t>({128}), DType::kInt8).ok());
  EXPECT_FALSE(ConvertNumbers(Tensor::String("1"), DType::kFloat).ok());
}

}  // namespace
}  // namespace sluice

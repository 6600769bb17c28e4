#include <string>
#include <vector>

#include "executor/threads/thread_pool.h"
#include "gtest/gtest.h"
#include "tests/kernels/nn/conv_reference.h"
#include "tests/testing/kernel_runner.h"
#include "tests/testing/status_matchers.h"

namespace sluice {
namespace {

const std::vector<ConvCase>& Cases() {
  static const std::vector<ConvCase>& cases = *new std::vector<ConvCase>{
      {"one", {1, 1, 1, 1, 1}, {1, 1, 1, 1, 1}, {1, 1, 1}},
      {"pointwise", {2, 3, 2, 4, 5}, {1, 1, 1, 5, 6}, {1, 1, 1}},
      {"same", {2, 4, 5, 6, 2}, {3, 2, 3, 2, 18}, {1, 1, 1}},
      {"valid", {1, 4, 5, 6, 3}, {2, 4, 3, 3, 4}, {1, 1, 1}, "VALID"},
      {"strides", {1, 5, 6, 7, 2}, {3, 2, 2, 2, 5}, {2, 1, 3}},
      {"strides, valid", {3, 5, 6, 7, 2}, {3, 2, 2, 2, 5}, {1, 3, 2}, "VALID"},
      {"stride beyond the window", {1, 4, 6, 6, 1}, {2, 1, 1, 1, 2}, {4, 3, 3}},
      {"stride far beyond the window", {2, 11, 3, 7, 2}, {1, 3, 2, 2, 4}, {5, 1, 8}},
  };
  return cases;
}

TEST(Conv3DTest, IsTheSumOfProducts) {
  for (ConvCase conv : Cases()) {
    conv.centres = true;
    for (const DType dtype : {DType::kFloat, DType::kDouble, DType::kHalf, DType::kBFloat16}) {
      ASSERT_OK_AND_ASSIGN(const Tensor y,
                           conv.Runner("Conv3D").Run1({Counted(dtype, conv.image, 7), Counted(dtype, conv.filter, 5)}));
      EXPECT_EQ(y.shape(), *Shape::Make(conv.result())) << conv.name;
      EXPECT_EQ(AsDoubles(y), AsDoubles(Rounded(dtype, conv.result(), ReferenceResult(conv)))) << conv.name;
    }
  }
}

// Of 6 elements, windows of one in steps of 3: TensorFlow's kernel takes the second and the fifth.
TEST(Conv3DTest, WindowsOfSameBeginInsideWhereStridesLeaveElementsOut) {
  const ConvCase conv = {"", {1, 1, 1, 6, 1}, {1, 1, 1, 1, 1}, {1, 1, 3}};
  ASSERT_OK_AND_ASSIGN(const Tensor y, conv.Runner("Conv3D").Run1({Counted(DType::kFloat, conv.image, 99),
                                                                   Rounded(DType::kFloat, conv.filter, {1})}));
  EXPECT_EQ(AsDoubles(y), std::vector<double>({-48, -45}));
}

TEST(Conv3DTest, ThreadsChangeNoBit) {
  const ConvCase conv = {"", {2, 9, 17, 20, 6}, {3, 3, 3, 6, 20}, {1, 1, 2}};
  const std::vector<Tensor> inputs = {Fractions(conv.image), Fractions(conv.filter)};
  ASSERT_OK_AND_ASSIGN(const Tensor alone, conv.Runner("Conv3D").Run1(inputs));
  for (const int num_threads : {2, 8}) {
    ThreadPoolOptions options;
    options.num_threads = num_threads;
    ThreadPool pool(options);
    KernelRunner runner = conv.Runner("Conv3D");
    runner.run().task_runner = &pool;
    ASSERT_OK_AND_ASSIGN(const Tensor y, runner.Run1(inputs));
    EXPECT_EQ(AsDoubles(y), AsDoubles(alone));
  }
}

TEST(Conv3DTest, RefusesWhatTensorFlowRefuses) {
  const auto status = [](const Ints& image, const Ints& filter, const std::string& attr = "",
                         const AttrValue& value = 0) {
    KernelRunner runner("Conv3D");
    if (attr != "strides") runner.Attr("strides", Ints{1, 1, 1, 1, 1});
    if (!attr.empty()) runner.Attr(attr, value);
    runner.Attr("padding", std::string("VALID"));
    return runner.Run1({Counted(DType::kFloat, image, 7), Counted(DType::kFloat, filter, 5)}).status().code();
  };
  const auto kInvalid = absl::StatusCode::kInvalidArgument;
  const Ints image = {1, 3, 4, 5, 2}, filter = {2, 2, 2, 2, 3};
  EXPECT_EQ(status(image, filter), absl::StatusCode::kOk);
  EXPECT_EQ(status(image, {4, 2, 2, 2, 3}), absl::StatusCode::kOk) << "somewhat too large: no pixels";
  EXPECT_EQ(status({0, 3, 4, 5, 2}, filter), absl::StatusCode::kOk);
  EXPECT_EQ(status(image, {5, 2, 2, 2, 3}), kInvalid);
  EXPECT_EQ(status({3, 4, 5, 2}, filter), kInvalid);
  EXPECT_EQ(status(image, {2, 2, 2, 3}), kInvalid);
  EXPECT_EQ(status({1, 3, 4, 5, 4}, filter), kInvalid) << "groups";
  EXPECT_EQ(status({1, 3, 4, 5, 4}, {4, 2, 2, 2, 3}), absl::StatusCode::kOk) << "groups, and no pixels";
  EXPECT_EQ(status(image, {2, 2, 2, 2, 0}), absl::StatusCode::kOk) << "no channels made";
  EXPECT_EQ(status(image, {0, 2, 2, 2, 3}), kInvalid);
  EXPECT_EQ(status(image, filter, "dilations", Ints{1, 1, 2, 1, 1}), kInvalid);
  EXPECT_EQ(status(image, filter, "strides", Ints{2, 1, 1, 1, 1}), kInvalid);
  EXPECT_EQ(status(image, filter, "strides", Ints{1, 1, 0, 1, 1}), kInvalid);
  EXPECT_EQ(status(image, filter, "data_format", std::string("NCDHW")), kInvalid);
}

}  // namespace
}  // namespace sluice

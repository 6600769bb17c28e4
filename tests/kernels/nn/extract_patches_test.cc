#include <complex>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "executor/threads/thread_pool.h"
#include "gtest/gtest.h"
#include "tests/kernels/nn/conv_reference.h"
#include "tests/testing/kernel_runner.h"
#include "tests/testing/status_matchers.h"

namespace sluice {
namespace {

struct Form {
  Ints window, strides, rates;  // No rates: volumes.
  std::string padding;
};

KernelRunner Runner(const Form& form) {
  KernelRunner runner(form.rates.empty() ? "ExtractVolumePatches" : "ExtractImagePatches");
  runner.Attr("ksizes", form.window).Attr("strides", form.strides).Attr("padding", form.padding);
  if (!form.rates.empty()) runner.Attr("rates", form.rates);
  return runner;
}

// What TensorFlow 2.19.1 answers for Counted(image, 7).
const struct {
  Ints image;
  Form form;
  Ints shape;
  std::vector<double> values;
} kGoldens[] = {
    {{1, 3, 4, 2},
     {{1, 2, 2, 1}, {1, 2, 2, 1}, {1, 1, 1, 1}, "SAME"},
     {1, 2, 2, 8},
     {-3, -2, -1, 0, -2, -1, 0, 1, 1, 2, 3, -3, 2, 3, -3, -2, -1, 0, 1, 2, 0, 0, 0, 0, 3, -3, -2, -1, 0, 0, 0, 0}},
    {{1, 3, 4, 2},
     {{1, 2, 2, 1}, {1, 1, 1, 1}, {1, 1, 2, 1}, "VALID"},
     {1, 2, 2, 8},
     {-3, -2, 1, 2, -2, -1, 2, 3, -1, 0, 3, -3, 0, 1, -3, -2, -2, -1, 2, 3, -1, 0, 3, -3, 0, 1, -3, -2, 1, 2, -2, -1}},
    {{1, 2, 3, 2, 1},
     {{1, 2, 1, 2, 1}, {1, 1, 2, 1, 1}, {}, "SAME"},
     {1, 2, 2, 2, 4},
     {-3, -2, 3, -3, -2, 0, -3, 0, 1, 2, 0, 1, 2, 0, 1, 0, 3, -3, 0, 0, -3, 0, 0, 0, 0, 1, 0, 0, 1, 0, 0, 0}},
    {{1, 2, 3, 2, 1},
     {{1, 2, 2, 1, 1}, {1, 1, 1, 1, 1}, {}, "VALID"},
     {1, 1, 2, 2, 4},
     {-3, -1, 3, -2, -2, 0, -3, -1, -1, 1, -2, 0, 0, 2, -1, 1}},
    // Windows that begin inside of the volume.
    {{1, 1, 1, 6, 1}, {{1, 1, 1, 1, 1}, {1, 1, 1, 3, 1}, {}, "SAME"}, {1, 1, 1, 2, 1}, {-2, 1}},
};

TEST(ExtractPatchesTest, GivesWhatTensorFlowGives) {
  for (const auto& golden : kGoldens) {
    for (const DType dtype : {DType::kFloat, DType::kDouble, DType::kHalf, DType::kBFloat16, DType::kInt8,
                              DType::kInt16, DType::kInt32, DType::kInt64}) {
      ASSERT_OK_AND_ASSIGN(const Tensor made, Runner(golden.form).Run1({Counted(dtype, golden.image, 7)}));
      EXPECT_EQ(made.shape(), *Shape::Make(golden.shape));
      EXPECT_EQ(AsDoubles(made), golden.values) << DTypeName(dtype);
    }
  }
}

TEST(ExtractPatchesTest, OfComplexNumbers) {
  using Complex = std::complex<double>;
  const Tensor image = Tensor::Of<Complex>(Shape::Of({1, 1, 2, 1}), {Complex(1, 2), Complex(3, 4)});
  ASSERT_OK_AND_ASSIGN(const Tensor made, Runner({{1, 1, 2, 1}, {1, 1, 1, 1}, {1, 1, 1, 1}, "SAME"}).Run1({image}));
  EXPECT_EQ(std::vector<Complex>(made.flat<Complex>().begin(), made.flat<Complex>().end()),
            (std::vector<Complex>{{1, 2}, {3, 4}, {3, 4}, {0, 0}}));
}

TEST(ExtractPatchesTest, ThreadsChangeNoBit) {
  const Form form = {{1, 3, 2, 1}, {1, 1, 2, 1}, {1, 2, 1, 1}, "SAME"};
  const Tensor image = Fractions({2, 60, 50, 16});
  ASSERT_OK_AND_ASSIGN(const Tensor alone, Runner(form).Run1({image}));
  ThreadPoolOptions options;
  options.num_threads = 4;
  ThreadPool pool(options);
  KernelRunner runner = Runner(form);
  runner.run().task_runner = &pool;
  ASSERT_OK_AND_ASSIGN(const Tensor made, runner.Run1({image}));
  EXPECT_EQ(AsDoubles(made), AsDoubles(alone));
}

TEST(ExtractPatchesTest, RefusesWhatTensorFlowRefuses) {
  const auto code = [](const Form& form, const Ints& image) {
    return Runner(form).Run1({Counted(DType::kFloat, image, 7)}).status().code();
  };
  const auto kInvalid = absl::StatusCode::kInvalidArgument;
  const Ints ones = {1, 1, 1, 1}, image = {1, 4, 5, 2};
  EXPECT_EQ(code({{1, 2, 3, 1}, ones, ones, "SAME"}, image), absl::StatusCode::kOk);
  EXPECT_EQ(code({{1, 2, 3, 1}, ones, ones, "SAME"}, {0, 4, 5, 2}), absl::StatusCode::kOk);
  EXPECT_EQ(code({{1, 2, 3, 1}, ones, ones, "SAME"}, {1, 4, 5, 0}), absl::StatusCode::kOk);
  EXPECT_EQ(code({{1, 2, 3, 1}, ones, ones, "SAME"}, {1, 0, 5, 2}), absl::StatusCode::kOk);
  EXPECT_EQ(code({{1, 5, 3, 1}, ones, ones, "VALID"}, image), absl::StatusCode::kOk) << "somewhat too large: none";
  EXPECT_EQ(code({{1, 6, 3, 1}, ones, ones, "VALID"}, image), kInvalid);
  EXPECT_EQ(code({{1, 2, 3, 1}, ones, ones, "SAME"}, {4, 5, 2}), kInvalid);
  EXPECT_EQ(code({{1, 2, 3}, ones, ones, "SAME"}, image), kInvalid);
  EXPECT_EQ(code({{2, 2, 3, 1}, ones, ones, "SAME"}, image), absl::StatusCode::kUnimplemented);
  EXPECT_EQ(code({{1, 2, 3, 1}, {1, 1, 1, 2}, ones, "SAME"}, image), absl::StatusCode::kUnimplemented);
  const int64_t huge = std::numeric_limits<int32_t>::max();
  EXPECT_EQ(code({{1, huge, huge, 1}, ones, ones, "SAME"}, image), kInvalid);
  EXPECT_EQ(code({{1, 2, 3, 1}, ones, {1, huge, 1, 1}, "SAME"}, image), absl::StatusCode::kOk);
  EXPECT_EQ(code({{1, 2, 3, 1}, ones, {1, huge + 1, 1, 1}, "SAME"}, image), kInvalid);
  EXPECT_EQ(code({{1, 2, 3, 1}, {1, 1, huge + 1, 1}, ones, "SAME"}, image), kInvalid);
}

}  // namespace
}  // namespace sluice

#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "executor/threads/thread_pool.h"
#include "gtest/gtest.h"
#include "tests/kernels/image/images.h"
#include "tests/testing/kernel_runner.h"
#include "tests/testing/status_matchers.h"

namespace sluice {
namespace {

constexpr DType kPixelDTypes[] = {DType::kFloat, DType::kDouble, DType::kHalf, DType::kBFloat16,
                                  DType::kUInt8, DType::kInt32,  DType::kInt64};

Tensor Size(int32_t height, int32_t width) { return Tensor::Vector<int32_t>({height, width}); }

KernelRunner Runner(const std::string& interpolation, const std::string& fill_mode) {
  KernelRunner runner("ImageProjectiveTransformV3");
  runner.Attr("interpolation", interpolation).Attr("fill_mode", fill_mode);
  return runner;
}

struct TransformCase {
  const char* interpolation;
  const char* fill_mode;
  std::vector<double> values;
};

// What TensorFlow 2.19 answers for Pattern({1, 3, 4, 1}), the transform below, a result of [3, 5] and the fill value 9.
const TransformCase kCases[] = {
    {"NEAREST", "REFLECT", {2, 0, 7, 3, 10, 1, 6, 2, 3, 10, 1, 1, 8, 9, 5}},
    {"NEAREST", "WRAP", {5, 10, 8, 4, 0, 0, 5, 2, 3, 1, 10, 0, 8, 9, 6}},
    {"NEAREST", "CONSTANT", {9, 0, 7, 9, 9, 9, 6, 2, 3, 10, 9, 1, 8, 9, 5}},
    {"NEAREST", "NEAREST", {6, 0, 7, 3, 10, 1, 6, 2, 3, 10, 1, 1, 8, 9, 5}},
    {"BILINEAR",
     "REFLECT",
     {3.875, 1.485149, 4.803922, 4.009708, 7.979475, 3.551541, 5.191919, 3.7575, 4.050486, 10, 1.291667, 1.72165,
      5.624948, 7.40404, 7.25}},
    {"BILINEAR",
     "WRAP",
     {6.875, 8.762377, 5.803922, 5.009708, 1.855769, 2.683674, 4.191919, 3.7575, 4.050486, 1, 9.708332, 0.7216496,
      5.624948, 7.40404, 3.3}},
    {"BILINEAR",
     "CONSTANT",
     {9, 4.461327, 5.832373, 7.643415, 9, 9, 5.768901, 3.7575, 4.050486, 9.598904, 9, 2.547028, 5.624948, 7.40404,
      7.950001}},
    {"BILINEAR",
     "NEAREST",
     {4.5, 1.485149, 4.803922, 4.009708, 8.519232, 2.581633, 5.191919, 3.7575, 4.050486, 10, 1, 1.72165, 5.624948,
      7.40404, 7.25}},
};

TEST(ProjectiveTransformTest, GivesWhatTensorFlowGives) {
  const Tensor transform = FloatsOf({1, 8}, {1.1, 0.25, -1.5, -0.5, 0.9, 0.75, 0.01, -0.02});
  for (const TransformCase& one : kCases) {
    for (const DType dtype : kPixelDTypes) {
      const bool is_integer = dtype == DType::kUInt8 || dtype == DType::kInt32 || dtype == DType::kInt64;
      ASSERT_OK_AND_ASSIGN(const Tensor y,
                           Runner(one.interpolation, one.fill_mode)
                               .Run1({Pattern(dtype, {1, 3, 4, 1}), transform, Size(3, 5), Tensor::Scalar<float>(9)}));
      std::vector<double> want = one.values;
      for (double& value : want) value = is_integer ? std::floor(value + 1e-4) : value;
      EXPECT_EQ(Difference(y, want, dtype == DType::kBFloat16 || dtype == DType::kHalf ? 1e-2 : 1e-4), "")
          << one.interpolation << " " << one.fill_mode << " " << DTypeName(dtype);
    }
  }
}

// As TensorFlow 2.19 looks up what lies several images away.
TEST(ProjectiveTransformTest, FarPlacesAreMirroredOrRepeated) {
  const struct {
    const char* fill_mode;
    double move;
    std::vector<double> values;
  } cases[] = {
      {"REFLECT", -23, {2, 3, 4, 4}}, {"REFLECT", -21, {4, 4, 3, 2}}, {"REFLECT", -10, {2, 1, 1, 2}},
      {"REFLECT", 10, {3, 4, 4, 3}},  {"REFLECT", 21, {3, 2, 1, 1}},  {"WRAP", -23, {4, 4, 4, 4}},
      {"WRAP", -10, {4, 4, 4, 4}},    {"WRAP", 10, {1, 1, 1, 1}},     {"WRAP", 21, {1, 1, 1, 1}},
  };
  for (const auto& one : cases) {
    ASSERT_OK_AND_ASSIGN(const Tensor y, Runner("NEAREST", one.fill_mode)
                                             .Run1({FloatsOf({1, 1, 4, 1}, {1, 2, 3, 4}),
                                                    FloatsOf({1, 8}, {1, 0, one.move, 0, 1, 0, 0, 0}), Size(1, 4),
                                                    Tensor::Scalar<float>(0)}));
    EXPECT_EQ(Difference(y, one.values), "") << one.fill_mode << " " << one.move;
  }
}

// Each image by its own transform, in shards; one that moves nothing gives the image back.
TEST(ProjectiveTransformTest, ImagesHaveTransformsOfTheirOwn) {
  ThreadPoolOptions options;
  options.num_threads = 3;
  ThreadPool pool(options);
  const Tensor images = Pattern(DType::kFloat, {2, 40, 30, 3}, 101);
  const Tensor transforms = FloatsOf({2, 8}, {1, 0, 0, 0, 1, 0, 0, 0, -1, 0, 29, 0, 1, 0, 0, 0});
  KernelRunner runner = Runner("NEAREST", "CONSTANT");
  runner.run().task_runner = &pool;
  ASSERT_OK_AND_ASSIGN(const Tensor y, runner.Run1({images, transforms, Size(40, 30), Tensor::Scalar<float>(0)}));
  EXPECT_EQ(y.SliceRows(0, 1).bytes(), images.SliceRows(0, 1).bytes());
  for (size_t row = 0; row < 40; ++row) {
    for (size_t x = 0; x < 30; ++x) {
      const size_t at = (40 + row) * 30;
      for (size_t c = 0; c < 3; ++c) {
        ASSERT_EQ(y.flat<float>()[(at + x) * 3 + c], images.flat<float>()[(at + 29 - x) * 3 + c]);
      }
    }
  }
}

TEST(ProjectiveTransformTest, PlacesThatAreNowhereAreFilledOrClamped) {
  const double nan = std::numeric_limits<double>::quiet_NaN(), inf = std::numeric_limits<double>::infinity();
  for (const double move : {nan, inf, -inf, 1e30, -1e30}) {
    for (const char* interpolation : {"NEAREST", "BILINEAR"}) {
      for (const char* mode : {"REFLECT", "WRAP", "CONSTANT", "NEAREST"}) {
        for (const DType dtype : {DType::kUInt8, DType::kFloat}) {
          const Tensor transform = FloatsOf({1, 8}, {1, 0, move, 0, 1, move, 0, 0});
          EXPECT_OK(Runner(interpolation, mode)
                        .Run1({Pattern(dtype, {1, 3, 4, 1}), transform, Size(2, 2), Tensor::Scalar<float>(300)})
                        .status());
        }
      }
    }
  }
}

TEST(ProjectiveTransformTest, RefusesBadInputs) {
  const Tensor image = Pattern(DType::kFloat, {2, 3, 4, 1}), transform = Pattern(DType::kFloat, {1, 8});
  const auto run = [](Tensor images, Tensor transforms, Tensor size, Tensor fill) {
    return Runner("NEAREST", "WRAP")
        .Run1({std::move(images), std::move(transforms), std::move(size), std::move(fill)})
        .status();
  };
  const Tensor zero = Tensor::Scalar<float>(0);
  EXPECT_OK(run(FloatsOf({0, 3, 4, 1}, {}), transform, Size(2, 2), zero));
  EXPECT_OK(run(FloatsOf({2, 0, 4, 1}, {}), transform, Size(2, 2), zero));
  EXPECT_THAT(run(FloatsOf({3, 4, 1}, std::vector<double>(12)), transform, Size(2, 2), zero),
              IsError(ErrorCode::kOpShape));
  EXPECT_THAT(run(image, Pattern(DType::kFloat, {3, 8}), Size(2, 2), zero), IsError(ErrorCode::kOpShape));
  EXPECT_THAT(run(image, Pattern(DType::kFloat, {1, 7}), Size(2, 2), zero), IsError(ErrorCode::kOpShape));
  EXPECT_THAT(run(image, transform, Size(0, 2), zero), IsError(ErrorCode::kOpValue));
  EXPECT_THAT(run(image, transform, Tensor::Vector<int32_t>({2}), zero), IsError(ErrorCode::kOpShape));
  EXPECT_THAT(run(image, transform, Size(2, 2), Tensor::Vector<float>({0})), IsError(ErrorCode::kOpShape));
  for (const auto& [interpolation, mode] : {std::pair("CUBIC", "WRAP"), std::pair("NEAREST", "NONE")}) {
    EXPECT_THAT(Runner(interpolation, mode).Run1({image, transform, Size(2, 2), zero}).status(),
                IsError(ErrorCode::kOpAttr));
  }
}

}  // namespace
}  // namespace sluice

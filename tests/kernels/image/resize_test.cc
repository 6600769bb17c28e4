#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "executor/threads/thread_pool.h"
#include "gtest/gtest.h"
#include "kernels/dtype_set.h"
#include "kernels/memory/tracking_allocator.h"
#include "tests/kernels/image/images.h"
#include "tests/testing/kernel_runner.h"
#include "tests/testing/status_matchers.h"

namespace sluice {
namespace {

constexpr DType kPixelDTypes[] = {DType::kFloat, DType::kDouble, DType::kHalf,   DType::kBFloat16, DType::kInt8,
                                  DType::kUInt8, DType::kInt16,  DType::kUInt16, DType::kInt32,    DType::kInt64};

// How pixels of the result lie in the image.
enum class Centers { kPlain, kCorners, kHalf };

KernelRunner Runner(const std::string& op, Centers centers) {
  KernelRunner runner(op);
  runner.Attr("align_corners", centers == Centers::kCorners);
  if (op != "ResizeArea") runner.Attr("half_pixel_centers", centers == Centers::kHalf);
  return runner;
}

Tensor Size(int32_t height, int32_t width) { return Tensor::Vector<int32_t>({height, width}); }

struct GoldenCase {
  const char* op;
  Centers centers;
  std::vector<double> values;
};

// What TensorFlow 2.19 answers for Pattern({1, 3, 4, 1}) and the size [2, 5].
const GoldenCase kGoldens[] = {
    {"ResizeBilinear", Centers::kPlain, {0, 5.6, 4.6, 5.8, 10, 3.5, 4.7, 5.9, 4.9, 2.5}},
    {"ResizeBilinear", Centers::kCorners, {0, 5.25, 5, 4.75, 10, 1, 6.25, 6, 3, 0}},
    {"ResizeBilinear", Centers::kHalf, {1.5, 4.475, 5.125, 5.775, 8.75, 2.25, 5.225, 5.875, 4.05, 1.25}},
    {"ResizeBicubic",
     Centers::kPlain,
     {0, 6.15083408, 4.3026371, 5.28717613, 10.672328, 4.0625, 4.20554066, 6.6562686, 5.38147879, 1.54801428}},
    {"ResizeBicubic", Centers::kCorners, {0, 5.8359375, 5, 4.1640625, 10, 1, 6.8359375, 7.03125, 2.671875, 0}},
    {"ResizeBicubic",
     Centers::kHalf,
     {1.04672098, 4.72880173, 5.06888676, 5.50662804, 9.37242699, 1.87883794, 5.56091833, 6.47308397, 3.77195525,
      0.65653348}},
    {"ResizeArea",
     Centers::kPlain,
     {2, 4.5, 5.16666698, 5.83333302, 8.33333206, 2.66666675, 5.16666651, 5.83333349, 4.66666603, 1.66666651}},
    {"ResizeArea", Centers::kCorners, {3, 4, 5, 6, 7.5, 1, 5.66666698, 6.66666698, 4, 0}},
    {"ResizeNearestNeighbor", Centers::kPlain, {0, 0, 7, 3, 10, 6, 6, 2, 9, 5}},
    {"ResizeNearestNeighbor", Centers::kCorners, {0, 7, 3, 3, 10, 1, 8, 4, 4, 0}},
    {"ResizeNearestNeighbor", Centers::kHalf, {0, 7, 3, 3, 10, 1, 8, 4, 4, 0}},
};

TEST(ResizeTest, GivesWhatTensorFlowGivesForAllDTypes) {
  for (const GoldenCase& golden : kGoldens) {
    for (const DType dtype : kPixelDTypes) {
      KernelRunner runner = Runner(golden.op, golden.centers);
      ASSERT_OK_AND_ASSIGN(const Tensor y, runner.Run1({Pattern(dtype, {1, 3, 4, 1}), Size(2, 5)}));
      EXPECT_EQ(y.shape(), Shape::Of({1, 2, 5, 1}));
      EXPECT_EQ(y.dtype(), std::string(golden.op) == "ResizeNearestNeighbor" ? dtype : DType::kFloat);
      EXPECT_EQ(Difference(y, golden.values), "") << golden.op << " " << DTypeName(dtype);
    }
  }
}

// Channels, images and rows do not mix: each is resized as it is alone. In shards, and deterministic, too.
TEST(ResizeTest, EachChannelOfEachImageIsResizedAlone) {
  ThreadPoolOptions options;
  options.num_threads = 3;
  ThreadPool pool(options);
  for (const char* op : {"ResizeBilinear", "ResizeBicubic", "ResizeArea", "ResizeNearestNeighbor"}) {
    for (const int64_t channels : {2, 3, 4, 12, 17}) {
      constexpr int64_t kBatch = 3, kHeight = 23, kWidth = 19, kOutHeight = 31, kOutWidth = 13;
      const Tensor images = Pattern(DType::kFloat, {kBatch, kHeight, kWidth, channels}, 101);
      KernelRunner runner = Runner(op, Centers::kPlain);
      runner.run().task_runner = &pool;
      ASSERT_OK_AND_ASSIGN(const Tensor y, runner.Run1({images, Size(kOutHeight, kOutWidth)}));
      const int64_t image = kBatch - 1, channel = channels - 1;
      std::vector<double> pixels;
      for (int64_t i = 0; i < kHeight * kWidth; ++i) {
        pixels.push_back(
            images.flat<float>()[static_cast<size_t>((image * kHeight * kWidth + i) * channels + channel)]);
      }
      ASSERT_OK_AND_ASSIGN(
          const Tensor alone,
          Runner(op, Centers::kPlain).Run1({FloatsOf({1, kHeight, kWidth, 1}, pixels), Size(kOutHeight, kOutWidth)}));
      std::vector<double> want, got;
      for (size_t i = 0; i < static_cast<size_t>(kOutHeight * kOutWidth); ++i) {
        want.push_back(static_cast<double>(alone.flat<float>()[i]));
        const size_t at = (static_cast<size_t>(image * kOutHeight * kOutWidth) + i) * static_cast<size_t>(channels);
        got.push_back(static_cast<double>(y.flat<float>()[at + static_cast<size_t>(channel)]));
      }
      EXPECT_EQ(got, want) << op << " " << channels;
    }
  }
}

TEST(ResizeTest, TheSameSizeKeepsBilinearImagesWithInfinities) {
  const float inf = std::numeric_limits<float>::infinity();
  const Tensor image = Tensor::Of<float>(Shape::Of({1, 2, 2, 1}), {1, inf, -inf, 2});
  ASSERT_OK_AND_ASSIGN(const Tensor y, Runner("ResizeBilinear", Centers::kHalf).Run1({image, Size(2, 2)}));
  EXPECT_EQ(std::memcmp(y.raw_data(), image.raw_data(), 16), 0);
}

// What TensorFlow 2.19 answers for these gradients of an image of [1, 3, 4, 1].
const GoldenCase kGradGoldens[] = {
    {"ResizeBilinearGrad", Centers::kPlain, {0.6, 4.8, 4.8, 5.8, 0.9, 1.6, 0.9, 3.6, 0.9, 1.6, 0.9, 3.6}},
    {"ResizeBilinearGrad", Centers::kCorners, {0.75, 5.25, 4.5, 5.5, 0, 0, 0, 0, 2, 3, 2.25, 6.75}},
    {"ResizeBilinearGrad",
     Centers::kHalf,
     {0.675, 3.825, 3.3, 4.2, 0.775, 1.975, 1.625, 3.125, 1.65, 2.1, 1.575, 5.175}},
    {"ResizeBicubicGrad",
     Centers::kPlain,
     {-0.0638047904, 4.99221468, 4.87554979, 4.88354015, 1.0122093, 1.99233961, 0.71138674, 4.59656429, 0.852386773,
      1.67775965, 0.599062622, 3.87079144}},
    {"ResizeBicubicGrad",
     Centers::kHalf,
     {0.330374837, 4.47761822, 3.62804651, 4.22089481, 0.556944728, 1.80168688, 1.34543526, 2.64629793, 1.74376392,
      2.23211265, 1.38254035, 5.63428402}},
    {"ResizeNearestNeighborGrad", Centers::kPlain, {3, 6, 2, 5, 5, 0, 3, 6, 0, 0, 0, 0}},
    {"ResizeNearestNeighborGrad", Centers::kCorners, {0, 3, 8, 5, 0, 0, 0, 0, 1, 4, 3, 6}},
};

TEST(ResizeGradTest, GivesWhatTensorFlowGives) {
  const std::vector<double> grads = {0, 3, 6, 2, 5, 1, 4, 0, 3, 6};
  for (const GoldenCase& golden : kGradGoldens) {
    const bool is_nearest = std::string(golden.op) == "ResizeNearestNeighborGrad";
    for (const DType dtype : kPixelDTypes) {
      const bool is_wide = dtype == DType::kFloat || dtype == DType::kDouble;
      constexpr DTypeSet kNearestTypes = kFloatTypes | DTypeSet{DType::kInt8, DType::kUInt8, DType::kInt32};
      if (!(is_nearest ? kNearestTypes : kFloatTypes).Contains(dtype)) continue;
      if (std::string(golden.op) == "ResizeBicubicGrad" && !is_wide) continue;
      const Tensor from = TensorOf(is_nearest ? dtype : DType::kFloat, {1, 2, 5, 1}, grads);
      const Tensor second = is_nearest ? Size(3, 4) : Pattern(dtype, {1, 3, 4, 1});
      ASSERT_OK_AND_ASSIGN(const Tensor y, Runner(golden.op, golden.centers).Run1({from, second}));
      EXPECT_EQ(y.dtype(), dtype);
      EXPECT_EQ(Difference(y, golden.values, is_nearest || is_wide ? 1e-5 : 1e-2), "")
          << golden.op << " " << DTypeName(dtype);
    }
  }
}

// <resize(x), g> = <x, grad(g)>, for odd sizes and many channels, in shards.
TEST(ResizeGradTest, IsTheTransposeOfTheResizing) {
  ThreadPoolOptions options;
  options.num_threads = 3;
  ThreadPool pool(options);
  for (const char* op : {"ResizeBilinear", "ResizeBicubic", "ResizeNearestNeighbor"}) {
    for (const Centers centers : {Centers::kPlain, Centers::kCorners, Centers::kHalf}) {
      const Tensor x = Pattern(DType::kFloat, {2, 11, 17, 5}, 13), g = Pattern(DType::kFloat, {2, 7, 29, 5}, 17);
      ASSERT_OK_AND_ASSIGN(const Tensor y, Runner(op, centers).Run1({x, Size(7, 29)}));
      KernelRunner back = Runner(absl::StrCat(op, "Grad"), centers);
      back.run().task_runner = &pool;
      const bool is_nearest = std::string(op) == "ResizeNearestNeighbor";
      ASSERT_OK_AND_ASSIGN(const Tensor dx, back.Run1({g, is_nearest ? Size(11, 17) : x}));
      double forward = 0, backward = 0;
      for (size_t i = 0; i < y.flat<float>().size(); ++i) forward += double{y.flat<float>()[i]} * g.flat<float>()[i];
      for (size_t i = 0; i < x.flat<float>().size(); ++i) backward += double{x.flat<float>()[i]} * dx.flat<float>()[i];
      EXPECT_NEAR(forward, backward, 1e-5 * std::abs(forward)) << op;
    }
  }
}

TEST(ResizeTest, EmptyBatchesAndBadInputs) {
  const Tensor image = Pattern(DType::kFloat, {1, 3, 4, 1});
  for (const char* op : {"ResizeBilinear", "ResizeBicubic", "ResizeArea", "ResizeNearestNeighbor"}) {
    const auto run = [op](Tensor images, Tensor size) {
      TrackingAllocator allocator(HostAllocator(), 1 << 20);
      KernelRunner runner = Runner(op, Centers::kPlain);
      runner.run().allocator = &allocator;
      return runner.Run1({std::move(images), std::move(size)}).status();
    };
    EXPECT_OK(run(FloatsOf({0, 3, 4, 1}, {}), Size(1 << 30, 1 << 30)));
    EXPECT_THAT(run(FloatsOf({1, 0, 4, 1}, {}), Size(2, 2)), IsError(ErrorCode::kOpShape));
    EXPECT_THAT(run(FloatsOf({1, 3, 4, 0}, {}), Size(2, 2)), IsError(ErrorCode::kOpShape));
    EXPECT_THAT(run(FloatsOf({3, 4, 1}, std::vector<double>(12)), Size(2, 2)), IsError(ErrorCode::kOpShape));
    EXPECT_THAT(run(image, Tensor::Vector<int32_t>({2, 2, 2})), IsError(ErrorCode::kOpShape));
    EXPECT_THAT(run(image, Tensor::Scalar<int32_t>(2)), IsError(ErrorCode::kOpShape));
    EXPECT_THAT(run(image, Size(0, 2)), IsError(ErrorCode::kOpValue));
    EXPECT_THAT(run(image, Size(2, -7)), IsError(ErrorCode::kOpValue));
    EXPECT_FALSE(run(image, Size(2147483647, 2147483647)).ok());
    EXPECT_THAT(run(image, Size(1, 2147483647)), StatusIs(absl::StatusCode::kResourceExhausted));
  }
  EXPECT_THAT(KernelRunner("ResizeBilinear")
                  .Attr("align_corners", true)
                  .Attr("half_pixel_centers", true)
                  .Run1({image, Size(2, 2)})
                  .status(),
              IsError(ErrorCode::kOpAttr));
  const Tensor none = FloatsOf({1, 0, 2147483647, 1}, {});
  EXPECT_THAT(Runner("ResizeBilinearGrad", Centers::kPlain).Run1({none, image}).status(), IsError(ErrorCode::kOpShape));
  // No gradients: zeros.
  ASSERT_OK_AND_ASSIGN(const Tensor zeros,
                       Runner("ResizeNearestNeighborGrad", Centers::kPlain).Run1({none, Size(2, 2)}));
  EXPECT_EQ(Difference(zeros, {0, 0, 0, 0}), "");
}

// --- ScaleAndTranslate ---------------------------------------------------------------------------------------------

const std::pair<const char*, std::vector<double>> kSampled[] = {
    {"lanczos3",
     {2.47205877, 5.09889555, 4.69586134, 7.1869421, 9.70804882, 3.45674968, 5.22947407, 6.74781036, 4.04733992,
      1.61878371}},
    {"triangle",
     {2.45604396, 5.42307663, 4.94505453, 6.64285755, 8.57142925, 3.58241773, 5.3406601, 5.9505496, 4.14285707,
      2.14285684}},
    {"mitchellcubic",
     {2.58294225, 5.08516741, 5.0126195, 6.75704145, 8.61114693, 3.5142827, 5.264009, 6.04442692, 4.2474184,
      2.35931611}},
    {"gaussian",
     {2.72714996, 4.97336864, 5.17502594, 6.4940176, 7.92084932, 3.52922297, 5.21337032, 5.72655439, 4.37574387,
      2.93235135}},
    {"box", {0, 7, 3, 6.5, 10, 3.5, 5, 6.5, 4.5, 2.5}},
    {"keyscubic",
     {2.31709456, 5.32538557, 4.75191545, 6.95432568, 9.290411, 3.45792508, 5.34000921, 6.34064817, 4.09130812,
      1.79370427}},
};

TEST(ScaleAndTranslateTest, GivesWhatTensorFlowGives) {
  for (const auto& [kernel, values] : kSampled) {
    for (const DType dtype : kPixelDTypes) {
      KernelRunner runner("ScaleAndTranslate");
      runner.Attr("kernel_type", kernel).Attr("antialias", true);
      ASSERT_OK_AND_ASSIGN(const Tensor y, runner.Run1({Pattern(dtype, {1, 3, 4, 1}), Size(2, 5),
                                                        FloatsOf({2}, {0.6, 1.3}), FloatsOf({2}, {0.2, -0.4})}));
      EXPECT_EQ(Difference(y, values, 1e-4), "") << kernel << " " << DTypeName(dtype);
    }
  }
  KernelRunner back("ScaleAndTranslateGrad");
  back.Attr("kernel_type", "triangle").Attr("antialias", true);
  ASSERT_OK_AND_ASSIGN(const Tensor dx, back.Run1({FloatsOf({1, 2, 5, 1}, {0, 3, 6, 2, 5, 1, 4, 0, 3, 6}),
                                                   Pattern(DType::kFloat, {1, 3, 4, 1}), FloatsOf({2}, {0.6, 1.3}),
                                                   FloatsOf({2}, {0.2, -0.4})}));
  EXPECT_EQ(Difference(dx,
                       {0.0824176371, 3.2142849, 3.84615469, 4.28571463, 0.445054948, 3.01648259, 2.18131876,
                        4.92857075, 0.549450696, 2.30769277, 0.857142985, 4.2857151},
                       1e-4),
            "");
}

// So long that floats round the number of the last pixel up: none is taken from behind it.
TEST(ScaleAndTranslateTest, TakesNoPixelBehindTheLastOneOfALongAxis) {
  constexpr int64_t kHeight = 33554436;
  Tensor image = Tensor::MakeZeros(DType::kUInt8, Shape::Of({1, kHeight, 1, 1})).value();
  image.flat<uint8_t>()[kHeight - 1] = 7;
  KernelRunner runner("ScaleAndTranslate");
  runner.Attr("kernel_type", "triangle").Attr("antialias", false);
  ASSERT_OK_AND_ASSIGN(const Tensor y, runner.Run1({image, Size(1, 1), FloatsOf({2}, {1, 1}),
                                                    FloatsOf({2}, {-static_cast<double>(kHeight - 1), 0})}));
  EXPECT_EQ(Difference(y, {7}), "");
}

TEST(ScaleAndTranslateTest, RefusesScalesThatAreNotAboveZero) {
  const Tensor image = Pattern(DType::kFloat, {1, 3, 4, 1});
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const auto run = [&](float scale, float translation) {
    return KernelRunner("ScaleAndTranslate")
        .Run1({image, Size(2, 5), Tensor::Vector<float>({scale, 1}), Tensor::Vector<float>({translation, 0})});
  };
  for (const float scale : {0.0f, -1.0f, nan}) EXPECT_THAT(run(scale, 0).status(), IsError(ErrorCode::kOpValue));
  // Places outside of the image, or nowhere, are zero.
  for (const float translation : {nan, 1e30f, -std::numeric_limits<float>::infinity()}) {
    ASSERT_OK_AND_ASSIGN(const Tensor y, run(0.5f, translation));
    EXPECT_EQ(Difference(y, std::vector<double>(10)), "");
  }
  EXPECT_OK(run(std::numeric_limits<float>::infinity(), 0).status());
  EXPECT_OK(run(std::numeric_limits<float>::min(), 0).status());
  EXPECT_THAT(KernelRunner("ScaleAndTranslate")
                  .Attr("kernel_type", "lanczos2")
                  .Run1({image, Size(2, 5), FloatsOf({2}, {1, 1}), FloatsOf({2}, {0, 0})})
                  .status(),
              IsError(ErrorCode::kOpAttr));
}

}  // namespace
}  // namespace sluice

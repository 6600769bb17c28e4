#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "executor/threads/thread_pool.h"
#include "gtest/gtest.h"
#include "kernels/device/cpu_device.h"
#include "tests/kernels/image/images.h"
#include "tests/testing/kernel_runner.h"
#include "tests/testing/status_matchers.h"

namespace sluice {
namespace {

const float kNan = std::numeric_limits<float>::quiet_NaN();

Tensor Ints(std::vector<int32_t> values) { return Tensor::Vector<int32_t>(values); }
Tensor Int(int32_t value) { return Tensor::Scalar<int32_t>(value); }
Tensor Float(float value) { return Tensor::Scalar<float>(value); }
std::vector<int32_t> IntsOf(const Tensor& tensor) {
  return {tensor.flat<int32_t>().begin(), tensor.flat<int32_t>().end()};
}

// --- Crops ---------------------------------------------------------------------------------------------------------

Tensor CropBoxes() { return FloatsOf({3, 4}, {0, 0, 1, 1, 0.2, 0.9, 0.7, 0.1, -0.5, 0.1, 0.5, 1.2}); }

TEST(CropAndResizeTest, GivesWhatTensorFlowGives) {
  const std::vector<double> bilinear = {0, 5, 10, 1, 6, 0, 7.22, 5.2, 3.18, 4.2, 5.7, 4.12, -1, -1, -1, 4.8, 8.65, -1};
  const std::vector<double> nearest = {0, 3, 10, 1, 4, 0, 10, 7, 0, 5, 2, 6, -1, -1, -1, 6, 9, -1};
  for (const DType dtype : {DType::kFloat, DType::kDouble, DType::kHalf, DType::kInt8, DType::kUInt8, DType::kInt16,
                            DType::kUInt16, DType::kInt32, DType::kInt64}) {
    for (const bool is_bilinear : {true, false}) {
      KernelRunner runner("CropAndResize");
      runner.Attr("method", is_bilinear ? "bilinear" : "nearest").Attr("extrapolation_value", -1.0f);
      ASSERT_OK_AND_ASSIGN(const Tensor y,
                           runner.Run1({Pattern(dtype, {1, 3, 4, 1}), CropBoxes(), Ints({0, 0, 0}), Ints({2, 3})}));
      EXPECT_EQ(y.shape(), Shape::Of({3, 2, 3, 1}));
      EXPECT_EQ(Difference(y, is_bilinear ? bilinear : nearest), "") << DTypeName(dtype);
    }
  }
}

TEST(CropAndResizeTest, GradientsAreThoseOfTensorFlow) {
  const Tensor grads = FloatsOf({3, 2, 3, 1}, {0, 5, 3, 1, 6, 4, 2, 0, 5, 3, 1, 6, 4, 2, 0, 5, 3, 1});
  const std::vector<double> bilinear = {2.1, 3.4, 2.86, 3.84, 7.42, 3.63, 3.93, 1.82, 2.68, 3.92, 3.56, 4.84};
  const std::vector<double> nearest = {5, 0, 5, 5, 11, 1, 3, 3, 1, 0, 6, 4};
  for (const DType dtype : {DType::kFloat, DType::kDouble, DType::kHalf}) {
    for (const bool is_bilinear : {true, false}) {
      KernelRunner runner("CropAndResizeGradImage");
      runner.Attr("method", is_bilinear ? "bilinear" : "nearest").Attr("T", dtype);
      ASSERT_OK_AND_ASSIGN(const Tensor y, runner.Run1({grads, CropBoxes(), Ints({0, 0, 0}), Ints({1, 3, 4, 1})}));
      EXPECT_EQ(Difference(y, is_bilinear ? bilinear : nearest, dtype == DType::kHalf ? 1e-3 : 1e-5), "");
    }
  }
  ASSERT_OK_AND_ASSIGN(const Tensor y,
                       KernelRunner("CropAndResizeGradBoxes")
                           .Run1({grads, Pattern(DType::kUInt8, {1, 3, 4, 1}), CropBoxes(), Ints({0, 0, 0})}));
  EXPECT_EQ(Difference(y, {0, -66, 0, -66, 20.2000141, -16.5, -49.4, 50.1, 0, -28.5, 0, 31.5}, 1e-4), "");
}

TEST(CropAndResizeTest, RefusesWhatIsNotABox) {
  const Tensor image = Pattern(DType::kFloat, {1, 3, 4, 1});
  const auto run = [&](Tensor images, Tensor boxes, Tensor box_ind, Tensor size) {
    return KernelRunner("CropAndResize")
        .Run1({std::move(images), std::move(boxes), std::move(box_ind), std::move(size)})
        .status();
  };
  EXPECT_OK(run(image, FloatsOf({0, 4}, {}), Ints({}), Ints({2, 2})));
  EXPECT_OK(run(FloatsOf({1, 3, 4, 0}, {}), CropBoxes(), Ints({0, 0, 0}), Ints({1 << 20, 1 << 20})));
  EXPECT_THAT(run(image, CropBoxes(), Ints({0, 1, 0}), Ints({2, 2})), IsError(ErrorCode::kOpRange));
  EXPECT_THAT(run(image, CropBoxes(), Ints({0, -1, 0}), Ints({2, 2})), IsError(ErrorCode::kOpRange));
  EXPECT_THAT(run(image, CropBoxes(), Ints({0, 0}), Ints({2, 2})), IsError(ErrorCode::kOpShape));
  EXPECT_THAT(run(image, CropBoxes(), Ints({0, 0, 0}), Ints({0, 2})), IsError(ErrorCode::kOpValue));
  EXPECT_THAT(run(image, CropBoxes(), Ints({0, 0, 0}), Ints({2})), IsError(ErrorCode::kOpShape));
  EXPECT_THAT(run(FloatsOf({1, 0, 4, 1}, {}), CropBoxes(), Ints({0, 0, 0}), Ints({2, 2})),
              IsError(ErrorCode::kOpShape));
  const Tensor bad = Tensor::Of<float>(Shape::Of({1, 4}), {kNan, 0, 1, 1});
  EXPECT_THAT(run(image, bad, Ints({0}), Ints({2, 2})), IsError(ErrorCode::kOpValue));
  const Tensor grads = FloatsOf({1, 1, 1, 1}, {1});
  EXPECT_THAT(KernelRunner("CropAndResizeGradImage")
                  .Attr("T", DType::kFloat)
                  .Run1({grads, bad, Ints({0}), Ints({1, 2, 2, 1})})
                  .status(),
              IsError(ErrorCode::kOpValue));
  EXPECT_THAT(KernelRunner("CropAndResizeGradImage")
                  .Attr("T", DType::kFloat)
                  .Run1({grads, FloatsOf({1, 4}, {0, 0, 1, 1}), Ints({0}), Ints({1, 2, -2, 1})})
                  .status(),
              IsError(ErrorCode::kOpValue));
}

// --- NonMaxSuppression ---------------------------------------------------------------------------------------------

// n boxes of random sizes, some of them equal, and their scores, with ties.
struct Scene {
  Tensor boxes, scores;
};
Scene RandomScene(int64_t n, uint32_t seed) {
  std::mt19937 random(seed);
  Scene scene{Tensor::Make(DType::kFloat, Shape::Of({n, 4})).value(),
              Tensor::Make(DType::kFloat, Shape::Of({n})).value()};
  const auto number = [&random](int most) { return static_cast<float>(random() % static_cast<uint32_t>(most)); };
  for (size_t i = 0; i < static_cast<size_t>(n); ++i) {
    float* const corners = &scene.boxes.flat<float>()[4 * i];
    corners[0] = number(20);
    corners[1] = number(20);
    corners[2] = corners[0] + number(9) - 2;
    corners[3] = corners[1] + number(9) - 2;
    scene.scores.flat<float>()[i] = number(30) / 32;
  }
  return scene;
}

double PlainOverlap(const float* a, const float* b) {
  const double height =
      std::min(std::max(a[0], a[2]), std::max(b[0], b[2])) - std::max(std::min(a[0], a[2]), std::min(b[0], b[2]));
  const double width =
      std::min(std::max(a[1], a[3]), std::max(b[1], b[3])) - std::max(std::min(a[1], a[3]), std::min(b[1], b[3]));
  const auto area = [](const float* c) { return std::abs(double{c[2] - c[0]} * (c[3] - c[1])); };
  if (area(a) <= 0 || area(b) <= 0 || height <= 0 || width <= 0) return 0;
  return height * width / (area(a) + area(b) - height * width);
}

// Every box against every box that was kept.
std::vector<int32_t> PlainSuppression(const Scene& scene, int64_t max_kept, double threshold, float min_score) {
  std::vector<int32_t> order, kept;
  const absl::Span<const float> scores = scene.scores.flat<float>();
  for (size_t i = 0; i < scores.size(); ++i) {
    if (scores[i] > min_score) order.push_back(static_cast<int32_t>(i));
  }
  std::stable_sort(order.begin(), order.end(), [&](int32_t a, int32_t b) {
    return scores[static_cast<size_t>(a)] > scores[static_cast<size_t>(b)];
  });
  const float* const boxes = scene.boxes.flat<float>().data();
  for (const int32_t i : order) {
    if (static_cast<int64_t>(kept.size()) == max_kept) break;
    const bool is_out = std::any_of(kept.begin(), kept.end(),
                                    [&](int32_t k) { return PlainOverlap(boxes + 4 * i, boxes + 4 * k) > threshold; });
    if (!is_out) kept.push_back(i);
  }
  return kept;
}

TEST(NonMaxSuppressionTest, KeepsTheBestBoxesInOrder) {
  for (uint32_t seed = 0; seed < 20; ++seed) {
    const Scene scene = RandomScene(seed * 17, seed);
    for (const int32_t max_kept : {0, 3, 1000}) {
      for (const float threshold : {0.0f, 0.3f, 1.0f}) {
        const std::vector<int32_t> want = PlainSuppression(scene, max_kept, threshold, 0.2f);
        ASSERT_OK_AND_ASSIGN(const Tensor kept,
                             KernelRunner("NonMaxSuppressionV3")
                                 .Run1({scene.boxes, scene.scores, Int(max_kept), Float(threshold), Float(0.2f)}));
        EXPECT_EQ(IntsOf(kept), want) << seed;
        ASSERT_OK_AND_ASSIGN(const std::vector<Tensor> padded,
                             KernelRunner("NonMaxSuppressionV4")
                                 .Attr("pad_to_max_output_size", true)
                                 .Run({scene.boxes, scene.scores, Int(max_kept), Float(threshold), Float(0.2f)}));
        std::vector<int32_t> filled = want;
        filled.resize(static_cast<size_t>(max_kept));
        EXPECT_EQ(IntsOf(padded[0]), filled);
        EXPECT_EQ(padded[1].flat<int32_t>()[0], static_cast<int32_t>(want.size()));
        const std::vector<int32_t> all = PlainSuppression(scene, max_kept, threshold, -1);
        ASSERT_OK_AND_ASSIGN(const Tensor first, KernelRunner("NonMaxSuppression")
                                                     .Attr("iou_threshold", threshold)
                                                     .Run1({scene.boxes, scene.scores, Int(max_kept)}));
        EXPECT_EQ(IntsOf(first), all);
        ASSERT_OK_AND_ASSIGN(
            const Tensor second,
            KernelRunner("NonMaxSuppressionV2").Run1({scene.boxes, scene.scores, Int(max_kept), Float(threshold)}));
        EXPECT_EQ(IntsOf(second), all);
      }
    }
  }
}

TEST(NonMaxSuppressionTest, TakesOverlapsFromATable) {
  const Scene scene = RandomScene(60, 5);
  Tensor table = Tensor::Make(DType::kFloat, Shape::Of({60, 60})).value();
  const float* const boxes = scene.boxes.flat<float>().data();
  for (size_t i = 0; i < 3600; ++i) {
    table.flat<float>()[i] = static_cast<float>(PlainOverlap(boxes + i / 60 * 4, boxes + i % 60 * 4));
  }
  ASSERT_OK_AND_ASSIGN(
      const Tensor kept,
      KernelRunner("NonMaxSuppressionWithOverlaps").Run1({table, scene.scores, Int(40), Float(0.3f), Float(0.1f)}));
  EXPECT_EQ(IntsOf(kept), PlainSuppression(scene, 40, 0.3f, 0.1f));
}

TEST(NonMaxSuppressionTest, SoftSuppressionLowersScoresAsInTensorFlow) {
  const Tensor boxes =
      FloatsOf({6, 4}, {0, 0, 1, 1, 0, 0.1, 1, 1.1, 0, -0.1, 1, 0.9, 0, 10, 1, 11, 0, 10.1, 1, 11.1, 0, 100, 1, 101});
  const Tensor scores = FloatsOf({6}, {0.9, 0.75, 0.6, 0.95, 0.5, 0.3});
  ASSERT_OK_AND_ASSIGN(
      const std::vector<Tensor> soft,
      KernelRunner("NonMaxSuppressionV5").Run({boxes, scores, Int(6), Float(1), Float(0), Float(0.5f)}));
  EXPECT_EQ(IntsOf(soft[0]), (std::vector<int32_t>{3, 0, 1, 5, 4, 2}));
  EXPECT_EQ(Difference(soft[1], {0.95, 0.9, 0.38400355, 0.3, 0.256002605, 0.196972445}), "");
  EXPECT_EQ(soft[2].flat<int32_t>()[0], 6);
}

// 1365 of 2729 parts are more than a half, but not as a half: TensorFlow rounds overlaps before it compares them.
TEST(NonMaxSuppressionTest, OverlapsOfHalvesAreRounded) {
  for (const DType dtype : {DType::kHalf, DType::kFloat}) {
    for (const double threshold : {0.5, 0.499}) {
      const Tensor boxes = TensorOf(dtype, {2, 4}, {0, -1023, 1, 1024, 0, -341, 1, 1706});
      ASSERT_OK_AND_ASSIGN(const Tensor kept, KernelRunner("NonMaxSuppressionV2")
                                                  .Run1({boxes, TensorOf(dtype, {2}, {1, 0.5}), Int(2),
                                                         TensorOf(dtype, {}, {threshold})}));
      EXPECT_EQ(kept.num_elements(), dtype == DType::kHalf && threshold == 0.5 ? 2 : 1) << DTypeName(dtype);
    }
  }
}

// An overlap that is NaN takes the score: the box is lost, or keeps 0 where that is enough.
TEST(NonMaxSuppressionTest, BoxesThatAreNowhereSuppressAsInTensorFlow) {
  const Tensor boxes = Tensor::Of<float>(Shape::Of({3, 4}), {5, kNan, 7, 6, 8, 5, 12, 8, 6, 4, 8, 5});
  const Tensor scores = FloatsOf({3}, {0.9, 0.5, 0.7});
  ASSERT_OK_AND_ASSIGN(const Tensor above_zero,
                       KernelRunner("NonMaxSuppressionV3").Run1({boxes, scores, Int(5), Float(0.5f), Float(0)}));
  EXPECT_EQ(IntsOf(above_zero), std::vector<int32_t>{0});
  ASSERT_OK_AND_ASSIGN(const Tensor all,
                       KernelRunner("NonMaxSuppressionV2").Run1({boxes, scores, Int(5), Float(0.5f)}));
  EXPECT_EQ(IntsOf(all), (std::vector<int32_t>{0, 1, 2}));
}

// 100,000 boxes of which few are kept: the candidates are a heap.
TEST(NonMaxSuppressionTest, TakesManyBoxes) {
  const Scene scene = RandomScene(100000, 1);
  ASSERT_OK_AND_ASSIGN(
      const Tensor kept,
      KernelRunner("NonMaxSuppressionV3").Run1({scene.boxes, scene.scores, Int(200), Float(0.5f), Float(0)}));
  EXPECT_EQ(IntsOf(kept), PlainSuppression(scene, 200, 0.5, 0));
}

TEST(NonMaxSuppressionTest, RefusesBadInputs) {
  const Tensor boxes = Pattern(DType::kFloat, {3, 4}), scores = Pattern(DType::kFloat, {3});
  const auto run = [](Tensor b, Tensor s, Tensor max_kept, float threshold) {
    return KernelRunner("NonMaxSuppressionV3")
        .Run1({std::move(b), std::move(s), std::move(max_kept), Float(threshold), Float(0)})
        .status();
  };
  EXPECT_OK(run(FloatsOf({0, 4}, {}), FloatsOf({0}, {}), Int(2147483647), 0.5f));
  EXPECT_OK(run(boxes, scores, Int(2147483647), 0.5f));
  EXPECT_THAT(run(Pattern(DType::kFloat, {3, 5}), scores, Int(1), 0.5f), IsError(ErrorCode::kOpShape));
  EXPECT_THAT(run(boxes, Pattern(DType::kFloat, {4}), Int(1), 0.5f), IsError(ErrorCode::kOpShape));
  EXPECT_THAT(run(boxes, scores, Ints({1}), 0.5f), IsError(ErrorCode::kOpShape));
  EXPECT_THAT(run(boxes, scores, Int(-1), 0.5f), IsError(ErrorCode::kOpValue));
  for (const float threshold : {-0.1f, 1.1f, kNan}) {
    EXPECT_THAT(run(boxes, scores, Int(1), threshold), IsError(ErrorCode::kOpValue));
  }
  EXPECT_THAT(KernelRunner("NonMaxSuppression").Attr("iou_threshold", 2.0f).Run1({boxes, scores, Int(1)}).status(),
              IsError(ErrorCode::kOpAttr));
}

TEST(CombinedNonMaxSuppressionTest, ChoosesTheBestOfAllClasses) {
  ThreadPoolOptions options;
  options.num_threads = 3;
  ThreadPool pool(options);
  const std::vector<double> boxes = {0, 0,  1, 1,  0, 0.1,  1, 1.1,  0, -0.1, 1, 0.9,
                                     0, 10, 1, 11, 0, 10.1, 1, 11.1, 0, 100,  1, 101};
  std::vector<double> scaled;
  for (const double value : boxes) scaled.push_back(value / 101);
  const Tensor scores = FloatsOf({1, 6, 2}, {0.9, 0.3, 0.75, 0.5, 0.6, 0.95, 0.95, 0.6, 0.5, 0.75, 0.3, 0.9});
  KernelRunner runner("CombinedNonMaxSuppression");
  runner.run().task_runner = &pool;
  ASSERT_OK_AND_ASSIGN(const std::vector<Tensor> y,
                       runner.Run({FloatsOf({1, 6, 1, 4}, scaled), scores, Int(2), Int(3), Float(0.5f), Float(0.1f)}));
  EXPECT_EQ(Difference(y[0], {0, 0.0990099013, 0.00990098994, 0.108910888, 0, 0, 0.00990098994, 0.00891089067, 0, 0,
                              0.00990098994, 0.00990098994}),
            "");
  EXPECT_EQ(Difference(y[1], {0.95, 0.95, 0.9}), "");
  EXPECT_EQ(Difference(y[2], {0, 1, 0}), "");
  EXPECT_EQ(IntsOf(y[3]), std::vector<int32_t>{3});
  const auto run = [&](Tensor b, Tensor s, int32_t per_class, int32_t total) {
    return KernelRunner("CombinedNonMaxSuppression")
        .Run({std::move(b), std::move(s), Int(per_class), Int(total), Float(0.5f), Float(0)})
        .status();
  };
  EXPECT_OK(run(FloatsOf({1, 0, 1, 4}, {}), FloatsOf({1, 0, 1 << 30}, {}), 5, 5));
  EXPECT_THAT(run(FloatsOf({1, 6, 3, 4}, std::vector<double>(72)), scores, 2, 3), IsError(ErrorCode::kOpShapes));
  EXPECT_THAT(run(FloatsOf({1, 6, 1, 4}, scaled), scores, 0, 3), IsError(ErrorCode::kOpValue));
  EXPECT_THAT(run(FloatsOf({1, 6, 1, 4}, scaled), scores, 2, -3), IsError(ErrorCode::kOpValue));
}

// --- Drawing and sampling ------------------------------------------------------------------------------------------

TEST(DrawBoundingBoxesTest, DrawsEdgesInTurnedColors) {
  for (const DType dtype : {DType::kFloat, DType::kHalf}) {
    const Tensor black = TensorOf(dtype, {1, 4, 5, 1}, std::vector<double>(20));
    for (const bool movable : {false, true}) {
      ASSERT_OK_AND_ASSIGN(const Tensor y,
                           KernelRunner("DrawBoundingBoxes")
                               .Run1({black.DeepCopy().value(), FloatsOf({1, 1, 4}, {0.3, 0.2, 0.8, 0.9})}, movable));
      EXPECT_EQ(Difference(y, {1, 1, 1, 1, 0, 1, 0, 0, 1, 0, 1, 1, 1, 1, 0, 0, 0, 0, 0, 0}), "");
    }
  }
  // Two boxes, two colours; one that is beyond the image, one that is nowhere.
  ASSERT_OK_AND_ASSIGN(
      const Tensor y,
      KernelRunner("DrawBoundingBoxesV2")
          .Run1({FloatsOf({1, 1, 3, 3}, std::vector<double>(9)),
                 Tensor::Of<float>(Shape::Of({1, 3, 4}), {0, 0, 0, 0.1f, -1e30f, 1e30f, 1, 1, kNan, 0, 1, 1}),
                 FloatsOf({2, 4}, {0.25, 0.5, 0.75, 9, 1, 1, 1, 9})}));
  EXPECT_EQ(Difference(y, {0.25, 0.5, 0.75, 0, 0, 0, 0, 0, 0}), "");
  EXPECT_THAT(
      KernelRunner("DrawBoundingBoxes").Run1({FloatsOf({1, 1, 1, 2}, {0, 0}), FloatsOf({1, 0, 4}, {})}).status(),
      IsError(ErrorCode::kOpShape));
  EXPECT_THAT(KernelRunner("DrawBoundingBoxesV2")
                  .Run1({FloatsOf({1, 1, 1, 3}, {0, 0, 0}), FloatsOf({1, 0, 4}, {}), FloatsOf({1, 2}, {0, 0})})
                  .status(),
              IsError(ErrorCode::kOpShape));
}

TEST(SampleDistortedBoundingBoxTest, DrawsTensorFlowsBoxesOneRunAfterTheOther) {
  const std::vector<float> corners = {0.1f, 0.1f, 0.8f, 0.9f, 0.3f, 0.3f, 0.6f, 0.6f};
  CpuDevice device("/job:localhost/replica:0/task:0/device:CPU:0", 1);
  ASSERT_OK_AND_ASSIGN(
      const std::unique_ptr<PreparedKernel> kernel,
      PreparedKernel::Make("SampleDistortedBoundingBox", {{"seed", 3}, {"seed2", 4}, {"min_object_covered", 0.5f}},
                           {DType::kInt32, DType::kFloat}, &device));
  const std::vector<std::vector<int32_t>> begins = {{13, 21, 0}, {0, 6, 0}, {32, 34, 0}};
  const std::vector<std::vector<int32_t>> sizes = {{62, 80, -1}, {98, 111, -1}, {61, 80, -1}};
  RunContext run;
  run.device = &device;
  for (size_t i = 0; i < 3; ++i) {
    ASSERT_OK_AND_ASSIGN(const std::vector<Tensor> y,
                         kernel->Run(run, {Ints({100, 120, 3}), Tensor::Of<float>(Shape::Of({1, 2, 4}), corners)},
                                     /*movable=*/false));
    EXPECT_EQ(IntsOf(y[0]), begins[i]);
    EXPECT_EQ(IntsOf(y[1]), sizes[i]);
    EXPECT_FLOAT_EQ(y[2].flat<float>()[0], static_cast<float>(begins[i][0]) / 100);
  }
}

TEST(SampleDistortedBoundingBoxTest, RefusesBadSizesBoxesAndAttrs) {
  const auto run = [](std::vector<int32_t> size, Tensor boxes, bool use_image) {
    return KernelRunner("SampleDistortedBoundingBoxV2")
        .Attr("seed", 1)
        .Attr("use_image_if_no_bounding_boxes", use_image)
        .Run({Ints(std::move(size)), std::move(boxes), Float(0.1f)})
        .status();
  };
  const Tensor boxes = FloatsOf({1, 1, 4}, {0.1, 0.1, 0.8, 0.9}), none = FloatsOf({1, 0, 4}, {});
  EXPECT_OK(run({0, 120, 3}, boxes, false));
  EXPECT_OK(run({2147483646, 2147483646, 3}, boxes, false));
  EXPECT_OK(run({10, 10, 3}, none, true));
  EXPECT_THAT(run({10, 10, 3}, none, false), IsError(ErrorCode::kOpValue));
  EXPECT_THAT(run({10, 10}, boxes, false), IsError(ErrorCode::kOpShape));
  EXPECT_THAT(run({-1, 10, 3}, boxes, false), IsError(ErrorCode::kOpValue));
  EXPECT_THAT(run({10, 10, 3}, FloatsOf({1, 1, 4}, {0.1, 0.1, 1.8, 0.9}), false), IsError(ErrorCode::kOpValue));
  EXPECT_THAT(run({10, 10, 3}, Tensor::Of<float>(Shape::Of({1, 1, 4}), {kNan, 0, 1, 1}), false),
              IsError(ErrorCode::kOpValue));
  for (const std::vector<float>& range : {std::vector<float>{0.5f}, {0.0f, 1.0f}, {0.1f, 2.0f}, {kNan, 1.0f}}) {
    EXPECT_THAT(
        KernelRunner("SampleDistortedBoundingBox").Attr("area_range", range).Run({Ints({9, 9, 3}), boxes}).status(),
        IsError(ErrorCode::kOpAttr));
  }
  EXPECT_THAT(KernelRunner("SampleDistortedBoundingBox").Attr("max_attempts", 0).Run({Ints({9, 9, 3}), boxes}).status(),
              IsError(ErrorCode::kOpAttr));
}

TEST(SampleDistortedBoundingBoxTest, StatelessNumbersAreThoseOfTensorFlow) {
  KernelRunner runner("StatelessSampleDistortedBoundingBox");
  const std::vector<Tensor> inputs = {Ints({40, 50, 3}), FloatsOf({1, 1, 4}, {0.1, 0.2, 0.6, 0.7}), Float(0.1f),
                                      Tensor::Vector<int64_t>({1, 2})};
  for (int run = 0; run < 2; ++run) {
    ASSERT_OK_AND_ASSIGN(const std::vector<Tensor> y, runner.Run(inputs));
    EXPECT_EQ(IntsOf(y[0]), (std::vector<int32_t>{12, 3, 0}));
    EXPECT_EQ(IntsOf(y[1]), (std::vector<int32_t>{26, 32, -1}));
    EXPECT_EQ(Difference(y[2], {0.3, 0.06, 0.95, 0.7}), "");
  }
}

// An aspect ratio without end leaves no part of an image: all of it is taken.
TEST(SampleDistortedBoundingBoxTest, InfiniteRatiosFindNoPart) {
  const float inf = std::numeric_limits<float>::infinity();
  KernelRunner runner("SampleDistortedBoundingBox");
  runner.Attr("aspect_ratio_range", std::vector<float>{1.0f, inf}).Attr("seed", 3);
  ASSERT_OK_AND_ASSIGN(const std::vector<Tensor> y,
                       runner.Run({Ints({40, 50, 3}), FloatsOf({1, 1, 4}, {0.1, 0.2, 0.6, 0.7})}));
  EXPECT_EQ(IntsOf(y[1]), (std::vector<int32_t>{40, 50, -1}));
}

}  // namespace
}  // namespace sluice

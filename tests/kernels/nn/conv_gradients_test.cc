#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "executor/session/session.h"
#include "executor/threads/thread_pool.h"
#include "graph/base/cancellation.h"
#include "graph/ir/builder.h"
#include "graph/ops/op_table.h"
#include "gtest/gtest.h"
#include "kernels/memory/tracking_allocator.h"
#include "kernels/nn/image_gradient.h"
#include "tests/kernels/nn/conv_reference.h"
#include "tests/testing/kernel_runner.h"
#include "tests/testing/status_matchers.h"

namespace sluice {
namespace {

const std::vector<ConvCase>& Cases() {
  static const std::vector<ConvCase>& cases = *new std::vector<ConvCase>{
      {"one pixel", {1, 1, 1, 1}, {1, 1, 1, 1}, {1, 1}},
      {"pointwise", {2, 4, 5, 6}, {1, 1, 6, 7}, {1, 1}},
      {"same", {2, 7, 6, 3}, {3, 3, 3, 5}, {1, 1}},
      {"valid", {1, 7, 9, 2}, {3, 4, 2, 18}, {1, 1}, "VALID"},
      {"even window", {1, 5, 6, 3}, {2, 4, 3, 4}, {1, 1}},
      {"stride 2", {2, 7, 8, 3}, {3, 3, 3, 5}, {2, 2}},
      {"strides that differ", {1, 9, 11, 2}, {3, 5, 2, 3}, {2, 3}, "VALID"},
      {"stride beyond the window", {1, 9, 10, 3}, {2, 1, 3, 4}, {3, 4}, "VALID"},
      {"pointwise, stride 2", {1, 7, 7, 9}, {1, 1, 9, 8}, {2, 2}},
      {"explicit", {1, 5, 6, 2}, {3, 3, 2, 4}, {2, 1}, "EXPLICIT", {0, 0, 2, 0, 1, 3, 0, 0}},
      {"windows in the padding", {1, 2, 2, 1}, {2, 2, 1, 1}, {1, 1}, "EXPLICIT", {0, 0, 4, 3, 0, 5, 0, 0}},
      {"dilated", {1, 9, 10, 2}, {3, 2, 2, 3}, {1, 1}, "SAME", {}, {2, 3}},
      {"dilated, strides", {1, 13, 14, 2}, {3, 4, 2, 3}, {2, 3}, "VALID", {}, {3, 2}},
      {"dilated, common factor", {1, 15, 12, 2}, {3, 3, 2, 3}, {4, 2}, "SAME", {}, {2, 4}},
      {"window is the image", {3, 4, 3, 5}, {4, 3, 5, 33}, {1, 1}, "VALID"},
      {"many taps", {1, 12, 12, 1}, {11, 9, 1, 2}, {1, 1}},
      {"many channels", {1, 4, 4, 300}, {3, 3, 300, 270}, {1, 1}},
  };
  return cases;
}

const std::vector<ConvCase>& VolumeCases() {
  static const std::vector<ConvCase>& cases = *new std::vector<ConvCase>{
      {"same", {2, 4, 5, 6, 2}, {3, 3, 3, 2, 3}, {1, 1, 1}},
      {"valid", {1, 4, 5, 6, 3}, {2, 1, 3, 3, 4}, {1, 1, 1}, "VALID"},
      {"strides", {1, 5, 6, 7, 2}, {3, 2, 2, 2, 5}, {2, 1, 3}},
      {"stride beyond the window", {1, 7, 6, 5, 2}, {1, 2, 2, 2, 5}, {3, 3, 1}, "VALID"},
      {"stride beyond the window, same", {1, 7, 6, 9, 2}, {1, 2, 2, 2, 3}, {3, 1, 4}},  // Not centred, as Conv3D is.
      {"pointwise", {2, 3, 3, 3, 4}, {1, 1, 1, 4, 5}, {1, 1, 1}},
  };
  return cases;
}

constexpr DType kFloats[] = {DType::kFloat, DType::kDouble, DType::kHalf, DType::kBFloat16};

void ExpectImageGradient(const ConvCase& conv, const std::string& op, DType dtype, const Tensor& image) {
  ASSERT_OK_AND_ASSIGN(const Tensor made,
                       conv.Runner(op).Run1({image, Counted(dtype, conv.filter, 5), Counted(dtype, conv.result(), 9)}));
  EXPECT_EQ(made.shape(), *Shape::Make(conv.image)) << conv.name;
  EXPECT_EQ(AsDoubles(made), AsDoubles(Rounded(dtype, conv.image, ReferenceImageGradient(conv))))
      << op << " " << conv.name << " " << DTypeName(dtype);
}

void ExpectFilterGradient(const ConvCase& conv, const std::string& op, DType dtype, const Tensor& filter) {
  ASSERT_OK_AND_ASSIGN(const Tensor made,
                       conv.Runner(op).Run1({Counted(dtype, conv.image, 7), filter, Counted(dtype, conv.result(), 9)}));
  EXPECT_EQ(made.shape(), *Shape::Make(conv.filter)) << conv.name;
  EXPECT_EQ(AsDoubles(made), AsDoubles(Rounded(dtype, conv.filter, ReferenceFilterGradient(conv))))
      << op << " " << conv.name << " " << DTypeName(dtype);
}

TEST(ConvGradientsTest, OfImages) {
  for (const ConvCase& conv : Cases()) {
    for (const DType dtype : kFloats) {
      ExpectImageGradient(conv, "Conv2DBackpropInput", dtype, Sizes(conv.image));
      ExpectFilterGradient(conv, "Conv2DBackpropFilter", dtype, Sizes(conv.filter));
    }
    ExpectImageGradient(conv, "Conv2DBackpropInput", DType::kInt32, Sizes(conv.image));
  }
}

// Images of few and of many channels are made in two ways (Note [Sums of windows]): what the cases above do not have.
TEST(ConvGradientsTest, OfImagesOfMoreChannels) {
  const auto widened = [](ConvCase conv) {
    conv.image.back() += 31;
    conv.filter[conv.filter.size() - 2] += 31;
    return conv;
  };
  for (const DType dtype : {DType::kFloat, DType::kDouble}) {
    for (const ConvCase& conv : Cases()) {
      const ConvCase wide = widened(conv);
      ExpectImageGradient(wide, "Conv2DBackpropInput", dtype, Sizes(wide.image));
    }
    for (const ConvCase& conv : VolumeCases()) {
      const ConvCase wide = widened(conv);
      ExpectImageGradient(wide, "Conv3DBackpropInputV2", dtype, Sizes(wide.image));
    }
  }
}

// Rows that the windows of two shards meet.
TEST(ConvGradientsTest, OfTallImages) {
  for (const ConvCase& conv : {ConvCase{"one band's end is another's begin", {1, 190, 5, 3}, {5, 3, 3, 4}, {1, 1}},
                               ConvCase{"strides", {2, 201, 4, 1}, {3, 2, 1, 3}, {2, 1}, "VALID"},
                               ConvCase{"dilated", {1, 150, 7, 2}, {3, 3, 2, 3}, {1, 1}, "SAME", {}, {4, 2}}}) {
    for (const DType dtype : {DType::kFloat, DType::kDouble}) {
      ExpectImageGradient(conv, "Conv2DBackpropInput", dtype, Sizes(conv.image));
    }
  }
}

TEST(ConvGradientsTest, OfVolumes) {
  for (const ConvCase& conv : VolumeCases()) {
    for (const DType dtype : kFloats) {
      ExpectImageGradient(conv, "Conv3DBackpropInputV2", dtype, Sizes(conv.image));
      ExpectFilterGradient(conv, "Conv3DBackpropFilterV2", dtype, Sizes(conv.filter));
    }
    ExpectImageGradient(conv, "Conv3DBackpropInputV2", DType::kFloat, Tensor::Of<int64_t>(Shape::Of({5}), conv.image));
  }
}

// The first forms of these ops, which graphs of version 10 and later do not have, take an image (a filter) for its
// shape.
TEST(ConvGradientsTest, OfVolumesByTheirShapes) {
  for (const ConvCase& conv : VolumeCases()) {
    GraphBuilder b(NewOpRegistry());
    b.graph().versions().producer = 9;
    const Output image = b.Const("image", Counted(DType::kHalf, conv.image, 7));
    const Output filter = b.Const("filter", Counted(DType::kHalf, conv.filter, 5));
    const Output result = b.Placeholder("result", DType::kHalf);
    Ints strides = {1, conv.strides[0], conv.strides[1], conv.strides[2], 1};
    const std::vector<std::pair<std::string, AttrValue>> attrs = {{"strides", strides}, {"padding", conv.padding}};
    b.Op("Conv3DBackpropInput", "of_image", {image, filter, result}, attrs);
    b.Op("Conv3DBackpropFilter", "of_filter", {image, filter, result}, attrs);
    ASSERT_OK_AND_ASSIGN(const std::unique_ptr<Session> session, Session::Create({}, b.graph()));
    ASSERT_OK_AND_ASSIGN(
        const std::vector<Tensor> made,
        session->Run({{"result", Counted(DType::kHalf, conv.result(), 9)}}, {"of_image", "of_filter"}, {}));
    EXPECT_EQ(AsDoubles(made[0]), AsDoubles(Rounded(DType::kHalf, conv.image, ReferenceImageGradient(conv))));
    EXPECT_EQ(AsDoubles(made[1]), AsDoubles(Rounded(DType::kHalf, conv.filter, ReferenceFilterGradient(conv))));
  }
}

// Taps of all phases together are the taps of the window, each once; so are the pixels that a tap meets.
TEST(ConvGradientsTest, PhasesShareTapsAndPixels) {
  for (const int64_t stride : {1, 2, 3, 4, 6}) {
    for (const int64_t dilation : {1, 2, 3, 4}) {
      for (const int64_t window : {0, 1, 2, 3, 7}) {
        SlidingAxis axis;
        axis.in = 11;
        axis.window = window;
        WindowAxis form;
        form.padding = WindowAxis::Padding::kExplicit;
        form.stride = stride;
        form.dilation = dilation;
        form.before = form.after = 9;
        ASSERT_TRUE(SlideWindow(form, &axis));
        std::vector<int> met(static_cast<size_t>(window));
        for (const AxisPhase& phase : PhasesOf(axis)) {
          for (int64_t i = 0; i < phase.slide.window; ++i) {
            const int64_t tap = phase.last_tap - i * phase.tap_step;
            ASSERT_TRUE(tap >= 0 && tap < window);
            ++met[static_cast<size_t>(tap)];
            for (int64_t j = 0; j < phase.slide.out; ++j) {
              const int64_t result = j - phase.slide.before + i * phase.slide.dilation;
              EXPECT_EQ(result * stride - axis.before + tap * dilation, phase.first + j * stride);
            }
          }
        }
        EXPECT_EQ(met, std::vector<int>(static_cast<size_t>(window), 1)) << stride << " " << dilation << " " << window;
      }
    }
  }
}

std::vector<float> Values(const absl::StatusOr<Tensor>& tensor) {
  EXPECT_OK(tensor);
  if (!tensor.ok()) return {};
  const absl::Span<const float> flat = tensor->flat<float>();
  return {flat.begin(), flat.end()};
}

void ExpectThreadsChangeNoBit(const ConvCase& conv) {
  const std::vector<Tensor> of_image = {Sizes(conv.image), Fractions(conv.filter), Fractions(conv.result())};
  const std::vector<Tensor> of_filter = {Fractions(conv.image), Sizes(conv.filter), Fractions(conv.result())};
  const std::vector<float> image = Values(conv.Runner("Conv2DBackpropInput").Run1(of_image));
  const std::vector<float> filter = Values(conv.Runner("Conv2DBackpropFilter").Run1(of_filter));
  for (const int num_threads : {1, 2, 8}) {
    ThreadPoolOptions options;
    options.num_threads = num_threads;
    ThreadPool pool(options);
    KernelRunner image_runner = conv.Runner("Conv2DBackpropInput");
    image_runner.run().task_runner = &pool;
    EXPECT_EQ(Values(image_runner.Run1(of_image)), image);
    KernelRunner filter_runner = conv.Runner("Conv2DBackpropFilter");
    filter_runner.run().task_runner = &pool;
    EXPECT_EQ(Values(filter_runner.Run1(of_filter)), filter);
  }
}

TEST(ConvGradientsTest, ThreadsChangeNoBit) {
  ExpectThreadsChangeNoBit({"", {3, 31, 40, 37}, {3, 5, 37, 40}, {1, 2}});
  ExpectThreadsChangeNoBit({"", {2, 131, 20, 3}, {3, 5, 3, 40}, {1, 2}});
}

TEST(ConvGradientsTest, RowsAndColumnsAreSizesEnough) {
  const ConvCase conv = {"", {2, 5, 6, 3}, {3, 3, 3, 4}, {1, 1}};
  ExpectImageGradient(conv, "Conv2DBackpropInput", DType::kFloat, Sizes({5, 6}));
}

// As TensorFlow 2.19.1, but for the gradients of filters that it leaves unwritten: zeros here.
TEST(ConvGradientsTest, WithoutElements) {
  const auto code = [](const char* op, const Tensor& a, const Tensor& b, const Ints& result, const Ints& shape) {
    const ConvCase conv = {"", {1, 1, 1, 1}, {1, 1, 1, 1}, {1, 1}};
    absl::StatusOr<Tensor> made = conv.Runner(op).Run1({a, b, Counted(DType::kFloat, result, 9)});
    ASSERT_OK(made);
    EXPECT_EQ(made->shape(), *Shape::Make(shape));
    for (const float value : made->flat<float>()) EXPECT_EQ(value, 0.0f);
  };
  const auto floats = [](const Ints& dims) { return Counted(DType::kFloat, dims, 5); };
  code("Conv2DBackpropInput", Sizes({0, 5, 5, 4}), floats({3, 3, 4, 6}), {0, 5, 5, 6}, {0, 5, 5, 4});
  code("Conv2DBackpropInput", Sizes({1, 5, 5, 4}), floats({0, 3, 4, 6}), {1, 5, 5, 6}, {1, 5, 5, 4});
  code("Conv2DBackpropInput", Sizes({1, 5, 5, 4}), floats({3, 3, 4, 0}), {1, 5, 5, 0}, {1, 5, 5, 4});
  code("Conv2DBackpropInput", Sizes({1, 0, 5, 4}), floats({3, 3, 4, 6}), {1, 0, 5, 6}, {1, 0, 5, 4});
  code("Conv2DBackpropFilter", floats({0, 5, 5, 4}), Sizes({3, 3, 4, 6}), {0, 5, 5, 6}, {3, 3, 4, 6});
  code("Conv2DBackpropFilter", floats({1, 5, 5, 4}), Sizes({3, 0, 4, 6}), {1, 5, 5, 6}, {3, 0, 4, 6});
  code("Conv2DBackpropFilter", floats({1, 5, 5, 4}), Sizes({3, 3, 4, 0}), {1, 5, 5, 0}, {3, 3, 4, 0});
  code("Conv2DBackpropFilter", floats({1, 0, 5, 4}), Sizes({3, 3, 4, 6}), {1, 0, 5, 6}, {3, 3, 4, 6});
}

constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;

TEST(ConvGradientsTest, RefuseWhatTensorFlowRefuses) {
  const auto code = [](const std::string& op, const Tensor& a, const Tensor& b, const Ints& result,
                       const std::vector<std::pair<std::string, AttrValue>>& attrs = {}) {
    KernelRunner runner(op);
    const Ints ones = op.substr(0, 6) == "Conv2D" ? Ints{1, 1, 1, 1} : Ints{1, 1, 1, 1, 1};
    bool has_strides = false;
    for (const auto& attr : attrs) {
      runner.Attr(attr.first, attr.second);
      has_strides = has_strides || attr.first == "strides";
    }
    if (!has_strides) runner.Attr("strides", AttrValue(ones));
    runner.Attr("padding", std::string("SAME"));
    return runner.Run1({a, b, Counted(DType::kFloat, result, 9)}).status().code();
  };
  const auto floats = [](const Ints& dims) { return Counted(DType::kFloat, dims, 5); };
  const std::string input = "Conv2DBackpropInput", filter = "Conv2DBackpropFilter";
  const Tensor sizes = Sizes({1, 5, 5, 4}), weights = floats({3, 3, 4, 6});
  const Ints result = {1, 5, 5, 6};
  EXPECT_EQ(code(input, sizes, weights, result), absl::StatusCode::kOk);
  EXPECT_EQ(code(input, Sizes({5, 5, 4}), weights, result), kInvalid);
  EXPECT_EQ(code(input, Tensor::Of<int32_t>(Shape::Of({}), {5}), weights, result), kInvalid);
  EXPECT_EQ(code(input, Sizes({1, -5, 5, 4}), weights, result), kInvalid);
  EXPECT_EQ(code(input, Sizes({1, 2147483647, 2147483647, 2147483647}), weights, result), kInvalid);
  EXPECT_EQ(code(input, Sizes({2, 5, 5, 4}), weights, result), kInvalid) << "batches";
  EXPECT_EQ(code(input, Sizes({1, 5, 5, 8}), weights, result), kInvalid) << "groups";
  EXPECT_EQ(code(input, sizes, floats({3, 4, 6}), result), kInvalid);
  EXPECT_EQ(code(input, sizes, weights, {5, 5, 6}), kInvalid);
  EXPECT_EQ(code(input, sizes, weights, {1, 5, 5, 7}), kInvalid);
  EXPECT_EQ(code(input, sizes, weights, {1, 4, 5, 6}), kInvalid);
  EXPECT_EQ(code(input, Sizes({1, 5, 5, 0}), floats({3, 3, 0, 6}), result), kInvalid) << "no channels";
  EXPECT_EQ(code(input, sizes, weights, result, {{"data_format", std::string("NCHW")}}), kInvalid);
  EXPECT_EQ(code(input, sizes, weights, result, {{"strides", Ints{2, 1, 1, 1}}}), kInvalid);
  EXPECT_EQ(code(input, sizes, weights, result, {{"strides", Ints{1, 0, 1, 1}}}), kInvalid);
  EXPECT_EQ(code(input, sizes, weights, result, {{"explicit_paddings", Ints{0, 0, 1, 1, 1, 1, 0, 0}}}), kInvalid);
  const Tensor image = floats({1, 5, 5, 4});
  EXPECT_EQ(code(filter, image, Sizes({3, 3, 4, 6}), result), absl::StatusCode::kOk);
  EXPECT_EQ(code(filter, image, Sizes({3, 3}), result), kInvalid);
  EXPECT_EQ(code(filter, image, Sizes({3, -3, 4, 6}), result), kInvalid);
  EXPECT_EQ(code(filter, image, Sizes({2147483647, 2147483647, 4, 6}), result), kInvalid);
  EXPECT_EQ(code(filter, floats({1, 5, 5, 8}), Sizes({3, 3, 4, 6}), result), kInvalid) << "groups";
  EXPECT_EQ(code(filter, floats({2, 5, 5, 4}), Sizes({3, 3, 4, 6}), result), kInvalid) << "batches";
  EXPECT_EQ(code(filter, image, Sizes({3, 3, 4, 6}), result, {{"strides", Ints{2, 1, 1, 1}}}), kInvalid);
  const Tensor cube = floats({1, 3, 3, 3, 2}), cube_sizes = Sizes({1, 3, 3, 3, 2});
  EXPECT_EQ(code("Conv3DBackpropInputV2", cube_sizes, cube, {1, 3, 3, 3, 2}), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(code("Conv3DBackpropInputV2", cube_sizes, floats({2, 2, 2, 2, 2}), {1, 3, 3, 3, 2}), absl::StatusCode::kOk);
  EXPECT_EQ(code("Conv3DBackpropInputV2", cube_sizes, floats({2, 2, 2, 2, 2}), {1, 3, 3, 3, 2},
                 {{"dilations", Ints{1, 2, 1, 1, 1}}}),
            kInvalid);
  EXPECT_EQ(code("Conv3DBackpropFilterV2", cube, Sizes({2, 2, 2}), {1, 3, 3, 3, 2}), kInvalid);
}

TEST(ConvGradientsTest, TheLargestStrides) {
  const int64_t huge = std::numeric_limits<int32_t>::max();
  const ConvCase conv = {"", {1, 3, 3, 2}, {2, 2, 2, 3}, {huge, huge}, "VALID"};
  ExpectImageGradient(conv, "Conv2DBackpropInput", DType::kFloat, Sizes(conv.image));
  ExpectFilterGradient(conv, "Conv2DBackpropFilter", DType::kFloat, Sizes(conv.filter));
}

TEST(ConvGradientsTest, AnyMissingMemoryIsAnError) {
  const ConvCase conv = {"", {1, 19, 19, 3}, {3, 3, 3, 4}, {2, 2}};
  for (const bool of_filter : {false, true}) {
    int failures = 0;
    for (int64_t limit = 64;; limit = limit * 3 / 2) {
      TrackingAllocator memory(HostAllocator(), limit);
      KernelRunner runner = conv.Runner(of_filter ? "Conv2DBackpropFilter" : "Conv2DBackpropInput");
      runner.run().allocator = &memory;
      const absl::StatusOr<Tensor> made =
          runner.Run1({of_filter ? Fractions(conv.image) : Sizes(conv.image),
                       of_filter ? Sizes(conv.filter) : Fractions(conv.filter), Fractions(conv.result())});
      if (made.ok()) break;
      ASSERT_EQ(made.status().code(), absl::StatusCode::kResourceExhausted) << made.status();
      ++failures;
    }
    EXPECT_GE(failures, 3);
  }
}

TEST(ConvGradientsTest, EndWhereTheRunIsCancelled) {
  const ConvCase conv = {"", {1, 9, 9, 3}, {3, 3, 3, 4}, {1, 1}};
  CancellationManager cancellation;
  cancellation.StartCancel();
  KernelRunner image = conv.Runner("Conv2DBackpropInput"), filter = conv.Runner("Conv2DBackpropFilter");
  image.run().cancellation = filter.run().cancellation = &cancellation;
  const Tensor weights = Counted(DType::kInt32, conv.filter, 5), result = Counted(DType::kInt32, conv.result(), 9);
  EXPECT_EQ(image.Run1({Sizes(conv.image), weights, result}).status().code(), absl::StatusCode::kCancelled);
  EXPECT_EQ(filter.Run1({Fractions(conv.image), Sizes(conv.filter), Fractions(conv.result())}).status().code(),
            absl::StatusCode::kCancelled);
}

// A constant filter is packed in the first run and found again in the others, for images of any size.
TEST(ConvGradientsTest, ConstantFilters) {
  for (const DType dtype : {DType::kFloat, DType::kHalf}) {
    GraphBuilder b(NewOpRegistry());
    const Output sizes = b.Placeholder("sizes", DType::kInt32);
    const Output filter = b.Const("filter", Counted(dtype, {3, 3, 3, 20}, 5));
    const Output result = b.Placeholder("result", dtype);
    b.Op("Conv2DBackpropInput", "y", {sizes, filter, result},
         {{"strides", Ints{1, 2, 2, 1}}, {"padding", std::string("SAME")}});
    ASSERT_OK_AND_ASSIGN(const std::unique_ptr<Session> session, Session::Create({}, b.graph()));
    for (const int64_t size : {8, 9, 1, 8}) {
      const ConvCase conv = {"", {1, size, size, 3}, {3, 3, 3, 20}, {2, 2}};
      ASSERT_OK_AND_ASSIGN(
          const std::vector<Tensor> made,
          session->Run({{"sizes", Sizes(conv.image)}, {"result", Counted(dtype, conv.result(), 9)}}, {"y"}, {}));
      EXPECT_EQ(AsDoubles(made[0]), AsDoubles(Rounded(dtype, conv.image, ReferenceImageGradient(conv)))) << size;
    }
  }
}

}  // namespace
}  // namespace sluice

// The gradients of CropAndResize: of the image, and of the boxes.

#include <algorithm>
#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "graph/base/status_macros.h"
#include "kernels/array/index_values.h"
#include "kernels/image/boxes.h"
#include "kernels/image/families.h"
#include "kernels/image/float_rows.h"
#include "kernels/input_error.h"
#include "kernels/kernel.h"
#include "kernels/kernel_construction.h"
#include "kernels/new_kernel.h"
#include "kernels/row_work.h"
#include "kernels/worker_scratch.h"
#include "kernels/workers.h"

namespace sluice {
namespace {

// Nanoseconds for an element of the gradients of crops.
constexpr double kElementNs = 3;

absl::StatusOr<bool> ReadIsBilinear(const KernelConstruction& construction) {
  SLUICE_ASSIGN_OR_RETURN(const std::string method, construction.Get<std::string>("method"));
  if (method == "bilinear") return true;
  if (method == "nearest") return false;
  return AttrError("method", method, "bilinear or nearest");
}

// Gradients of crops in input 0, for the boxes in inputs `boxes` and `boxes` + 1.
absl::Status CheckGrads(const KernelContext& context, int boxes) {
  const Tensor& grads = context.input(0);
  if (grads.rank() != 4 || grads.dim(1) == 0 || grads.dim(2) == 0) {
    return ShapeError(0, "grads", grads.shape(), "4 dimensions, a height and a width of 1 or more");
  }
  SLUICE_ASSIGN_OR_RETURN(const int64_t count, CountCropBoxes(context, boxes, boxes + 1));
  if (grads.dim(0) == count) return absl::OkStatus();
  return ShapesError(0, "grads", grads.shape(), absl::StrCat(count, " crops"));
}

// The crops of one call.
struct CropGrads {
  const float* grads;
  const float* boxes;
  const int32_t* box_ind;
  int64_t count, crop_height, crop_width;
  int64_t height, width, channels;  // Of the images.

  CropAxis y_axis(int64_t box) const { return {boxes[4 * box], boxes[4 * box + 2], height, crop_height}; }
  CropAxis x_axis(int64_t box) const { return {boxes[4 * box + 1], boxes[4 * box + 3], width, crop_width}; }
  const float* row(int64_t box, int64_t y) const { return grads + (box * crop_height + y) * crop_width * channels; }
};

CropGrads GradsOf(const KernelContext& context, int boxes) {
  const Tensor& grads = context.input(0);
  CropGrads call{};
  call.grads = grads.flat<float>().data();
  call.boxes = context.input(boxes).flat<float>().data();
  call.box_ind = context.input(boxes + 1).flat<int32_t>().data();
  call.count = grads.dim(0);
  call.crop_height = grads.dim(1);
  call.crop_width = grads.dim(2);
  call.channels = grads.dim(3);
  return call;
}

// --- Of the image --------------------------------------------------------------------------------------------------

// Adds weight * from into a pixel.
template <typename T>
void AddPixel(const float* from, float weight, int64_t channels, T* pixel) {
  for (int64_t c = 0; c < channels; ++c) pixel[c] += static_cast<T>(weight * from[c]);
}

// Adds the gradient of box `box` to its image, a T for each element.
template <typename T>
void AddBox(const CropGrads& call, bool is_bilinear, int64_t box, T* image) {
  const CropAxis y_axis = call.y_axis(box), x_axis = call.x_axis(box);
  const int64_t channels = call.channels, row_size = call.width * channels;
  for (int64_t i = 0; i < call.crop_height; ++i) {
    float y;
    if (!y_axis.Place(i, &y)) continue;
    const CropLerp at_y = LerpOf(y, call.height);
    T* const top = image + at_y.lower * row_size;
    T* const bottom = image + at_y.upper * row_size;
    const float* from = call.row(box, i);
    for (int64_t j = 0; j < call.crop_width; ++j, from += channels) {
      float x;
      if (!x_axis.Place(j, &x)) continue;
      if (!is_bilinear) {
        AddPixel(from, 1.0f, channels,
                 image + NearestOf(y, call.height) * row_size + NearestOf(x, call.width) * channels);
        continue;
      }
      const CropLerp at_x = LerpOf(x, call.width);
      const int64_t left = at_x.lower * channels, right = at_x.upper * channels;
      AddPixel(from, (1 - at_y.weight) * (1 - at_x.weight), channels, top + left);
      AddPixel(from, (1 - at_y.weight) * at_x.weight, channels, top + right);
      AddPixel(from, at_y.weight * (1 - at_x.weight), channels, bottom + left);
      AddPixel(from, at_y.weight * at_x.weight, channels, bottom + right);
    }
  }
}

// The gradient of the images.
class CropAndResizeGradImageKernel final : public Kernel {
 public:
  explicit CropAndResizeGradImageKernel(bool is_bilinear) : is_bilinear_(is_bilinear) {}

  absl::Status Compute(KernelContext& context) const override {
    SLUICE_RETURN_IF_ERROR(CheckGrads(context, 1));
    SLUICE_ASSIGN_OR_RETURN(const Shape shape, ReadShapeInput(context, 3, "image_size"));
    const Tensor& grads = context.input(0);
    if (shape.rank() != 4 || shape.dim(1) == 0 || shape.dim(2) == 0 || shape.dim(3) != grads.dim(3)) {
      return ValueError(3, "image_size", shape.ToString(),
                        absl::StrCat("4 sizes, the last one ", grads.dim(3), ", a height and a width of 1 or more"));
    }
    SLUICE_RETURN_IF_ERROR(CheckCropBoxes(context, 1, 2, shape.dim(0)).status());
    SLUICE_ASSIGN_OR_RETURN(Tensor* const output, context.AllocateOutput(0, shape));
    if (output->num_elements() == 0) return absl::OkStatus();
    CropGrads call = GradsOf(context, 1);
    call.height = shape.dim(1);
    call.width = shape.dim(2);
    if (output->dtype() == DType::kDouble) return AddAll(context, call, output->flat<double>());
    if (output->dtype() == DType::kFloat) return AddAll(context, call, output->flat<float>());
    // Sums of halves are made in float and rounded once.
    SLUICE_ASSIGN_OR_RETURN(Tensor sums, context.AllocateTemp(DType::kFloat, shape));
    SLUICE_RETURN_IF_ERROR(AddAll(context, call, sums.flat<float>()));
    StoreFloats(sums.flat<float>().data(), sums.num_elements(), 0, output);
    return absl::OkStatus();
  }

 private:
  // Each image is one thread's, which adds its boxes in their order.
  template <typename T>
  absl::Status AddAll(const KernelContext& context, const CropGrads& call, absl::Span<T> output) const {
    const int64_t image_size = call.height * call.width * call.channels;
    const int64_t batch = static_cast<int64_t>(output.size()) / image_size;
    const double all_ns = kElementNs * static_cast<double>(context.input(0).num_elements());
    const double image_ns = all_ns / static_cast<double>(batch) + 0.1 * static_cast<double>(image_size);
    return Workers(context.run()).ForEachPart(batch, image_ns, [&](int64_t begin, int64_t end) {
      std::fill(output.begin() + begin * image_size, output.begin() + end * image_size, T(0));
      for (int64_t box = 0; box < call.count; ++box) {
        const int64_t image = call.box_ind[box];
        if (image >= begin && image < end) AddBox(call, is_bilinear_, box, output.data() + image * image_size);
      }
      return absl::OkStatus();
    });
  }

  const bool is_bilinear_;
};

// --- Of the boxes --------------------------------------------------------------------------------------------------

// How much the crop's pixel grows, in the sum over channels of its gradients, as the place moves along y and along x.
struct Slope {
  float y = 0;
  float x = 0;
};

Slope SlopeAt(const CropGrads& call, const FloatRows& images, int64_t image_row, const CropLerp& y, const CropLerp& x,
              const float* from, float* scratch) {
  const int64_t channels = call.channels;
  const auto pixel = [&](int64_t row, int64_t column, int64_t place) {
    return images.Get(((image_row + row) * call.width + column) * channels, channels, scratch + place * channels);
  };
  const float* const top_left = pixel(y.lower, x.lower, 0);
  const float* const top_right = pixel(y.lower, x.upper, 1);
  const float* const bottom_left = pixel(y.upper, x.lower, 2);
  const float* const bottom_right = pixel(y.upper, x.upper, 3);
  Slope slope;
  for (int64_t c = 0; c < channels; ++c) {
    const float along_y = (1 - x.weight) * (bottom_left[c] - top_left[c]) + x.weight * (bottom_right[c] - top_right[c]);
    const float along_x = (1 - y.weight) * (top_right[c] - top_left[c]) + y.weight * (bottom_right[c] - bottom_left[c]);
    slope.y += along_y * from[c];
    slope.x += along_x * from[c];
  }
  return slope;
}

// Adds the share of pixel `i` of a crop to the gradients of its box's begin and end.
void AddToEnds(const CropAxis& axis, int64_t i, float slope, float* begin, float* end) {
  const float last = static_cast<float>(axis.size - 1);
  if (axis.crop > 1) {
    const float part = static_cast<float>(i) * (last / static_cast<float>(axis.crop - 1));
    *begin += slope * (last - part);
    *end += slope * part;
  } else {
    *begin += slope * 0.5f * last;
    *end += slope * 0.5f * last;
  }
}

void GradOfBox(const CropGrads& call, const FloatRows& images, int64_t box, float* scratch, float* out) {
  std::fill_n(out, 4, 0.0f);
  const CropAxis y_axis = call.y_axis(box), x_axis = call.x_axis(box);
  const int64_t image_row = int64_t{call.box_ind[box]} * call.height;
  for (int64_t i = 0; i < call.crop_height; ++i) {
    float y;
    if (!y_axis.Place(i, &y)) continue;
    const CropLerp at_y = LerpOf(y, call.height);
    const float* from = call.row(box, i);
    for (int64_t j = 0; j < call.crop_width; ++j, from += call.channels) {
      float x;
      if (!x_axis.Place(j, &x)) continue;
      const Slope slope = SlopeAt(call, images, image_row, at_y, LerpOf(x, call.width), from, scratch);
      AddToEnds(y_axis, i, slope.y, out, out + 2);
      AddToEnds(x_axis, j, slope.x, out + 1, out + 3);
    }
  }
}

// The gradient of the boxes' corners.
class CropAndResizeGradBoxesKernel final : public Kernel {
 public:
  absl::Status Compute(KernelContext& context) const override {
    SLUICE_RETURN_IF_ERROR(CheckGrads(context, 2));
    const Tensor& images = context.input(1);
    const int64_t channels = context.input(0).dim(3);
    if (images.rank() != 4 || images.dim(1) == 0 || images.dim(2) == 0 || images.dim(3) != channels) {
      return ShapeError(1, "image", images.shape(),
                        absl::StrCat("4 dimensions, ", channels, " channels, a height and a width of 1 or more"));
    }
    SLUICE_RETURN_IF_ERROR(CheckCropBoxes(context, 2, 3, images.dim(0)).status());
    CropGrads call = GradsOf(context, 2);
    call.height = images.dim(1);
    call.width = images.dim(2);
    SLUICE_ASSIGN_OR_RETURN(Tensor* const output, context.AllocateOutput(0, Shape::Of({call.count, 4})));
    const FloatRows pixels(images);
    float* const out = output->flat<float>().data();
    if (context.input(0).num_elements() == 0) {
      std::fill_n(out, output->num_elements(), 0.0f);
      return absl::OkStatus();
    }
    const double box_ns =
        2 * kElementNs * static_cast<double>(call.crop_height * call.crop_width) * static_cast<double>(channels + 1);
    const RowWork work{call.count, box_ns, pixels.is_direct() ? 0 : 4 * channels};
    return ForEachRowRange(context, work, &scratch_, [&](int64_t begin, int64_t end, float* scratch) {
      for (int64_t box = begin; box < end; ++box) GradOfBox(call, pixels, box, scratch, out + 4 * box);
    });
  }

 private:
  mutable ScratchKeeper scratch_;
};

constexpr DTypeSet kCropTypes =
    kSignedTypes | DTypeSet{DType::kFloat, DType::kDouble, DType::kHalf, DType::kUInt8, DType::kUInt16};

constexpr KernelRow kRows[] = {
    KernelRow("CropAndResizeGradImage", &NewWith<CropAndResizeGradImageKernel, &ReadIsBilinear>)
        .Types("T", {DType::kFloat, DType::kDouble, DType::kHalf})
        .HostInput("image_size"),
    KernelRow("CropAndResizeGradBoxes", &New<CropAndResizeGradBoxesKernel>).Types("T", kCropTypes),
};

}  // namespace

absl::Span<const KernelRow> CropAndResizeGradKernels() { return kRows; }

}  // namespace sluice

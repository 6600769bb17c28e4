// CropAndResize: boxes of images, resized to one size. The rows of all crops are shared among the threads.

#include <algorithm>
#include <memory>
#include <string>

#include "graph/base/status_macros.h"
#include "kernels/array/index_values.h"
#include "kernels/image/boxes.h"
#include "kernels/image/families.h"
#include "kernels/image/float_rows.h"
#include "kernels/image/resize_geometry.h"
#include "kernels/input_error.h"
#include "kernels/kernel.h"
#include "kernels/kernel_construction.h"
#include "kernels/new_kernel.h"
#include "kernels/row_work.h"
#include "kernels/worker_scratch.h"

namespace sluice {
namespace {

// Nanoseconds for an element of a crop.
constexpr double kElementNs = 1.5;

struct CropForm {
  bool is_bilinear = true;
  float extrapolation_value = 0;

  static absl::StatusOr<CropForm> Read(const KernelConstruction& construction) {
    CropForm form;
    SLUICE_ASSIGN_OR_RETURN(const std::string method, construction.Get<std::string>("method"));
    SLUICE_ASSIGN_OR_RETURN(form.extrapolation_value, construction.Get<float>("extrapolation_value"));
    form.is_bilinear = method == "bilinear";
    if (form.is_bilinear || method == "nearest") return form;
    return AttrError("method", method, "bilinear or nearest");
  }
};

// One call. Sizes are those of a pixel's channels and of images and crops in pixels.
struct CropCall {
  const CropForm& form;
  const FloatRows images;
  absl::Span<const float> boxes;
  absl::Span<const int32_t> box_ind;
  int64_t height, width, channels;
  int64_t crop_height, crop_width;
};

// The pixels that one pixel of a crop is made of: at y and the next row, x and the next column.
void LerpPixel(const CropCall& call, int64_t image_row, const CropLerp& y, const CropLerp& x, float* scratch,
               float* out) {
  const int64_t channels = call.channels;
  const auto pixel = [&](int64_t row, int64_t column, int64_t place) {
    return call.images.Get(((image_row + row) * call.width + column) * channels, channels, scratch + place * channels);
  };
  const float* const top_left = pixel(y.lower, x.lower, 0);
  const float* const top_right = pixel(y.lower, x.upper, 1);
  const float* const bottom_left = pixel(y.upper, x.lower, 2);
  const float* const bottom_right = pixel(y.upper, x.upper, 3);
  for (int64_t c = 0; c < channels; ++c) {
    const float top = top_left[c] + (top_right[c] - top_left[c]) * x.weight;
    const float bottom = bottom_left[c] + (bottom_right[c] - bottom_left[c]) * x.weight;
    out[c] = top + (bottom - top) * y.weight;
  }
}

// Row `row` of all rows of the crops. `scratch`: four pixels.
void CropRow(const CropCall& call, int64_t row, float* scratch, float* out) {
  const int64_t box = row / call.crop_height;
  const float* const corners = call.boxes.data() + 4 * box;
  const int64_t image_row = int64_t{call.box_ind[static_cast<size_t>(box)]} * call.height;
  const int64_t channels = call.channels;
  float y;
  if (!CropAxis(corners[0], corners[2], call.height, call.crop_height).Place(row % call.crop_height, &y)) {
    std::fill_n(out, call.crop_width * channels, call.form.extrapolation_value);
    return;
  }
  const CropAxis axis(corners[1], corners[3], call.width, call.crop_width);
  const CropLerp y_lerp = LerpOf(y, call.height);
  const int64_t nearest_row = image_row + NearestOf(y, call.height);
  for (int64_t i = 0; i < call.crop_width; ++i, out += channels) {
    float x;
    if (!axis.Place(i, &x)) {
      std::fill_n(out, channels, call.form.extrapolation_value);
    } else if (call.form.is_bilinear) {
      LerpPixel(call, image_row, y_lerp, LerpOf(x, call.width), scratch, out);
    } else {
      const int64_t pixel = nearest_row * call.width + NearestOf(x, call.width);
      const float* const from = call.images.Get(pixel * channels, channels, out);
      if (from != out) std::copy_n(from, channels, out);
    }
  }
}

// Crops of the images in input 0, of the boxes in input 1.
class CropAndResizeKernel final : public Kernel {
 public:
  explicit CropAndResizeKernel(const CropForm& form) : form_(form) {}

  absl::Status Compute(KernelContext& context) const override {
    const Tensor& images = context.input(0);
    if (images.rank() != 4) return ShapeError(0, "", images.shape(), "4 dimensions");
    if (images.dim(1) == 0 || images.dim(2) == 0) {
      return ShapeError(0, "", images.shape(), "a height and a width of 1 or more");
    }
    SLUICE_RETURN_IF_ERROR(CountCropBoxes(context, 1, 2).status());
    SLUICE_ASSIGN_OR_RETURN(const IndexVector crop, ReadHeightAndWidth(context, 3, "crop_size"));
    SLUICE_ASSIGN_OR_RETURN(const int64_t count, CheckCropBoxes(context, 1, 2, images.dim(0)));
    SLUICE_ASSIGN_OR_RETURN(const Shape shape, MakeShape({count, crop[0], crop[1], images.dim(3)}));
    SLUICE_ASSIGN_OR_RETURN(Tensor* const output, context.AllocateOutput(0, shape));
    if (output->num_elements() == 0) return absl::OkStatus();
    const CropCall call{form_,
                        FloatRows(images),
                        context.input(1).flat<float>(),
                        context.input(2).flat<int32_t>(),
                        images.dim(1),
                        images.dim(2),
                        images.dim(3),
                        crop[0],
                        crop[1]};
    float* const out = output->flat<float>().data();
    const int64_t row_size = crop[1] * call.channels;
    const int64_t scratch_floats = call.images.is_direct() ? 0 : 4 * call.channels;
    const RowWork work{count * crop[0], kElementNs * static_cast<double>(row_size), scratch_floats};
    return ForEachRowRange(context, work, &scratch_, [&](int64_t begin, int64_t end, float* scratch) {
      for (int64_t i = begin; i < end; ++i) CropRow(call, i, scratch, out + i * row_size);
    });
  }

 private:
  const CropForm form_;
  mutable ScratchKeeper scratch_;
};

constexpr DTypeSet kCropTypes =
    kSignedTypes | DTypeSet{DType::kFloat, DType::kDouble, DType::kHalf, DType::kUInt8, DType::kUInt16};

constexpr KernelRow kRows[] = {
    KernelRow("CropAndResize", &NewWith<CropAndResizeKernel, &CropForm::Read>)
        .Types("T", kCropTypes)
        .HostInput("crop_size"),
};

}  // namespace

absl::Span<const KernelRow> CropAndResizeKernels() { return kRows; }

}  // namespace sluice

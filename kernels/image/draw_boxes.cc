// DrawBoundingBoxes, both versions: the edges of boxes, cycling through the colours.

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <memory>
#include <vector>

#include "absl/strings/str_cat.h"
#include "graph/base/status_macros.h"
#include "kernels/image/families.h"
#include "kernels/image/float_rows.h"
#include "kernels/input_error.h"
#include "kernels/kernel.h"
#include "kernels/kernel_construction.h"
#include "kernels/new_kernel.h"

namespace sluice {
namespace {

constexpr int64_t kMaxChannels = 4;
using Color = std::array<float, kMaxChannels>;

// Where no colours are given.
constexpr Color kDefaultColors[] = {
    {1, 1, 0, 1},     {0, 0, 1, 1},   {1, 0, 0, 1},   {0, 1, 0, 1}, {0.5, 0, 0.5, 1},
    {0.5, 0.5, 0, 1}, {0.5, 0, 0, 1}, {0, 0, 0.5, 1}, {0, 1, 1, 1}, {1, 0, 1, 1},
};

// One call. Sizes in pixels.
struct DrawCall {
  int64_t batch, height, width, channels, num_boxes;
  const float* boxes;
  const float* colors;  // Null: the default ones.
  int64_t num_colors, color_size;
  Tensor* images;

  Color color(int64_t box) const {
    if (colors == nullptr) {
      Color color = kDefaultColors[static_cast<size_t>(box) % std::size(kDefaultColors)];
      if (channels == 1) color[0] = 1;
      return color;
    }
    Color color = {};
    std::copy_n(colors + box % num_colors * color_size, channels, color.begin());
    return color;
  }
};

// A place in pixels: towards zero, as TensorFlow converts it; far away where the number is beyond int64, none for NaN.
bool ToPixel(float part, int64_t size, int64_t* pixel) {
  constexpr float kFar = 0x1p62f;
  const float place = part * static_cast<float>(size - 1);
  if (std::isnan(place)) return false;
  *pixel = static_cast<int64_t>(std::min(std::max(place, -kFar), kFar));
  return true;
}

// Fills the pixels of rows [top, bottom] and columns [left, right], which lie in the image.
void Fill(const DrawCall& call, int64_t image, int64_t top, int64_t bottom, int64_t left, int64_t right,
          const Color& color) {
  for (int64_t row = top; row <= bottom; ++row) {
    for (int64_t column = left; column <= right; ++column) {
      const int64_t pixel = (image * call.height + row) * call.width + column;
      StoreFloats(color.data(), call.channels, pixel * call.channels, call.images);
    }
  }
}

void DrawBox(const DrawCall& call, int64_t image, const float* corners, const Color& color) {
  int64_t top, left, bottom, right;
  const bool is_sound = ToPixel(corners[0], call.height, &top) && ToPixel(corners[1], call.width, &left) &&
                        ToPixel(corners[2], call.height, &bottom) && ToPixel(corners[3], call.width, &right);
  if (!is_sound || top > bottom || left > right) return;
  if (top >= call.height || bottom < 0 || left >= call.width || right < 0) return;
  const int64_t first_row = std::max<int64_t>(top, 0), last_row = std::min(bottom, call.height - 1);
  const int64_t first_column = std::max<int64_t>(left, 0), last_column = std::min(right, call.width - 1);
  if (top >= 0) Fill(call, image, top, top, first_column, last_column, color);
  if (bottom < call.height) Fill(call, image, bottom, bottom, first_column, last_column, color);
  if (left >= 0) Fill(call, image, first_row, last_row, left, left, color);
  if (right < call.width) Fill(call, image, first_row, last_row, right, right, color);
}

absl::Status CheckImagesAndBoxes(const Tensor& images, const Tensor& boxes) {
  if (images.rank() != 4 || (images.dim(3) != 1 && images.dim(3) != 3 && images.dim(3) != 4)) {
    return ShapeError(0, "images", images.shape(), "[batch, height, width, 1, 3 or 4]");
  }
  if (boxes.rank() != 3 || boxes.dim(2) != 4 || boxes.dim(0) != images.dim(0)) {
    return ShapeError(1, "boxes", boxes.shape(), absl::StrCat("[", images.dim(0), ", boxes, 4]"));
  }
  return absl::OkStatus();
}

absl::Status ReadColors(const KernelContext& context, DrawCall* call) {
  if (context.num_inputs() < 3) return absl::OkStatus();
  const Tensor& colors = context.input(2);
  if (colors.rank() != 2 || colors.dim(1) < call->channels) {
    return ShapeError(2, "colors", colors.shape(), absl::StrCat("a matrix of at least ", call->channels, " columns"));
  }
  if (colors.num_elements() == 0) return absl::OkStatus();
  call->colors = colors.flat<float>().data();
  call->num_colors = colors.dim(0);
  call->color_size = colors.dim(1);
  return absl::OkStatus();
}

absl::Status ComputeDrawing(KernelContext& context) {
  const Tensor &images = context.input(0), &boxes = context.input(1);
  SLUICE_RETURN_IF_ERROR(CheckImagesAndBoxes(images, boxes));
  DrawCall call{images.dim(0), images.dim(1), images.dim(2), images.dim(3), boxes.dim(1), nullptr, nullptr, 0, 0,
                nullptr};
  call.boxes = boxes.flat<float>().data();
  SLUICE_RETURN_IF_ERROR(ReadColors(context, &call));
  const void* const from = images.raw_data();
  const Shape shape = images.shape();
  SLUICE_ASSIGN_OR_RETURN(call.images, context.ForwardOrAllocate(0, shape, {0}));
  if (shape.num_elements() == 0) return absl::OkStatus();
  void* const to = call.images->mutable_raw_data();
  if (from != to) std::memcpy(to, from, call.images->total_bytes());
  const double image_ns = 20.0 * static_cast<double>(call.num_boxes) * static_cast<double>(call.height + call.width);
  context.ParallelFor(call.batch, image_ns, [&call](int64_t begin, int64_t end) {
    for (int64_t image = begin; image < end; ++image) {
      for (int64_t box = 0; box < call.num_boxes; ++box) {
        DrawBox(call, image, call.boxes + (image * call.num_boxes + box) * 4, call.color(box));
      }
    }
  });
  return absl::OkStatus();
}

constexpr KernelRow kRows[] = {
    KernelRow("DrawBoundingBoxes", &Call<ComputeDrawing>).Types("T", {DType::kFloat, DType::kHalf}),
    KernelRow("DrawBoundingBoxesV2", &Call<ComputeDrawing>).Types("T", {DType::kFloat, DType::kHalf}),
};

}  // namespace

absl::Span<const KernelRow> DrawBoxesKernels() { return kRows; }

}  // namespace sluice

#include "kernels/image/boxes.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "graph/base/error.h"
#include "graph/base/status_macros.h"
#include "kernels/input_error.h"

namespace sluice {

absl::StatusOr<int64_t> CountBoxes(const KernelContext& context, int input, absl::string_view name) {
  const Tensor& boxes = context.input(input);
  if (boxes.rank() == 2 && boxes.dim(1) == 4) return boxes.dim(0);
  return ShapeError(input, name, boxes.shape(), "a matrix of boxes, of 4 columns");
}

absl::StatusOr<int64_t> CountCropBoxes(const KernelContext& context, int boxes, int box_ind) {
  SLUICE_ASSIGN_OR_RETURN(const int64_t count, CountBoxes(context, boxes, "boxes"));
  const Tensor& indices = context.input(box_ind);
  if (indices.rank() == 1 && indices.dim(0) == count) return count;
  return ShapeError(box_ind, "box_ind", indices.shape(), absl::StrCat("[", count, "]"));
}

absl::StatusOr<int64_t> CheckCropBoxes(const KernelContext& context, int boxes, int box_ind, int64_t batch) {
  SLUICE_ASSIGN_OR_RETURN(const int64_t count, CountCropBoxes(context, boxes, box_ind));
  const absl::Span<const int32_t> indices = context.input(box_ind).flat<int32_t>();
  for (const int32_t index : indices) {
    if (index >= 0 && index < batch) continue;
    return Error(ErrorCode::kOpRange)
        .Input(box_ind, "box_ind")
        .Found(absl::StrCat(index))
        .Expected(absl::StrCat("an image of 0 to ", batch - 1));
  }
  for (const float coordinate : context.input(boxes).flat<float>()) {
    if (std::isfinite(coordinate)) continue;
    return ValueError(boxes, "boxes", coordinate, "finite numbers");
  }
  return count;
}

CropAxis::CropAxis(float box_begin, float box_end, int64_t image_size, int64_t crop_size)
    : size(image_size), crop(crop_size), begin(box_begin), end(box_end) {
  if (crop > 1) scale = (end - begin) * static_cast<float>(size - 1) / static_cast<float>(crop - 1);
}

CropLerp LerpOf(float place, int64_t size) {
  const float floor = std::floor(place);
  const int64_t lower = std::min(static_cast<int64_t>(floor), size - 1);
  return {lower, std::min(static_cast<int64_t>(std::ceil(place)), size - 1), place - floor};
}

int64_t NearestOf(float place, int64_t size) { return std::min(static_cast<int64_t>(std::round(place)), size - 1); }

}  // namespace sluice

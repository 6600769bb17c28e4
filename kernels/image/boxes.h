#ifndef SLUICE_KERNELS_IMAGE_BOXES_H_
#define SLUICE_KERNELS_IMAGE_BOXES_H_

#include <cstdint>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "graph/value/tensor.h"
#include "kernels/kernel_context.h"

namespace sluice {

// How many boxes [y1, x1, y2, x2] input `input` has. kOpShape unless it is a matrix of 4 columns.
absl::StatusOr<int64_t> CountBoxes(const KernelContext& context, int input, absl::string_view name);

// The boxes of crops in inputs `boxes` and `box_ind`: finite coordinates, and indices of images of a batch. kOpShape,
// kOpValue, kOpRange. The number of boxes.
absl::StatusOr<int64_t> CheckCropBoxes(const KernelContext& context, int boxes, int box_ind, int64_t batch);
// The shapes alone.
absl::StatusOr<int64_t> CountCropBoxes(const KernelContext& context, int boxes, int box_ind);

// Where the pixels of a crop lie along one axis of an image. A value type.
struct CropAxis {
  int64_t size = 0;  // Of the image.
  int64_t crop = 0;  // Of the crop.
  float begin = 0;
  float end = 0;
  float scale = 0;

  CropAxis(float box_begin, float box_end, int64_t image_size, int64_t crop_size);
  // The place of pixel i of the crop. Whether it is in the image.
  bool Place(int64_t i, float* place) const {
    *place = crop > 1 ? begin * static_cast<float>(size - 1) + static_cast<float>(i) * scale
                      : static_cast<float>(0.5 * (begin + end) * static_cast<double>(size - 1));
    return *place >= 0 && *place <= static_cast<float>(size - 1);
  }
};

// The two pixels next to a place, and how far it is from the first one.
struct CropLerp {
  int64_t lower;
  int64_t upper;
  float weight;
};
CropLerp LerpOf(float place, int64_t size);
// The pixel next to a place.
int64_t NearestOf(float place, int64_t size);

}  // namespace sluice

#endif  // SLUICE_KERNELS_IMAGE_BOXES_H_

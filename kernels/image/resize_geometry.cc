#include "kernels/image/resize_geometry.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "absl/strings/str_cat.h"
#include "graph/base/error.h"
#include "graph/base/status_macros.h"
#include "kernels/input_error.h"

namespace sluice {
namespace {

constexpr int64_t kMaxSize = std::numeric_limits<int32_t>::max();

absl::Status CheckImages(const Tensor& images, int input) {
  if (images.rank() != 4) return ShapeError(input, "", images.shape(), "4 dimensions");
  for (const int64_t size : images.shape().dims()) {
    if (size > kMaxSize) return ShapeError(input, "", images.shape(), absl::StrCat("sizes of at most ", kMaxSize));
  }
  return absl::OkStatus();
}

absl::Status CheckHasPixels(const Tensor& images, int input) {
  if (images.dim(1) > 0 && images.dim(2) > 0) return absl::OkStatus();
  return ShapeError(input, "", images.shape(), "a height and a width of 1 or more");
}

// Positions are int32 in TensorFlow, which refuses what it cannot count.
absl::Status CheckPositions(const ResizeAxis& axis) {
  const float last = std::ceil(static_cast<float>(axis.resized - 1) * axis.scale);
  if (last <= static_cast<float>(kMaxSize)) return absl::OkStatus();
  return Error(ErrorCode::kOpTooLarge).Input(0).Found(absl::StrCat(axis.original, " pixels"));
}

}  // namespace

absl::StatusOr<IndexVector> ReadHeightAndWidth(const KernelContext& context, int input, absl::string_view name,
                                               int64_t least) {
  SLUICE_ASSIGN_OR_RETURN(IndexVector size, ReadIndexVector(context, input, name));
  if (size.size() != 2) return ShapeError(input, name, absl::StrCat(size.size(), " elements"), "a height and a width");
  if (size[0] < least || size[1] < least) {
    return ValueError(input, name, absl::StrCat("[", size[0], ",", size[1], "]"),
                      absl::StrCat("sizes of ", least, " or more"));
  }
  return size;
}

absl::StatusOr<ResizeForm> ResizeForm::Read(const KernelConstruction& construction) {
  ResizeForm form;
  SLUICE_ASSIGN_OR_RETURN(form.align_corners, construction.Get<bool>("align_corners"));
  SLUICE_ASSIGN_OR_RETURN(form.half_pixel_centers, construction.GetOr<bool>("half_pixel_centers", false));
  if (!form.align_corners || !form.half_pixel_centers) return form;
  return Error(ErrorCode::kOpAttr).Attr("align_corners").Text("cannot go together with half_pixel_centers");
}

int64_t ResizeAxis::Nearest(int64_t i, bool align_corners) const {
  const float x = static_cast<float>(i);
  const float position = half_pixel_centers ? (x + 0.5f) * scale : x * scale;
  const float chosen = align_corners ? std::round(position) : std::floor(position);
  return std::min(static_cast<int64_t>(chosen), original - 1);
}

ResizeAxis MakeResizeAxis(const ResizeForm& form, int64_t original, int64_t resized) {
  ResizeAxis axis{original, resized, 1, form.half_pixel_centers};
  const bool between_corners = form.align_corners && original > 1 && resized > 1;
  axis.scale = between_corners ? static_cast<float>(original - 1) / static_cast<float>(resized - 1)
                               : static_cast<float>(original) / static_cast<float>(resized);
  return axis;
}

absl::StatusOr<ResizeGeometry> ResolveResize(const KernelContext& context, const ResizeForm& form) {
  const Tensor& images = context.input(0);
  SLUICE_RETURN_IF_ERROR(CheckImages(images, 0));
  SLUICE_ASSIGN_OR_RETURN(const IndexVector size, ReadHeightAndWidth(context, 1, "size"));
  SLUICE_RETURN_IF_ERROR(CheckHasPixels(images, 0));
  if (images.dim(3) == 0) return ShapeError(0, "", images.shape(), "at least one channel");
  ResizeGeometry geometry;
  geometry.batch = images.dim(0);
  geometry.channels = images.dim(3);
  geometry.y = MakeResizeAxis(form, images.dim(1), size[0]);
  geometry.x = MakeResizeAxis(form, images.dim(2), size[1]);
  SLUICE_RETURN_IF_ERROR(CheckPositions(geometry.y));
  SLUICE_RETURN_IF_ERROR(CheckPositions(geometry.x));
  SLUICE_ASSIGN_OR_RETURN(geometry.resized, MakeShape({images.dim(0), size[0], size[1], images.dim(3)}));
  return geometry;
}

absl::StatusOr<ResizeGeometry> ResolveResizeGrad(const KernelContext& context, const ResizeForm& form,
                                                 Shape* original) {
  SLUICE_ASSIGN_OR_RETURN(ResizeGeometry geometry, ResolveSampledGrad(context, original));
  SLUICE_RETURN_IF_ERROR(CheckHasPixels(context.input(0), 0));
  SLUICE_RETURN_IF_ERROR(CheckHasPixels(context.input(1), 1));
  geometry.y = MakeResizeAxis(form, geometry.y.original, geometry.y.resized);
  geometry.x = MakeResizeAxis(form, geometry.x.original, geometry.x.resized);
  return geometry;
}

absl::StatusOr<ResizeGeometry> ResolveSampledGrad(const KernelContext& context, Shape* original) {
  const Tensor& grads = context.input(0);
  const Tensor& images = context.input(1);
  SLUICE_RETURN_IF_ERROR(CheckImages(grads, 0));
  SLUICE_RETURN_IF_ERROR(CheckImages(images, 1));
  ResizeGeometry geometry;
  geometry.batch = grads.dim(0);
  geometry.channels = grads.dim(3);
  geometry.y.original = images.dim(1);
  geometry.y.resized = grads.dim(1);
  geometry.x.original = images.dim(2);
  geometry.x.resized = grads.dim(2);
  geometry.resized = grads.shape();
  SLUICE_ASSIGN_OR_RETURN(*original, MakeShape({grads.dim(0), images.dim(1), images.dim(2), grads.dim(3)}));
  return geometry;
}

absl::StatusOr<ResizeGeometry> ResolveSizedResizeGrad(const KernelContext& context, const ResizeForm& form,
                                                      Shape* original) {
  const Tensor& grads = context.input(0);
  SLUICE_RETURN_IF_ERROR(CheckImages(grads, 0));
  SLUICE_ASSIGN_OR_RETURN(const IndexVector size, ReadHeightAndWidth(context, 1, "size"));
  SLUICE_ASSIGN_OR_RETURN(*original, MakeShape({grads.dim(0), size[0], size[1], grads.dim(3)}));
  ResizeGeometry geometry;
  geometry.batch = grads.dim(0);
  geometry.channels = grads.dim(3);
  geometry.y = MakeResizeAxis(form, size[0], grads.dim(1));
  geometry.x = MakeResizeAxis(form, size[1], grads.dim(2));
  geometry.resized = grads.shape();
  return geometry;
}

}  // namespace sluice

// Shapes of pooling and of patches cut out of images.

#include <vector>

#include "absl/strings/str_cat.h"
#include "graph/base/status_macros.h"
#include "graph/shapes/families.h"
#include "graph/shapes/shape_rules.h"
#include "graph/shapes/windows.h"

namespace sluice {
namespace {

// Slides windows given by `window` and `strides` (one entry per dimension) over input 0; `paddings` may be empty.
absl::Status Slide(InferenceContext& c, const ImageLayout& layout, const std::vector<int64_t>& window,
                   const std::vector<int64_t>& strides, const std::vector<int64_t>& paddings) {
  Dims dims(static_cast<size_t>(layout.rank), kUnknownDim);
  for (int i = 0; i < layout.rank; ++i) {
    const size_t at = static_cast<size_t>(i);
    bool negative = false;
    dims[at] = window[at] == 1 && strides[at] == 1 && (paddings.empty() || paddings[at] == 0)
                   ? c.dim(0, i)
                   : WindowedSize(c.dim(0, i), window[at], 1, strides[at], c.String("padding"),
                                  paddings.empty() ? 0 : paddings[at], &negative);
    if (negative) {
      return c.MismatchError(0, absl::StrCat("a window of ", window[at], " does not fit into dimension ", i),
                             c.input(0), ShapeOf(window));
    }
  }
  c.SetAll(ShapeOf(dims));
  return absl::OkStatus();
}

absl::Status Pool(InferenceContext& c, int rank, bool explicit_paddings) {
  std::vector<int64_t> window, strides, paddings;
  SLUICE_RETURN_IF_ERROR(ReadWindowAttr(c, "ksize", rank, false, &window));
  SLUICE_RETURN_IF_ERROR(ReadWindowAttr(c, "strides", rank, false, &strides));
  if (explicit_paddings) SLUICE_RETURN_IF_ERROR(ReadExplicitPaddings(c, rank, &paddings));
  ImageLayout layout;
  if (!ReadLayout(c, rank, &layout)) return absl::OkStatus();
  SLUICE_RETURN_IF_ERROR(c.RequireRank(0, rank));
  return Slide(c, layout, window, strides, paddings);
}

absl::Status MaxPool(InferenceContext& c) { return Pool(c, 4, true); }
absl::Status Pool2D(InferenceContext& c) { return Pool(c, 4, false); }
absl::Status Pool3D(InferenceContext& c) { return Pool(c, 5, false); }

absl::Status QuantizedPool(InferenceContext& c) {
  SLUICE_RETURN_IF_ERROR(Pool(c, 4, false));
  c.SetScalar(1);
  c.SetScalar(2);
  return absl::OkStatus();
}

// Window and strides are inputs.
absl::Status MaxPoolV2(InferenceContext& c) {
  SLUICE_RETURN_IF_ERROR(c.RequireRank(0, 4));
  c.Set(0, PartialShape::OfRank(4));
  const ShapeValue* window = c.value(1);
  const ShapeValue* strides = c.value(2);
  ImageLayout layout;
  if (window == nullptr || strides == nullptr || window->size() != 4 || strides->size() != 4) return absl::OkStatus();
  for (size_t i = 0; i < 4; ++i) {
    if ((*window)[i] <= 0 || (*strides)[i] <= 0) return absl::OkStatus();
  }
  return ReadLayout(c, 4, &layout) ? Slide(c, layout, window->elements, strides->elements, {}) : absl::OkStatus();
}

// The result's height and width are quotients of floats, which are left to the kernels; only the cuts are random.
absl::Status FractionalPool(InferenceContext& c) {
  SLUICE_RETURN_IF_ERROR(c.RequireRank(0, 4));
  c.SetAll(PartialShape::OfRank(1));
  c.Set(0, Dims{c.dim(0, 0), kUnknownDim, kUnknownDim, c.dim(0, 3)});
  return absl::OkStatus();
}

// Patches lie along the last dimension. Windows cover `spaces` dimensions from the second on.
absl::Status Patches(InferenceContext& c, int spaces, bool dilated) {
  const int rank = spaces + 2;
  std::vector<int64_t> window, strides, rates(static_cast<size_t>(rank), 1);
  SLUICE_RETURN_IF_ERROR(c.RequireRank(0, rank));
  SLUICE_RETURN_IF_ERROR(ReadWindowAttr(c, "ksizes", rank, false, &window));
  SLUICE_RETURN_IF_ERROR(ReadWindowAttr(c, "strides", rank, false, &strides));
  if (dilated) SLUICE_RETURN_IF_ERROR(ReadWindowAttr(c, "rates", rank, false, &rates));
  Dims dims(static_cast<size_t>(rank), kUnknownDim);
  dims[0] = c.dim(0, 0);
  int64_t depth = c.dim(0, rank - 1);
  for (size_t i = 1; i + 1 < dims.size(); ++i) {
    bool negative = false;
    dims[i] =
        WindowedSize(c.dim(0, static_cast<int>(i)), window[i], rates[i], strides[i], c.String("padding"), 0, &negative);
    depth = MulDims(depth, window[i]);
  }
  dims.back() = depth;
  c.Set(0, dims);
  return absl::OkStatus();
}

absl::Status ExtractImagePatches(InferenceContext& c) { return Patches(c, 2, true); }
absl::Status ExtractVolumePatches(InferenceContext& c) { return Patches(c, 3, false); }

constexpr ShapeRow kRows[] = {
    {"AvgPool", &Pool2D},
    {"AvgPool3D", &Pool3D},
    {"AvgPool3DGrad", &ShapeInInput0},
    {"AvgPoolGrad", &ShapeInInput0},
    {"ExtractImagePatches", &ExtractImagePatches},
    {"ExtractVolumePatches", &ExtractVolumePatches},
    {"FractionalAvgPool", &FractionalPool},
    {"FractionalAvgPoolGrad", &ShapeInInput0},
    {"FractionalMaxPool", &FractionalPool},
    {"FractionalMaxPoolGrad", &SameAsInput0},
    {"MaxPool", &MaxPool},
    {"MaxPool3D", &Pool3D},
    {"MaxPool3DGrad", &SameAsInput0},
    {"MaxPool3DGradGrad", &SameAsInput1},
    {"MaxPoolGrad", &SameAsInput0},
    {"MaxPoolGradGrad", &SameAsInput1},
    {"MaxPoolGradGradV2", &SameAsInput1},
    {"MaxPoolGradV2", &SameAsInput0},
    {"MaxPoolGradWithArgmax", &SameAsInput0},
    {"MaxPoolV2", &MaxPoolV2},
    {"MaxPoolWithArgmax", &Pool2D},
    {"QuantizedAvgPool", &QuantizedPool},
    {"QuantizedMaxPool", &QuantizedPool},
};
static_assert(RowsAscend(kRows), "rows are sorted by op");

}  // namespace

absl::Span<const ShapeRow> PoolingRows() { return kRows; }

}  // namespace sluice

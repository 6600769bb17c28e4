// Shapes of convolutions and of the gradients that give back an image or a filter.

#include <vector>

#include "absl/strings/str_cat.h"
#include "graph/base/error.h"
#include "graph/base/status_macros.h"
#include "graph/shapes/families.h"
#include "graph/shapes/shape_rules.h"
#include "graph/shapes/windows.h"

namespace sluice {
namespace {

// Batch and channels cannot be stridden over; TensorFlow's word for that is UNIMPLEMENTED.
absl::Status CheckUnitStrides(const ImageLayout& layout, const std::vector<int64_t>& strides) {
  for (const int axis : {0, layout.channel}) {
    const int64_t stride = strides[static_cast<size_t>(axis)];
    if (stride == 1) continue;
    return Error(ErrorCode::kUnsupported)
        .Attr("strides")
        .Found(absl::StrCat(stride, " for the ", axis == 0 ? "batch" : "channel", " dimension"))
        .Expected("1");
  }
  return absl::OkStatus();
}

// Sets the spatial sizes of an output with `dims`, for the filter in input 1 whose first dimensions are the window.
absl::Status SlideFilter(InferenceContext& c, const ImageLayout& layout, const std::vector<int64_t>& strides,
                         const std::vector<int64_t>& dilations, const std::vector<int64_t>& paddings, Dims* dims) {
  for (int i = 0; i < layout.spaces(); ++i) {
    const size_t axis = static_cast<size_t>(layout.first_space + i);
    bool negative = false;
    (*dims)[axis] = WindowedSize(c.dim(0, static_cast<int>(axis)), c.dim(1, i), dilations[axis], strides[axis],
                                 c.String("padding"), paddings[axis], &negative);
    if (negative) {
      return c.MismatchError(1, absl::StrCat("the window does not fit into dimension ", axis, " of the image"),
                             c.input(1), c.input(0));
    }
  }
  return absl::OkStatus();
}

absl::Status Convolve(InferenceContext& c, int rank, bool depthwise) {
  ImageLayout layout;
  std::vector<int64_t> strides, dilations, paddings;
  SLUICE_RETURN_IF_ERROR(ReadWindowAttr(c, "strides", rank, false, &strides));
  SLUICE_RETURN_IF_ERROR(ReadWindowAttr(c, "dilations", rank, true, &dilations));
  SLUICE_RETURN_IF_ERROR(ReadExplicitPaddings(c, rank, &paddings));
  SLUICE_RETURN_IF_ERROR(c.RequireRank(0, rank));
  SLUICE_RETURN_IF_ERROR(c.RequireRank(1, rank));
  if (!ReadLayout(c, rank, &layout)) return absl::OkStatus();
  if (!depthwise && rank == 4) SLUICE_RETURN_IF_ERROR(CheckUnitStrides(layout, strides));
  const size_t row = static_cast<size_t>(layout.first_space);
  if (depthwise && strides[row] != strides[row + 1]) {
    return c.AttrError("strides", absl::StrCat("rows and columns differ: ", strides[row], " and ", strides[row + 1]));
  }
  const int64_t channels = c.dim(0, layout.channel), taken = c.dim(1, rank - 2), made = c.dim(1, rank - 1);
  const bool grouped = !depthwise && channels >= 0 && taken > 0;
  if ((grouped && channels % taken != 0) || (depthwise && DimsDiffer(channels, taken))) {
    return c.MismatchError(1, absl::StrCat("a filter for ", taken, " channels, the image has ", channels), c.input(1),
                           c.input(0));
  }
  Dims dims(static_cast<size_t>(rank), kUnknownDim);
  dims[0] = c.dim(0, 0);
  dims[static_cast<size_t>(layout.channel)] = depthwise ? MulDims(EitherDim(channels, taken), made) : made;
  SLUICE_RETURN_IF_ERROR(SlideFilter(c, layout, strides, dilations, paddings, &dims));
  c.Set(0, dims);
  return absl::OkStatus();
}

absl::Status Conv2D(InferenceContext& c) { return Convolve(c, 4, false); }
absl::Status Conv3D(InferenceContext& c) { return Convolve(c, 5, false); }
absl::Status DepthwiseConv2d(InferenceContext& c) { return Convolve(c, 4, true); }

absl::Status QuantizedConv2D(InferenceContext& c) {
  SLUICE_RETURN_IF_ERROR(Convolve(c, 4, false));
  c.SetScalar(1);
  c.SetScalar(2);
  return absl::OkStatus();
}

// The sizes of the image are in input `sizes`; TensorFlow also takes just height and width.
absl::Status ImageGradient(InferenceContext& c, int rank, int sizes) {
  const ShapeValue* value = c.value(sizes);
  c.Set(0, PartialShape::OfRank(rank));
  if (value == nullptr || static_cast<int>(value->size()) != rank) return absl::OkStatus();
  PartialShape shape;
  SLUICE_RETURN_IF_ERROR(c.ShapeFromValue(sizes, true, &shape));
  c.Set(0, shape);
  return absl::OkStatus();
}

absl::Status Image2DGradient(InferenceContext& c) { return ImageGradient(c, 4, 0); }
absl::Status Image3DGradient(InferenceContext& c) { return ImageGradient(c, 5, 0); }
absl::Status Filter2DGradient(InferenceContext& c) { return ImageGradient(c, 4, 1); }
absl::Status Filter3DGradient(InferenceContext& c) { return ImageGradient(c, 5, 1); }

// Greyscale dilation: input [batch, rows, columns, depth], filter [rows, columns, depth].
absl::Status Dilation2D(InferenceContext& c) {
  SLUICE_RETURN_IF_ERROR(c.RequireRank(0, 4));
  SLUICE_RETURN_IF_ERROR(c.RequireRank(1, 3));
  std::vector<int64_t> strides, rates;
  SLUICE_RETURN_IF_ERROR(ReadWindowAttr(c, "strides", 4, false, &strides));
  SLUICE_RETURN_IF_ERROR(ReadWindowAttr(c, "rates", 4, false, &rates));
  Dims dims = {c.dim(0, 0), kUnknownDim, kUnknownDim, EitherDim(c.dim(0, 3), c.dim(1, 2))};
  bool negative = false;
  for (size_t i = 1; i < 3; ++i) {
    dims[i] = WindowedSize(c.dim(0, static_cast<int>(i)), c.dim(1, static_cast<int>(i) - 1), rates[i], strides[i],
                           c.String("padding"), 0, &negative);
  }
  c.Set(0, dims);
  return absl::OkStatus();
}

constexpr ShapeRow kRows[] = {
    {"Conv2D", &Conv2D},
    {"Conv2DBackpropFilter", &Filter2DGradient},
    {"Conv2DBackpropFilterV2", &SameAsInput1},
    {"Conv2DBackpropInput", &Image2DGradient},
    {"Conv2DBackpropInputV2", &SameAsInput0},
    {"Conv3D", &Conv3D},
    {"Conv3DBackpropFilter", &SameAsInput1},
    {"Conv3DBackpropFilterV2", &Filter3DGradient},
    {"Conv3DBackpropInput", &SameAsInput0},
    {"Conv3DBackpropInputV2", &Image3DGradient},
    {"DepthwiseConv2dNative", &DepthwiseConv2d},
    {"DepthwiseConv2dNativeBackpropFilter", &Filter2DGradient},
    {"DepthwiseConv2dNativeBackpropInput", &Image2DGradient},
    {"Dilation2D", &Dilation2D},
    {"Dilation2DBackpropFilter", &SameAsInput1},
    {"Dilation2DBackpropInput", &SameAsInput0},
    {"QuantizedConv2D", &QuantizedConv2D},
    {"_FusedConv2D", &Conv2D},
    {"_FusedDepthwiseConv2dNative", &DepthwiseConv2d},
};
static_assert(RowsAscend(kRows), "rows are sorted by op");

}  // namespace

absl::Span<const ShapeRow> ConvolutionRows() { return kRows; }

}  // namespace sluice

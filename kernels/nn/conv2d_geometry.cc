#include "kernels/nn/conv2d_geometry.h"

#include <algorithm>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "graph/base/checked_math.h"
#include "graph/base/error.h"
#include "graph/base/status_macros.h"

namespace sluice {
namespace {

// Batch, rows, columns, channels; of filters: rows, columns, channels taken, channels made.
constexpr size_t kRank = 4;

// List attr `name`, for each dimension one number, at least `least`. Strides and dilations of batch and channels are 1.
absl::StatusOr<std::vector<int64_t>> ReadPerDimension(const KernelConstruction& construction, absl::string_view name) {
  SLUICE_ASSIGN_OR_RETURN(std::vector<int64_t> values, construction.Get<std::vector<int64_t>>(name));
  if (values.size() != kRank) {
    return Error(ErrorCode::kOpAttr).Attr(name).Found(absl::StrCat(values.size(), " entries")).Expected("4");
  }
  for (const int64_t value : values) {
    if (value < 1) return Error(ErrorCode::kOpAttr).Attr(name).Found(absl::StrCat(value)).Expected("1 or more");
  }
  if (values[0] == 1 && values[3] == 1) return values;
  return Error(ErrorCode::kOpUnimplemented)
      .Attr(name)
      .Found(absl::StrCat(values[0], " for the batch, ", values[3], " for the channels"))
      .Expected("1");
}

// Attr explicit_paddings into `axes`.
absl::Status ReadPaddings(const KernelConstruction& construction, bool is_explicit, std::array<WindowAxis, 2>* axes) {
  constexpr char kName[] = "explicit_paddings";
  SLUICE_ASSIGN_OR_RETURN(const std::vector<int64_t> values, construction.Get<std::vector<int64_t>>(kName));
  const size_t wanted = is_explicit ? 2 * kRank : 0;
  if (values.size() != wanted) {
    return Error(ErrorCode::kOpAttr)
        .Attr(kName)
        .Found(absl::StrCat(values.size(), " entries"))
        .Expected(absl::StrCat(wanted));
  }
  for (size_t i = 0; i < values.size(); ++i) {
    const bool is_space = i / 2 == 1 || i / 2 == 2;
    if (values[i] >= 0 && (is_space || values[i] == 0)) continue;
    return Error(ErrorCode::kOpAttr)
        .Attr(kName)
        .Found(absl::StrCat(values[i], " for dimension ", i / 2))
        .Expected(is_space ? "0 or more" : "0");
  }
  for (size_t i = 0; is_explicit && i < 2; ++i) {
    (*axes)[i].before = values[2 + 2 * i];
    (*axes)[i].after = values[3 + 2 * i];
  }
  return absl::OkStatus();
}

absl::Status TooLarge(const Shape& image, const Shape& filter) {
  return Error(ErrorCode::kOpTooLarge).Found(absl::StrCat(image.ToString(), " with filter ", filter.ToString()));
}

// Sizes and padding of one axis, as TensorFlow counts them; false when they cannot be counted. Division is towards
// zero: a window that is somewhat too large gives 0, one that is larger gives a negative size.
bool Slide(const WindowAxis& form, SlidingAxis* axis) {
  int64_t reach = 0;
  if (!CheckedMul(axis->window - 1, form.dilation, &reach) || !CheckedAdd(reach, 1, &reach)) return false;
  axis->stride = form.stride;
  axis->dilation = form.dilation;
  if (form.padding == WindowAxis::Padding::kSame) {
    axis->out = axis->in / form.stride + (axis->in % form.stride != 0 ? 1 : 0);
    int64_t needed = 0;
    if (!CheckedMul(std::max<int64_t>(axis->out - 1, 0), form.stride, &needed) || !CheckedAdd(needed, reach, &needed)) {
      return false;
    }
    axis->before = std::max<int64_t>(needed - axis->in, 0) / 2;
    return true;
  }
  int64_t padded = 0;
  if (!CheckedAdd(axis->in, form.before, &padded) || !CheckedAdd(padded, form.after, &padded) ||
      !CheckedAdd(padded, form.stride, &padded)) {
    return false;
  }
  axis->out = (padded - reach) / form.stride;
  axis->before = form.before;
  return true;
}

absl::Status CheckRank4(int input, const Shape& shape) {
  if (shape.rank() == static_cast<int>(kRank)) return absl::OkStatus();
  return Error(ErrorCode::kOpShape).Input(input).Found(shape.ToString()).Expected("4 dimensions");
}

// Channels and groups of `g`.
absl::Status ResolveChannels(const Shape& image, const Shape& filter, Conv2DGeometry* g) {
  g->channels = image.dim(3);
  g->group_channels = filter.dim(2);
  g->out_channels = filter.dim(3);
  if (filter.num_elements() == 0) {
    return Error(ErrorCode::kOpShape).Input(1).Found(filter.ToString()).Expected("a filter with elements");
  }
  if (g->channels == 0 || g->channels % g->group_channels != 0) {
    return Error(ErrorCode::kOpShapes)
        .Found(absl::StrCat(image.ToString(), " with filter ", filter.ToString()))
        .Expected("a multiple of the filter's channels in the image");
  }
  g->groups = g->channels / g->group_channels;
  if (g->out_channels % g->groups == 0) return absl::OkStatus();
  return Error(ErrorCode::kOpShapes)
      .Found(absl::StrCat(g->out_channels, " channels made from ", g->groups, " groups"))
      .Expected("as many of each group");
}

}  // namespace

absl::StatusOr<Conv2DForm> Conv2DForm::Read(const KernelConstruction& construction) {
  Conv2DForm form;
  // First: which entries of the lists mean what depends on it.
  SLUICE_ASSIGN_OR_RETURN(const std::string format, construction.Get<std::string>("data_format"));
  if (format != "NHWC") {
    return Error(ErrorCode::kOpUnimplemented).Attr("data_format").Found(format).Expected("NHWC on a CPU");
  }
  SLUICE_ASSIGN_OR_RETURN(const std::vector<int64_t> strides, ReadPerDimension(construction, "strides"));
  SLUICE_ASSIGN_OR_RETURN(const std::vector<int64_t> dilations, ReadPerDimension(construction, "dilations"));
  SLUICE_ASSIGN_OR_RETURN(const std::string padding, construction.Get<std::string>("padding"));
  for (size_t i = 0; i < 2; ++i) {
    form.axes[i].padding = padding == "SAME"    ? WindowAxis::Padding::kSame
                           : padding == "VALID" ? WindowAxis::Padding::kValid
                                                : WindowAxis::Padding::kExplicit;
    form.axes[i].stride = strides[i + 1];
    form.axes[i].dilation = dilations[i + 1];
  }
  SLUICE_RETURN_IF_ERROR(ReadPaddings(construction, padding == "EXPLICIT", &form.axes));
  return form;
}

bool Conv2DGeometry::IsPointwise() const {
  for (const SlidingAxis& axis : axes) {
    if (axis.window != 1 || axis.stride != 1 || axis.before != 0 || axis.out != axis.in) return false;
  }
  return true;
}

absl::StatusOr<Conv2DGeometry> Conv2DGeometry::Resolve(const Conv2DForm& form, const Shape& image,
                                                       const Shape& filter) {
  SLUICE_RETURN_IF_ERROR(CheckRank4(0, image));
  SLUICE_RETURN_IF_ERROR(CheckRank4(1, filter));
  Conv2DGeometry g;
  g.batch = image.dim(0);
  SLUICE_RETURN_IF_ERROR(ResolveChannels(image, filter, &g));
  for (size_t i = 0; i < 2; ++i) {
    g.axes[i].in = image.dim(static_cast<int>(i) + 1);
    g.axes[i].window = filter.dim(static_cast<int>(i));
    if (!Slide(form.axes[i], &g.axes[i])) return TooLarge(image, filter);
    if (g.axes[i].out < 0) {
      return Error(ErrorCode::kOpShapes)
          .Found(absl::StrCat(image.ToString(), " with filter ", filter.ToString()))
          .Expected("a window that fits into the image");
    }
  }
  const int64_t dims[] = {g.batch, g.axes[0].out, g.axes[1].out, g.out_channels};
  absl::StatusOr<Shape> output = Shape::Make(dims);
  if (!output.ok()) return TooLarge(image, filter);
  g.output = *std::move(output);
  return g;
}

}  // namespace sluice

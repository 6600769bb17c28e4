#include "kernels/nn/conv_geometry.h"

#include <algorithm>
#include <limits>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "graph/base/checked_math.h"
#include "graph/base/error.h"
#include "graph/base/status_macros.h"
#include "kernels/input_error.h"

namespace sluice {
namespace {

// Attr explicit_paddings of a convolution of images into `form`.
absl::Status ReadPaddings(const KernelConstruction& construction, bool is_explicit, ConvForm* form) {
  constexpr char kName[] = "explicit_paddings";
  if (!construction.HasAttr(kName)) return absl::OkStatus();
  SLUICE_ASSIGN_OR_RETURN(const std::vector<int64_t> values, construction.Get<std::vector<int64_t>>(kName));
  const size_t last = static_cast<size_t>(form->rank()) - 1;
  const size_t wanted = is_explicit ? 2 * (last + 1) : 0;
  if (values.size() != wanted) return AttrError(kName, absl::StrCat(values.size(), " entries"), absl::StrCat(wanted));
  for (size_t i = 0; i < values.size(); ++i) {
    const bool is_space = i / 2 >= 1 && i / 2 < last;
    if (values[i] >= 0 && (is_space || values[i] == 0)) continue;
    return AttrError(kName, absl::StrCat(values[i], " for dimension ", i / 2), is_space ? "0 or more" : "0");
  }
  for (int i = 0; is_explicit && i < form->spaces; ++i) {
    const size_t at = 2 + 2 * static_cast<size_t>(i);
    form->axes[form->AxisOf(i)].before = values[at];
    form->axes[form->AxisOf(i)].after = values[at + 1];
  }
  return absl::OkStatus();
}

// Strides and dilations into `form`.
absl::Status ReadSteps(const KernelConstruction& construction, const ConvRules& rules, ConvForm* form) {
  SLUICE_ASSIGN_OR_RETURN(const std::vector<int64_t> strides,
                          ReadPerDimension(construction, "strides", form->rank(), rules.batch_stride));
  SLUICE_ASSIGN_OR_RETURN(const std::vector<int64_t> dilations,
                          ReadPerDimension(construction, "dilations", form->rank(), rules.batch_dilation,
                                           rules.dilates ? ErrorCode::kOpAttr : rules.dilation));
  for (int i = 0; i < form->spaces; ++i) {
    const size_t at = static_cast<size_t>(i) + 1;
    if (dilations[at] > 1 && !rules.dilates) {
      return Error(rules.dilation).Attr("dilations").Found(absl::StrCat(dilations[at])).Expected("1 on a CPU");
    }
    if (rules.equal_strides && strides[at] != strides[1]) {
      return AttrError("strides", absl::StrCat(strides[1], " and ", strides[at]), "the same for rows and columns");
    }
    form->axes[form->AxisOf(i)].stride = strides[at];
    form->axes[form->AxisOf(i)].dilation = dilations[at];
  }
  return absl::OkStatus();
}

std::string PairText(const Shape& image, const Shape& filter) {
  return absl::StrCat(image.ToString(), " with filter ", filter.ToString());
}

// Channels and groups of `g`.
absl::Status ResolveChannels(const Shape& image, const Shape& filter, ConvGeometry* g) {
  const int last = image.rank() - 1;
  g->channels = image.dim(last);
  g->group_channels = filter.dim(last - 1);
  g->out_channels = filter.dim(last);
  if (g->channels == 0 || g->group_channels == 0 || g->channels % g->group_channels != 0) {
    return ShapesError(PairText(image, filter), "a multiple of the filter's channels in the image");
  }
  g->groups = g->channels / g->group_channels;
  return absl::OkStatus();
}

absl::Status CheckGroups(const ConvForm& form, const Shape& image, const Shape& filter, const ConvGeometry& g) {
  if (g.groups > 1 && !form.groups) {
    return ShapesError(PairText(image, filter), "as many channels in the filter as in the image");
  }
  if (g.out_channels % g.groups == 0) return absl::OkStatus();
  return ShapesError(absl::StrCat(g.out_channels, " channels made from ", g.groups, " groups"),
                     "as many of each group");
}

}  // namespace

absl::StatusOr<std::vector<int64_t>> ReadPerDimension(const KernelConstruction& construction, absl::string_view name,
                                                      int rank, ErrorCode batch_code, ErrorCode small_code) {
  constexpr int64_t kMax = std::numeric_limits<int32_t>::max();
  SLUICE_ASSIGN_OR_RETURN(std::vector<int64_t> values, construction.Get<std::vector<int64_t>>(name));
  if (values.size() != static_cast<size_t>(rank)) {
    return AttrError(name, absl::StrCat(values.size(), " entries"), absl::StrCat(rank));
  }
  for (const int64_t value : values) {
    if (value > kMax) return AttrError(name, value, "an int32");
  }
  if (values.front() != 1 || values.back() != 1) {
    return Error(batch_code)
        .Attr(name)
        .Found(absl::StrCat(values.front(), " for the batch, ", values.back(), " for the channels"))
        .Expected("1");
  }
  for (const int64_t value : values) {
    if (value < 1) return Error(small_code).Attr(name).Found(absl::StrCat(value)).Expected("1 or more");
  }
  return values;
}

bool SlideWindow(const WindowAxis& form, SlidingAxis* axis) {
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
      !CheckedAdd(padded, form.stride, &padded) || !CheckedSub(padded, reach, &padded)) {
    return false;
  }
  axis->out = padded / form.stride;
  axis->before = form.before;
  return true;
}

ConvRules RulesForType(ConvRules rules, const KernelConstruction& construction, bool is_gradient) {
  const absl::StatusOr<DType> type = construction.Get<DType>("T");
  if (rules.spaces != 2 || !type.ok() || (*type != DType::kFloat && *type != DType::kBFloat16)) return rules;
  rules.batch_stride = is_gradient ? ErrorCode::kOpAttr : ErrorCode::kOpUnimplemented;
  rules.batch_dilation = ErrorCode::kOpAttr;
  rules.equal_strides = false;
  return rules;
}

absl::StatusOr<ConvForm> ConvForm::Read(const KernelConstruction& construction, const ConvRules& rules) {
  ConvForm form;
  form.spaces = rules.spaces;
  form.groups = rules.groups;
  form.centres = rules.centres;
  // First: which entries of the lists mean what depends on it.
  const std::string wanted = rules.spaces == 2 ? "NHWC" : "NDHWC";
  SLUICE_ASSIGN_OR_RETURN(const std::string format, construction.GetOr<std::string>("data_format", wanted));
  if (format != wanted) {
    return Error(rules.format).Attr("data_format").Found(format).Expected(absl::StrCat(wanted, " on a CPU"));
  }
  SLUICE_RETURN_IF_ERROR(ReadSteps(construction, rules, &form));
  SLUICE_ASSIGN_OR_RETURN(const std::string padding, construction.Get<std::string>("padding"));
  for (int i = 0; i < form.spaces; ++i) {
    form.axes[form.AxisOf(i)].padding = padding == "SAME"    ? WindowAxis::Padding::kSame
                                        : padding == "VALID" ? WindowAxis::Padding::kValid
                                                             : WindowAxis::Padding::kExplicit;
  }
  SLUICE_RETURN_IF_ERROR(ReadPaddings(construction, padding == "EXPLICIT", &form));
  return form;
}

bool ConvGeometry::IsPointwise() const {
  for (const SlidingAxis& axis : axes) {
    if (axis.window != 1 || axis.stride != 1 || axis.before != 0 || axis.out != axis.in) return false;
  }
  return true;
}

absl::Status ConvGeometry::SlideOver(const ConvForm& form, const Shape& image, const Shape& filter) {
  batch = image.dim(0);
  std::vector<int64_t> dims = {batch};
  for (int i = 0; i < form.spaces; ++i) {
    SlidingAxis& axis = axes[form.AxisOf(i)];
    axis.in = image.dim(i + 1);
    axis.window = filter.dim(i);
    if (!SlideWindow(form.axes[form.AxisOf(i)], &axis)) {
      return Error(ErrorCode::kOpTooLarge).Found(PairText(image, filter));
    }
    if (form.centres && form.axes[form.AxisOf(i)].padding == WindowAxis::Padding::kSame && axis.out > 0) {
      // No overflow: SlideWindow has counted it.
      axis.before = ((axis.out - 1) * axis.stride + (axis.window - 1) * axis.dilation + 1 - axis.in) / 2;
    }
    if (axis.out < 0) return ShapesError(PairText(image, filter), "a window that fits into the image");
    dims.push_back(axis.out);
  }
  dims.push_back(out_channels);
  absl::StatusOr<Shape> made = Shape::Make(dims);
  if (!made.ok()) return Error(ErrorCode::kOpTooLarge).Found(PairText(image, filter));
  output = *std::move(made);
  return absl::OkStatus();
}

absl::StatusOr<ConvGeometry> ConvGeometry::Resolve(const ConvForm& form, const Shape& image, const Shape& filter) {
  SLUICE_RETURN_IF_ERROR(CheckRank(0, image, form.rank()));
  SLUICE_RETURN_IF_ERROR(CheckRank(1, filter, form.rank()));
  ConvGeometry g;
  SLUICE_RETURN_IF_ERROR(ResolveChannels(image, filter, &g));
  SLUICE_RETURN_IF_ERROR(g.SlideOver(form, image, filter));
  if (g.output.num_elements() == 0) return g;  // As TensorFlow, which looks no further.
  if (filter.num_elements() == 0) return ShapeError(1, "", filter, "a filter with elements");
  SLUICE_RETURN_IF_ERROR(CheckGroups(form, image, filter, g));
  return g;
}

absl::StatusOr<ConvGeometry> ConvGeometry::ResolveGradient(const ConvForm& form, const Shape& image,
                                                           const Shape& filter, const Shape& result) {
  SLUICE_RETURN_IF_ERROR(CheckRank(0, image, form.rank()));
  SLUICE_RETURN_IF_ERROR(CheckRank(1, filter, form.rank()));
  SLUICE_RETURN_IF_ERROR(CheckRank(2, result, form.rank()));
  ConvGeometry g;
  SLUICE_RETURN_IF_ERROR(ResolveChannels(image, filter, &g));
  SLUICE_RETURN_IF_ERROR(CheckGroups(form, image, filter, g));
  SLUICE_RETURN_IF_ERROR(g.SlideOver(form, image, filter));
  SLUICE_RETURN_IF_ERROR(CheckResult(g, result));
  return g;
}

absl::Status CheckRank(int input, const Shape& shape, int rank) {
  if (shape.rank() == rank) return absl::OkStatus();
  return ShapeError(input, "", shape, absl::StrCat(rank, " dimensions"));
}

absl::Status CheckResult(const ConvGeometry& geometry, const Shape& result) {
  if (result == geometry.output) return absl::OkStatus();
  return ShapesError(2, "", result, absl::StrCat("the shape of the convolution, ", geometry.output.ToString()));
}

}  // namespace sluice

#include "kernels/pool/pool_geometry.h"

#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "graph/base/error.h"
#include "graph/base/status_macros.h"
#include "kernels/input_error.h"

namespace sluice {
namespace {

// What TensorFlow's attrs hold: sums and products with sizes of tensors do not overflow.
constexpr int64_t kMaxSize = std::numeric_limits<int32_t>::max();

// Where a list comes from: an attr, or an input.
struct ListSource {
  const char* attr;
  int input = -1;

  ErrorBuilder Bad() const {
    return input < 0 ? Error(ErrorCode::kOpAttr).Attr(attr) : Error(ErrorCode::kOpValue).Input(input);
  }
};

// Puts `values`, in the order of the data format, into `list`.
absl::Status SetList(const PoolForm& form, absl::Span<const int64_t> values, const ListSource& source,
                     std::array<int64_t, 5>* list) {
  const size_t rank = static_cast<size_t>(form.rank());
  if (values.size() != rank) {
    return source.Bad().Found(absl::StrCat(values.size(), " entries")).Expected(absl::StrCat(rank));
  }
  for (const int64_t value : values) {
    if (value >= 1 && value <= kMaxSize) continue;
    return source.Bad().Found(absl::StrJoin(values, ",")).Expected(absl::StrCat("1 to ", kMaxSize));
  }
  for (size_t i = 0; i < rank; ++i) {
    const size_t from = i == 0 || !form.channels_second ? i : i + 1 < rank ? i + 1 : 1;
    (*list)[i] = values[from];
  }
  if ((*list)[0] == 1) return absl::OkStatus();
  return Error(ErrorCode::kOpUnimplemented)
      .Text("pooling over the batch")
      .Found(absl::StrJoin(values, ","))
      .Expected("1 for the batch");
}

absl::Status ReadPaddings(const KernelConstruction& construction, PoolForm* form) {
  constexpr char kName[] = "explicit_paddings";
  SLUICE_ASSIGN_OR_RETURN(const std::vector<int64_t> values, construction.Get<std::vector<int64_t>>(kName));
  const size_t rank = static_cast<size_t>(form->rank());
  if (values.size() != 2 * rank) {
    return AttrError(kName, absl::StrCat(values.size(), " entries"), absl::StrCat(2 * rank));
  }
  const size_t channel = form->channels_second ? 1 : rank - 1;
  for (size_t i = 0, axis = 1; i < rank; ++i) {
    const bool is_space = i != 0 && i != channel;
    const int64_t before = values[2 * i];
    const int64_t after = values[2 * i + 1];
    if (before < 0 || after < 0 || before > kMaxSize || after > kMaxSize || (!is_space && before + after != 0)) {
      return AttrError(kName, absl::StrCat(before, " and ", after, " for dimension ", i), is_space ? "0 or more" : "0");
    }
    if (!is_space) continue;
    form->before[axis] = before;
    form->after[axis] = after;
    ++axis;
  }
  return absl::OkStatus();
}

// Explicit padding is less than the window: none lies in the padding alone.
absl::Status CheckPaddings(const PoolForm& form) {
  for (size_t i = 1; i + 1 < static_cast<size_t>(form.rank()); ++i) {
    const int64_t padding = std::max(form.before[i], form.after[i]);
    if (padding == 0 || padding < form.window[i]) continue;
    return AttrError("explicit_paddings", absl::StrCat(padding, " for a window of ", form.window[i]),
                     "less than the window");
  }
  return absl::OkStatus();
}

absl::StatusOr<bool> ChannelsComeSecond(const KernelConstruction& construction, int num_axes) {
  if (!construction.HasAttr("data_format")) return false;
  SLUICE_ASSIGN_OR_RETURN(const std::string format, construction.Get<std::string>("data_format"));
  const bool is_second = format == (num_axes == 2 ? "NCHW" : "NCDHW");
  if (is_second || format == (num_axes == 2 ? "NHWC" : "NDHWC")) return is_second;
  return AttrError("data_format", format, "channels last or second");
}

// Sizes and padding of one axis. False when the window is larger than what it slides over. Division is towards zero:
// a window that is somewhat too large gives 0.
bool Slide(const PoolForm& form, int64_t after, PoolAxis* axis) {
  if (form.padding == PoolForm::Padding::kSame) {
    axis->out = axis->in / axis->stride + (axis->in % axis->stride != 0 ? 1 : 0);
    const int64_t needed = std::max<int64_t>(axis->out - 1, 0) * axis->stride + axis->window;
    axis->before = std::max(needed - axis->in, form.skips_at_beginning ? needed - axis->in : 0) / 2;
    return true;
  }
  axis->out = (axis->in + axis->before + after + axis->stride - axis->window) / axis->stride;
  return axis->out >= 0;
}

}  // namespace

absl::StatusOr<PoolForm> PoolForm::Read(const KernelConstruction& construction) {
  PoolForm form;
  form.num_axes = construction.op().find("3D") != absl::string_view::npos ? 3 : 2;
  form.skips_at_beginning = construction.op() == "AvgPool3D" || construction.op() == "MaxPool3D";
  SLUICE_ASSIGN_OR_RETURN(form.channels_second, ChannelsComeSecond(construction, form.num_axes));
  SLUICE_ASSIGN_OR_RETURN(const std::string padding, construction.Get<std::string>("padding"));
  form.padding = padding == "SAME" ? Padding::kSame : padding == "VALID" ? Padding::kValid : Padding::kExplicit;
  if (form.padding == Padding::kExplicit) SLUICE_RETURN_IF_ERROR(ReadPaddings(construction, &form));
  if (!construction.HasAttr("ksize")) return form;
  SLUICE_ASSIGN_OR_RETURN(const std::vector<int64_t> window, construction.Get<std::vector<int64_t>>("ksize"));
  SLUICE_ASSIGN_OR_RETURN(const std::vector<int64_t> stride, construction.Get<std::vector<int64_t>>("strides"));
  SLUICE_RETURN_IF_ERROR(SetList(form, window, {"ksize"}, &form.window));
  SLUICE_RETURN_IF_ERROR(SetList(form, stride, {"strides"}, &form.stride));
  SLUICE_RETURN_IF_ERROR(CheckPaddings(form));
  return form;
}

absl::StatusOr<PoolForm> PoolForm::ReadSpatial(const KernelConstruction& construction) {
  SLUICE_ASSIGN_OR_RETURN(PoolForm form, Read(construction));
  if (construction.HasAttr("ksize")) SLUICE_RETURN_IF_ERROR(form.CheckSpatial());
  return form;
}

absl::StatusOr<PoolForm> PoolForm::WithInputs(const KernelContext& context, int input) const {
  PoolForm form = *this;
  for (int i = 0; i < 2; ++i) {
    const absl::Span<const int32_t> given = context.input(input + i).flat<int32_t>();
    const size_t count = std::min<size_t>(given.size(), 6);  // One more than any op takes is enough to refuse it.
    const std::vector<int64_t> values(given.begin(), given.begin() + count);
    SLUICE_RETURN_IF_ERROR(SetList(form, values, {nullptr, input + i}, i == 0 ? &form.window : &form.stride));
  }
  SLUICE_RETURN_IF_ERROR(CheckPaddings(form));
  return form;
}

absl::Status PoolForm::CheckSpatial() const {
  const size_t channel = static_cast<size_t>(num_axes) + 1;
  if (window[channel] == 1 && stride[channel] == 1) return absl::OkStatus();
  return Error(ErrorCode::kOpUnimplemented)
      .Text("pooling over the channels")
      .Found(absl::StrCat("a window of ", window[channel], ", a stride of ", stride[channel]))
      .Expected("1 and 1");
}

absl::StatusOr<PoolGeometry> PoolGeometry::Resolve(const PoolForm& form, const Shape& image, int input) {
  const int rank = form.rank();
  if (image.rank() != rank) return ShapeError(input, "", image, absl::StrCat(rank, " dimensions"));
  PoolGeometry g;
  g.images = image.dim(0);
  g.channels = image.dim(form.channels_second ? 1 : rank - 1);
  const int first = form.channels_second ? 2 : 1;
  std::vector<int64_t> dims(image.dims().begin(), image.dims().end());
  for (int i = 0; i < form.num_axes; ++i) {
    PoolAxis& axis = g.axes[static_cast<size_t>(3 - form.num_axes + i)];
    const size_t at = static_cast<size_t>(i) + 1;
    axis.in = image.dim(first + i);
    axis.window = form.window[at];
    axis.stride = form.stride[at];
    axis.before = form.before[at];
    if (!Slide(form, form.after[at], &axis)) {
      return ShapeError(input, "", image,
                        absl::StrCat("at least ", axis.window - axis.before - form.after[at] - axis.stride + 1,
                                     " in dimension ", first + i));
    }
    dims[static_cast<size_t>(first + i)] = axis.out;
  }
  absl::StatusOr<Shape> output = Shape::Make(dims);
  if (!output.ok()) return Error(ErrorCode::kOpTooLarge).Found(image.ToString());
  g.output = *std::move(output);
  if (form.channels_second) {
    g.images *= g.channels;  // Both are sizes of a shape: no overflow.
    g.channels = 1;
  }
  return g;
}

PoolRow RowOf(const PoolGeometry& geometry, int64_t row) {
  const int64_t y = row % geometry.axes[1].out;
  const int64_t plane = row / geometry.axes[1].out;
  return {plane / geometry.axes[0].out,
          {geometry.axes[0].SpanOf(plane % geometry.axes[0].out), geometry.axes[1].SpanOf(y)}};
}

absl::Status CheckPoolShape(const KernelContext& context, int input, const Shape& expected) {
  const Shape& found = context.input(input).shape();
  if (found == expected) return absl::OkStatus();
  return ShapeError(input, "", found, expected.ToString());
}

}  // namespace sluice

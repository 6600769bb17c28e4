#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "graph/base/checked_math.h"
#include "graph/base/error.h"
#include "graph/base/status_macros.h"
#include "kernels/kernel.h"
#include "kernels/kernel_construction.h"
#include "kernels/new_kernel.h"
#include "kernels/nn/conv_geometry.h"
#include "kernels/nn/families.h"
#include "kernels/nn/window_rows.h"

namespace sluice {
namespace {

// Bytes that one core gathers per nanosecond, for the cut into shards.
constexpr double kBytesPerNs = 4;

// Windows cut out of images or volumes: what convolutions multiply by their filters. Attrs, per dimension.
struct PatchForm {
  ConvForm conv;
  std::vector<int64_t> window;  // Of planes (volumes), rows, columns.
};

// List attr `name`: for each axis of the image one number of 1 or more. The codes are TensorFlow's.
absl::StatusOr<std::vector<int64_t>> ReadSpaces(const KernelConstruction& construction, absl::string_view name,
                                                int rank) {
  SLUICE_ASSIGN_OR_RETURN(const std::vector<int64_t> values,
                          ReadPerDimension(construction, name, rank, ErrorCode::kOpUnimplemented, ErrorCode::kOpRange));
  return std::vector<int64_t>(values.begin() + 1, values.end() - 1);
}

absl::StatusOr<PatchForm> ReadForm(const KernelConstruction& construction) {
  PatchForm form;
  form.conv.spaces = construction.op() == "ExtractVolumePatches" ? 3 : 2;
  form.conv.centres = form.conv.spaces == 3;
  const int rank = form.conv.rank();
  SLUICE_ASSIGN_OR_RETURN(form.window, ReadSpaces(construction, "ksizes", rank));
  SLUICE_ASSIGN_OR_RETURN(const std::vector<int64_t> strides, ReadSpaces(construction, "strides", rank));
  std::vector<int64_t> rates(form.window.size(), 1);
  if (form.conv.spaces == 2) {
    SLUICE_ASSIGN_OR_RETURN(rates, ReadSpaces(construction, "rates", rank));
  }
  SLUICE_ASSIGN_OR_RETURN(const std::string padding, construction.Get<std::string>("padding"));
  for (int i = 0; i < form.conv.spaces; ++i) {
    WindowAxis& axis = form.conv.axes[form.conv.AxisOf(i)];
    axis.padding = padding == "SAME" ? WindowAxis::Padding::kSame : WindowAxis::Padding::kValid;
    axis.stride = strides[static_cast<size_t>(i)];
    axis.dilation = rates[static_cast<size_t>(i)];
  }
  return form;
}

// Copies windows, one after the other: the rows that a convolution multiplies.
class ExtractPatchesKernel : public Kernel {
 public:
  explicit ExtractPatchesKernel(PatchForm form) : form_(std::move(form)) {}

  absl::Status Compute(KernelContext& context) const override {
    const Tensor& image = context.input(0);
    SLUICE_RETURN_IF_ERROR(CheckRank(0, image.shape(), form_.conv.rank()));
    // As a convolution whose filter would have the windows' size and no channels of its own.
    std::vector<int64_t> filter_dims = form_.window;
    filter_dims.resize(static_cast<size_t>(form_.conv.rank()), 1);
    const absl::StatusOr<Shape> filter = Shape::Make(filter_dims);
    ConvGeometry geometry;
    geometry.channels = geometry.group_channels = image.dim(form_.conv.rank() - 1);
    if (!filter.ok() || !CheckedMul(filter->num_elements(), geometry.channels, &geometry.out_channels)) {
      return Error(ErrorCode::kOpTooLarge)
          .Attr("ksizes")
          .Found(absl::StrCat("[", absl::StrJoin(form_.window, ","), "]"));
    }
    SLUICE_RETURN_IF_ERROR(geometry.SlideOver(form_.conv, image.shape(), *filter));
    SLUICE_ASSIGN_OR_RETURN(Tensor* const patches, context.AllocateOutput(0, geometry.output));
    if (patches->num_elements() == 0) return absl::OkStatus();
    const size_t element = image.total_bytes() / static_cast<size_t>(image.num_elements());  // No patch without pixels.
    const size_t row = patches->total_bytes() / static_cast<size_t>(geometry.pixels());
    char* const to = static_cast<char*>(patches->mutable_raw_data());
    const double row_ns = static_cast<double>(row) / kBytesPerNs;
    context.ParallelFor(geometry.pixels(), row_ns, [&](int64_t begin, int64_t end) {
      GatherWindows(geometry, {begin, end - begin, 0}, element, image.raw_data(),
                    to + static_cast<size_t>(begin) * row);
    });
    return absl::OkStatus();
  }

 private:
  const PatchForm form_;
};

constexpr KernelRow kRows[] = {
    KernelRow("ExtractImagePatches", &NewWith<ExtractPatchesKernel, ReadForm>).Types("T", kNumberTypes),
    KernelRow("ExtractVolumePatches", &NewWith<ExtractPatchesKernel, ReadForm>).Types("T", kRealTypes),
};

}  // namespace

absl::Span<const KernelRow> ExtractPatchesKernels() { return kRows; }

}  // namespace sluice

// The gradients of ResizeBilinear and ResizeBicubic: each row of the original image is the sum of the rows that were
// made from it, mixed along y first, so that rows need no locks and the bits do not depend on the threads.

#include <algorithm>
#include <memory>

#include "graph/base/status_macros.h"
#include "kernels/image/axis_taps.h"
#include "kernels/image/families.h"
#include "kernels/image/float_rows.h"
#include "kernels/image/resize_geometry.h"
#include "kernels/kernel.h"
#include "kernels/kernel_construction.h"
#include "kernels/new_kernel.h"
#include "kernels/row_work.h"
#include "kernels/worker_scratch.h"

namespace sluice {
namespace {

// Nanoseconds for an element and a tap.
constexpr double kTapNs = 0.3;

using MakeTaps = absl::StatusOr<AxisTaps> (*)(KernelContext& context, const ResizeAxis& axis);

// The tables of the way back for one axis.
absl::StatusOr<AxisTaps> TapsBack(KernelContext& context, MakeTaps make, const ResizeAxis& axis) {
  SLUICE_ASSIGN_OR_RETURN(const AxisTaps taps, make(context, axis));
  return taps.Transposed(context, axis.original);
}

// The gradient of a resizing by the tables of `kMakeTaps`.
template <MakeTaps kMakeTaps>
class ResizeGradKernel final : public Kernel {
 public:
  explicit ResizeGradKernel(const ResizeForm& form) : form_(form) {}

  absl::Status Compute(KernelContext& context) const override {
    Shape original;
    SLUICE_ASSIGN_OR_RETURN(const ResizeGeometry geometry, ResolveResizeGrad(context, form_, &original));
    SLUICE_ASSIGN_OR_RETURN(Tensor* const output, context.AllocateOutput(0, original));
    if (output->num_elements() == 0) return absl::OkStatus();
    SLUICE_ASSIGN_OR_RETURN(const AxisTaps rows, TapsBack(context, kMakeTaps, geometry.y));
    SLUICE_ASSIGN_OR_RETURN(const AxisTaps columns, TapsBack(context, kMakeTaps, geometry.x));
    const float* const grads = context.input(0).flat<float>().data();
    const int64_t width = geometry.resized_width(), out_width = geometry.original_width();
    const double taps_each = static_cast<double>(rows.num_taps()) / static_cast<double>(geometry.y.original) + 1;
    const double row_ns = kTapNs * (static_cast<double>(width) * taps_each +
                                    static_cast<double>(columns.num_taps()) * static_cast<double>(geometry.channels));
    const RowWork work{geometry.original_rows(), row_ns, width + out_width};
    return ForEachRowRange(context, work, &scratch_, [&](int64_t begin, int64_t end, float* scratch) {
      for (int64_t i = begin; i < end; ++i) {
        const int64_t y = i % geometry.y.original;
        const int64_t first = i / geometry.y.original * geometry.y.resized;
        std::fill_n(scratch, width, 0.0f);
        for (int64_t k = rows.begins()[y]; k < rows.begins()[y + 1]; ++k) {
          const AxisTaps::Tap& tap = rows.taps()[k];
          MixRow(grads + (first + tap.index) * width, tap.weight, width, true, scratch);
        }
        MixColumns(columns, scratch, geometry.channels, scratch + width);
        StoreFloats(scratch + width, out_width, i * out_width, output);
      }
    });
  }

 private:
  const ResizeForm form_;
  mutable ScratchKeeper scratch_;
};

constexpr KernelRow kRows[] = {
    KernelRow("ResizeBilinearGrad", &NewWith<ResizeGradKernel<&AxisTaps::Bilinear>, &ResizeForm::Read>)
        .Types("T", kFloatTypes),
    KernelRow("ResizeBicubicGrad", &NewWith<ResizeGradKernel<&AxisTaps::Bicubic>, &ResizeForm::Read>)
        .Types("T", {DType::kFloat, DType::kDouble}),
};

}  // namespace

absl::Span<const KernelRow> ResizeGradKernels() { return kRows; }

}  // namespace sluice

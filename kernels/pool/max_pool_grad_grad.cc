// Second gradients of maxima over windows: the gradient's gradient at the first element that is the maximum.

#include <memory>

#include "graph/base/status_macros.h"
#include "kernels/kernel.h"
#include "kernels/kernel_construction.h"
#include "kernels/new_kernel.h"
#include "kernels/pool/channel_blocks.h"
#include "kernels/pool/families.h"
#include "kernels/pool/pool_geometry.h"
#include "kernels/pool/wide_output.h"
#include "kernels/pool/wide_values.h"
#include "kernels/workers.h"

namespace sluice {
namespace {

// Elements of a call, in their wide type.
template <typename W>
struct SecondGradientCall {
  const PoolGeometry& g;
  const W* x;
  const W* y;
  const W* ddx;
  W* ddy;

  // Pixels in reverse: the first one that is equal is what stays. Zero where none is.
  void Gather(const ChannelBlock& block) const {
    const int64_t image = block.image * g.image_pixels() * g.channels + block.begin;
    ForEachWindow(g, [&](const PoolWindow& window) {
      const int64_t at = (block.image * g.output_pixels() + window.output_pixel) * g.channels + block.begin;
      W* const to = ddy + at;
      const W* const largest = y + at;
      std::fill_n(to, block.size, W{0});
      for (int64_t i = window.spans[0].end; i-- > window.spans[0].begin;) {
        for (int64_t k = window.spans[1].end; k-- > window.spans[1].begin;) {
          for (int64_t o = window.spans[2].end; o-- > window.spans[2].begin;) {
            const int64_t in = image + ((i * g.axes[1].in + k) * g.axes[2].in + o) * g.channels;
            for (int64_t c = 0; c < block.size; ++c) to[c] = x[in + c] == largest[c] ? ddx[in + c] : to[c];
          }
        }
      }
    });
  }
};

// The gradient of the gradient: of images and volumes, window and strides in attrs or inputs.
class MaxPoolGradGradKernel : public Kernel {
 public:
  static absl::StatusOr<std::unique_ptr<Kernel>> Make(const KernelConstruction& construction) {
    SLUICE_ASSIGN_OR_RETURN(const PoolForm form, PoolForm::ReadSpatial(construction));
    return std::make_unique<MaxPoolGradGradKernel>(form, construction.HasAttr("ksize"));
  }
  MaxPoolGradGradKernel(const PoolForm& form, bool is_complete) : form_(form), is_complete_(is_complete) {}

  absl::Status Compute(KernelContext& context) const override {
    if (is_complete_) return Run(context, form_);
    SLUICE_ASSIGN_OR_RETURN(const PoolForm form, form_.WithInputs(context, 3));
    SLUICE_RETURN_IF_ERROR(form.CheckSpatial());
    return Run(context, form);
  }

 private:
  static absl::Status Run(KernelContext& context, const PoolForm& form) {
    const Shape& shape = context.input(0).shape();
    SLUICE_ASSIGN_OR_RETURN(const PoolGeometry geometry, PoolGeometry::Resolve(form, shape, 0));
    SLUICE_RETURN_IF_ERROR(CheckPoolShape(context, 1, geometry.output));
    SLUICE_RETURN_IF_ERROR(CheckPoolShape(context, 2, shape));
    SLUICE_ASSIGN_OR_RETURN(WideOutput output, WideOutput::Make(context, 0, geometry.output));
    if (geometry.output.num_elements() == 0) return absl::OkStatus();
    SLUICE_ASSIGN_OR_RETURN(const Tensor x, Widened(context.input(0), WideUse::kOrder, context.allocator()));
    SLUICE_ASSIGN_OR_RETURN(const Tensor y, Widened(context.input(1), WideUse::kOrder, context.allocator()));
    SLUICE_ASSIGN_OR_RETURN(const Tensor ddx, Widened(context.input(2), WideUse::kSum, context.allocator()));
    absl::Status status;
    DispatchDType<WideCppTypes>(x.dtype(), [&](auto type) {
      using W = typename decltype(type)::Type;
      const SecondGradientCall<W> call{geometry, x.flat<W>().data(), y.flat<W>().data(), ddx.flat<W>().data(),
                                       output.data<W>()};
      status = ForEachChannelBlock(Workers(context.run()), geometry, PixelsRead(geometry) * 0.5,
                                   [&](const ChannelBlock& block) {
                                     call.Gather(block);
                                     return absl::OkStatus();
                                   });
    });
    SLUICE_RETURN_IF_ERROR(status);
    output.Finish(WideUse::kSum);
    return absl::OkStatus();
  }

  const PoolForm form_;
  const bool is_complete_;  // Else window and stride are inputs.
};

constexpr KernelRow kRows[] = {
    KernelRow("MaxPool3DGradGrad", &New<MaxPoolGradGradKernel>).Types("T", kRealTypes),
    KernelRow("MaxPoolGradGrad", &New<MaxPoolGradGradKernel>).Types("T", kRealTypes),
    KernelRow("MaxPoolGradGradV2", &New<MaxPoolGradGradKernel>)
        .Types("T", kRealTypes)
        .HostInput("ksize")
        .HostInput("strides"),
};

}  // namespace

absl::Span<const KernelRow> MaxPoolGradGradKernels() { return kRows; }

}  // namespace sluice

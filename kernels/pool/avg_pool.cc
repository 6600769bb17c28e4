// Means over windows of images and volumes, and their gradients. Padding is not counted.

#include <memory>

#include "absl/strings/str_cat.h"
#include "graph/base/error.h"
#include "graph/base/status_macros.h"
#include "kernels/array/index_values.h"
#include "kernels/kernel.h"
#include "kernels/new_kernel.h"
#include "kernels/pool/channel_blocks.h"
#include "kernels/pool/families.h"
#include "kernels/pool/pool_geometry.h"
#include "kernels/pool/pool_rows.h"
#include "kernels/pool/wide_output.h"
#include "kernels/pool/wide_values.h"
#include "kernels/worker_scratch.h"
#include "kernels/workers.h"

namespace sluice {
namespace {

using WideFloatTypes = TypeList<float, double>;

// The mean of each window. See Note [Rows of windows].
class AvgPoolKernel : public Kernel {
 public:
  explicit AvgPoolKernel(const PoolForm& form) : form_(form) {}

  absl::Status Compute(KernelContext& context) const override {
    const Tensor& input = context.input(0);
    SLUICE_ASSIGN_OR_RETURN(const PoolGeometry geometry, PoolGeometry::Resolve(form_, input.shape(), 0));
    SLUICE_ASSIGN_OR_RETURN(Tensor* const output, context.AllocateOutput(0, geometry.output));
    if (output->num_elements() == 0) return absl::OkStatus();
    absl::Status status;
    DispatchDType<WideFloatTypes>(WideTypeOf(input.dtype()), [&](auto type) {
      using W = typename decltype(type)::Type;
      status = PoolRows<W, true>(geometry, input, output, W{0}).Run(Workers(context.run()), &scratch_);
    });
    return status;
  }

 private:
  const PoolForm form_;
  mutable ScratchKeeper scratch_;
};

// Each window's gradient, divided by the number of its elements, goes to all of them.
template <typename W>
void SpreadBlock(const PoolGeometry& g, const W* dy, const ChannelBlock& block, W* dx) {
  W* const image = dx + block.image * g.image_pixels() * g.channels + block.begin;
  const W* const from = dy + block.image * g.output_pixels() * g.channels + block.begin;
  ZeroBlock(g, block, g.image_pixels(), dx);
  ForEachWindow(g, [&](const PoolWindow& window) {
    W share[kChannelBlock];
    const W factor = static_cast<W>(1.0 / static_cast<double>(window.size()));
    const W* const gradient = from + window.output_pixel * g.channels;
    for (int64_t c = 0; c < block.size; ++c) share[c] = gradient[c] * factor;
    ForEachPixel(g, window, [&](int64_t pixel) {
      W* const to = image + pixel * g.channels;
      for (int64_t c = 0; c < block.size; ++c) to[c] += share[c];
    });
  });
}

// The gradient of the input, whose sizes are an input. See Note [Channel blocks].
class AvgPoolGradKernel : public Kernel {
 public:
  explicit AvgPoolGradKernel(const PoolForm& form) : form_(form) {}

  absl::Status Compute(KernelContext& context) const override {
    SLUICE_ASSIGN_OR_RETURN(const Shape shape, ReadShapeInput(context, 0, "orig_input_shape"));
    SLUICE_ASSIGN_OR_RETURN(const PoolGeometry geometry, PoolGeometry::Resolve(form_, shape, 0));
    SLUICE_RETURN_IF_ERROR(CheckPoolShape(context, 1, geometry.output));
    SLUICE_ASSIGN_OR_RETURN(WideOutput output, WideOutput::Make(context, 0, shape));
    if (shape.num_elements() == 0) return absl::OkStatus();
    SLUICE_ASSIGN_OR_RETURN(const Tensor dy, Widened(context.input(1), WideUse::kSum, context.allocator()));
    absl::Status status;
    DispatchDType<WideFloatTypes>(dy.dtype(), [&](auto type) {
      using W = typename decltype(type)::Type;
      const W* const from = dy.flat<W>().data();
      W* const to = output.data<W>();
      status = ForEachChannelBlock(Workers(context.run()), geometry, PixelsRead(geometry) * 0.4,
                                   [&](const ChannelBlock& block) {
                                     SpreadBlock(geometry, from, block, to);
                                     return absl::OkStatus();
                                   });
    });
    SLUICE_RETURN_IF_ERROR(status);
    output.Finish(WideUse::kSum);
    return absl::OkStatus();
  }

 private:
  const PoolForm form_;
};

constexpr KernelRow kRows[] = {
    KernelRow("AvgPool", &NewWith<AvgPoolKernel, &PoolForm::ReadSpatial>).Types("T", kFloatTypes),
    KernelRow("AvgPool3D", &NewWith<AvgPoolKernel, &PoolForm::ReadSpatial>).Types("T", kFloatTypes),
    KernelRow("AvgPool3DGrad", &NewWith<AvgPoolGradKernel, &PoolForm::ReadSpatial>)
        .Types("T", kFloatTypes)
        .HostInput("orig_input_shape"),
    KernelRow("AvgPoolGrad", &NewWith<AvgPoolGradKernel, &PoolForm::ReadSpatial>)
        .Types("T", kFloatTypes)
        .HostInput("orig_input_shape"),
};

}  // namespace

absl::Span<const KernelRow> AvgPoolKernels() { return kRows; }

}  // namespace sluice

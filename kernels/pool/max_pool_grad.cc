// Gradients of maxima over windows with respect to the input.

#include <cmath>
#include <memory>
#include <type_traits>

#include "graph/base/status_macros.h"
#include "kernels/kernel.h"
#include "kernels/kernel_construction.h"
#include "kernels/new_kernel.h"
#include "kernels/pool/channel_blocks.h"
#include "kernels/pool/families.h"
#include "kernels/pool/first_maxima.h"
#include "kernels/pool/pool_geometry.h"
#include "kernels/pool/wide_output.h"
#include "kernels/pool/wide_values.h"
#include "kernels/workers.h"

namespace sluice {
namespace {

// Elements of a call, in their wide type.
template <typename W>
struct GradientCall {
  const PoolGeometry& g;
  const W* x;
  const W* y;
  const W* dy;
  W* dx;

  int64_t InputAt(const ChannelBlock& block) const { return block.image * g.image_pixels() * g.channels + block.begin; }
  int64_t OutputAt(const ChannelBlock& block, const PoolWindow& window) const {
    return (block.image * g.output_pixels() + window.output_pixel) * g.channels + block.begin;
  }

  // The gradient of each window goes to the first of its largest elements.
  void ToFirst(const ChannelBlock& block) const {
    FirstMaxima<W> maxima;
    const W* const image = x + InputAt(block);
    W* const to = dx + InputAt(block);
    ForEachWindow(g, [&](const PoolWindow& window) {
      maxima.Find(g, window, image, block.size);
      const W* const from = dy + OutputAt(block, window);
      for (int64_t c = 0; c < block.size; ++c) {
        W& sum = to[maxima.pixel[c] * g.channels + c];
        sum = PoolAdd(sum, from[c]);
      }
    });
  }

  // The gradient of each window goes to all elements that are its maximum, as it was given, or as close to that as
  // TensorFlow asks for. An infinite maximum is close to none.
  void ToAll(const ChannelBlock& block) const {
    constexpr W kClose = static_cast<W>(1e-5);
    ForEachWindow(g, [&](const PoolWindow& window) {
      const int64_t at = OutputAt(block, window);
      const W* const from = dy + at;
      const W* const largest = y + at;
      ForEachPixel(g, window, [&](int64_t pixel) {
        const int64_t in = InputAt(block) + pixel * g.channels;
        for (int64_t c = 0; c < block.size; ++c) {
          dx[in + c] += std::abs(x[in + c] - largest[c]) < kClose ? from[c] : W{0};
        }
      });
    });
  }
};

// The gradient of the input: of images and volumes, window and strides in attrs or inputs.
class MaxPoolGradKernel : public Kernel {
 public:
  static absl::StatusOr<std::unique_ptr<Kernel>> Make(const KernelConstruction& construction) {
    SLUICE_ASSIGN_OR_RETURN(const PoolForm form, PoolForm::ReadSpatial(construction));
    return std::make_unique<MaxPoolGradKernel>(form, construction.HasAttr("ksize"));
  }
  MaxPoolGradKernel(const PoolForm& form, bool is_complete) : form_(form), is_complete_(is_complete) {}

  absl::Status Compute(KernelContext& context) const override {
    if (is_complete_) return Run(context, form_);
    SLUICE_ASSIGN_OR_RETURN(const PoolForm form, form_.WithInputs(context, 3));
    SLUICE_RETURN_IF_ERROR(form.CheckSpatial());
    return Run(context, form);
  }

 private:
  static absl::Status Run(KernelContext& context, const PoolForm& form) {
    const Shape shape = context.input(0).shape();
    SLUICE_ASSIGN_OR_RETURN(const PoolGeometry geometry, PoolGeometry::Resolve(form, shape, 0));
    SLUICE_RETURN_IF_ERROR(CheckPoolShape(context, 1, geometry.output));
    SLUICE_RETURN_IF_ERROR(CheckPoolShape(context, 2, geometry.output));
    SLUICE_RETURN_IF_ERROR(CheckPixelCount(geometry));
    SLUICE_ASSIGN_OR_RETURN(WideOutput output, WideOutput::Make(context, 0, shape));
    if (shape.num_elements() == 0) return absl::OkStatus();
    const bool to_all = form.num_axes == 3;  // As TensorFlow's kernels have it.
    SLUICE_ASSIGN_OR_RETURN(const Tensor x, Widened(context.input(0), WideUse::kOrder, context.allocator()));
    SLUICE_ASSIGN_OR_RETURN(const Tensor y,
                            Widened(context.input(to_all ? 1 : 0), WideUse::kOrder, context.allocator()));
    SLUICE_ASSIGN_OR_RETURN(const Tensor dy, Widened(context.input(2), WideUse::kSum, context.allocator()));
    absl::Status status;
    DispatchDType<WideCppTypes>(x.dtype(), [&](auto type) {
      using W = typename decltype(type)::Type;
      const GradientCall<W> call{geometry, x.flat<W>().data(), y.flat<W>().data(), dy.flat<W>().data(),
                                 output.data<W>()};
      status =
          ForEachChannelBlock(Workers(context.run()), geometry, PixelsRead(geometry), [&](const ChannelBlock& block) {
            ZeroBlock(geometry, block, geometry.image_pixels(), call.dx);
            if constexpr (std::is_same<W, float>::value) {  // All rows for volumes are computed in float.
              if (to_all) {
                call.ToAll(block);
                return absl::OkStatus();
              }
            }
            call.ToFirst(block);
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
    // Two rows: both type attrs of a kernel are the same type.
    KernelRow("MaxPool3DGrad", &New<MaxPoolGradKernel>).Types("T", {DType::kFloat}).Types("TInput", {DType::kFloat}),
    KernelRow("MaxPool3DGrad", &New<MaxPoolGradKernel>).Types("T", {DType::kHalf}).Types("TInput", {DType::kHalf}),
    KernelRow("MaxPool3DGrad", &New<MaxPoolGradKernel>)
        .Types("T", {DType::kBFloat16})
        .Types("TInput", {DType::kBFloat16}),
    KernelRow("MaxPoolGrad", &New<MaxPoolGradKernel>).Types("T", kRealTypes),
    KernelRow("MaxPoolGradV2", &New<MaxPoolGradKernel>).Types("T", kRealTypes).HostInput("ksize").HostInput("strides"),
};

}  // namespace

absl::Span<const KernelRow> MaxPoolGradKernels() { return kRows; }

}  // namespace sluice

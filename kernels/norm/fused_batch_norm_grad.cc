// Gradients of the normalisation of the channels of images.

#include <algorithm>
#include <cmath>
#include <memory>

#include "graph/base/status_macros.h"
#include "kernels/kernel.h"
#include "kernels/new_kernel.h"
#include "kernels/norm/channel_loops.h"
#include "kernels/norm/channel_planes.h"
#include "kernels/norm/families.h"
#include "kernels/norm/norm_form.h"
#include "kernels/norm/norm_passes.h"
#include "kernels/pool/wide_values.h"
#include "kernels/worker_scratch.h"

namespace sluice {
namespace {

enum Input { kDy, kX, kScale, kSavedMean, kSavedVariance };
// The last two are of no use, but have been there in the first version.
enum Output { kDx, kScaleGradient, kOffsetGradient, kReserve4, kReserve5 };

constexpr double kCombineNs = 3;

// The gradients of x, scale and offset.
class FusedBatchNormGradKernel : public Kernel {
 public:
  explicit FusedBatchNormGradKernel(const NormForm& form) : form_(form) {}

  absl::Status Compute(KernelContext& context) const override {
    SLUICE_RETURN_IF_ERROR(CheckImages(context, kDy));
    SLUICE_RETURN_IF_ERROR(CheckImages(context, kX));
    const Shape shape = context.input(kX).shape();
    SLUICE_RETURN_IF_ERROR(CheckSameShape(context, kDy, shape));
    const ChannelPlanes planes = ChannelPlanes::Of(shape, form_.channels_second);
    for (const int input : {kScale, kSavedMean, kSavedVariance}) {
      SLUICE_RETURN_IF_ERROR(CheckPerChannel(context, input, planes.channels));
    }
    SLUICE_ASSIGN_OR_RETURN(const Shape vector, Shape::Make({planes.channels}));
    SLUICE_ASSIGN_OR_RETURN(Tensor* const scale_gradient, context.AllocateOutput(kScaleGradient, vector));
    SLUICE_ASSIGN_OR_RETURN(Tensor* const offset_gradient, context.AllocateOutput(kOffsetGradient, vector));
    for (const int i : {kReserve4, kReserve5}) {
      SLUICE_RETURN_IF_ERROR(context.AllocateOutput(i, Shape::Of({0})).status());
    }
    if (shape.num_elements() == 0) {
      std::fill_n(scale_gradient->flat<float>().data(), planes.channels, 0.0f);
      std::fill_n(offset_gradient->flat<float>().data(), planes.channels, 0.0f);
      return context.AllocateOutput(kDx, shape).status();
    }
    return Run(context, shape, planes, scale_gradient->flat<float>().data(), offset_gradient->flat<float>().data());
  }

 private:
  absl::Status Run(KernelContext& context, const Shape& shape, const ChannelPlanes& planes, float* scale_gradient,
                   float* offset_gradient) const {
    const WideReader<float> dy(context.input(kDy), WideUse::kSum);
    const WideReader<float> x(context.input(kX), WideUse::kSum);
    const float* const scale = context.input(kScale).flat<float>().data();
    const float* const variance = context.input(kSavedVariance).flat<float>().data();
    SLUICE_ASSIGN_OR_RETURN(ChannelNumbers<float> numbers, ChannelNumbers<float>::Make(context, planes, 4));
    std::copy_n(context.input(kSavedMean).flat<float>().data(), planes.channels, numbers.of(0));
    for (int k = 1; k < 4; ++k) std::fill_n(numbers.of(k), planes.channels, 0.0f);
    numbers.Finish();
    const NormPasses<float> passes(context, planes, &scratch_);
    SLUICE_ASSIGN_OR_RETURN(const Tensor sums, passes.Products(dy, x, numbers));
    const double* const from = sums.flat<double>().data();
    const double count = static_cast<double>(planes.count());
    const double channel_ns = kCombineNs * static_cast<double>(planes.blocks_of_channel());
    context.ParallelFor(planes.channels, channel_ns, [&](int64_t begin, int64_t end) {
      for (int64_t c = begin; c < end; ++c) {
        const ProductSums products = CombineProducts(planes, from, c);
        const double spread = static_cast<double>(variance[c]) + static_cast<double>(form_.epsilon);
        const double inverse = 1 / std::sqrt(spread);
        scale_gradient[c] = static_cast<float>(products.dy_x * inverse);
        offset_gradient[c] = static_cast<float>(products.dy);
        numbers.of(1)[c] = static_cast<float>(static_cast<double>(scale[c]) * inverse);
        if (form_.is_training) {
          numbers.of(2)[c] = static_cast<float>(products.dy / count);
          numbers.of(3)[c] = static_cast<float>(products.dy_x / count / spread);
        } else {
          numbers.of(0)[c] = 0;
        }
      }
    });
    numbers.Finish();
    SLUICE_ASSIGN_OR_RETURN(Tensor* const dx, context.ForwardOrAllocate(kDx, shape, {kDy, kX}));
    // Mean and variance depend on x only where they are those of the batch. Elsewhere no x is looked at: it may be
    // infinite.
    return form_.is_training ? passes.Gradient(dy, x, numbers, dx) : passes.Normalize(dy, numbers, {}, dx);
  }

  const NormForm form_;
  mutable ScratchKeeper scratch_;
};

constexpr DTypeSet kTypes{DType::kFloat, DType::kHalf, DType::kBFloat16};

constexpr KernelRow kRows[] = {
    KernelRow("FusedBatchNormGrad", &NewWith<FusedBatchNormGradKernel, &NormForm::Read>).Types("T", {DType::kFloat}),
    KernelRow("FusedBatchNormGradV2", &NewWith<FusedBatchNormGradKernel, &NormForm::Read>)
        .Types("T", kTypes)
        .Types("U", {DType::kFloat}),
    KernelRow("FusedBatchNormGradV3", &NewWith<FusedBatchNormGradKernel, &NormForm::Read>)
        .Types("T", kTypes)
        .Types("U", {DType::kFloat}),
};

}  // namespace

absl::Span<const KernelRow> FusedBatchNormGradKernels() { return kRows; }

}  // namespace sluice

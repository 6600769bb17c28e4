// BatchNormWithGlobalNormalization: the first form of batch normalisation, with given statistics, and its gradient.

#include <algorithm>
#include <cmath>
#include <memory>
#include <type_traits>

#include "graph/base/status_macros.h"
#include "kernels/dispatch.h"
#include "kernels/input_error.h"
#include "kernels/kernel.h"
#include "kernels/kernel_construction.h"
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

struct GlobalNormForm {
  float epsilon = 0;
  bool scales = false;

  static absl::StatusOr<GlobalNormForm> Read(const KernelConstruction& construction) {
    GlobalNormForm form;
    SLUICE_ASSIGN_OR_RETURN(form.epsilon, construction.Get<float>("variance_epsilon"));
    SLUICE_ASSIGN_OR_RETURN(form.scales, construction.Get<bool>("scale_after_normalization"));
    return form;
  }

  // The images, then vectors with an element for each channel; `gamma` of these is not looked at unless it scales.
  absl::Status Check(const KernelContext& context, absl::Span<const int> vectors, int gamma) const {
    const Shape& shape = context.input(0).shape();
    if (shape.rank() != 4) return ShapeError(0, "", shape, "4 dimensions");
    for (const int input : vectors) {
      const bool is_unused = input == gamma && !scales && context.input(input).rank() == 1;
      if (!is_unused) SLUICE_RETURN_IF_ERROR(CheckPerChannel(context, input, shape.dim(3)));
    }
    return absl::OkStatus();
  }
};

// Copies the elements of input `input` to `to`, in their wide type.
template <typename W>
void CopyVector(const KernelContext& context, int input, W* to) {
  const Tensor& vector = context.input(input);
  const WideReader<W> reader(vector, WideUse::kSum);
  const W* const from = reader.Read(0, vector.num_elements(), to);
  if (from != to) std::copy_n(from, vector.num_elements(), to);
}

// (t - mean) / sqrt(variance + epsilon) [* gamma] + beta.
class GlobalBatchNormKernel : public Kernel {
 public:
  explicit GlobalBatchNormKernel(const GlobalNormForm& form) : form_(form) {}

  absl::Status Compute(KernelContext& context) const override {
    SLUICE_RETURN_IF_ERROR(form_.Check(context, {1, 2, 3, 4}, 4));
    return context.input_type(0) == DType::kDouble ? Run<double>(context) : Run<float>(context);
  }

 private:
  template <typename W>
  absl::Status Run(KernelContext& context) const {
    const Shape shape = context.input(0).shape();
    const ChannelPlanes planes = ChannelPlanes::Of(shape, false);
    SLUICE_ASSIGN_OR_RETURN(ChannelNumbers<W> numbers, ChannelNumbers<W>::Make(context, planes, 4));
    CopyVector(context, 1, numbers.of(0));
    CopyVector(context, 2, numbers.of(1));
    CopyVector(context, 3, numbers.of(2));
    if (form_.scales) CopyVector(context, 4, numbers.of(3));
    for (int64_t c = 0; c < planes.channels; ++c) {
      W& factor = numbers.of(1)[c];
      factor = W{1} / std::sqrt(factor + static_cast<W>(form_.epsilon));
      if (form_.scales) factor *= numbers.of(3)[c];
    }
    numbers.Finish();
    const WideReader<W> x(context.input(0), WideUse::kSum);
    SLUICE_ASSIGN_OR_RETURN(Tensor* const y, context.ForwardOrAllocate(0, shape, {0}));
    if (shape.num_elements() == 0) return absl::OkStatus();
    return NormPasses<W>(context, planes, &scratch_).Normalize(x, numbers, {}, y);
  }

  const GlobalNormForm form_;
  mutable ScratchKeeper scratch_;
};

// The gradients of all five inputs.
class GlobalBatchNormGradKernel : public Kernel {
 public:
  explicit GlobalBatchNormGradKernel(const GlobalNormForm& form) : form_(form) {}

  absl::Status Compute(KernelContext& context) const override {
    SLUICE_RETURN_IF_ERROR(form_.Check(context, {1, 2, 3}, 3));
    SLUICE_RETURN_IF_ERROR(CheckSameShape(context, 4, context.input(0).shape()));
    const Shape shape = context.input(0).shape();
    SLUICE_ASSIGN_OR_RETURN(const Shape vector, Shape::Make({shape.dim(3)}));
    Tensor* outputs[4];
    for (int i = 0; i < 4; ++i) {
      SLUICE_ASSIGN_OR_RETURN(outputs[i], context.AllocateOutput(i + 1, vector));
    }
    return context.input_type(0) == DType::kDouble ? Run<double>(context, shape, outputs)
                                                   : Run<float>(context, shape, outputs);
  }

 private:
  // `outputs`: the gradients of mean, variance, beta and gamma.
  template <typename W>
  absl::Status Run(KernelContext& context, const Shape& shape, Tensor* const* outputs) const {
    const ChannelPlanes planes = ChannelPlanes::Of(shape, false);
    SLUICE_ASSIGN_OR_RETURN(ChannelNumbers<W> numbers, ChannelNumbers<W>::Make(context, planes, 3));
    SLUICE_ASSIGN_OR_RETURN(ChannelNumbers<W> vectors, ChannelNumbers<W>::Make(context, planes, 6));
    CopyVector(context, 1, numbers.of(0));
    CopyVector(context, 2, vectors.of(4));
    if (form_.scales) CopyVector(context, 3, vectors.of(5));
    for (int k = 1; k < 3; ++k) std::fill_n(numbers.of(k), planes.channels, W{0});
    numbers.Finish();
    const WideReader<W> x(context.input(0), WideUse::kSum);
    const WideReader<W> dy(context.input(4), WideUse::kSum);
    const NormPasses<W> passes(context, planes, &scratch_);
    Tensor sums;
    if (shape.num_elements() != 0) {
      SLUICE_ASSIGN_OR_RETURN(sums, passes.Products(dy, x, numbers));
    }
    for (int64_t c = 0; c < planes.channels; ++c) {
      const ProductSums products =
          sums.has_value() ? CombineProducts(planes, sums.flat<double>().data(), c) : ProductSums();
      const double spread = static_cast<double>(vectors.of(4)[c]) + static_cast<double>(form_.epsilon);
      const double inverse = 1 / std::sqrt(spread);
      const double factor = inverse * (form_.scales ? static_cast<double>(vectors.of(5)[c]) : 1);
      numbers.of(0)[c] = 0;
      numbers.of(1)[c] = static_cast<W>(factor);
      vectors.of(0)[c] = static_cast<W>(-products.dy * factor);
      vectors.of(1)[c] = static_cast<W>(-0.5 * products.dy_x * factor / spread);
      vectors.of(2)[c] = static_cast<W>(products.dy);
      vectors.of(3)[c] = form_.scales ? static_cast<W>(products.dy_x * inverse) : W{0};
    }
    numbers.Finish();
    for (int i = 0; i < 4; ++i) {
      WideWriter<W>(outputs[i], WideUse::kSum).Store(0, planes.channels, vectors.of(i));
    }
    SLUICE_ASSIGN_OR_RETURN(Tensor* const dx, context.ForwardOrAllocate(0, shape, {0, 4}));
    if (shape.num_elements() == 0) return absl::OkStatus();
    return passes.Normalize(dy, numbers, {}, dx);  // By number 1 alone: the others are zero.
  }

  const GlobalNormForm form_;
  mutable ScratchKeeper scratch_;
};

constexpr DTypeSet kTypes{DType::kFloat, DType::kDouble, DType::kHalf};

constexpr KernelRow kRows[] = {
    KernelRow("BatchNormWithGlobalNormalization", &NewWith<GlobalBatchNormKernel, &GlobalNormForm::Read>)
        .Types("T", kTypes),
    KernelRow("BatchNormWithGlobalNormalizationGrad", &NewWith<GlobalBatchNormGradKernel, &GlobalNormForm::Read>)
        .Types("T", kTypes),
};

}  // namespace

absl::Span<const KernelRow> GlobalBatchNormKernels() { return kRows; }

}  // namespace sluice

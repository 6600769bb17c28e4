#include <memory>

#include "graph/base/status_macros.h"
#include "kernels/kernel.h"
#include "kernels/kernel_construction.h"
#include "kernels/new_kernel.h"
#include "kernels/nn/conv_geometry.h"
#include "kernels/nn/convolution_call.h"
#include "kernels/nn/families.h"

namespace sluice {
namespace {

constexpr ErrorCode kAttr = ErrorCode::kOpAttr;
constexpr ConvRules kRules2D;
constexpr ConvRules kRules3D = {
    3, kAttr, kAttr, kAttr, kAttr, /*dilates=*/false, false, /*groups=*/false, /*centres=*/true};

// A convolution of images or volumes. See Note [Convolution by products].
class ConvKernel : public Kernel {
 public:
  static absl::StatusOr<std::unique_ptr<Kernel>> Make(const KernelConstruction& construction) {
    const ConvRules& rules = construction.op() == "Conv3D" ? kRules3D : kRules2D;
    SLUICE_ASSIGN_OR_RETURN(const ConvForm form,
                            ConvForm::Read(construction, RulesForType(rules, construction, /*is_gradient=*/false)));
    return std::make_unique<ConvKernel>(construction, form);
  }
  ConvKernel(const KernelConstruction& construction, const ConvForm& form) : call_(construction, form) {}

  absl::Status Compute(KernelContext& context) const override {
    SLUICE_ASSIGN_OR_RETURN(const ConvGeometry geometry, call_.Resolve(context));
    SLUICE_ASSIGN_OR_RETURN(Tensor* const output, context.AllocateOutput(0, geometry.output));
    return call_.Run(context, geometry, nullptr, output);
  }

 private:
  const ConvolutionCall call_;
};

constexpr KernelRow kRows[] = {
    KernelRow("Conv2D", &New<ConvKernel>)
        .Types("T", {DType::kFloat, DType::kDouble, DType::kHalf, DType::kBFloat16, DType::kInt32}),
    KernelRow("Conv3D", &New<ConvKernel>).Types("T", kFloatTypes),
};

}  // namespace

absl::Span<const KernelRow> Conv2DKernels() { return kRows; }

}  // namespace sluice

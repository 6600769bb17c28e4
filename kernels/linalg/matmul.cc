#include "kernels/linalg/matmul.h"

#include <memory>

#include "kernels/linalg/matmul_call.h"

namespace sluice {
namespace {

using Stacks = MatMulForm::Stacks;

// A product of two matrices, or of two stacks of them.
class MatMulKernel : public Kernel {
 public:
  MatMulKernel(const KernelConstruction& construction, const MatMulForm& form, bool conjugate)
      : call_(construction, form, conjugate) {}
  absl::Status Compute(KernelContext& context) const override { return call_.Compute(context).status(); }

 private:
  const MatMulCall call_;
};

absl::StatusOr<std::unique_ptr<Kernel>> MakeMatMul(const KernelConstruction& construction) {
  MatMulForm form;
  SLUICE_ASSIGN_OR_RETURN(form.transpose_a, construction.Get<bool>("transpose_a"));
  SLUICE_ASSIGN_OR_RETURN(form.transpose_b, construction.Get<bool>("transpose_b"));
  return std::make_unique<MatMulKernel>(construction, form, /*conjugate=*/false);
}

template <Stacks kStacks>
absl::StatusOr<std::unique_ptr<Kernel>> MakeBatchMatMul(const KernelConstruction& construction) {
  MatMulForm form;
  form.stacks = kStacks;
  SLUICE_ASSIGN_OR_RETURN(form.transpose_a, construction.Get<bool>("adj_x"));
  SLUICE_ASSIGN_OR_RETURN(form.transpose_b, construction.Get<bool>("adj_y"));
  return std::make_unique<MatMulKernel>(construction, form, /*conjugate=*/true);
}

constexpr DTypeSet kBytes{DType::kInt8, DType::kUInt8};
constexpr DTypeSet kShortFloats{DType::kHalf, DType::kBFloat16};

// Not shared: a kernel keeps the packed weights of its node.
constexpr KernelDef Row(absl::string_view op, MakeKernel make, TypeConstraint first, TypeConstraint second = {},
                        TypeConstraint third = {}) {
  return {op, make, {first, second, third}, DeviceKind::kCpu, /*is_shared=*/false};
}

constexpr KernelDef kKernels[] = {
    Row("MatMul", &MakeMatMul, {"T", kNumberTypes}),
    Row("BatchMatMul", &MakeBatchMatMul<Stacks::kEqual>, {"T", kNumberTypes}),
    Row("BatchMatMulV2", &MakeBatchMatMul<Stacks::kBroadcast>, {"T", kNumberTypes}),
    Row("BatchMatMulV3", &MakeBatchMatMul<Stacks::kBroadcast>, {"Ta", kBytes}, {"Tb", kBytes},
        {"Tout", {DType::kInt32}}),
    Row("BatchMatMulV3", &MakeBatchMatMul<Stacks::kBroadcast>, {"Ta", kShortFloats}, {"Tb", kShortFloats},
        {"Tout", {DType::kFloat}}),
    Row("BatchMatMulV3", &MakeBatchMatMul<Stacks::kBroadcast>, {"Ta", kNumberTypes}, {"Tb", kNumberTypes},
        {"Tout", kNumberTypes}),
};

}  // namespace

absl::Span<const KernelDef> MatMulKernels() { return kKernels; }

}  // namespace sluice

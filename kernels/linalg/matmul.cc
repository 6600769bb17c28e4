#include <memory>

#include "kernels/kernel.h"
#include "kernels/kernel_construction.h"
#include "kernels/linalg/families.h"
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

constexpr TypeConstraint kFromBytes[] = {{"Ta", kBytes}, {"Tb", kBytes}, {"Tout", {DType::kInt32}}};
constexpr TypeConstraint kFromShort[] = {{"Ta", kShortFloats}, {"Tb", kShortFloats}, {"Tout", {DType::kFloat}}};
constexpr TypeConstraint kFromNumbers[] = {{"Ta", kNumberTypes}, {"Tb", kNumberTypes}, {"Tout", kNumberTypes}};

constexpr KernelRow kRows[] = {
    KernelRow("MatMul", &MakeMatMul).Types("T", kNumberTypes),
    KernelRow("BatchMatMul", &MakeBatchMatMul<Stacks::kEqual>).Types("T", kNumberTypes),
    KernelRow("BatchMatMulV2", &MakeBatchMatMul<Stacks::kBroadcast>).Types("T", kNumberTypes),
    // The results that are wider than the inputs, by name: lists of ops show them.
    KernelRow("BatchMatMulV3", &MakeBatchMatMul<Stacks::kBroadcast>).AllTypes(kFromBytes).Priority(1),
    KernelRow("BatchMatMulV3", &MakeBatchMatMul<Stacks::kBroadcast>).AllTypes(kFromShort).Priority(1),
    KernelRow("BatchMatMulV3", &MakeBatchMatMul<Stacks::kBroadcast>).AllTypes(kFromNumbers),
};

}  // namespace

absl::Span<const KernelRow> MatMulKernels() { return kRows; }

}  // namespace sluice

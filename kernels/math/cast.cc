#include "absl/strings/str_cat.h"
#include "graph/base/error.h"
#include "kernels/kernel.h"
#include "kernels/kernel_construction.h"
#include "kernels/math/cast_ops.h"
#include "kernels/math/elementwise.h"
#include "kernels/math/families.h"

namespace sluice {
namespace {

using CastTypes = Join<NumberCppTypes, TypeList<bool>>;

// A cast to the same dtype does nothing.
class SameTypeKernel : public Kernel {
 public:
  absl::Status Compute(KernelContext& context) const override {
    context.SetOutput(0, context.TakeInput(0));
    return absl::OkStatus();
  }
  CostHint cost_hint() const override { return CostHint::kCheap; }
};

absl::StatusOr<std::unique_ptr<Kernel>> MakeCast(const KernelConstruction& construction) {
  const DType from = construction.input_type(0);
  const DType to = construction.output_type(0);
  if (from == to) return std::make_unique<SameTypeKernel>();
  SLUICE_ASSIGN_OR_RETURN(const bool is_truncating, construction.Get<bool>("Truncate"));
  std::unique_ptr<Kernel> made;
  DispatchDType<CastTypes>(from, [&](auto from_type) {
    DispatchDType<CastTypes>(to, [&](auto to_type) {
      using From = typename decltype(from_type)::Type;
      using To = typename decltype(to_type)::Type;
      if constexpr (!std::is_same<From, To>::value) made = std::make_unique<UnaryKernel<CastOp<To>, From>>();
      if constexpr (cast::CanTruncate<From, To>()) {
        if (is_truncating) made = std::make_unique<UnaryKernel<TruncatingCastOp<To>, From>>();
      }
    });
  });
  if (made == nullptr) {
    return Error(ErrorCode::kOpUnimplemented)
        .Text(absl::StrCat("cannot cast ", DTypeName(from), " to ", DTypeName(to)));
  }
  return made;
}

constexpr KernelRow kRows[] = {
    KernelRow("Cast", &MakeCast),
};

}  // namespace

absl::Span<const KernelRow> CastKernels() { return kRows; }

}  // namespace sluice

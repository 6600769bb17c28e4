#include "kernels/reduce/sum.h"

#include <complex>
#include <memory>

#include "kernels/dispatch.h"
#include "kernels/reduce/reduce_engine.h"
#include "kernels/reduce/reduce_kernel.h"
#include "kernels/reduce/reduce_ops.h"

namespace sluice {
namespace {

// Integers of one size add up to the same bits.
ReduceFn SumOf(DType dtype) {
  ReduceFn found = nullptr;
  const auto choose = [&](auto type) { found = &ReduceWith<SumOp<typename decltype(type)::Type>>; };
  if (DispatchDType<Join<FloatCppTypes, ComplexCppTypes>>(dtype, choose)) return found;
  DispatchSize(DTypeSize(dtype), [&](auto type) {
    using T = typename decltype(type)::Type;
    if constexpr (std::is_integral<T>::value) found = &ReduceWith<SumOp<T>>;
  });
  return found;
}

ReduceFn MeanOf(DType dtype) {
  ReduceFn found = nullptr;
  DispatchDType<NumberCppTypes>(dtype, [&](auto type) { found = &ReduceWith<MeanOp<typename decltype(type)::Type>>; });
  return found;
}

absl::StatusOr<std::unique_ptr<Kernel>> MakeSum(const KernelConstruction& construction) {
  return ReduceKernel::Make(construction, SumOf(construction.input_type(0)), /*keeps_single=*/true);
}

absl::StatusOr<std::unique_ptr<Kernel>> MakeMean(const KernelConstruction& construction) {
  return ReduceKernel::Make(construction, MeanOf(construction.input_type(0)), /*keeps_single=*/true);
}

constexpr KernelDef kKernels[] = {
    {"Sum", &MakeSum, {{"T", kNumberTypes}}},
    {"Mean", &MakeMean, {{"T", kNumberTypes}}},
};

}  // namespace

absl::Span<const KernelDef> SumKernels() { return kKernels; }

}  // namespace sluice

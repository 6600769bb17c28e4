#include <complex>
#include <memory>

#include "kernels/dispatch.h"
#include "kernels/reduce/families.h"
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

constexpr KernelRow kRows[] = {
    KernelRow("Sum", &NewReduction<SumOf>).Types("T", kNumberTypes),
    KernelRow("Mean", &NewReduction<MeanOf>).Types("T", kNumberTypes),
};

}  // namespace

absl::Span<const KernelRow> SumKernels() { return kRows; }

}  // namespace sluice

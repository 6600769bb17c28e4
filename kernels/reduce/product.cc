#include <complex>
#include <memory>

#include "kernels/dispatch.h"
#include "kernels/reduce/families.h"
#include "kernels/reduce/reduce_engine.h"
#include "kernels/reduce/reduce_kernel.h"
#include "kernels/reduce/reduce_ops.h"

namespace sluice {
namespace {

// Integers of one size multiply to the same bits.
ReduceFn ProductOf(DType dtype) {
  ReduceFn found = nullptr;
  const auto choose = [&](auto type) { found = &ReduceWith<ProdOp<typename decltype(type)::Type>>; };
  if (DispatchDType<Join<FloatCppTypes, ComplexCppTypes>>(dtype, choose)) return found;
  DispatchSize(DTypeSize(dtype), [&](auto type) {
    using T = typename decltype(type)::Type;
    if constexpr (std::is_integral<T>::value) found = &ReduceWith<ProdOp<T>>;
  });
  return found;
}

ReduceFn NormOf(DType dtype) {
  ReduceFn found = nullptr;
  DispatchDType<NumberCppTypes>(
      dtype, [&](auto type) { found = &ReduceWith<EuclideanNormOp<typename decltype(type)::Type>>; });
  return found;
}

constexpr KernelRow kRows[] = {
    KernelRow("Prod", &NewReduction<ProductOf>).Types("T", kNumberTypes),
    KernelRow("EuclideanNorm", &NewReduction<NormOf, /*kKeepsSingle=*/false>).Types("T", kNumberTypes),
};

}  // namespace

absl::Span<const KernelRow> ProductKernels() { return kRows; }

}  // namespace sluice

#include "kernels/reduce/product.h"

#include <complex>
#include <memory>

#include "kernels/dispatch.h"
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

absl::StatusOr<std::unique_ptr<Kernel>> MakeProduct(const KernelConstruction& construction) {
  return ReduceKernel::Make(construction, ProductOf(construction.input_type(0)), /*keeps_single=*/true);
}

absl::StatusOr<std::unique_ptr<Kernel>> MakeNorm(const KernelConstruction& construction) {
  return ReduceKernel::Make(construction, NormOf(construction.input_type(0)), /*keeps_single=*/false);
}

constexpr KernelDef kKernels[] = {
    {"Prod", &MakeProduct, {{"T", kNumberTypes}}},
    {"EuclideanNorm", &MakeNorm, {{"T", kNumberTypes}}},
};

}  // namespace

absl::Span<const KernelDef> ProductKernels() { return kKernels; }

}  // namespace sluice

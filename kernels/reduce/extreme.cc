#include "kernels/reduce/extreme.h"

#include <memory>

#include "kernels/dispatch.h"
#include "kernels/reduce/reduce_engine.h"
#include "kernels/reduce/reduce_kernel.h"
#include "kernels/reduce/reduce_ops.h"

namespace sluice {
namespace {

// Quantized integers are ordered as the integers in them.
DType PlainType(DType dtype) {
  switch (dtype) {
    case DType::kQInt8:
      return DType::kInt8;
    case DType::kQUInt8:
      return DType::kUInt8;
    case DType::kQInt32:
      return DType::kInt32;
    case DType::kQInt16:
      return DType::kInt16;
    case DType::kQUInt16:
      return DType::kUInt16;
    default:
      return dtype;
  }
}

template <template <typename> class Op>
absl::StatusOr<std::unique_ptr<Kernel>> MakeExtreme(const KernelConstruction& construction) {
  ReduceFn found = nullptr;
  DispatchDType<RealCppTypes>(PlainType(construction.input_type(0)),
                              [&](auto type) { found = &ReduceWith<Op<typename decltype(type)::Type>>; });
  return ReduceKernel::Make(construction, found, /*keeps_single=*/true);
}

absl::StatusOr<std::unique_ptr<Kernel>> MakeAll(const KernelConstruction& construction) {
  return ReduceKernel::Make(construction, &ReduceWith<AllOp>, /*keeps_single=*/true);
}

absl::StatusOr<std::unique_ptr<Kernel>> MakeAny(const KernelConstruction& construction) {
  return ReduceKernel::Make(construction, &ReduceWith<AnyOp>, /*keeps_single=*/true);
}

constexpr KernelDef kKernels[] = {
    {"Max", &MakeExtreme<MaxOp>, {{"T", kRealTypes | kQuantizedTypes}}},
    {"Min", &MakeExtreme<MinOp>, {{"T", kRealTypes | kQuantizedTypes}}},
    {"All", &MakeAll},
    {"Any", &MakeAny},
};

}  // namespace

absl::Span<const KernelDef> ExtremeKernels() { return kKernels; }

}  // namespace sluice

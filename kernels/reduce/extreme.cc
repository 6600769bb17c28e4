#include <memory>

#include "kernels/dispatch.h"
#include "kernels/reduce/families.h"
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
ReduceFn ExtremeOf(DType dtype) {
  ReduceFn found = nullptr;
  DispatchDType<RealCppTypes>(PlainType(dtype),
                              [&](auto type) { found = &ReduceWith<Op<typename decltype(type)::Type>>; });
  return found;
}

// All and Any: of bools alone.
template <typename Op>
ReduceFn TruthOf(DType) {
  return &ReduceWith<Op>;
}

constexpr KernelRow kRows[] = {
    KernelRow("Max", &NewReduction<ExtremeOf<MaxOp>>).Types("T", kRealTypes | kQuantizedTypes),
    KernelRow("Min", &NewReduction<ExtremeOf<MinOp>>).Types("T", kRealTypes | kQuantizedTypes),
    KernelRow("All", &NewReduction<TruthOf<AllOp>>),
    KernelRow("Any", &NewReduction<TruthOf<AnyOp>>),
};

}  // namespace

absl::Span<const KernelRow> ExtremeKernels() { return kRows; }

}  // namespace sluice

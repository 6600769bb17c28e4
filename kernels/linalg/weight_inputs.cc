#include "kernels/linalg/weight_inputs.h"

#include <functional>

#include "absl/types/span.h"
#include "kernels/linalg/families.h"

namespace sluice {
namespace {

bool IsRowOf(absl::Span<const KernelRow> table, const KernelRow& row) {
  const std::less<const KernelRow*> is_before;  // Pointers into different tables have an order, too.
  return !is_before(&row, table.data()) && is_before(&row, table.data() + table.size());
}

}  // namespace

bool TakesTensorInFile(const KernelRow& row, const Signature& signature, int i) {
  if (i != 1 || (!IsRowOf(MatMulKernels(), row) && !IsRowOf(FusedMatMulKernels(), row))) return false;
  const DType dtype = signature.outputs[0];
  if (dtype != DType::kFloat && dtype != DType::kDouble) return false;
  return signature.inputs[0] == dtype && signature.inputs[1] == dtype;
}

}  // namespace sluice

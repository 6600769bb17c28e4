#include "kernels/state/state_kernels.h"

#include "kernels/state/ref_variables.h"
#include "kernels/state/resource_variables.h"
#include "kernels/state/scatter.h"
#include "kernels/state/session_handles.h"
#include "kernels/state/stack_ops.h"
#include "kernels/state/tensor_array_ops.h"
#include "kernels/state/tensor_array_rows.h"
#include "kernels/state/variable_parts.h"

namespace sluice {

void AddStateKernels(KernelRegistry& registry) {
  registry.AddTable(RefVariableKernels());
  registry.AddTable(ResourceVariableKernels());
  registry.AddTable(SessionHandleKernels());
  registry.AddTable(StackKernels());
  registry.AddTable(TensorArrayKernels());
  registry.AddTable(TensorArrayRowsKernels());
  registry.AddTable(ScatterKernels());
  registry.AddTable(VariablePartsKernels());
}

}  // namespace sluice

#include "kernels/state/variable_input.h"

#include "absl/strings/str_cat.h"
#include "graph/base/error.h"
#include "graph/base/status_macros.h"
#include "kernels/state/handles.h"

namespace sluice {

absl::StatusOr<CountedPtr<Variable>> LookupVariable(const KernelContext& context, DType dtype) {
  SLUICE_ASSIGN_OR_RETURN(CountedPtr<Variable> variable, LookupInput<Variable>(context, 0));
  if (variable->dtype() == dtype) return variable;
  return Error(ErrorCode::kResourceType)
      .Input(0)
      .Found(variable->DebugString())
      .Expected(absl::StrCat("a variable of ", DTypeName(dtype)));
}

}  // namespace sluice

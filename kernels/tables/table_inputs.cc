#include "kernels/tables/table_inputs.h"

#include "graph/base/error.h"
#include "graph/value/tstring.h"
#include "kernels/state/handles.h"

namespace sluice {

absl::StatusOr<CountedPtr<LookupTable>> TableInput(const KernelContext& context) {
  if (context.input_type(0) == DType::kResource) return LookupInput<LookupTable>(context, 0);
  const RefCell* const cell = context.input_ref(0);
  const Tensor names = cell != nullptr ? cell->Read() : context.input(0);
  if (names.dtype() != DType::kString || names.num_elements() != 2) {
    return Error(ErrorCode::kOpShape).Input(0).Found(names.ToString()).Expected("a handle of two strings");
  }
  SLUICE_ASSIGN_OR_RETURN(ResourceManager* const resources, RunResources(context));
  const absl::Span<const TString> parts = names.flat<TString>();
  return resources->Lookup<LookupTable>(parts[0].view(), parts[1].view());
}

}  // namespace sluice

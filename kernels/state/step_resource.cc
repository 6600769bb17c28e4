#include "kernels/state/step_resource.h"

#include "absl/strings/str_cat.h"
#include "graph/base/error.h"
#include "graph/value/tstring.h"
#include "kernels/input_error.h"

namespace sluice {

std::string StepUniqueName(const KernelContext& context, absl::string_view prefix) {
  if (context.run().step_container == nullptr) return std::string(prefix);
  return absl::StrCat(prefix, "_", context.run().step_container->NextNumber());
}

absl::StatusOr<StepContainer*> StepOf(const KernelContext& context) {
  if (context.run().step_container != nullptr) return context.run().step_container;
  return Error(ErrorCode::kFacilityMissing).Text("the run has no step container for state of one step");
}

absl::Status SetStepHandle(KernelContext& context, int i, CountedPtr<StepResource> resource) {
  const DType form = context.output_type(i);
  if (form == DType::kResource) {
    ResourceHandleData data;
    data.name = resource->name();
    data.maybe_type_name = std::string(resource->type_name());
    data.resource = std::move(resource);
    context.SetOutput(i, HandleTensor(std::move(data)));
    return absl::OkStatus();
  }
  SLUICE_ASSIGN_OR_RETURN(StepContainer* const step, StepOf(context));
  StepResource& made = *resource;  // Stays alive: the caller holds it, or else the container from here on.
  const absl::Status created = step->resources().Create(made.type_name(), made.name(), std::move(resource));
  // Names are unique: what is there already is this very resource (a gradient array asked for again).
  if (!created.ok() && !absl::IsAlreadyExists(created)) return created;
  const Tensor names = Tensor::Strings({made.type_name(), made.name()});
  if (!IsRef(form)) {
    context.SetOutput(i, names);
    return absl::OkStatus();
  }
  {
    MutexLock lock(&made.names_.mu);
    made.names_.tensor = names;
  }
  context.SetRefOutput(i, &made.names_);
  return absl::OkStatus();
}

absl::StatusOr<std::pair<std::string, std::string>> StepNames(const KernelContext& context, int i) {
  const RefCell* const cell = context.input_ref(i);
  const Tensor names = cell != nullptr ? cell->Read() : context.input(i);
  if (names.dtype() != DType::kString || names.num_elements() != 2) {
    return ShapeError(i, "", names.ToString(), "a handle of two strings");
  }
  const absl::Span<const TString> parts = names.flat<TString>();
  return std::make_pair(std::string(parts[0].view()), std::string(parts[1].view()));
}

}  // namespace sluice

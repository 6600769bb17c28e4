#ifndef SLUICE_KERNELS_STATE_STEP_RESOURCE_H_
#define SLUICE_KERNELS_STATE_STEP_RESOURCE_H_

// Resources of one step: stacks and TensorArrays.
//
// Note [Handles of step resources]
// TensorFlow has identified them in three ways over the years: by a reference to two strings (Stack, TensorArray), by
// the strings themselves (TensorArrayV2), and by a resource handle (StackV2, TensorArrayV3). In the last form the
// handle owns the resource, which ends with its last user; in the first two the step container owns it, under the name
// in the strings, until the end of the step.

#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "graph/value/dtype.h"
#include "graph/value/ref_cell.h"
#include "kernels/state/handles.h"
#include "kernels/step/step_container.h"

namespace sluice {

// Base of what has a handle in any of the three forms. Thread-safe.
class StepResource : public Resource {
 public:
  // Unique in the step.
  const std::string& name() const { return name_; }

 protected:
  StepResource(absl::string_view type_name, std::string name)
      : Resource(type_name), name_(std::move(name)), names_(DType::kString) {}

 private:
  friend absl::Status SetStepHandle(KernelContext& context, int i, CountedPtr<StepResource> resource);

  const std::string name_;
  RefCell names_;  // Of kind and name, for references.
};

// A name that no other resource of this step has. Without a step container: just `prefix`.
std::string StepUniqueName(const KernelContext& context, absl::string_view prefix);

// Makes output `i` a handle of `resource`, in the form that the output's dtype asks for. kFacilityMissing when that
// needs a step container and there is none.
absl::Status SetStepHandle(KernelContext& context, int i, CountedPtr<StepResource> resource);

// Held by the step container; drops a resource's values at the end of the step. Without it, a resource that holds its
// own handle, directly or through another resource, would never be freed.
template <typename T>
class ClosedWithStep final : public Resource {
 public:
  static constexpr absl::string_view kTypeName = "ClosedWithStep";
  explicit ClosedWithStep(CountedPtr<T> resource) : Resource(kTypeName), resource_(std::move(resource)) {}
  ~ClosedWithStep() override { resource_->CloseForGood(); }

 private:
  const CountedPtr<T> resource_;
};

// Call it when making a resource that holds values of `dtype`.
template <typename T>
absl::Status CloseAtStepEnd(const KernelContext& context, DType dtype, const CountedPtr<T>& resource) {
  StepContainer* const step = context.run().step_container;
  if (step == nullptr || (dtype != DType::kResource && dtype != DType::kVariant)) return absl::OkStatus();
  return step->resources().Create(ClosedWithStep<T>::kTypeName, resource->name(),
                                  MakeCounted<ClosedWithStep<T>>(resource));
}

// Kind and name that a handle in one of the forms of strings says. kOpShape unless these are two strings.
absl::StatusOr<std::pair<std::string, std::string>> StepNames(const KernelContext& context, int i);

// kFacilityMissing when the run has none.
absl::StatusOr<StepContainer*> StepOf(const KernelContext& context);

// The T behind the handle in input `i`, whatever its form.
template <typename T>
absl::StatusOr<CountedPtr<T>> LookupStepInput(const KernelContext& context, int i) {
  if (context.input_type(i) == DType::kResource) return LookupInput<T>(context, i);
  SLUICE_ASSIGN_OR_RETURN(const auto names, StepNames(context, i));
  SLUICE_ASSIGN_OR_RETURN(StepContainer* const step, StepOf(context));
  return step->resources().Lookup<T>(names.first, names.second);
}

// The R behind the handle in input 0, in either form. kResourceMissing (NOT_FOUND) if it does not exist.
template <typename R>
absl::StatusOr<CountedPtr<R>> LookupNamed(const KernelContext& context) {
  if (context.input_type(0) == DType::kResource) return LookupInput<R>(context, 0);
  SLUICE_ASSIGN_OR_RETURN(const auto names, StepNames(context, 0));
  SLUICE_ASSIGN_OR_RETURN(ResourceManager* const resources, RunResources(context));
  return resources->Lookup<R>(names.first, names.second);
}

}  // namespace sluice

#endif  // SLUICE_KERNELS_STATE_STEP_RESOURCE_H_

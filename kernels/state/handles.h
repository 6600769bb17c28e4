#ifndef SLUICE_KERNELS_STATE_HANDLES_H_
#define SLUICE_KERNELS_STATE_HANDLES_H_

// Finds the resource of a handle among the inputs of a kernel:
//
//   SLUICE_ASSIGN_OR_RETURN(const CountedPtr<Variable> variable, LookupInput<Variable>(context, 0));

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "graph/base/status_macros.h"
#include "graph/value/resource_handle.h"
#include "kernels/kernel_context.h"
#include "kernels/resources/resource_manager.h"

namespace sluice {

// The handle in input `i`. kOpShape unless the input is one handle, kResourceType when the handle is null.
absl::StatusOr<const ResourceHandle*> InputHandle(const KernelContext& context, int i);

// The resource manager of the run; kFacilityMissing if the run has none.
absl::StatusOr<ResourceManager*> RunResources(const KernelContext& context);

// Returns kResourceType if `handle` itself says that it is not of the kind `wanted`.
absl::Status CheckHandleKind(const ResourceHandle& handle, absl::string_view wanted);

// The T behind `handle`: the one that it holds, or else the one of its container and name. kResourceMissing
// (NOT_FOUND) when there is none now, kResourceType when the handle is of another kind.
template <typename T>
absl::StatusOr<CountedPtr<T>> LookupHandle(const KernelContext& context, const ResourceHandle& handle) {
  if (T* const held = handle.Get<T>()) return CountedPtr<T>::Share(held);
  SLUICE_RETURN_IF_ERROR(CheckHandleKind(handle, T::kTypeName));
  SLUICE_ASSIGN_OR_RETURN(ResourceManager* const resources, RunResources(context));
  return resources->Lookup<T>(handle.data().container, handle.data().name);
}

template <typename T>
absl::StatusOr<CountedPtr<T>> LookupInput(const KernelContext& context, int i) {
  SLUICE_ASSIGN_OR_RETURN(const ResourceHandle* const handle, InputHandle(context, i));
  return LookupHandle<T>(context, *handle);
}

// As above, if the handle itself holds the T, without taking a reference; null otherwise. Valid until input `i` is
// taken.
template <typename T>
T* HeldByInput(const KernelContext& context, int i) {
  const Tensor& input = context.input(i);
  if (input.dtype() != DType::kResource || input.num_elements() != 1) return nullptr;
  return input.flat<ResourceHandle>()[0].Get<T>();
}

// A scalar resource tensor.
Tensor HandleTensor(ResourceHandleData data);

}  // namespace sluice

#endif  // SLUICE_KERNELS_STATE_HANDLES_H_

#include "kernels/state/handles.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "graph/base/error.h"
#include "kernels/input_error.h"

namespace sluice {

absl::StatusOr<const ResourceHandle*> InputHandle(const KernelContext& context, int i) {
  const Tensor& input = context.input(i);
  if (input.dtype() != DType::kResource || input.num_elements() != 1) {
    return ShapeError(i, "", input.shape(), "one handle");
  }
  const ResourceHandle& handle = input.flat<ResourceHandle>()[0];
  if (!handle.has_value()) return Error(ErrorCode::kResourceType).Input(i).Text("is a handle that leads to nothing");
  return &handle;
}

absl::StatusOr<ResourceManager*> RunResources(const KernelContext& context) {
  if (context.run().resources != nullptr) return context.run().resources;
  return Error(ErrorCode::kFacilityMissing).Text("the run has no resource manager to keep state in");
}

absl::Status CheckHandleKind(const ResourceHandle& handle, absl::string_view wanted) {
  const ResourceHandleData& data = handle.data();
  const absl::string_view found = data.resource ? data.resource->type_name() : data.maybe_type_name;
  if (found == wanted || (found.empty() && !data.resource)) return absl::OkStatus();
  return Error(ErrorCode::kResourceType)
      .Found(handle.DebugString())
      .Expected(absl::StrCat("a handle of a ", wanted))
      .Text("the handle is of another kind");
}

Tensor HandleTensor(ResourceHandleData data) {
  const ResourceHandle handle = ResourceHandle::Make(std::move(data));
  return Tensor::Of<ResourceHandle>(Shape(), {handle});
}

}  // namespace sluice

#include "kernels/queues/staging_spec.h"

#include "absl/strings/str_cat.h"
#include "graph/base/error.h"
#include "kernels/queues/element_rows.h"

namespace sluice {

absl::StatusOr<StagingSpec> StagingSpec::Make(const KernelConstruction& construction) {
  StagingSpec spec;
  SLUICE_ASSIGN_OR_RETURN(spec.capacity, construction.Get<int64_t>("capacity"));
  SLUICE_ASSIGN_OR_RETURN(spec.memory_limit, construction.Get<int64_t>("memory_limit"));
  return spec;
}

absl::Status StagingSpec::CheckFits(int64_t bytes) const {
  if (HasRoom(0, bytes)) return absl::OkStatus();
  return Error(ErrorCode::kOutOfMemory)
      .Found(absl::StrCat(bytes, " bytes"))
      .Expected(absl::StrCat("at most ", memory_limit))
      .Text("is more than attr memory_limit lets the staging area hold");
}

int64_t BytesOf(const QueueElement& element) {
  int64_t bytes = 0;
  for (const Tensor& tensor : element) bytes += static_cast<int64_t>(tensor.total_bytes());
  return bytes;
}

absl::Status CheckStagedType(const Tensor& tensor, size_t number, DType wanted) {
  if (tensor.dtype() == wanted) return absl::OkStatus();
  return Error(ErrorCode::kOutputType)
      .Found(DTypeName(tensor.dtype()))
      .Expected(DTypeName(wanted))
      .Text(absl::StrCat("tensor ", number, " of the staged element has another dtype"));
}

absl::StatusOr<QueueElement> InputsToKeep(KernelContext& context, int first) {
  QueueElement element;
  element.reserve(static_cast<size_t>(context.num_inputs() - first));
  for (int i = first; i < context.num_inputs(); ++i) {
    SLUICE_ASSIGN_OR_RETURN(Tensor value, ToKeep(context.TakeInput(i), context.allocator()));
    element.push_back(std::move(value));
  }
  return element;
}

std::vector<DType> OutputTypes(const KernelContext& context, int first) {
  std::vector<DType> types;
  for (int i = first; i < context.num_outputs(); ++i) types.push_back(context.output_type(i));
  return types;
}

}  // namespace sluice

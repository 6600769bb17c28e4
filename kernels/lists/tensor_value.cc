#include "kernels/lists/tensor_value.h"

#include "graph/base/error.h"

namespace sluice {

absl::Status TensorValue::Encode(std::string*, std::vector<Tensor>* tensors) const {
  tensors->push_back(tensor_);
  return absl::OkStatus();
}

absl::StatusOr<Variant> TensorValue::Decode(absl::string_view, absl::Span<Tensor> tensors) {
  if (tensors.size() != 1) return Error(ErrorCode::kTensorContent).Text("is not a Tensor as files have it");
  return Variant(MakeCounted<TensorValue>(std::move(tensors[0])));
}

}  // namespace sluice

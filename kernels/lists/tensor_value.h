#ifndef SLUICE_KERNELS_LISTS_TENSOR_VALUE_H_
#define SLUICE_KERNELS_LISTS_TENSOR_VALUE_H_

#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "graph/value/tensor.h"
#include "graph/value/variant.h"

namespace sluice {

// A tensor as an element of another one: what ops that serialize into variants make. Immutable; thread-safe.
class TensorValue final : public VariantObject {
 public:
  static constexpr absl::string_view kTypeName = "tensorflow::Tensor";

  explicit TensorValue(Tensor tensor) : VariantObject(kTypeName), tensor_(std::move(tensor)) {}

  const Tensor& tensor() const { return tensor_; }

  // As TensorFlow writes them: no metadata, the tensor.
  absl::Status Encode(std::string* metadata, std::vector<Tensor>* tensors) const override;
  // The reverse. kTensorContent unless it is one tensor.
  static absl::StatusOr<Variant> Decode(absl::string_view metadata, absl::Span<Tensor> tensors);

 private:
  const Tensor tensor_;
};

}  // namespace sluice

#endif  // SLUICE_KERNELS_LISTS_TENSOR_VALUE_H_

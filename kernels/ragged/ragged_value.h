#ifndef SLUICE_KERNELS_RAGGED_RAGGED_VALUE_H_
#define SLUICE_KERNELS_RAGGED_RAGGED_VALUE_H_

#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "graph/value/tensor.h"
#include "graph/value/variant.h"
#include "kernels/variant_functions.h"

namespace sluice {

// A ragged tensor as an element of another one: what RaggedTensorToVariant makes. Immutable; thread-safe.
class RaggedValue final : public VariantObject {
 public:
  static constexpr absl::string_view kTypeName = "RaggedTensorVariant";

  // `splits`: the outermost axis first.
  RaggedValue(std::vector<Tensor> splits, Tensor values)
      : VariantObject(kTypeName), splits_(std::move(splits)), values_(std::move(values)) {}

  const std::vector<Tensor>& splits() const { return splits_; }
  const Tensor& values() const { return values_; }

  // As TensorFlow writes them: no metadata, the splits, the values.
  absl::Status Encode(std::string* metadata, std::vector<Tensor>* tensors) const override;
  // The reverse. kTensorContent if it holds no tensor.
  static absl::StatusOr<Variant> Decode(absl::string_view metadata, absl::Span<Tensor> tensors);

 private:
  const std::vector<Tensor> splits_;
  const Tensor values_;
};

// How AddN adds ragged tensors, whose splits must be equal, and what ZerosLike makes of one.
VariantFunctions RaggedValueFunctions();

}  // namespace sluice

#endif  // SLUICE_KERNELS_RAGGED_RAGGED_VALUE_H_

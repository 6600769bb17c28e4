#ifndef SLUICE_KERNELS_LISTS_OPTIONAL_H_
#define SLUICE_KERNELS_LISTS_OPTIONAL_H_

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

// Some tensors, or none, as a value: what an iterator's end and results of conditionals are. Immutable; thread-safe.
class Optional final : public VariantObject {
 public:
  static constexpr absl::string_view kTypeName = "tensorflow::data::Optional";

  // None.
  Optional() : VariantObject(kTypeName) {}
  explicit Optional(std::vector<Tensor> components)
      : VariantObject(kTypeName), has_value_(true), components_(std::move(components)) {}

  bool has_value() const { return has_value_; }
  const std::vector<Tensor>& components() const { return components_; }

  // As TensorFlow writes them: metadata is one byte, whether there is a value.
  absl::Status Encode(std::string* metadata, std::vector<Tensor>* tensors) const override;
  static absl::StatusOr<Variant> Decode(absl::string_view metadata, absl::Span<Tensor> tensors);

 private:
  const bool has_value_ = false;
  const std::vector<Tensor> components_;
};

// How AddN adds optionals, component by component, and what ZerosLike makes of one.
VariantFunctions OptionalFunctions();

}  // namespace sluice

#endif  // SLUICE_KERNELS_LISTS_OPTIONAL_H_

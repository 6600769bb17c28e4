#ifndef SLUICE_KERNELS_LISTS_TENSOR_MAP_H_
#define SLUICE_KERNELS_LISTS_TENSOR_MAP_H_

#include <map>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "graph/value/tensor.h"
#include "graph/value/variant.h"
#include "kernels/variant_functions.h"

namespace sluice {

// Tensors by tensors, as a value. Like lists, changed in place by the last reader; see Note [Lists are values].
// Owned by the variant tensors that hold it. Thread-safety: constant access from any thread.
class TensorMap final : public VariantObject {
 public:
  static constexpr absl::string_view kTypeName = "tensorflow::TensorMap";
  struct Item {
    Tensor key, value;
  };
  // By what KeyOf makes of the key.
  using Items = std::map<std::string, Item>;

  TensorMap() : VariantObject(kTypeName) {}

  // Equal for equal dtypes, shapes and elements. kOpValue for a key of resources or variants.
  static absl::StatusOr<std::string> KeyOf(const Tensor& key);

  const Items& items() const { return items_; }
  // REQUIRES: the caller is the only holder of the map.
  Items& mutable_items() { return items_; }
  CountedPtr<TensorMap> Copy() const;

  // As TensorFlow writes them: no metadata; keys and values in turn.
  absl::Status Encode(std::string* metadata, std::vector<Tensor>* tensors) const override;
  static absl::StatusOr<Variant> Decode(absl::string_view metadata, absl::Span<Tensor> tensors);

 private:
  Items items_;
};

// How AddN adds maps (values of one key are added), and what ZerosLike makes of one.
VariantFunctions TensorMapFunctions();

}  // namespace sluice

#endif  // SLUICE_KERNELS_LISTS_TENSOR_MAP_H_

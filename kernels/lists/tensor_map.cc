#include "kernels/lists/tensor_map.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "graph/base/error.h"
#include "graph/base/status_macros.h"
#include "graph/value/tstring.h"
#include "kernels/input_error.h"
#include "kernels/lists/nested_tensors.h"

namespace sluice {
namespace {

absl::StatusOr<Variant> AddMaps(const KernelContext& context, const VariantObject& left, const VariantObject& right) {
  CountedPtr<TensorMap> sum = static_cast<const TensorMap&>(left).Copy();
  for (const auto& [key, item] : static_cast<const TensorMap&>(right).items()) {
    const auto [place, is_new] = sum->mutable_items().try_emplace(key, item);
    if (is_new) continue;
    if (place->second.value.dtype() != item.value.dtype()) {
      return ValueError("values of two dtypes under one key", "one dtype");
    }
    SLUICE_ASSIGN_OR_RETURN(place->second.value, SumOf(context, place->second.value, item.value));
  }
  return Variant(std::move(sum));
}

absl::StatusOr<Variant> ZeroMap(const KernelContext& context, const VariantObject& value) {
  CountedPtr<TensorMap> zeros = static_cast<const TensorMap&>(value).Copy();
  for (auto& [key, item] : zeros->mutable_items()) {
    SLUICE_ASSIGN_OR_RETURN(item.value, ZerosOf(context, item.value));
  }
  return Variant(std::move(zeros));
}

}  // namespace

absl::StatusOr<std::string> TensorMap::KeyOf(const Tensor& key) {
  std::string text = absl::StrCat(DTypeName(key.dtype()), key.shape().ToString(), ":");
  if (IsTrivial(key.dtype())) return absl::StrCat(text, key.bytes());
  if (key.dtype() != DType::kString) return ValueError(absl::StrCat("a key of ", DTypeName(key.dtype())), "plain keys");
  for (const TString& element : key.flat<TString>()) absl::StrAppend(&text, element.size(), ":", element.view());
  return text;
}

CountedPtr<TensorMap> TensorMap::Copy() const {
  CountedPtr<TensorMap> copy = MakeCounted<TensorMap>();
  copy->items_ = items_;
  return copy;
}

absl::Status TensorMap::Encode(std::string*, std::vector<Tensor>* tensors) const {
  for (const auto& [key, item] : items_) {
    tensors->push_back(item.key);
    tensors->push_back(item.value);
  }
  return absl::OkStatus();
}

absl::StatusOr<Variant> TensorMap::Decode(absl::string_view, absl::Span<Tensor> tensors) {
  if (tensors.size() % 2 != 0) return Error(ErrorCode::kTensorContent).Text("is a map with a key without a value");
  CountedPtr<TensorMap> map = MakeCounted<TensorMap>();
  for (size_t i = 0; i < tensors.size(); i += 2) {
    SLUICE_ASSIGN_OR_RETURN(std::string key, KeyOf(tensors[i]));
    map->items_.try_emplace(std::move(key), Item{std::move(tensors[i]), std::move(tensors[i + 1])});
  }
  return Variant(std::move(map));
}

VariantFunctions TensorMapFunctions() { return {std::string(TensorMap::kTypeName), &AddMaps, &ZeroMap}; }

}  // namespace sluice

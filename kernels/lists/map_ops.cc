#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "kernels/array/index_values.h"
#include "kernels/input_error.h"
#include "kernels/kernel.h"
#include "kernels/lists/families.h"
#include "kernels/lists/tensor_map.h"
#include "kernels/lists/variant_inputs.h"
#include "kernels/new_kernel.h"
#include "kernels/state/rows.h"

namespace sluice {
namespace {

absl::StatusOr<const TensorMap*> MapInput(const KernelContext& context) {
  return VariantInput<TensorMap>(context, 0, "a TensorMap");
}

// The item of the key in input 1.
absl::StatusOr<const TensorMap::Item*> FindItem(const KernelContext& context, const TensorMap& map) {
  SLUICE_ASSIGN_OR_RETURN(const std::string key, TensorMap::KeyOf(context.input(1)));
  const auto found = map.items().find(key);
  if (found != map.items().end()) return &found->second;
  return ValueError(1, "key", "a key that is not in the map", "one that is");
}

// Gives the map of input 0 after `change`, which is applied in place if this kernel is the only holder.
template <typename Change>
absl::Status GiveChanged(KernelContext& context, Change change) {
  SLUICE_ASSIGN_OR_RETURN(OwnVariant<TensorMap> own,
                          TakeVariant<TensorMap>(context, 0, [](const TensorMap& map) { return map.Copy(); }));
  change(own.value->mutable_items());
  context.SetOutput(0, std::move(own.handle));
  return absl::OkStatus();
}

absl::Status ComputeEmpty(KernelContext& context) {
  SLUICE_ASSIGN_OR_RETURN(Tensor empty, VariantTensor(Variant(MakeCounted<TensorMap>()), context.allocator()));
  context.SetOutput(0, std::move(empty));
  return absl::OkStatus();
}

absl::Status ComputeSize(KernelContext& context) {
  SLUICE_ASSIGN_OR_RETURN(const TensorMap* const map, MapInput(context));
  context.SetScalar(0, static_cast<int32_t>(map->items().size()));
  return absl::OkStatus();
}

absl::Status ComputeHasKey(KernelContext& context) {
  SLUICE_ASSIGN_OR_RETURN(const TensorMap* const map, MapInput(context));
  SLUICE_ASSIGN_OR_RETURN(const std::string key, TensorMap::KeyOf(context.input(1)));
  context.SetScalar(0, map->items().count(key) > 0);
  return absl::OkStatus();
}

absl::Status ComputeLookup(KernelContext& context) {
  SLUICE_ASSIGN_OR_RETURN(const TensorMap* const map, MapInput(context));
  SLUICE_ASSIGN_OR_RETURN(const TensorMap::Item* const item, FindItem(context, *map));
  if (item->value.dtype() != context.output_type(0)) {
    return ValueError(absl::StrCat("a value of ", DTypeName(item->value.dtype())), DTypeName(context.output_type(0)));
  }
  context.SetOutput(0, item->value);
  return absl::OkStatus();
}

absl::Status ComputeInsert(KernelContext& context) {
  SLUICE_RETURN_IF_ERROR(MapInput(context).status());
  SLUICE_ASSIGN_OR_RETURN(std::string key, TensorMap::KeyOf(context.input(1)));
  TensorMap::Item item{context.input(1), context.input(2)};
  return GiveChanged(context,
                     [&](TensorMap::Items& items) { items.insert_or_assign(std::move(key), std::move(item)); });
}

absl::Status ComputeErase(KernelContext& context) {
  SLUICE_ASSIGN_OR_RETURN(const TensorMap* const map, MapInput(context));
  SLUICE_RETURN_IF_ERROR(FindItem(context, *map).status());
  SLUICE_ASSIGN_OR_RETURN(const std::string key, TensorMap::KeyOf(context.input(1)));
  return GiveChanged(context, [&](TensorMap::Items& items) { items.erase(key); });
}

// All keys as rows of one tensor.
absl::Status ComputeStackKeys(KernelContext& context) {
  SLUICE_ASSIGN_OR_RETURN(const TensorMap* const map, MapInput(context));
  if (map->items().empty()) return ValueError(0, "", "an empty map", "a key, whose shape all have");
  const Tensor& first = map->items().begin()->second.key;
  IndexVector dims{static_cast<int64_t>(map->items().size())};
  dims.insert(dims.end(), first.shape().dims().begin(), first.shape().dims().end());
  SLUICE_ASSIGN_OR_RETURN(const Shape shape, MakeShape(dims));
  for (const auto& [name, item] : map->items()) {
    if (item.key.dtype() == context.output_type(0) && item.key.shape() == first.shape()) continue;
    return ValueError(absl::StrCat("a key ", DTypeName(item.key.dtype()), " ", item.key.shape().ToString()),
                      absl::StrCat(DTypeName(context.output_type(0)), " ", first.shape().ToString()));
  }
  SLUICE_ASSIGN_OR_RETURN(Tensor* const out, context.AllocateOutput(0, shape));
  int64_t begin = 0;
  for (const auto& [name, item] : map->items()) {
    PutElements(*out, begin, item.key);
    begin += first.num_elements();
  }
  return absl::OkStatus();
}

constexpr KernelRow kRows[] = {
    KernelRow("EmptyTensorMap", &Call<ComputeEmpty>).Cheap(),
    KernelRow("TensorMapSize", &Call<ComputeSize>).Cheap(),
    KernelRow("TensorMapHasKey", &Call<ComputeHasKey>).Cheap(),
    KernelRow("TensorMapLookup", &Call<ComputeLookup>).Cheap(),
    KernelRow("TensorMapInsert", &Call<ComputeInsert>).Cheap(),
    KernelRow("TensorMapErase", &Call<ComputeErase>).Cheap(),
    KernelRow("TensorMapStackKeys", &Call<ComputeStackKeys>),
};

}  // namespace

absl::Span<const KernelRow> MapKernels() {
  // Once in the process. A host program that has given the type functions of its own keeps them.
  static const absl::Status added = AddVariantFunctions(TensorMapFunctions());
  added.IgnoreError();
  return kRows;
}

}  // namespace sluice

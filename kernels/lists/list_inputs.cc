#include "kernels/lists/list_inputs.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "kernels/array/index_values.h"
#include "kernels/input_error.h"

namespace sluice {

absl::StatusOr<const TensorList*> ListInput(const KernelContext& context, int i) {
  return VariantInput<TensorList>(context, i, "a TensorList");
}

absl::StatusOr<const TensorList*> ListInput(const KernelContext& context, int i, DType dtype) {
  SLUICE_ASSIGN_OR_RETURN(const TensorList* const list, ListInput(context, i));
  if (list->dtype() == dtype) return list;
  return ValueError(i, "", absl::StrCat("a list of ", DTypeName(list->dtype())),
                    absl::StrCat("a list of ", DTypeName(dtype)));
}

absl::StatusOr<OwnList> TakeList(KernelContext& context, int i) {
  return TakeVariant<TensorList>(context, i, [&](const TensorList& list) { return list.Copy(context.allocator()); });
}

absl::StatusOr<OwnList> NewList(TensorList::Kind kind, const KernelContext& context) {
  return MakeOwn(MakeCounted<TensorList>(std::move(kind), context.allocator()), context.allocator());
}

absl::StatusOr<PartialShape> ElementShapeInput(const KernelContext& context, int i, absl::string_view name) {
  const Tensor& input = context.input(i);
  const auto wrong = [&](absl::string_view found, absl::string_view expected) {
    return ValueError(i, name, found, expected);
  };
  if (input.rank() == 0) {
    if (IndexAt(input, 0) == -1) return PartialShape();
    return wrong(absl::StrCat("the scalar ", IndexAt(input, 0)), "a vector of sizes, or -1 for an unknown rank");
  }
  if (input.rank() != 1 || input.num_elements() > kMaxRank) {
    return ShapeError(i, name, input.shape(), absl::StrCat("a vector of at most ", kMaxRank, " sizes, or a scalar"));
  }
  IndexVector sizes;
  for (int64_t k = 0; k < input.num_elements(); ++k) {
    sizes.push_back(IndexAt(input, k));
    if (sizes.back() < -1) return wrong(absl::StrCat(sizes.back()), "sizes of 0 or more, or -1");
  }
  const absl::StatusOr<PartialShape> shape = PartialShape::Make(sizes);
  if (!shape.ok()) return wrong("sizes whose product is too large", "a shape of a tensor");
  return *shape;
}

absl::StatusOr<PartialShape> MergeShapes(const PartialShape& a, const PartialShape& b, absl::string_view what) {
  absl::StatusOr<PartialShape> merged = a.MergeWith(b);
  if (merged.ok()) return merged;
  return ShapesError(absl::StrCat(what, " ", a.ToString()), absl::StrCat("a shape that fits ", b.ToString()));
}

absl::Status CheckElementShape(const TensorList& list, const Shape& shape) {
  if (list.element_shape().IsCompatibleWith(shape)) return absl::OkStatus();
  return ShapesError(absl::StrCat("an element ", shape.ToString()),
                     absl::StrCat("the shape that the list declares, ", list.element_shape().ToString()));
}

absl::Status CheckRoom(const TensorList& list) {
  const int64_t stated = list.kind().max_size;
  const int64_t most = stated < 0 ? TensorList::kMaxSize : std::min(stated, TensorList::kMaxSize);
  if (list.size() < most) return absl::OkStatus();
  return ValueError(absl::StrCat("a full list of ", list.size(), " elements"), absl::StrCat("fewer than ", most));
}

absl::Status CheckIndex(const TensorList& list, int64_t index) {
  if (index >= 0 && index < list.size()) return absl::OkStatus();
  return ValueError(absl::StrCat("element ", index), absl::StrCat("one of the ", list.size(), " of the list"));
}

}  // namespace sluice

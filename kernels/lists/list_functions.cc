#include "kernels/lists/list_functions.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "graph/base/error.h"
#include "kernels/lists/list_inputs.h"
#include "kernels/lists/nested_tensors.h"
#include "kernels/lists/tensor_list.h"

namespace sluice {
namespace {

absl::StatusOr<Variant> AddLists(const KernelContext& context, const VariantObject& left, const VariantObject& right) {
  const TensorList& a = static_cast<const TensorList&>(left);
  const TensorList& b = static_cast<const TensorList&>(right);
  if (a.dtype() != b.dtype() || a.size() != b.size()) {
    return Error(a.dtype() != b.dtype() ? ErrorCode::kOpValue : ErrorCode::kOpShapes)
        .Found(absl::StrCat(a.DebugString(), " and ", b.DebugString()))
        .Expected("lists of one dtype and length");
  }
  TensorList::Kind kind{a.dtype(), {}, a.kind().max_size};
  SLUICE_ASSIGN_OR_RETURN(kind.element_shape, MergeShapes(a.element_shape(), b.element_shape(), "elements of shape"));
  CountedPtr<TensorList> sum = MakeCounted<TensorList>(std::move(kind), context.allocator());
  SLUICE_RETURN_IF_ERROR(sum->Resize(a.size()));
  for (int64_t i = 0; i < a.size(); ++i) {
    Tensor& element = sum->mutable_elements()[static_cast<size_t>(i)];
    if (a.at(i).has_value() && b.at(i).has_value()) {
      SLUICE_ASSIGN_OR_RETURN(element, SumOf(context, a.at(i), b.at(i)));
    } else {
      element = a.at(i).has_value() ? a.at(i) : b.at(i);
    }
  }
  return Variant(std::move(sum));
}

absl::StatusOr<Variant> ZeroList(const KernelContext& context, const VariantObject& value) {
  const TensorList& list = static_cast<const TensorList&>(value);
  CountedPtr<TensorList> zeros = MakeCounted<TensorList>(list.kind(), context.allocator());
  SLUICE_RETURN_IF_ERROR(zeros->Resize(list.size()));
  for (int64_t i = 0; i < list.size(); ++i) {
    if (!list.at(i).has_value()) continue;
    SLUICE_ASSIGN_OR_RETURN(zeros->mutable_elements()[static_cast<size_t>(i)], ZerosOf(context, list.at(i)));
  }
  return Variant(std::move(zeros));
}

}  // namespace

VariantFunctions TensorListFunctions() { return {std::string(TensorList::kTypeName), &AddLists, &ZeroList}; }

}  // namespace sluice

#include <limits>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "graph/base/error.h"
#include "kernels/array/index_values.h"
#include "kernels/input_error.h"
#include "kernels/kernel.h"
#include "kernels/kernel_construction.h"
#include "kernels/lists/families.h"
#include "kernels/lists/list_inputs.h"
#include "kernels/lists/nested_tensors.h"
#include "kernels/lists/tensor_list.h"
#include "kernels/new_kernel.h"
#include "kernels/variant_functions.h"

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

// How AddN adds lists, element by element, and what ZerosLike makes of one. Elements that were never set count as zeros
// and stay as they are.
VariantFunctions TensorListFunctions() { return {std::string(TensorList::kTypeName), &AddLists, &ZeroList}; }

// EmptyTensorList and TensorListReserve: a list of elements of `dtype`.
class NewListKernel : public Kernel {
 public:
  explicit NewListKernel(DType dtype, bool is_reserve) : dtype_(dtype), is_reserve_(is_reserve) {}

  static absl::StatusOr<std::unique_ptr<Kernel>> Make(const KernelConstruction& construction) {
    SLUICE_ASSIGN_OR_RETURN(const DType dtype, construction.Get<DType>("element_dtype"));
    return std::make_unique<NewListKernel>(dtype, construction.op() == "TensorListReserve");
  }

  absl::Status Compute(KernelContext& context) const override {
    TensorList::Kind kind;
    kind.dtype = dtype_;
    SLUICE_ASSIGN_OR_RETURN(kind.element_shape, ElementShapeInput(context, 0));
    const char* const name = is_reserve_ ? "num_elements" : "max_num_elements";
    SLUICE_ASSIGN_OR_RETURN(const int64_t number, ReadScalar(context, 1, name));
    if (is_reserve_ && number < 0) return ValueError(1, name, number, "0 or more");
    if (!is_reserve_) kind.max_size = number;
    SLUICE_ASSIGN_OR_RETURN(OwnList own, NewList(std::move(kind), context));
    if (is_reserve_) SLUICE_RETURN_IF_ERROR(own.value->Resize(number));
    context.SetOutput(0, std::move(own.handle));
    return absl::OkStatus();
  }
  CostHint cost_hint() const override { return CostHint::kCheap; }

 private:
  const DType dtype_;
  const bool is_reserve_;
};

absl::Status ComputeLength(KernelContext& context) {
  SLUICE_ASSIGN_OR_RETURN(const TensorList* const list, ListInput(context, 0));
  context.SetScalar(0, static_cast<int32_t>(list->size()));
  return absl::OkStatus();
}

// The known part of the elements' shape, as ElementShapeInput reads it.
absl::Status ComputeElementShape(KernelContext& context) {
  SLUICE_ASSIGN_OR_RETURN(const TensorList* const list, ListInput(context, 0));
  const PartialShape& known = list->element_shape();
  const Shape shape = known.has_rank() ? Shape::Of({known.rank()}) : Shape();
  SLUICE_ASSIGN_OR_RETURN(Tensor* const out, context.AllocateOutput(0, shape));
  for (int64_t i = 0; i < shape.num_elements(); ++i) {
    const int64_t size = known.has_rank() ? known.dim(static_cast<int>(i)) : -1;
    if (out->dtype() == DType::kInt32 && size > std::numeric_limits<int32_t>::max()) {
      return ValueError(known.ToString(), "sizes that int32 holds");
    }
    SetIndexAt(*out, i, size);
  }
  return absl::OkStatus();
}

absl::Status ComputeResize(KernelContext& context) {
  SLUICE_RETURN_IF_ERROR(ListInput(context, 0).status());
  SLUICE_ASSIGN_OR_RETURN(const int64_t size, ReadScalar(context, 1, "size"));
  if (size < 0) return ValueError(1, "size", size, "0 or more");
  SLUICE_ASSIGN_OR_RETURN(OwnList own, TakeList(context, 0));
  SLUICE_RETURN_IF_ERROR(own.value->Resize(size));
  context.SetOutput(0, std::move(own.handle));
  return absl::OkStatus();
}

absl::Status ComputePushBack(KernelContext& context) {
  SLUICE_ASSIGN_OR_RETURN(const TensorList* const list, ListInput(context, 0, context.input(1).dtype()));
  SLUICE_RETURN_IF_ERROR(CheckElementShape(*list, context.input(1).shape()));
  SLUICE_RETURN_IF_ERROR(CheckRoom(*list));
  SLUICE_ASSIGN_OR_RETURN(OwnList own, TakeList(context, 0));
  own.value->mutable_elements().push_back(context.TakeInput(1));
  context.SetOutput(0, std::move(own.handle));
  return absl::OkStatus();
}

// The shape of an element that was never set, when the list or input `i` says it.
absl::StatusOr<PartialShape> UnsetShape(const KernelContext& context, const TensorList& list, int i) {
  SLUICE_ASSIGN_OR_RETURN(const PartialShape stated, ElementShapeInput(context, i));
  return MergeShapes(stated, list.element_shape(), "element_shape");
}

absl::StatusOr<Tensor> UnsetElement(const KernelContext& context, const TensorList& list, const PartialShape& shape) {
  if (shape.IsFullyDefined()) return ZeroElement(list.dtype(), shape.ToShape(), context.allocator());
  return ValueError(absl::StrCat("an element that was never set, of shape ", shape.ToString()),
                    "a fully known shape, for its zeros");
}

absl::Status ComputePopBack(KernelContext& context) {
  SLUICE_ASSIGN_OR_RETURN(const TensorList* const list, ListInput(context, 0, context.output_type(1)));
  if (list->size() == 0) return ValueError(0, "", "an empty list", "an element");
  if (!list->elements().back().has_value()) {
    SLUICE_ASSIGN_OR_RETURN(const PartialShape shape, UnsetShape(context, *list, 1));
    SLUICE_ASSIGN_OR_RETURN(Tensor zeros, UnsetElement(context, *list, shape));
    context.SetOutput(1, std::move(zeros));
  } else {
    context.SetOutput(1, list->elements().back());
  }
  SLUICE_ASSIGN_OR_RETURN(OwnList own, TakeList(context, 0));
  own.value->mutable_elements().pop_back();
  context.SetOutput(0, std::move(own.handle));
  return absl::OkStatus();
}

// One that was never set is zeros of the shape that the list, the input or the other elements have.
absl::Status ComputeGetItem(KernelContext& context) {
  SLUICE_ASSIGN_OR_RETURN(const TensorList* const list, ListInput(context, 0, context.output_type(0)));
  SLUICE_ASSIGN_OR_RETURN(const int64_t index, ReadIndexScalar(context, 1, "index"));
  SLUICE_RETURN_IF_ERROR(CheckIndex(*list, index));
  if (list->at(index).has_value()) {
    context.SetOutput(0, list->at(index));
    return absl::OkStatus();
  }
  SLUICE_ASSIGN_OR_RETURN(PartialShape shape, UnsetShape(context, *list, 2));
  if (!shape.IsFullyDefined()) {
    for (const Tensor& element : list->elements()) {
      if (!element.has_value()) continue;
      SLUICE_ASSIGN_OR_RETURN(shape, MergeShapes(PartialShape::From(element.shape()), shape, "another element"));
    }
  }
  SLUICE_ASSIGN_OR_RETURN(Tensor zeros, UnsetElement(context, *list, shape));
  context.SetOutput(0, std::move(zeros));
  return absl::OkStatus();
}

// Replaces an element, or, where the list may grow, adds it and those before it. Thread-safe.
class SetItemKernel : public Kernel {
 public:
  explicit SetItemKernel(bool may_grow) : may_grow_(may_grow) {}

  absl::Status Compute(KernelContext& context) const override {
    SLUICE_ASSIGN_OR_RETURN(const TensorList* const list, ListInput(context, 0, context.input(2).dtype()));
    SLUICE_ASSIGN_OR_RETURN(const int64_t index, ReadScalar(context, 1, "index"));
    if (!may_grow_ || index < 0) SLUICE_RETURN_IF_ERROR(CheckIndex(*list, index));
    SLUICE_RETURN_IF_ERROR(CheckElementShape(*list, context.input(2).shape()));
    SLUICE_ASSIGN_OR_RETURN(OwnList own, TakeList(context, 0));
    if (index >= own.value->size()) SLUICE_RETURN_IF_ERROR(own.value->Resize(index + 1));
    own.value->mutable_elements()[static_cast<size_t>(index)] = context.TakeInput(2);
    context.SetOutput(0, std::move(own.handle));
    return absl::OkStatus();
  }
  CostHint cost_hint() const override { return CostHint::kCheap; }

 private:
  const bool may_grow_;
};

constexpr KernelRow kRows[] = {
    KernelRow("EmptyTensorList", &New<NewListKernel>),
    KernelRow("TensorListReserve", &New<NewListKernel>),
    KernelRow("TensorListLength", &Call<ComputeLength>).Cheap(),
    KernelRow("TensorListElementShape", &Call<ComputeElementShape>).Cheap(),
    KernelRow("TensorListResize", &Call<ComputeResize>).Cheap(),
    KernelRow("TensorListPushBack", &Call<ComputePushBack>).Cheap(),
    KernelRow("TensorListPopBack", &Call<ComputePopBack>).Cheap(),
    KernelRow("TensorListGetItem", &Call<ComputeGetItem>).Cheap(),
    KernelRow("TensorListSetItem", FromAttr<SetItemKernel, bool>("resize_if_index_out_of_bounds")),
};

}  // namespace

absl::Span<const KernelRow> ListKernels() {
  // Once in the process. A host program that has given the type functions of its own keeps them.
  static const absl::Status added = AddVariantFunctions(TensorListFunctions());
  added.IgnoreError();
  return kRows;
}

}  // namespace sluice

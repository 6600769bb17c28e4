#include <algorithm>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "graph/base/checked_math.h"
#include "graph/base/error.h"
#include "kernels/array/index_values.h"
#include "kernels/array/moved_types.h"
#include "kernels/input_error.h"
#include "kernels/kernel.h"
#include "kernels/kernel_construction.h"
#include "kernels/lists/families.h"
#include "kernels/lists/list_inputs.h"
#include "kernels/lists/tensor_list.h"
#include "kernels/new_kernel.h"
#include "kernels/state/rows.h"

namespace sluice {
namespace {

// The known part of the elements' shape: the first size, or -1, and the others.
struct ElementParts {
  int64_t first = -1;
  PartialShape rest;
};

absl::StatusOr<ElementParts> PartsOf(const PartialShape& shape) {
  ElementParts parts;
  if (!shape.has_rank()) return parts;
  if (shape.rank() == 0) return ValueError("elements that are scalars", "elements that have a first axis");
  parts.first = shape.dim(0);
  SLUICE_ASSIGN_OR_RETURN(parts.rest, PartialShape::Make(shape.dims().subspan(1)));
  return parts;
}

// All elements one after the other along their first axis, and how long each was. One that was never set is zeros, as
// long as input leading_dims says, or as the others are where all are equal.
class ConcatKernel : public Kernel {
 public:
  // `stated`: what an attr says of the elements; none: what inputs say.
  explicit ConcatKernel(std::optional<PartialShape> stated) : stated_(std::move(stated)) {}

  static absl::StatusOr<std::unique_ptr<Kernel>> Make(const KernelConstruction& construction) {
    std::optional<PartialShape> stated;
    if (construction.num_inputs() == 1) {
      SLUICE_ASSIGN_OR_RETURN(stated, construction.Get<PartialShape>("element_shape"));
    }
    return std::make_unique<ConcatKernel>(std::move(stated));
  }

  absl::Status Compute(KernelContext& context) const override {
    SLUICE_ASSIGN_OR_RETURN(const TensorList* const list, ListInput(context, 0, context.output_type(0)));
    SLUICE_ASSIGN_OR_RETURN(ElementParts parts, KnownParts(context, *list));
    SLUICE_RETURN_IF_ERROR(LookAtElements(*list, &parts));
    SLUICE_ASSIGN_OR_RETURN(Tensor* const lengths, context.AllocateOutput(1, Shape::Of({list->size()})));
    SLUICE_ASSIGN_OR_RETURN(const int64_t rows, Measure(context, *list, parts.first, lengths->flat<int64_t>()));
    IndexVector dims{rows};
    dims.insert(dims.end(), parts.rest.dims().begin(), parts.rest.dims().end());
    SLUICE_ASSIGN_OR_RETURN(const Shape shape, MakeShape(dims));
    SLUICE_ASSIGN_OR_RETURN(Tensor* const out, context.AllocateOutput(0, shape));
    if (shape.num_elements() == 0) return absl::OkStatus();
    const int64_t width = shape.num_elements() / rows;
    int64_t begin = 0;
    for (int64_t i = 0; i < list->size(); ++i) {
      const int64_t count = lengths->flat<int64_t>()[static_cast<size_t>(i)] * width;
      if (list->at(i).has_value()) {
        PutElements(*out, begin, list->at(i));
      } else {
        DispatchMoved(out->dtype(), [&](auto type) {
          using T = typename decltype(type)::Type;
          std::fill_n(Elements<T>(*out) + begin, count, T());
        });
      }
      begin += count;
    }
    return absl::OkStatus();
  }

 private:
  absl::StatusOr<ElementParts> KnownParts(const KernelContext& context, const TensorList& list) const {
    if (stated_.has_value()) return PartsOf(*stated_);
    SLUICE_ASSIGN_OR_RETURN(const PartialShape input, ElementShapeInput(context, 1));
    SLUICE_ASSIGN_OR_RETURN(const PartialShape known, MergeShapes(input, list.element_shape(), "element_shape"));
    return PartsOf(known);
  }

  // Completes `parts` from the elements: all sizes but the first must be known then; the first is -1 unless all
  // elements agree in it.
  absl::Status LookAtElements(const TensorList& list, ElementParts* parts) const {
    const Tensor* seen = nullptr;
    bool is_common = true, has_unset = false;
    for (int64_t i = 0; i < list.size(); ++i) {
      const Tensor& element = list.at(i);
      has_unset |= !element.has_value();
      if (!element.has_value()) continue;
      SLUICE_RETURN_IF_ERROR(CheckElement(i, element, seen, *parts));
      if (seen == nullptr) seen = &element;
      is_common &= element.dim(0) == seen->dim(0);
    }
    if (seen != nullptr) {
      SLUICE_ASSIGN_OR_RETURN(parts->rest, PartialShape::Make(seen->shape().dims().subspan(1)));
      if (is_common) parts->first = seen->dim(0);
    }
    if (stated_.has_value() && has_unset) return ValueError(0, "", "an element that was never set", "set elements");
    if (parts->rest.IsFullyDefined()) return absl::OkStatus();
    return ValueError(absl::StrCat(list.size() == 0 ? "no element" : "only elements that were never set",
                                   ", of shape [?] followed by ", parts->rest.ToString()),
                      "all sizes of the elements but the first");
  }

  absl::Status CheckElement(int64_t i, const Tensor& element, const Tensor* seen, const ElementParts& parts) const {
    if (element.rank() == 0) {
      return ValueError(absl::StrCat("a scalar as element ", i), "elements that have a first axis");
    }
    const absl::Span<const int64_t> rest = element.shape().dims().subspan(1);
    const bool fits_seen = seen == nullptr || rest == seen->shape().dims().subspan(1);
    bool fits = fits_seen;
    if (seen == nullptr) {
      SLUICE_ASSIGN_OR_RETURN(const PartialShape found, PartialShape::Make(rest));
      fits = parts.rest.IsCompatibleWith(found);
    }
    if (!stated_.has_value()) fits &= parts.first < 0 || element.dim(0) == parts.first;
    if (fits) return absl::OkStatus();
    return ShapesError(absl::StrCat("element ", i, " of shape ", element.shape().ToString()),
                       fits_seen ? absl::StrCat("[", parts.first < 0 ? "?" : absl::StrCat(parts.first),
                                                "] followed by ", parts.rest.ToString())
                                 : absl::StrCat("one that is like the first, ", seen->shape().ToString()));
  }

  // Rows of all elements together, and of each. `first`: of those that say nothing else, or -1.
  static absl::StatusOr<int64_t> Measure(const KernelContext& context, const TensorList& list, int64_t first,
                                         absl::Span<int64_t> lengths) {
    const Tensor* const leading = context.num_inputs() > 2 ? &context.input(2) : nullptr;
    if (leading != nullptr && leading->rank() != 1) return ShapeError(2, "leading_dims", leading->shape(), "a vector");
    int64_t rows = 0;
    for (int64_t i = 0; i < list.size(); ++i) {
      int64_t length = first;
      if (list.at(i).has_value()) {
        length = list.at(i).dim(0);
      } else if (leading != nullptr && i < leading->num_elements()) {
        length = IndexAt(*leading, i);
      }
      if (length < 0) {
        return ValueError(2, "leading_dims", absl::StrCat("no length of element ", i, ", which was never set"),
                          "0 or more");
      }
      lengths[static_cast<size_t>(i)] = length;
      if (!CheckedAdd(rows, length, &rows)) return Error(ErrorCode::kOpTooLarge).Text("too many rows");
    }
    return rows;
  }

  const std::optional<PartialShape> stated_;
};

// --- Tensors of lists ---------------------------------------------------------------------------------------------

// The list in element `k` of input `i`.
absl::StatusOr<const TensorList*> ListIn(const KernelContext& context, int i, size_t k, DType dtype) {
  const Variant& value = context.input(i).flat<Variant>()[k];
  const TensorList* const list = value.Get<TensorList>();
  if (list != nullptr && list->dtype() == dtype) return list;
  return ValueError(i, "",
                    list != nullptr ? absl::StrCat("a list of ", DTypeName(list->dtype()), " at ", k)
                                    : absl::StrCat("no list at ", k),
                    absl::StrCat("a list of ", DTypeName(dtype)));
}

// The elements of two lists as one, for each pair of lists.
class ConcatListsKernel : public Kernel {
 public:
  explicit ConcatListsKernel(DType dtype) : dtype_(dtype) {}

  absl::Status Compute(KernelContext& context) const override {
    const Shape shape = context.input(0).shape();
    if (context.input(1).shape() != shape) {
      return ShapesError(absl::StrCat(shape.ToString(), " and ", context.input(1).shape().ToString()), "equal shapes");
    }
    SLUICE_ASSIGN_OR_RETURN(Tensor * out, context.AllocateOutput(0, shape));
    const absl::Span<Variant> joined = out->flat<Variant>();
    for (size_t k = 0; k < joined.size(); ++k) {
      SLUICE_ASSIGN_OR_RETURN(const TensorList* const a, ListIn(context, 0, k, dtype_));
      SLUICE_ASSIGN_OR_RETURN(const TensorList* const b, ListIn(context, 1, k, dtype_));
      if (a->element_shape() != b->element_shape()) {
        return ShapesError(
            absl::StrCat("elements ", a->element_shape().ToString(), " and ", b->element_shape().ToString()),
            "equal shapes");
      }
      CountedPtr<TensorList> both = a->Copy(context.allocator());
      SLUICE_RETURN_IF_ERROR(both->Resize(a->size() + b->size()));
      std::copy(b->elements().begin(), b->elements().end(), both->mutable_elements().begin() + a->size());
      joined[k] = Variant(std::move(both));
    }
    return absl::OkStatus();
  }

 private:
  const DType dtype_;
};

// Row k of a tensor becomes the last element of list k.
absl::Status ComputePushBackBatch(KernelContext& context) {
  const Tensor& tensor = context.input(1);
  const Shape shape = context.input(0).shape();
  if (shape.rank() != 1 || tensor.rank() == 0 || tensor.dim(0) != shape.dim(0)) {
    return ShapesError(absl::StrCat("lists ", shape.ToString(), ", tensor ", tensor.shape().ToString()),
                       "a vector of lists, and a row for each");
  }
  SLUICE_ASSIGN_OR_RETURN(const Shape row, MakeShape(tensor.shape().dims().subspan(1)));
  SLUICE_ASSIGN_OR_RETURN(Tensor pushed, Tensor::Make(DType::kVariant, shape, context.allocator()));
  const absl::Span<Variant> lists = pushed.flat<Variant>();
  for (size_t k = 0; k < lists.size(); ++k) {
    SLUICE_ASSIGN_OR_RETURN(const TensorList* const list, ListIn(context, 0, k, tensor.dtype()));
    SLUICE_RETURN_IF_ERROR(CheckElementShape(*list, row));
    SLUICE_RETURN_IF_ERROR(CheckRoom(*list));
    SLUICE_ASSIGN_OR_RETURN(
        Tensor element, CopyElements(tensor, static_cast<int64_t>(k) * row.num_elements(), row, context.allocator()));
    CountedPtr<TensorList> longer = list->Copy(context.allocator());
    longer->mutable_elements().push_back(std::move(element));
    lists[k] = Variant(std::move(longer));
  }
  context.SetOutput(0, std::move(pushed));
  return absl::OkStatus();
}

constexpr KernelRow kRows[] = {
    KernelRow("TensorListConcat", &New<ConcatKernel>),
    KernelRow("TensorListConcatV2", &New<ConcatKernel>),
    KernelRow("TensorListConcatLists", FromAttr<ConcatListsKernel, DType>("element_dtype")),
    KernelRow("TensorListPushBackBatch", &Call<ComputePushBackBatch>),
};

}  // namespace

absl::Span<const KernelRow> ListConcatKernels() { return kRows; }

}  // namespace sluice

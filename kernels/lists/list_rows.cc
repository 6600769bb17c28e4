#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
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

absl::StatusOr<Shape> WithFirst(int64_t first, absl::Span<const int64_t> rest) {
  IndexVector dims{first};
  dims.insert(dims.end(), rest.begin(), rest.end());
  return MakeShape(dims);
}

// The numbers in input `i`, whatever its shape; each must be the number of an element of `list`.
absl::StatusOr<std::vector<int64_t>> IndicesInput(const KernelContext& context, int i, const TensorList& list) {
  const Tensor& input = context.input(i);
  std::vector<int64_t> indices(static_cast<size_t>(input.num_elements()));
  for (size_t k = 0; k < indices.size(); ++k) {
    indices[k] = IndexAt(input, static_cast<int64_t>(k));
    SLUICE_RETURN_IF_ERROR(CheckIndex(list, indices[k]));
  }
  return indices;
}

// --- Elements become rows of a tensor -----------------------------------------------------------------------------

// `count` elements of a list: those of `indices`, or, without indices, the first ones.
struct Chosen {
  const TensorList& list;
  int64_t count;
  const int64_t* indices;

  const Tensor& at(int64_t i) const { return list.at(indices == nullptr ? i : indices[i]); }
};

// What a list grows by: see ComputeScatterIntoExisting.
bool IsNothing(const Tensor& element) { return element.rank() == 1 && element.num_elements() == 0; }

// The common shape of all chosen elements; `known` is what is known of it beforehand.
absl::StatusOr<Shape> CommonShape(const Chosen& chosen, const PartialShape& known) {
  const Tensor* first = nullptr;
  for (int64_t i = 0; i < chosen.count; ++i) {
    const Tensor& element = chosen.at(i);
    if (!element.has_value() || (known.IsFullyDefined() && IsNothing(element))) continue;
    if (first == nullptr) {
      first = &element;
      SLUICE_RETURN_IF_ERROR(MergeShapes(PartialShape::From(element.shape()), known, "an element").status());
    } else if (element.shape() != first->shape()) {
      return ShapesError(absl::StrCat("elements ", first->shape().ToString(), " and ", element.shape().ToString()),
                         "elements of one shape");
    }
  }
  if (first != nullptr) return first->shape();
  if (known.IsFullyDefined()) return known.ToShape();
  return ValueError(absl::StrCat(chosen.count == 0 ? "no element" : "only elements that were never set", ", of shape ",
                                 known.ToString()),
                    "a fully known shape of the elements");
}

void ClearElements(Tensor& to, int64_t begin, int64_t count) {
  DispatchMoved(to.dtype(), [&](auto type) {
    using T = typename decltype(type)::Type;
    std::fill_n(Elements<T>(to) + begin, count, T());
  });
}

// Puts the elements that are more than nothing one after the other; zeros follow.
void PutWithoutGaps(const Chosen& chosen, int64_t width, Tensor& to) {
  ClearElements(to, 0, chosen.count * width);
  int64_t row = 0;
  for (int64_t i = 0; i < chosen.count; ++i) {
    const Tensor& element = chosen.at(i);
    if (element.has_value() && IsNothing(element)) continue;
    if (element.has_value()) PutElements(to, row * width, element);
    ++row;
  }
}

// Stacks the chosen elements, which input 0 holds; input `shape_input` says what their shape is.
absl::Status GiveRows(KernelContext& context, const Chosen& chosen, int shape_input) {
  SLUICE_ASSIGN_OR_RETURN(const PartialShape stated, ElementShapeInput(context, shape_input));
  SLUICE_ASSIGN_OR_RETURN(const PartialShape known, MergeShapes(stated, chosen.list.element_shape(), "element_shape"));
  if (chosen.count == 0 && !known.IsFullyDefined()) return CommonShape({chosen.list, 0, nullptr}, known).status();
  SLUICE_ASSIGN_OR_RETURN(const Shape row, CommonShape(chosen, known));
  SLUICE_ASSIGN_OR_RETURN(const Shape shape, WithFirst(chosen.count, row.dims()));
  SLUICE_ASSIGN_OR_RETURN(Tensor* const out, context.AllocateOutput(0, shape));
  const int64_t width = row.num_elements();
  if (width == 0) return absl::OkStatus();
  for (int64_t i = 0; i < chosen.count; ++i) {
    if (!chosen.at(i).has_value() || !IsNothing(chosen.at(i))) continue;
    PutWithoutGaps(chosen, width, *out);
    return absl::OkStatus();
  }
  const double row_ns = 20 + static_cast<double>(static_cast<size_t>(width) * DTypeSize(out->dtype())) / 8;
  context.ParallelFor(chosen.count, row_ns, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const Tensor& element = chosen.at(i);
      if (element.has_value()) {
        PutElements(*out, i * width, element);
      } else {
        ClearElements(*out, i * width, width);
      }
    }
  });
  return absl::OkStatus();
}

// All elements as rows, as many as the attr says where it says it. Thread-safe.
class StackKernel : public Kernel {
 public:
  explicit StackKernel(int64_t num_elements) : num_elements_(num_elements) {}

  absl::Status Compute(KernelContext& context) const override {
    SLUICE_ASSIGN_OR_RETURN(const TensorList* const list, ListInput(context, 0, context.output_type(0)));
    if (num_elements_ != -1 && list->size() != num_elements_) {
      return ValueError(0, "", absl::StrCat("a list of ", list->size(), " elements"), absl::StrCat(num_elements_));
    }
    return GiveRows(context, {*list, list->size(), nullptr}, 1);
  }

 private:
  const int64_t num_elements_;
};

absl::Status ComputeGather(KernelContext& context) {
  SLUICE_ASSIGN_OR_RETURN(const TensorList* const list, ListInput(context, 0, context.output_type(0)));
  SLUICE_ASSIGN_OR_RETURN(const std::vector<int64_t> indices, IndicesInput(context, 1, *list));
  return GiveRows(context, {*list, static_cast<int64_t>(indices.size()), indices.data()}, 2);
}

// --- Rows of a tensor become elements -----------------------------------------------------------------------------

// The shape of one row of input `i`, which must have rows.
absl::StatusOr<Shape> RowShape(const KernelContext& context, int i) {
  const Shape& shape = context.input(i).shape();
  if (shape.rank() > 0) return MakeShape(shape.dims().subspan(1));
  return ShapeError(i, "tensor", "a scalar", "at least a vector");
}

absl::Status CheckRowShape(const Shape& row, const PartialShape& element_shape) {
  return MergeShapes(PartialShape::From(row), element_shape, "rows").status();
}

// `begin` counts elements of the tensor.
absl::Status PutRow(const KernelContext& context, const Tensor& tensor, int64_t begin, const Shape& row, Tensor& to) {
  SLUICE_ASSIGN_OR_RETURN(to, CopyElements(tensor, begin, row, context.allocator()));
  return absl::OkStatus();
}

absl::Status ComputeFromTensor(KernelContext& context) {
  const Tensor& tensor = context.input(0);
  SLUICE_ASSIGN_OR_RETURN(const Shape row, RowShape(context, 0));
  SLUICE_ASSIGN_OR_RETURN(PartialShape element_shape, ElementShapeInput(context, 1));
  SLUICE_RETURN_IF_ERROR(CheckRowShape(row, element_shape));
  SLUICE_ASSIGN_OR_RETURN(OwnList own, NewList({tensor.dtype(), std::move(element_shape), -1}, context));
  SLUICE_RETURN_IF_ERROR(own.value->Resize(tensor.dim(0)));
  TensorList::Elements& elements = own.value->mutable_elements();
  for (size_t i = 0; i < elements.size(); ++i) {
    SLUICE_RETURN_IF_ERROR(PutRow(context, tensor, static_cast<int64_t>(i) * row.num_elements(), row, elements[i]));
  }
  context.SetOutput(0, std::move(own.handle));
  return absl::OkStatus();
}

// Where rows go: one number of 0 or more for each row of `tensor`.
absl::StatusOr<std::vector<int64_t>> PlacesInput(const KernelContext& context, int i, const Tensor& tensor) {
  const Tensor& input = context.input(i);
  if (input.num_elements() != tensor.dim(0)) {
    return ShapesError(i, "indices", absl::StrCat(input.num_elements(), " indices for ", tensor.dim(0), " rows"),
                       "one for each row");
  }
  std::vector<int64_t> places(static_cast<size_t>(input.num_elements()));
  for (size_t k = 0; k < places.size(); ++k) {
    places[k] = IndexAt(input, static_cast<int64_t>(k));
    if (places[k] < 0) return ValueError(i, "indices", places[k], "0 or more");
  }
  return places;
}

// Sets the elements `places` of a list of the kernel's own to the rows of `tensor`. REQUIRES: they are there.
absl::Status ScatterRows(const KernelContext& context, const Tensor& tensor, const Shape& row,
                         const std::vector<int64_t>& places, OwnList& own) {
  TensorList::Elements& elements = own.value->mutable_elements();
  for (size_t i = 0; i < places.size(); ++i) {
    SLUICE_RETURN_IF_ERROR(PutRow(context, tensor, static_cast<int64_t>(i) * row.num_elements(), row,
                                  elements[static_cast<size_t>(places[i])]));
  }
  return absl::OkStatus();
}

// How many elements a new list gets: `stated`, or as many as the places need where that is -1.
absl::StatusOr<int64_t> ScatteredSize(const std::vector<int64_t>& places, int64_t stated) {
  if (stated < -1) return ValueError(3, "num_elements", stated, "-1 or more");
  const int64_t needed = places.empty() ? 0 : *std::max_element(places.begin(), places.end()) + 1;
  if (stated == -1 || needed <= stated) return std::max(needed, stated);
  return ValueError(1, "indices", needed - 1, absl::StrCat("below num_elements, ", stated));
}

// TensorListScatter and TensorListScatterV2.
absl::Status ComputeScatter(KernelContext& context) {
  const Tensor& tensor = context.input(0);
  SLUICE_ASSIGN_OR_RETURN(const Shape row, RowShape(context, 0));
  SLUICE_ASSIGN_OR_RETURN(PartialShape element_shape, ElementShapeInput(context, 2));
  SLUICE_RETURN_IF_ERROR(CheckRowShape(row, element_shape));
  int64_t size = -1;
  if (context.num_inputs() > 3) {
    SLUICE_ASSIGN_OR_RETURN(size, ReadScalar(context, 3, "num_elements"));
  }
  SLUICE_ASSIGN_OR_RETURN(const std::vector<int64_t> places, PlacesInput(context, 1, tensor));
  SLUICE_ASSIGN_OR_RETURN(size, ScatteredSize(places, size));
  SLUICE_ASSIGN_OR_RETURN(OwnList own, NewList({tensor.dtype(), std::move(element_shape), -1}, context));
  SLUICE_RETURN_IF_ERROR(own.value->Resize(size));
  SLUICE_RETURN_IF_ERROR(ScatterRows(context, tensor, row, places, own));
  context.SetOutput(0, std::move(own.handle));
  return absl::OkStatus();
}

// A list that is too short grows. New elements that no index names become empty vectors, TensorFlow's default tensor,
// instead of unset elements as elsewhere: stacking all elements ignores them.
absl::Status ComputeScatterIntoExisting(KernelContext& context) {
  const Tensor& tensor = context.input(1);
  SLUICE_ASSIGN_OR_RETURN(const TensorList* const list, ListInput(context, 0, tensor.dtype()));
  SLUICE_ASSIGN_OR_RETURN(const Shape row, RowShape(context, 1));
  SLUICE_RETURN_IF_ERROR(CheckElementShape(*list, row));
  SLUICE_ASSIGN_OR_RETURN(const std::vector<int64_t> places, PlacesInput(context, 2, tensor));
  SLUICE_ASSIGN_OR_RETURN(const int64_t needed, ScatteredSize(places, -1));
  SLUICE_ASSIGN_OR_RETURN(OwnList own, TakeList(context, 0));
  const int64_t size = own.value->size();
  if (needed > size) {
    SLUICE_RETURN_IF_ERROR(own.value->Resize(needed));
    SLUICE_ASSIGN_OR_RETURN(const Tensor none, Tensor::Make(tensor.dtype(), Shape::Of({0}), context.allocator()));
    for (int64_t i = size; i < needed; ++i) own.value->mutable_elements()[static_cast<size_t>(i)] = none;
  }
  SLUICE_RETURN_IF_ERROR(ScatterRows(context, tensor, row, places, own));
  context.SetOutput(0, std::move(own.handle));
  return absl::OkStatus();
}

absl::Status WrongLengths(absl::string_view found, absl::string_view expected) {
  return ValueError(2, "lengths", found, expected);
}

// Checks that `lengths` cut `rows` rows up without a rest.
absl::Status CheckLengths(const Tensor& lengths, int64_t rows) {
  if (lengths.rank() != 1) return WrongLengths(lengths.shape().ToString(), "a vector");
  int64_t left = rows;
  for (int64_t i = 0; i < lengths.num_elements(); ++i) {
    const int64_t length = IndexAt(lengths, i);
    if (length < 0 || length > left) {
      return WrongLengths(absl::StrCat(length, " at ", i), absl::StrCat("0 to ", left, ", the rows that are left"));
    }
    left -= length;
  }
  return left == 0 ? absl::OkStatus() : WrongLengths(absl::StrCat("a sum of ", rows - left), absl::StrCat(rows));
}

// Parts of a tensor, cut along the first axis.
absl::Status ComputeSplit(KernelContext& context) {
  const Tensor& tensor = context.input(0);
  const Tensor& lengths = context.input(2);
  SLUICE_ASSIGN_OR_RETURN(const Shape row, RowShape(context, 0));
  SLUICE_ASSIGN_OR_RETURN(PartialShape element_shape, ElementShapeInput(context, 1));
  SLUICE_RETURN_IF_ERROR(CheckLengths(lengths, tensor.dim(0)));
  if (element_shape.has_rank()) {  // The first size differs from part to part.
    std::vector<int64_t> part(element_shape.dims().begin(), element_shape.dims().end());
    if (!part.empty()) part[0] = -1;
    SLUICE_ASSIGN_OR_RETURN(const PartialShape any_part, PartialShape::Make(part));
    SLUICE_RETURN_IF_ERROR(MergeShapes(PartialShape::From(tensor.shape()), any_part, "parts of").status());
  }
  SLUICE_ASSIGN_OR_RETURN(OwnList own, NewList({tensor.dtype(), std::move(element_shape), -1}, context));
  SLUICE_RETURN_IF_ERROR(own.value->Resize(lengths.num_elements()));
  int64_t begin = 0;
  for (int64_t i = 0; i < lengths.num_elements(); ++i) {
    SLUICE_ASSIGN_OR_RETURN(const Shape part, WithFirst(IndexAt(lengths, i), row.dims()));
    SLUICE_RETURN_IF_ERROR(PutRow(context, tensor, begin, part, own.value->mutable_elements()[static_cast<size_t>(i)]));
    begin += part.num_elements();
  }
  context.SetOutput(0, std::move(own.handle));
  return absl::OkStatus();
}

constexpr KernelRow kRows[] = {
    KernelRow("TensorListStack", FromAttr<StackKernel, int64_t>("num_elements")),
    KernelRow("TensorListGather", &Call<ComputeGather>),
    KernelRow("TensorListFromTensor", &Call<ComputeFromTensor>),
    KernelRow("TensorListScatter", &Call<ComputeScatter>),
    KernelRow("TensorListScatterV2", &Call<ComputeScatter>),
    KernelRow("TensorListScatterIntoExistingList", &Call<ComputeScatterIntoExisting>),
    KernelRow("TensorListSplit", &Call<ComputeSplit>),
};

}  // namespace

absl::Span<const KernelRow> ListRowsKernels() { return kRows; }

}  // namespace sluice

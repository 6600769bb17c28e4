#include "kernels/queues/element_rows.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "graph/base/error.h"
#include "graph/base/status_macros.h"
#include "kernels/array/index_values.h"
#include "kernels/array/moved_types.h"
#include "kernels/state/rows.h"
#include "kernels/state/tensor_update.h"

namespace sluice {
namespace {

// Copies `from` into the corner of row `row` of `to`.
template <typename T>
void PutCorner(const Tensor& from, Tensor& to, int64_t row) {
  if (from.num_elements() == 0) return;
  const int rank = from.rank();
  const int64_t run = rank == 0 ? 1 : from.dim(rank - 1);
  const int64_t num_runs = from.num_elements() / run;
  const IndexVector strides = RowMajorStrides(to.shape());
  IndexVector index(static_cast<size_t>(rank), 0);
  const T* source = Elements<T>(from);
  for (int64_t i = 0; i < num_runs; ++i, source += run) {
    int64_t offset = row * strides[0];
    for (int axis = 0; axis + 1 < rank; ++axis) {
      offset += index[static_cast<size_t>(axis)] * strides[static_cast<size_t>(axis) + 1];
    }
    std::copy_n(source, run, Elements<T>(to) + offset);
    for (int axis = rank - 2; axis >= 0; --axis) {
      if (++index[static_cast<size_t>(axis)] < from.dim(axis)) break;
      index[static_cast<size_t>(axis)] = 0;
    }
  }
}

}  // namespace

absl::StatusOr<Tensor> ToKeep(Tensor value, Allocator& allocator) {
  if (!IsWorthCopying(value)) return value;
  return CopyOf(value, allocator);
}

absl::StatusOr<std::vector<QueueElement>> ElementsOf(std::vector<Tensor> components, Allocator& allocator) {
  // Rows without elements take no memory in a tensor, but some in a queue.
  constexpr int64_t kMaxEmptyRows = int64_t{1} << 20;
  const bool is_empty = std::all_of(components.begin(), components.end(),
                                    [](const Tensor& component) { return component.num_elements() == 0; });
  if (is_empty && components[0].dim(0) > kMaxEmptyRows) {
    return Error(ErrorCode::kOpTooLarge).Input(1).Found(components[0].shape().ToString()).Expected("fewer rows");
  }
  const size_t num_rows = static_cast<size_t>(components[0].dim(0));
  std::vector<Shape> shapes;
  for (Tensor& component : components) {
    SLUICE_ASSIGN_OR_RETURN(component, ToKeep(std::move(component), allocator));
    SLUICE_ASSIGN_OR_RETURN(Shape shape, Shape::Make(component.shape().dims().subspan(1)));
    shapes.push_back(std::move(shape));
  }
  std::vector<QueueElement> elements(num_rows);
  for (size_t row = 0; row < num_rows; ++row) {
    elements[row].reserve(components.size());
    for (size_t i = 0; i < components.size(); ++i) {
      const int64_t begin = static_cast<int64_t>(row) * shapes[i].num_elements();
      SLUICE_ASSIGN_OR_RETURN(Tensor part, CopyElements(components[i], begin, shapes[i], allocator));
      elements[row].push_back(std::move(part));
    }
  }
  return elements;
}

absl::Status StackComponent(KernelContext& context, int output, const std::vector<QueueElement>& elements,
                            size_t component, const PartialShape& shape) {
  IndexVector dims = {static_cast<int64_t>(elements.size())};
  for (int axis = 0; axis < shape.rank(); ++axis) dims.push_back(std::max<int64_t>(shape.dim(axis), 0));
  bool is_padded = false;
  for (const QueueElement& element : elements) {
    const Shape& found = element[component].shape();
    for (size_t axis = 0; axis + 1 < dims.size(); ++axis) {
      dims[axis + 1] = std::max(dims[axis + 1], found.dim(static_cast<int>(axis)));
    }
    is_padded |= found != elements[0][component].shape();
  }
  SLUICE_ASSIGN_OR_RETURN(const Shape stacked, MakeShape(dims));
  SLUICE_ASSIGN_OR_RETURN(Tensor* const out, context.AllocateOutput(output, stacked));
  if (is_padded && IsTrivial(out->dtype())) std::memset(out->mutable_raw_data(), 0, out->total_bytes());
  int64_t row = 0;
  for (const QueueElement& element : elements) {
    const Tensor& part = element[component];
    if (!is_padded) {
      PutElements(*out, row++ * part.num_elements(), part);
      continue;
    }
    DispatchMoved(part.dtype(), [&](auto type) { PutCorner<typename decltype(type)::Type>(part, *out, row); });
    ++row;
  }
  return absl::OkStatus();
}

}  // namespace sluice

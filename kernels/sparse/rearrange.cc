#include <algorithm>
#include <memory>
#include <numeric>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "graph/base/error.h"
#include "kernels/array/index_values.h"
#include "kernels/array/moved_types.h"
#include "kernels/input_error.h"
#include "kernels/kernel.h"
#include "kernels/kernel_construction.h"
#include "kernels/new_kernel.h"
#include "kernels/sparse/families.h"
#include "kernels/sparse/sparse_input.h"

namespace sluice {
namespace {

using Numbers = std::vector<int64_t>;

Numbers Iota(int64_t count) {
  Numbers numbers(static_cast<size_t>(count));
  std::iota(numbers.begin(), numbers.end(), 0);
  return numbers;
}

// The numbers of the entries in the order of their indices, which need not be inside of the shape; equal ones stay as
// they are.
absl::StatusOr<Numbers> OrderOf(KernelContext& context, const SparseInput& sparse) {
  Numbers order = Iota(sparse.entries);
  if (sparse.is_countable && CheckIndices(sparse, IndexRule::kInside).ok()) {
    SLUICE_ASSIGN_OR_RETURN(const Tensor positions, DensePositions(context, sparse));
    const int64_t* const keys = positions.flat<int64_t>().data();
    std::stable_sort(order.begin(), order.end(), [keys](int64_t a, int64_t b) { return keys[a] < keys[b]; });
  } else {
    std::stable_sort(order.begin(), order.end(), [&sparse](int64_t a, int64_t b) {
      return CompareIndices(sparse.at(a), sparse.at(b), sparse.rank) < 0;
    });
  }
  return order;
}

// --- SparseReorder ------------------------------------------------------------------------------------------------

absl::Status ComputeReorder(KernelContext& context) {
  SLUICE_ASSIGN_OR_RETURN(const SparseInput sparse, ReadSparse(context, 0, IndexRule::kAny, SizeRule::kAny));
  bool is_ordered = true;
  for (int64_t i = 1; is_ordered && i < sparse.entries; ++i) {
    is_ordered = CompareIndices(sparse.at(i - 1), sparse.at(i), sparse.rank) <= 0;
  }
  if (is_ordered) {
    context.SetOutput(0, context.TakeInput(0));
    context.SetOutput(1, context.TakeInput(1));
    return absl::OkStatus();
  }
  SLUICE_ASSIGN_OR_RETURN(const Numbers order, OrderOf(context, sparse));
  SLUICE_RETURN_IF_ERROR(OutputIndices(context, 0, sparse, order));
  return OutputElements(context, 1, *sparse.values, order);
}

// --- SparseReshape ------------------------------------------------------------------------------------------------

// The shape in input 2, whose -1 becomes what is left of `elements`.
absl::StatusOr<Shape> ReshapedShape(const KernelContext& context, int64_t elements) {
  SLUICE_ASSIGN_OR_RETURN(IndexVector dims, ReadIndexVector(context, 2, "new_shape"));
  const auto wrong = [](absl::string_view found, absl::string_view expected) {
    return ValueError(2, "new_shape", found, expected);
  };
  IndexVector known;
  int64_t* unknown = nullptr;
  for (int64_t& size : dims) {
    if (size < -1) return wrong(absl::StrCat(size), "sizes of 0 or more, or -1");
    if (size >= 0) known.push_back(size);
    if (size == -1 && unknown != nullptr) return wrong("-1 twice", "one unknown size at most");
    if (size == -1) unknown = &size;
  }
  SLUICE_ASSIGN_OR_RETURN(const Shape rest, MakeShape(known));
  if (unknown != nullptr) {
    if (rest.num_elements() == 0) return wrong("-1 beside 0", "sizes that determine the unknown one");
    *unknown = elements / rest.num_elements();
  }
  SLUICE_ASSIGN_OR_RETURN(Shape shape, MakeShape(dims));
  if (shape.num_elements() == elements) return shape;
  return wrong(shape.ToString(), absl::StrCat(elements, " elements"));
}

absl::Status ComputeReshape(KernelContext& context) {
  const Tensor& indices = context.input(0);
  const Tensor& sizes = context.input(1);
  if (indices.rank() != 2 || sizes.rank() != 1 || indices.dim(1) != sizes.dim(0)) {
    return ShapesError(absl::StrCat("indices ", indices.shape().ToString(), ", shape ", sizes.shape().ToString()),
                       "indices [entries, rank], shape [rank]");
  }
  SLUICE_ASSIGN_OR_RETURN(const Shape from, ReadShapeInput(context, 1, "input_shape"));
  SLUICE_ASSIGN_OR_RETURN(const Shape to, ReshapedShape(context, from.num_elements()));
  SLUICE_RETURN_IF_ERROR(OutputVector(context, 1, to.dims()));
  if (to == from) {
    context.SetOutput(0, context.TakeInput(0));
    return absl::OkStatus();
  }
  const SparseInput sparse = SparsePlaces(indices, from);
  SLUICE_RETURN_IF_ERROR(CheckIndices(sparse, IndexRule::kInside));
  SLUICE_ASSIGN_OR_RETURN(const Tensor positions, DensePositions(context, sparse));
  SLUICE_ASSIGN_OR_RETURN(Tensor* const out, context.AllocateOutput(0, Shape::Of({sparse.entries, to.rank()})));
  int64_t* at = out->flat<int64_t>().data();
  for (int64_t position : positions.flat<int64_t>()) {
    for (int d = to.rank() - 1; d >= 0; --d) {
      at[d] = position % to.dim(d);  // No size is 0 where there is an entry.
      position /= to.dim(d);
    }
    at += to.rank();
  }
  return absl::OkStatus();
}

// --- SparseConcat -------------------------------------------------------------------------------------------------

// Sparse tensors end to end along an axis, entries in order. Thread-safe.
class ConcatKernel : public Kernel {
 public:
  explicit ConcatKernel(int64_t axis) : axis_(axis) {}

  absl::Status Compute(KernelContext& context) const override {
    const int count = context.num_inputs() / 3;
    std::vector<SparseInput> parts(static_cast<size_t>(count));
    for (int i = 0; i < count; ++i) {
      SLUICE_ASSIGN_OR_RETURN(parts[static_cast<size_t>(i)],
                              ReadSparseParts(context, i, count + i, 2 * count + i, IndexRule::kAny));
    }
    const int rank = parts[0].rank;
    if (axis_ < -rank || axis_ >= rank) return AttrError("concat_dim", axis_, absl::StrCat(-rank, " to ", rank - 1));
    const int axis = static_cast<int>(axis_ < 0 ? axis_ + rank : axis_);
    Numbers begins;
    SLUICE_ASSIGN_OR_RETURN(const Shape shape, JoinedShape(parts, axis, &begins));
    SLUICE_RETURN_IF_ERROR(OutputVector(context, 2, shape.dims()));
    return OutputEntries(context, parts, axis, begins, shape);
  }

 private:
  // Where each part begins on the axis, and the shape of all.
  static absl::StatusOr<Shape> JoinedShape(const std::vector<SparseInput>& parts, int axis, Numbers* begins) {
    IndexVector dims(parts[0].shape.dims().begin(), parts[0].shape.dims().end());
    int64_t& along = dims[static_cast<size_t>(axis)];
    along = 0;
    for (const SparseInput& part : parts) {
      bool fits = part.rank == parts[0].rank;
      for (int d = 0; fits && d < part.rank; ++d) fits = d == axis || part.shape.dim(d) == parts[0].shape.dim(d);
      if (!fits) {
        return ShapesError(absl::StrCat(part.shape.ToString(), " and ", parts[0].shape.ToString()),
                           absl::StrCat("equal sizes but on axis ", axis));
      }
      begins->push_back(along);
      along += part.shape.dim(axis);  // No overflow: below 2^62, and a sum beyond is refused before the next.
      if (along > int64_t{1} << 61) return Error(ErrorCode::kOpTooLarge).Found(absl::StrCat(along, " rows"));
    }
    absl::StatusOr<Shape> shape = Shape::Make(dims);
    if (!shape.ok()) return Error(ErrorCode::kOpTooLarge).Text("no elements of the result can be counted");
    return shape;
  }

  // All entries in the order of their new indices.
  static absl::Status OutputEntries(KernelContext& context, const std::vector<SparseInput>& parts, int axis,
                                    const Numbers& begins, const Shape& shape) {
    int64_t total = 0;
    for (const SparseInput& part : parts) total += part.entries;
    const int rank = shape.rank();
    SLUICE_ASSIGN_OR_RETURN(Tensor joined, context.AllocateTemp(DType::kInt64, Shape::Of({total, rank})));
    Numbers sources;  // Part and entry of each.
    int64_t* at = joined.flat<int64_t>().data();
    for (size_t p = 0; p < parts.size(); ++p) {
      for (int64_t i = 0; i < parts[p].entries; ++i, at += rank) {
        std::copy_n(parts[p].at(i), rank, at);
        // Wraps: indices are any numbers.
        at[axis] = static_cast<int64_t>(static_cast<uint64_t>(at[axis]) + static_cast<uint64_t>(begins[p]));
        sources.push_back(static_cast<int64_t>(p));
        sources.push_back(i);
      }
    }
    const SparseInput sparse = SparsePlaces(joined, shape);
    SLUICE_ASSIGN_OR_RETURN(const Numbers order, OrderOf(context, sparse));
    SLUICE_RETURN_IF_ERROR(sluice::OutputIndices(context, 0, sparse, order));
    SLUICE_ASSIGN_OR_RETURN(Tensor* const values, context.AllocateOutput(1, Shape::Of({total})));
    DispatchMoved(values->dtype(), [&](auto type) {
      using T = typename decltype(type)::Type;
      T* const out = Elements<T>(*values);
      for (size_t k = 0; k < order.size(); ++k) {
        const size_t source = 2 * static_cast<size_t>(order[k]);
        out[k] = Elements<T>(*parts[static_cast<size_t>(sources[source])].values)[sources[source + 1]];
      }
    });
    return absl::OkStatus();
  }

  const int64_t axis_;
};

// --- SparseSplit, SparseSlice -------------------------------------------------------------------------------------

// The entries `inside` of a region that begins at `begin`, with indices from there, as a tensor of shape `shape`.
absl::Status OutputRegion(KernelContext& context, const SparseInput& sparse, const Numbers& inside,
                          const IndexVector& begin, const IndexVector& shape, int first_output, int stride) {
  SLUICE_RETURN_IF_ERROR(OutputIndices(context, first_output, sparse, inside));
  // Written by this kernel just now.
  const absl::Span<int64_t> indices = context.output_entry(first_output).value().flat<int64_t>();
  for (size_t i = 0; i < indices.size(); ++i) indices[i] -= begin[i % begin.size()];
  SLUICE_RETURN_IF_ERROR(OutputElements(context, first_output + stride, *sparse.values, inside));
  return OutputVector(context, first_output + 2 * stride, shape);
}

// Parts along an axis: as equal as can be, the first ones longer.
absl::Status ComputeSplit(KernelContext& context) {
  SLUICE_RETURN_IF_ERROR(CheckScalar(context, 0, "split_dim"));
  SLUICE_ASSIGN_OR_RETURN(const SparseInput sparse, ReadSparse(context, 1, IndexRule::kInside));
  SLUICE_ASSIGN_OR_RETURN(const int axis, ResolveAxis(IndexAt(context.input(0), 0), sparse.rank, 0, "split_dim"));
  const int parts = context.num_outputs() / 3;
  const int64_t along = sparse.shape.dim(axis);
  if (parts > along) return AttrError("num_split", parts, absl::StrCat("at most the size of axis ", axis, ", ", along));
  const int64_t short_length = along / parts, longer = along % parts * (short_length + 1);  // What longer parts cover.
  std::vector<Numbers> entries(static_cast<size_t>(parts));
  for (int64_t i = 0; i < sparse.entries; ++i) {
    const int64_t at = sparse.at(i)[axis];
    const int64_t part = at < longer ? at / (short_length + 1) : along % parts + (at - longer) / short_length;
    entries[static_cast<size_t>(part)].push_back(i);
  }
  IndexVector begin(static_cast<size_t>(sparse.rank), 0);
  IndexVector size = sparse.dims;
  int64_t& start = begin[static_cast<size_t>(axis)];
  int64_t& length = size[static_cast<size_t>(axis)];
  for (int i = 0; i < parts; ++i) {
    length = short_length + (i < along % parts ? 1 : 0);
    SLUICE_RETURN_IF_ERROR(OutputRegion(context, sparse, entries[static_cast<size_t>(i)], begin, size, i, parts));
    start += length;
  }
  return absl::OkStatus();
}

absl::Status ComputeSlice(KernelContext& context) {
  SLUICE_ASSIGN_OR_RETURN(const SparseInput sparse, ReadSparse(context, 0, IndexRule::kAny));
  SLUICE_ASSIGN_OR_RETURN(const IndexVector begin, ReadIndexVector(context, 3, "start"));
  SLUICE_ASSIGN_OR_RETURN(const IndexVector size, ReadIndexVector(context, 4, "size"));
  const size_t rank = static_cast<size_t>(sparse.rank);
  if (begin.size() != rank || size.size() != rank) {
    return ShapesError(absl::StrCat(begin.size(), " starts, ", size.size(), " sizes"),
                       absl::StrCat(rank, ", the rank of the tensor"));
  }
  IndexVector shape = size;
  for (size_t d = 0; d < rank; ++d) {
    const int input = begin[d] < 0 ? 3 : 4;
    if (begin[d] < 0 || size[d] < 0) {
      return ValueError(input, input == 3 ? "start" : "size", input == 3 ? begin[d] : size[d], "0 or more");
    }
    const int64_t left = sparse.shape.dim(static_cast<int>(d)) - begin[d];
    shape[d] = std::min(size[d], std::max<int64_t>(left, 0));
  }
  Numbers inside;
  for (int64_t i = 0; i < sparse.entries; ++i) {
    bool is_inside = true;
    for (size_t d = 0; d < rank; ++d) {
      const int64_t at = sparse.at(i)[d];
      is_inside &= at >= begin[d] && at - begin[d] < size[d];
    }
    if (is_inside) inside.push_back(i);
  }
  return OutputRegion(context, sparse, inside, begin, shape, 0, 1);
}

// The gradient of the values before the slice: that of each entry which is in it, zero for the others.
absl::Status ComputeSliceGrad(KernelContext& context) {
  const Tensor& grad = context.input(0);
  const Tensor& indices = context.input(1);
  const Tensor& start = context.input(2);
  const Tensor& sliced = context.input(3);
  const bool fits = grad.rank() == 1 && indices.rank() == 2 && sliced.rank() == 2 && start.rank() == 1 &&
                    indices.dim(1) == sliced.dim(1) && indices.dim(1) == start.dim(0) && sliced.dim(0) == grad.dim(0) &&
                    grad.dim(0) <= indices.dim(0);
  if (!fits) {
    return ShapesError(
        absl::StrCat("backprop_val_grad ", grad.shape().ToString(), ", input_indices ", indices.shape().ToString(),
                     ", input_start ", start.shape().ToString(), ", output_indices ", sliced.shape().ToString()),
        "[outputs], [inputs, rank], [rank] and [outputs, rank], not more outputs than inputs");
  }
  const int64_t rank = indices.dim(1);
  const int64_t* const in = indices.flat<int64_t>().data();
  const int64_t* const out = sliced.flat<int64_t>().data();
  const absl::Span<const int64_t> begin = start.flat<int64_t>();
  Numbers source(static_cast<size_t>(indices.dim(0)), -1);
  int64_t next = 0;
  for (int64_t i = 0; i < indices.dim(0) && next < grad.dim(0); ++i) {
    bool is_next = true;
    for (int64_t d = 0; d < rank; ++d) {  // Wraps: indices are any numbers.
      is_next &= static_cast<uint64_t>(in[i * rank + d]) ==
                 static_cast<uint64_t>(out[next * rank + d]) + static_cast<uint64_t>(begin[static_cast<size_t>(d)]);
    }
    if (is_next) source[static_cast<size_t>(i)] = next++;
  }
  if (next < grad.dim(0)) {
    return Error(ErrorCode::kOpBroken)
        .Input(3, "output_indices")
        .Found(absl::StrCat("entry ", next, ", which is not in the input"))
        .Expected("entries of the input, in its order");
  }
  return OutputElementsOrZeros(context, 0, grad, source);
}

constexpr KernelRow kRows[] = {
    KernelRow("SparseReorder", &Call<ComputeReorder>),
    KernelRow("SparseReshape", &Call<ComputeReshape>),
    KernelRow("SparseConcat", FromAttr<ConcatKernel, int64_t>("concat_dim")),
    KernelRow("SparseSplit", &Call<ComputeSplit>),
    KernelRow("SparseSlice", &Call<ComputeSlice>),
    KernelRow("SparseSliceGrad", &Call<ComputeSliceGrad>).Types("T", kNumberTypes),
};

}  // namespace

absl::Span<const KernelRow> SparseRearrangeKernels() { return kRows; }

}  // namespace sluice

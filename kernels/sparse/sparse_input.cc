#include "kernels/sparse/sparse_input.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "graph/base/error.h"
#include "kernels/array/moved_types.h"
#include "kernels/input_error.h"

namespace sluice {
namespace {

absl::Status BadIndex(const SparseInput& sparse, int64_t i, absl::string_view expected) {
  return ValueError(
      sparse.first_input, "",
      absl::StrCat("entry ", i, " at [",
                   absl::StrJoin(absl::MakeSpan(sparse.at(i), static_cast<size_t>(sparse.rank)), ","), "]"),
      expected);
}

}  // namespace

absl::StatusOr<SparseInput> ReadSparse(const KernelContext& context, int first, IndexRule rule, SizeRule sizes) {
  return ReadSparseParts(context, first, first + 1, first + 2, rule, sizes);
}

absl::StatusOr<SparseInput> ReadSparseParts(const KernelContext& context, int indices, int values, int shape,
                                            IndexRule rule, SizeRule size_rule) {
  SparseInput sparse;
  sparse.first_input = indices;
  sparse.indices = &context.input(indices);
  sparse.values = &context.input(values);
  const Tensor& sizes = context.input(shape);
  const auto wrong = [&](int i, absl::string_view expected) {
    return ShapeError(i, "", context.input(i).shape(), expected);
  };
  if (sparse.indices->rank() != 2) return wrong(indices, "a matrix, the indices of a sparse tensor");
  if (sparse.values->rank() != 1) return wrong(values, "a vector, the values of a sparse tensor");
  if (sizes.rank() != 1) return wrong(shape, "a vector, the shape of a sparse tensor");
  sparse.entries = sparse.values->dim(0);
  if (sparse.indices->dim(0) != sparse.entries || sparse.indices->dim(1) != sizes.dim(0)) {
    return ShapesError(absl::StrCat("indices ", sparse.indices->shape().ToString(), ", values ",
                                    sparse.values->shape().ToString(), ", shape ", sizes.shape().ToString()),
                       "indices [entries, rank], values [entries], shape [rank]");
  }
  SLUICE_ASSIGN_OR_RETURN(sparse.dims, ReadIndexVector(context, shape, "shape"));
  for (const int64_t size : sparse.dims) {
    if (size < 0) return ValueError(shape, "", size, "sizes of 0 or more");
  }
  absl::StatusOr<Shape> dense = Shape::Make(sparse.dims);
  sparse.is_countable = dense.ok();
  if (!sparse.is_countable && size_rule == SizeRule::kCountable) {
    return Error(ErrorCode::kOpTooLarge).Input(shape).Text("is a shape whose elements cannot be counted");
  }
  if (sparse.is_countable) sparse.shape = *std::move(dense);
  sparse.rank = static_cast<int>(sparse.dims.size());
  SLUICE_RETURN_IF_ERROR(CheckIndices(sparse, rule));
  return sparse;
}

SparseInput SparsePlaces(const Tensor& indices, const Shape& shape) {
  SparseInput sparse;
  sparse.indices = &indices;
  sparse.entries = indices.dim(0);
  sparse.rank = shape.rank();
  sparse.dims.assign(shape.dims().begin(), shape.dims().end());
  sparse.is_countable = true;
  sparse.shape = shape;
  return sparse;
}

absl::Status CheckIndices(const SparseInput& sparse, IndexRule rule) {
  if (rule == IndexRule::kAny) return absl::OkStatus();
  const IndexVector& dims = sparse.dims;
  for (int64_t i = 0; i < sparse.entries; ++i) {
    const int64_t* const at = sparse.at(i);
    bool is_inside = true;
    for (int d = 0; d < sparse.rank; ++d) {
      is_inside &= static_cast<uint64_t>(at[d]) < static_cast<uint64_t>(dims[static_cast<size_t>(d)]);
    }
    if (!is_inside) return BadIndex(sparse, i, absl::StrCat("indices in [", absl::StrJoin(dims, ","), "]"));
    if (rule == IndexRule::kAscending && i > 0 && CompareIndices(sparse.at(i - 1), at, sparse.rank) >= 0) {
      return BadIndex(sparse, i, "entries in the order of their indices, without repeats");
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<Tensor> DensePositions(KernelContext& context, const SparseInput& sparse) {
  SLUICE_ASSIGN_OR_RETURN(Tensor positions, context.AllocateTemp(DType::kInt64, Shape::Of({sparse.entries})));
  const absl::Span<int64_t> out = positions.flat<int64_t>();
  const IndexVector strides = RowMajorStrides(sparse.shape);
  for (int64_t i = 0; i < sparse.entries; ++i) {
    const int64_t* const at = sparse.at(i);
    int64_t position = 0;
    for (int d = 0; d < sparse.rank; ++d) position += at[d] * strides[static_cast<size_t>(d)];
    out[static_cast<size_t>(i)] = position;
  }
  return positions;
}

absl::StatusOr<Tensor> ReadPositions(KernelContext& context, int input, absl::string_view name, const Shape& shape) {
  const Tensor& indices = context.input(input);
  const int64_t entries = indices.rank() > 0 ? indices.dim(0) : 1;
  SLUICE_ASSIGN_OR_RETURN(Tensor positions, context.AllocateTemp(DType::kInt64, Shape::Of({entries})));
  const absl::Span<int64_t> out = positions.flat<int64_t>();
  const IndexVector strides = RowMajorStrides(shape);
  for (int64_t i = 0; i < entries; ++i) {
    int64_t position = 0;
    for (int d = 0; d < shape.rank(); ++d) {
      const int64_t at = IndexAt(indices, i * shape.rank() + d);
      if (at < 0 || at >= shape.dim(d)) {
        return ValueError(input, name, absl::StrCat(at, " in entry ", i),
                          absl::StrCat("indices in ", shape.ToString()));
      }
      position += at * strides[static_cast<size_t>(d)];
    }
    out[static_cast<size_t>(i)] = position;
  }
  return positions;
}

absl::Status OutputElements(KernelContext& context, int output, const Tensor& values, absl::Span<const int64_t> which) {
  const Shape shape = Shape::Of({static_cast<int64_t>(which.size())});
  SLUICE_ASSIGN_OR_RETURN(Tensor* const out, context.AllocateOutput(output, shape));
  DispatchMoved(values.dtype(), [&](auto type) {
    using T = typename decltype(type)::Type;
    const T* const from = Elements<T>(values);
    T* const to = Elements<T>(*out);
    for (size_t i = 0; i < which.size(); ++i) to[i] = from[which[i]];
  });
  return absl::OkStatus();
}

absl::Status OutputElementsOrZeros(KernelContext& context, int output, const Tensor& values,
                                   absl::Span<const int64_t> which) {
  const Shape shape = Shape::Of({static_cast<int64_t>(which.size())});
  SLUICE_ASSIGN_OR_RETURN(Tensor* const out, context.AllocateOutput(output, shape));
  DispatchMoved(values.dtype(), [&](auto type) {
    using T = typename decltype(type)::Type;
    const T* const from = Elements<T>(values);
    T* const to = Elements<T>(*out);
    for (size_t i = 0; i < which.size(); ++i) to[i] = which[i] < 0 ? T() : from[which[i]];
  });
  return absl::OkStatus();
}

absl::Status OutputIndices(KernelContext& context, int output, const SparseInput& sparse,
                           absl::Span<const int64_t> which) {
  const Shape shape = Shape::Of({static_cast<int64_t>(which.size()), sparse.rank});
  SLUICE_ASSIGN_OR_RETURN(Tensor* const out, context.AllocateOutput(output, shape));
  int64_t* to = out->flat<int64_t>().data();
  for (const int64_t i : which) to = std::copy_n(sparse.at(i), sparse.rank, to);
  return absl::OkStatus();
}

absl::Status OutputVector(KernelContext& context, int output, absl::Span<const int64_t> values) {
  SLUICE_ASSIGN_OR_RETURN(Tensor* const out,
                          context.AllocateOutput(output, Shape::Of({static_cast<int64_t>(values.size())})));
  std::copy(values.begin(), values.end(), out->flat<int64_t>().begin());
  return absl::OkStatus();
}

}  // namespace sluice

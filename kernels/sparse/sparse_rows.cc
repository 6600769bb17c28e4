#include "kernels/sparse/sparse_rows.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "graph/base/error.h"
#include "kernels/array/moved_types.h"
#include "kernels/input_error.h"

namespace sluice {
namespace {

// Elements [begin, end) of `from` become those of `to` from `at` on. REQUIRES: equal dtypes.
void CopyElements(const Tensor& from, int64_t begin, int64_t end, Tensor* to, int64_t at) {
  DispatchMoved(from.dtype(), [&](auto type) {
    using T = typename decltype(type)::Type;
    std::copy(Elements<T>(from) + begin, Elements<T>(from) + end, Elements<T>(*to) + at);
  });
}

// The sizes of the tensor that has `parts` as rows.
absl::StatusOr<IndexVector> JoinedDims(absl::Span<const SparseParts* const> parts, const Shape& batch) {
  IndexVector dims(batch.dims().begin(), batch.dims().end());
  dims.insert(dims.end(), parts[0]->dims.begin(), parts[0]->dims.end());
  for (const SparseParts* const part : parts) {
    if (part->rank() != parts[0]->rank()) {
      return ShapesError(absl::StrCat("sparse tensors of rank ", parts[0]->rank(), " and ", part->rank()),
                         "equal ranks");
    }
    for (int d = 0; d < part->rank(); ++d) {
      int64_t& size = dims[static_cast<size_t>(batch.rank() + d)];
      size = std::max(size, part->dims[static_cast<size_t>(d)]);
    }
  }
  if (static_cast<int>(dims.size()) > kMaxRank || !Shape::Make(dims).ok()) {
    return Error(ErrorCode::kOpTooLarge).Text("no elements of the result can be counted");
  }
  return dims;
}

}  // namespace

absl::StatusOr<std::vector<RowEntries>> FindRows(const SparseInput& sparse) {
  if (sparse.rank < 2) {
    return ShapeError(sparse.first_input, "", absl::StrCat("a sparse tensor of rank ", sparse.rank), "rank 2 or more");
  }
  std::vector<RowEntries> rows;
  for (int64_t i = 0; i < sparse.entries; ++i) {
    const int64_t row = sparse.at(i)[0];
    if (row < 0 || row >= sparse.dims[0]) {
      return ValueError(sparse.first_input, "", absl::StrCat(row, " as row of entry ", i),
                        absl::StrCat("0 or more, below ", sparse.dims[0]));
    }
    if (rows.empty() || rows.back().row != row) rows.push_back({row, i, i});
    rows.back().end = i + 1;
  }
  return rows;
}

absl::StatusOr<SparseParts> CopyRow(KernelContext& context, const SparseInput& sparse, const RowEntries& run) {
  SparseParts made;
  const int64_t entries = run.end - run.begin;
  const int rank = sparse.rank - 1;
  made.dims.assign(sparse.dims.begin() + 1, sparse.dims.end());
  SLUICE_ASSIGN_OR_RETURN(made.indices, context.AllocateTemp(DType::kInt64, Shape::Of({entries, rank})));
  int64_t* to = made.indices.flat<int64_t>().data();
  for (int64_t i = run.begin; i < run.end; ++i) to = std::copy_n(sparse.at(i) + 1, rank, to);
  SLUICE_ASSIGN_OR_RETURN(made.values, context.AllocateTemp(sparse.values->dtype(), Shape::Of({entries})));
  CopyElements(*sparse.values, run.begin, run.end, &made.values, 0);
  return made;
}

absl::StatusOr<SparseParts> MakeParts(Tensor indices, Tensor values, const Tensor& shape, DType dtype, int input,
                                      int64_t number) {
  const bool fits = indices.dtype() == DType::kInt64 && indices.rank() == 2 && values.dtype() == dtype &&
                    values.rank() == 1 && shape.dtype() == DType::kInt64 && shape.rank() == 1 &&
                    indices.dim(0) == values.dim(0) && indices.dim(1) == shape.dim(0);
  if (!fits) {
    return ValueError(
        input, "",
        absl::StrCat("sparse tensor ", number, ": indices ", DTypeName(indices.dtype()), indices.shape().ToString(),
                     ", values ", DTypeName(values.dtype()), values.shape().ToString(), ", shape ",
                     DTypeName(shape.dtype()), shape.shape().ToString()),
        absl::StrCat("indices int64[entries,rank], values ", DTypeName(dtype), "[entries], shape int64[rank]"));
  }
  SparseParts made;
  for (const int64_t size : shape.flat<int64_t>()) made.dims.push_back(size);
  made.indices = std::move(indices);
  made.values = std::move(values);
  return made;
}

absl::Status OutputJoined(KernelContext& context, absl::Span<const SparseParts* const> parts, const Shape& batch) {
  for (const SparseParts* const part : parts) {
    for (const int64_t size : part->dims) {
      if (size < 0) return ValueError(0, "", size, "sizes of 0 or more");
    }
  }
  SLUICE_ASSIGN_OR_RETURN(const IndexVector dims, JoinedDims(parts, batch));
  int64_t total = 0;
  for (const SparseParts* const part : parts) total += part->entries();
  const int64_t rank = static_cast<int64_t>(dims.size());
  SLUICE_ASSIGN_OR_RETURN(const Shape shape, MakeShape({total, rank}));
  SLUICE_ASSIGN_OR_RETURN(Tensor* const indices, context.AllocateOutput(0, shape));
  SLUICE_ASSIGN_OR_RETURN(Tensor* const values, context.AllocateOutput(1, Shape::Of({total})));
  int64_t* to = indices->flat<int64_t>().data();
  int64_t at = 0;
  std::vector<int64_t> place(static_cast<size_t>(batch.rank()), 0);  // Of the part in the batch.
  for (const SparseParts* const part : parts) {
    const int64_t* from = part->indices.flat<int64_t>().data();
    for (int64_t i = 0; i < part->entries(); ++i, from += part->rank()) {
      to = std::copy(place.begin(), place.end(), to);
      to = std::copy_n(from, part->rank(), to);
    }
    CopyElements(part->values, 0, part->entries(), values, at);
    at += part->entries();
    for (int d = batch.rank() - 1; d >= 0 && ++place[static_cast<size_t>(d)] == batch.dim(d); --d) {
      place[static_cast<size_t>(d)] = 0;
    }
  }
  return OutputVector(context, 2, dims);
}

}  // namespace sluice

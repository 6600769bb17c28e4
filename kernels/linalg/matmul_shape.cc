#include "kernels/linalg/matmul_shape.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "graph/base/error.h"
#include "kernels/input_error.h"

namespace sluice {
namespace {

using Dims = absl::InlinedVector<int64_t, 6>;

absl::Status DoNotFit(const Shape& a, const Shape& b, absl::string_view expected) {
  return ShapesError(absl::StrCat(a.ToString(), " and ", b.ToString()), expected);
}

absl::Status CheckRank(const MatMulForm& form, int input, const Shape& shape) {
  if (form.stacks == MatMulForm::Stacks::kNone ? shape.rank() == 2 : shape.rank() >= 2) return absl::OkStatus();
  return ShapeError(input, "", shape,
                    form.stacks == MatMulForm::Stacks::kNone ? "a matrix" : "a matrix or a stack of matrices");
}

// The dims of `shape` before its last two, with ones in front up to `rank`.
Dims StackDims(const Shape& shape, int rank) {
  Dims dims(static_cast<size_t>(rank - (shape.rank() - 2)), 1);
  dims.insert(dims.end(), shape.dims().begin(), shape.dims().end() - 2);
  return dims;
}

absl::Status ResolveStacks(const MatMulForm& form, const Shape& a, const Shape& b, MatMulShape* result) {
  const int rank = std::max(a.rank(), b.rank()) - 2;
  const Dims a_dims = StackDims(a, rank);
  const Dims b_dims = StackDims(b, rank);
  if (form.stacks == MatMulForm::Stacks::kEqual && (a.rank() != b.rank() || a_dims != b_dims)) {
    return DoNotFit(a, b, "stacks of equal sizes");
  }
  Dims output(a_dims);
  for (size_t d = 0; d < output.size(); ++d) {
    if (a_dims[d] != b_dims[d] && a_dims[d] != 1 && b_dims[d] != 1) return DoNotFit(a, b, "stacks that broadcast");
    output[d] = a_dims[d] == 1 ? b_dims[d] : a_dims[d];
  }
  if (!CheckedNumElements(output, &result->num_products)) {
    return Error(ErrorCode::kOpTooLarge).Found(absl::StrCat(a.ToString(), " times ", b.ToString()));
  }
  Dims all(output);
  all.push_back(result->size.m);
  all.push_back(result->size.n);
  absl::StatusOr<Shape> shape = Shape::Make(all);
  if (!shape.ok()) return Error(ErrorCode::kOpTooLarge).Found(absl::StrCat(a.ToString(), " times ", b.ToString()));
  result->output = *std::move(shape);
  result->a_of = StackIndex(a_dims, output);
  result->b_of = StackIndex(b_dims, output);
  return absl::OkStatus();
}

}  // namespace

StackIndex::StackIndex(absl::Span<const int64_t> input, absl::Span<const int64_t> output) : is_plain_(input == output) {
  bool repeats_all = true;
  for (size_t d = input.size(); !is_plain_ && d-- > 0;) {
    const int64_t step = input[d] == 1 ? 0 : num_matrices_;
    num_matrices_ *= input[d];
    repeats_all = repeats_all && step == 0;
    if (output[d] == 1) continue;
    if (!axes_.empty() && step == axes_.back().step * axes_.back().size) {
      axes_.back().size *= output[d];  // Walked as one with the axis after it.
    } else {
      axes_.push_back({output[d], step});
    }
  }
  if (repeats_all) axes_.clear();
}

absl::Status ResolveMatMul(const MatMulForm& form, const Shape& a, const Shape& b, MatMulShape* result) {
  const int a_rank = a.rank();
  const int b_rank = b.rank();
  if (a_rank < 2 || b_rank < 2 || (form.stacks == MatMulForm::Stacks::kNone && (a_rank > 2 || b_rank > 2))) {
    const absl::Status first = CheckRank(form, 0, a);
    return first.ok() ? CheckRank(form, 1, b) : first;
  }
  const int64_t a_rows = a.dim(a_rank - 2);
  const int64_t a_cols = a.dim(a_rank - 1);
  const int64_t b_rows = b.dim(b_rank - 2);
  const int64_t b_cols = b.dim(b_rank - 1);
  result->size.m = form.transpose_a ? a_cols : a_rows;
  result->size.k = form.transpose_a ? a_rows : a_cols;
  result->size.n = form.transpose_b ? b_rows : b_cols;
  const int64_t k = form.transpose_b ? b_cols : b_rows;
  if (k != result->size.k) {
    return DoNotFit(a, b,
                    absl::StrCat("as many ", form.transpose_a ? "rows" : "columns", " in input 0 as ",
                                 form.transpose_b ? "columns" : "rows", " in input 1"));
  }
  if (a_rank > 2 || b_rank > 2) return ResolveStacks(form, a, b, result);
  const int64_t dims[] = {result->size.m, result->size.n};
  absl::StatusOr<Shape> output = Shape::Make(dims);
  if (!output.ok()) return Error(ErrorCode::kOpTooLarge).Found(absl::StrCat(a.ToString(), " times ", b.ToString()));
  result->output = *std::move(output);
  return absl::OkStatus();
}

}  // namespace sluice

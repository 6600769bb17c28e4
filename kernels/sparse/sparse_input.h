#ifndef SLUICE_KERNELS_SPARSE_SPARSE_INPUT_H_
#define SLUICE_KERNELS_SPARSE_SPARSE_INPUT_H_

// Sparse tensors among the inputs and outputs of kernels: three tensors that follow each other, indices [entries,
// rank], values [entries], shape [rank].

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "kernels/array/index_values.h"
#include "kernels/kernel_context.h"

namespace sluice {

// A sparse tensor whose indices are int64, as checked by ReadSparse. Borrows the tensors.
struct SparseInput {
  int first_input = 0;
  const Tensor* indices = nullptr;
  const Tensor* values = nullptr;
  int64_t entries = 0;
  int rank = 0;
  IndexVector dims;           // Of the dense tensor.
  bool is_countable = false;  // Whether a tensor can have these sizes.
  Shape shape;                // The same sizes, if is_countable.

  // The coordinates of entry `i`.
  const int64_t* at(int64_t i) const { return static_cast<const int64_t*>(indices->raw_data()) + i * rank; }
};

// What must hold of the coordinates.
enum class IndexRule {
  kAny,        // Nothing.
  kInside,     // In the dense shape.
  kAscending,  // Inside, and each entry after the one that it follows.
};
// What must hold of the dense shape.
enum class SizeRule {
  kCountable,  // It is one that a tensor can have.
  kAny,        // Nothing but that no size is negative: an axis may stand for all numbers that there are.
};

// Reads inputs [first, first + 3) as a sparse tensor. kOpShape, kOpShapes, kOpValue or kOpTooLarge if they do not form
// one.
absl::StatusOr<SparseInput> ReadSparse(const KernelContext& context, int first, IndexRule rule,
                                       SizeRule sizes = SizeRule::kCountable);
// The same of three inputs that do not follow each other.
absl::StatusOr<SparseInput> ReadSparseParts(const KernelContext& context, int indices, int values, int shape,
                                            IndexRule rule, SizeRule sizes = SizeRule::kCountable);
// A sparse tensor without values. REQUIRES: a matrix [entries, rank of `shape`] of int64.
SparseInput SparsePlaces(const Tensor& indices, const Shape& shape);
absl::Status CheckIndices(const SparseInput& sparse, IndexRule rule);

// Negative, 0 or positive: whether the coordinates `a` come before `b`, are equal, or come after.
inline int CompareIndices(const int64_t* a, const int64_t* b, int rank) {
  for (int d = 0; d < rank; ++d) {
    if (a[d] != b[d]) return a[d] < b[d] ? -1 : 1;
  }
  return 0;
}

// The number of the dense element at each entry. REQUIRES: IndexRule::kInside.
absl::StatusOr<Tensor> DensePositions(KernelContext& context, const SparseInput& sparse);

// The same for rows of indices of int32 or int64 in input `input`, called `name`: of a tensor of shape `shape`, whose
// rank is their width. kOpValue for one outside.
absl::StatusOr<Tensor> ReadPositions(KernelContext& context, int input, absl::string_view name, const Shape& shape);

// Elements `which` of the vector `values` as a vector in output `output`.
absl::Status OutputElements(KernelContext& context, int output, const Tensor& values, absl::Span<const int64_t> which);
// The same of plain elements, with zeros for -1.
absl::Status OutputElementsOrZeros(KernelContext& context, int output, const Tensor& values,
                                   absl::Span<const int64_t> which);
// The same of rows of the indices.
absl::Status OutputIndices(KernelContext& context, int output, const SparseInput& sparse,
                           absl::Span<const int64_t> which);
// A vector of int64 in output `output`.
absl::Status OutputVector(KernelContext& context, int output, absl::Span<const int64_t> values);

}  // namespace sluice

#endif  // SLUICE_KERNELS_SPARSE_SPARSE_INPUT_H_

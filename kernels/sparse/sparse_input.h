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

// A sparse tensor whose indices are int64, as checked by ReadSparse. Borrows the inputs.
struct SparseInput {
  int first_input = 0;
  const Tensor* indices = nullptr;
  const Tensor* values = nullptr;
  int64_t entries = 0;
  int rank = 0;
  Shape shape;  // The dense one.

  // The coordinates of entry `i`.
  const int64_t* at(int64_t i) const { return static_cast<const int64_t*>(indices->raw_data()) + i * rank; }
};

// What must hold of the coordinates.
enum class IndexRule {
  kAny,      // Nothing.
  kInside,   // In the dense shape.
  kOrdered,  // Inside, and no entry before the one that it follows.
};

// Inputs [first, first + 3) as a sparse tensor. kOpShape, kOpShapes, kOpValue or kOpTooLarge where they are none.
absl::StatusOr<SparseInput> ReadSparse(const KernelContext& context, int first, IndexRule rule);
// The same of three inputs that do not follow each other.
absl::StatusOr<SparseInput> ReadSparseParts(const KernelContext& context, int indices, int values, int shape,
                                            IndexRule rule);
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

// Elements `which` of the vector `values` as a vector in output `output`.
absl::Status GiveElements(KernelContext& context, int output, const Tensor& values, absl::Span<const int64_t> which);
// The same of rows of the indices.
absl::Status GiveIndices(KernelContext& context, int output, const SparseInput& sparse,
                         absl::Span<const int64_t> which);
// A vector of int64 in output `output`.
absl::Status GiveVector(KernelContext& context, int output, absl::Span<const int64_t> values);

}  // namespace sluice

#endif  // SLUICE_KERNELS_SPARSE_SPARSE_INPUT_H_

#ifndef SLUICE_KERNELS_LINALG_LABELLED_TENSOR_H_
#define SLUICE_KERNELS_LINALG_LABELLED_TENSOR_H_

#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "graph/base/hash_table.h"
#include "graph/value/tensor.h"

namespace sluice {

// Sizes by label.
using AxisSizes = HashMap<int, int64_t>;

// A tensor with a label for each axis. Equal labels mean the diagonal.
struct LabelledTensor {
  Tensor value;
  std::vector<int> labels;
};

// Sets `to`, whose axes are `labels`, to the sums of `from` over the axes that are not among them: transposes, takes
// diagonals, sums, and lays values on diagonals. REQUIRES: T is the dtype of both; equal labels have equal sizes, and
// each of `labels` is in `from`.
template <typename T>
void SumInto(const LabelledTensor& from, absl::Span<const int> labels, Tensor* to);

}  // namespace sluice

#endif  // SLUICE_KERNELS_LINALG_LABELLED_TENSOR_H_

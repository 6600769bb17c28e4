#ifndef SLUICE_KERNELS_QUEUES_GRADIENT_SUM_H_
#define SLUICE_KERNELS_QUEUES_GRADIENT_SUM_H_

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "graph/value/allocator.h"
#include "graph/value/tensor.h"

namespace sluice {

// The sum of some gradients of half, float or double: whole tensors, or rows with their indices. Not thread-safe.
struct GradientSum {
  Tensor values;  // Without a value: no gradient yet.
  // Of sparse gradients: the number of each row, and how many gradients had it.
  std::vector<int64_t> indices;
  std::vector<int64_t> counts;

  // kOpShapes unless all gradients have one shape.
  absl::Status Add(Tensor gradient, Allocator& allocator);
  // Merges rows as TensorFlow does: as if both lists of indices ascended; where they do not, an index may come several
  // times in the result. kOpShapes unless all rows have one shape.
  absl::Status AddRows(const Tensor& row_indices, Tensor rows, Allocator& allocator);
  // Divides by `count`, sparse gradients by the number of each row. REQUIRES: values.has_value().
  absl::Status Average(int64_t count, bool is_sparse, Allocator& allocator);
};

}  // namespace sluice

#endif  // SLUICE_KERNELS_QUEUES_GRADIENT_SUM_H_

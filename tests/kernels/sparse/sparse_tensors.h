#ifndef SLUICE_TESTS_KERNELS_SPARSE_SPARSE_TENSORS_H_
#define SLUICE_TESTS_KERNELS_SPARSE_SPARSE_TENSORS_H_

// Parts of sparse tensors, for tests.

#include <cstdint>
#include <vector>

#include "graph/value/tensor.h"

namespace sluice {

inline Tensor Longs(std::vector<int64_t> values) { return Tensor::Vector<int64_t>(values); }
inline Tensor Floats(std::vector<float> values) { return Tensor::Vector<float>(values); }
// Rows of `rank` numbers.
inline Tensor Indices(int64_t rank, std::vector<int64_t> values) {
  return Tensor::Of<int64_t>(Shape::Of({static_cast<int64_t>(values.size()) / rank, rank}), values);
}
inline Tensor Matrix(int64_t rows, int64_t columns, std::vector<float> values) {
  return Tensor::Of<float>(Shape::Of({rows, columns}), values);
}

}  // namespace sluice

#endif  // SLUICE_TESTS_KERNELS_SPARSE_SPARSE_TENSORS_H_

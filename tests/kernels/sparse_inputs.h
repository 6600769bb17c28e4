#ifndef SLUICE_TESTS_KERNELS_SPARSE_INPUTS_H_
#define SLUICE_TESTS_KERNELS_SPARSE_INPUTS_H_

#include <string>
#include <vector>

#include "absl/types/span.h"
#include "graph/value/dtype.h"
#include "graph/value/tensor.h"
#include "tests/testing/hostile_values.h"

namespace sluice {

// Inputs of an op that works on sparse tensors, or on rows that numbers choose: indices, values and shape that belong
// together. Empty where the op is none of these.
std::vector<Tensor> DrawSparseInputs(const std::string& op, absl::Span<const DType> dtypes, bool is_large,
                                     FuzzRandom& random);

}  // namespace sluice

#endif  // SLUICE_TESTS_KERNELS_SPARSE_INPUTS_H_

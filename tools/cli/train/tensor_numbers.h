#ifndef SLUICE_TOOLS_CLI_TRAIN_TENSOR_NUMBERS_H_
#define SLUICE_TOOLS_CLI_TRAIN_TENSOR_NUMBERS_H_

#include "absl/status/statusor.h"
#include "graph/value/dtype.h"
#include "graph/value/tensor.h"

namespace sluice {

// Whether elements of `dtype` are real numbers or truth values.
bool IsRealNumber(DType dtype);

// The mean of all elements; NaN without any, or if one is NaN. REQUIRES: IsRealNumber(tensor.dtype()).
double MeanOf(const Tensor& tensor);

// Converts to another dtype, rounding floats to the nearest. kFeedType unless both dtypes are real numbers, and for
// numbers that an integer dtype cannot hold (2.5, NaN, 300 as int8).
absl::StatusOr<Tensor> ConvertNumbers(const Tensor& tensor, DType dtype);

}  // namespace sluice

#endif  // SLUICE_TOOLS_CLI_TRAIN_TENSOR_NUMBERS_H_

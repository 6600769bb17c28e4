#include "kernels/sequence/ctc_inputs.h"

#include <limits>

#include "absl/strings/str_cat.h"
#include "graph/base/error.h"
#include "kernels/input_error.h"

namespace sluice {

absl::StatusOr<CtcInputs> ReadCtcInputs(const KernelContext& context, int lengths, ErrorCode length_code) {
  const Tensor& scores = context.input(0);
  const Tensor& length = context.input(lengths);
  if (scores.rank() != 3 || scores.num_elements() == 0) {
    return ShapeError(0, "inputs", scores.shape(), "[time, batch, classes], none of them 0");
  }
  if (scores.dim(2) > std::numeric_limits<int32_t>::max()) {
    return ShapeError(0, "inputs", scores.shape(), "as many classes as int32 numbers");
  }
  SLUICE_RETURN_IF_ERROR(CheckVector(context, lengths, "sequence_length"));
  const CtcInputs inputs{scores.dim(0), scores.dim(1), scores.dim(2), length.flat<int32_t>()};
  if (length.dim(0) != inputs.batch) {
    return Error(length_code)
        .Input(lengths, "sequence_length")
        .Found(absl::StrCat(length.dim(0), " lengths"))
        .Expected(absl::StrCat(inputs.batch));
  }
  for (const int32_t one : inputs.lengths) {
    if (one <= inputs.time) continue;
    return Error(length_code)
        .Input(lengths, "sequence_length")
        .Found(absl::StrCat(one))
        .Expected(absl::StrCat("at most ", inputs.time));
  }
  return inputs;
}

}  // namespace sluice

#ifndef SLUICE_KERNELS_SEQUENCE_CTC_INPUTS_H_
#define SLUICE_KERNELS_SEQUENCE_CTC_INPUTS_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "graph/base/error_code.h"
#include "kernels/kernel_context.h"

namespace sluice {

// Scores of classes over time, for several sequences: inputs [time, batch, classes], and the sequences' lengths.
struct CtcInputs {
  int64_t time = 0;
  int64_t batch = 0;
  int64_t classes = 0;
  absl::Span<const int32_t> lengths;

  // The scores of step `t` of sequence `b` begin at this element.
  int64_t row(int64_t t, int64_t b) const { return (t * batch + b) * classes; }
};

// Reads inputs 0 and `lengths`. `length_code`: what wrong lengths are, which differs from op to op.
absl::StatusOr<CtcInputs> ReadCtcInputs(const KernelContext& context, int lengths, ErrorCode length_code);

}  // namespace sluice

#endif  // SLUICE_KERNELS_SEQUENCE_CTC_INPUTS_H_

#ifndef SLUICE_KERNELS_FORWARD_OR_COPY_H_
#define SLUICE_KERNELS_FORWARD_OR_COPY_H_

#include "absl/status/status.h"
#include "kernels/kernel_context.h"

namespace sluice {

// Sets output 0 to input `i`, or to a copy if anything else needs its memory. For ops that, as in TensorFlow, choose or
// compute values and happen to change none: unlike an Identity they must not show later writes to a variable whose
// memory the input shares (Note [References alias] in kernels/state). RESOURCE_EXHAUSTED without memory for a copy.
absl::Status ForwardOrCopy(KernelContext& context, int i);

}  // namespace sluice

#endif  // SLUICE_KERNELS_FORWARD_OR_COPY_H_

#ifndef SLUICE_KERNELS_FORWARD_OR_COPY_H_
#define SLUICE_KERNELS_FORWARD_OR_COPY_H_

#include "absl/status/status.h"
#include "kernels/kernel_context.h"

namespace sluice {

// Output 0 becomes the value of input `i`: the input itself where nothing else needs its memory, else a copy. For ops
// that, as in TensorFlow, choose or compute values and happen to change none. Unlike an Identity they must not show
// what is written to a variable later, whose memory a read through a reference is (Note [References alias] in
// kernels/state). RESOURCE_EXHAUSTED when there is no memory for a copy.
absl::Status ForwardOrCopy(KernelContext& context, int i);

}  // namespace sluice

#endif  // SLUICE_KERNELS_FORWARD_OR_COPY_H_

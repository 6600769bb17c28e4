#ifndef SLUICE_KERNELS_STATE_SESSION_HANDLES_H_
#define SLUICE_KERNELS_STATE_SESSION_HANDLES_H_

#include "absl/types/span.h"
#include "kernels/kernel_registry.h"

namespace sluice {

// Tensors that a session keeps between runs: GetSessionHandle, GetSessionHandleV2, GetSessionTensor,
// DeleteSessionTensor.
absl::Span<const KernelDef> SessionHandleKernels();

}  // namespace sluice

#endif  // SLUICE_KERNELS_STATE_SESSION_HANDLES_H_

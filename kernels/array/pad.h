#ifndef SLUICE_KERNELS_ARRAY_PAD_H_
#define SLUICE_KERNELS_ARRAY_PAD_H_

#include "absl/types/span.h"
#include "kernels/kernel_registry.h"

namespace sluice {

// Ops that put elements around a tensor: Pad, PadV2, MirrorPad.
absl::Span<const KernelDef> PadKernels();

}  // namespace sluice

#endif  // SLUICE_KERNELS_ARRAY_PAD_H_

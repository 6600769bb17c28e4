#ifndef SLUICE_KERNELS_ARRAY_MIRROR_PAD_GRAD_H_
#define SLUICE_KERNELS_ARRAY_MIRROR_PAD_GRAD_H_

#include "absl/types/span.h"
#include "kernels/kernel_registry.h"

namespace sluice {

// MirrorPadGrad: the edges that MirrorPad has made, added to what they are images of.
absl::Span<const KernelDef> MirrorPadGradKernels();

}  // namespace sluice

#endif  // SLUICE_KERNELS_ARRAY_MIRROR_PAD_GRAD_H_

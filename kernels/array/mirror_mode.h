#ifndef SLUICE_KERNELS_ARRAY_MIRROR_MODE_H_
#define SLUICE_KERNELS_ARRAY_MIRROR_MODE_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "kernels/kernel_construction.h"

namespace sluice {

// Reads attr mode of MirrorPad and MirrorPadGrad: how many elements at an edge have no image. 1 for REFLECT, which
// leaves the edge itself out, 0 for SYMMETRIC. kOpAttr for another mode.
absl::StatusOr<int64_t> ReadMirrorMode(const KernelConstruction& construction);

}  // namespace sluice

#endif  // SLUICE_KERNELS_ARRAY_MIRROR_MODE_H_

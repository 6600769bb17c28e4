#ifndef SLUICE_KERNELS_RANDOM_FAMILIES_H_
#define SLUICE_KERNELS_RANDOM_FAMILIES_H_

// The tables of this directory, one for each family.

#include "absl/types/span.h"
#include "kernels/kernel_row.h"

namespace sluice {

class KernelRegistry;

// RandomUniform.
absl::Span<const KernelRow> RandomUniformKernels();

// Adds all of them.
void AddRandomKernels(KernelRegistry& registry);

}  // namespace sluice

#endif  // SLUICE_KERNELS_RANDOM_FAMILIES_H_

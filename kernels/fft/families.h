#ifndef SLUICE_KERNELS_FFT_FAMILIES_H_
#define SLUICE_KERNELS_FFT_FAMILIES_H_

// The tables of this directory, one for each family.

#include "absl/types/span.h"
#include "kernels/at_start.h"
#include "kernels/kernel_row.h"

namespace sluice {

class KernelRegistry;

// FFT, IFFT, RFFT, IRFFT over one, two and three dimensions.
SLUICE_AT_START absl::Span<const KernelRow> FftKernels();

// Adds all of them.
SLUICE_AT_START void AddFftKernels(KernelRegistry& registry);

}  // namespace sluice

#endif  // SLUICE_KERNELS_FFT_FAMILIES_H_

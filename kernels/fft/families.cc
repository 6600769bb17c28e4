#include "kernels/fft/families.h"

#include "kernels/kernel_registry.h"

namespace sluice {

void AddFftKernels(KernelRegistry& registry) { registry.AddTable(FftKernels()); }

}  // namespace sluice

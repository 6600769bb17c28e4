#ifndef SLUICE_KERNELS_CONTROL_ASSERT_PRINT_H_
#define SLUICE_KERNELS_CONTROL_ASSERT_PRINT_H_

#include "absl/types/span.h"
#include "kernels/kernel_registry.h"

namespace sluice {

// What a graph says to people: Assert, Print, PrintV2. Text goes through print_sink.h.
absl::Span<const KernelDef> AssertPrintKernels();

}  // namespace sluice

#endif  // SLUICE_KERNELS_CONTROL_ASSERT_PRINT_H_

#ifndef SLUICE_KERNELS_RNN_FAMILIES_H_
#define SLUICE_KERNELS_RNN_FAMILIES_H_

// The tables of this directory, one for each family.

#include "absl/types/span.h"
#include "kernels/at_start.h"
#include "kernels/kernel_row.h"

namespace sluice {

class KernelRegistry;

// LSTMBlockCell, BlockLSTM, BlockLSTMV2.
SLUICE_AT_START absl::Span<const KernelRow> LstmKernels();
// Their gradients.
SLUICE_AT_START absl::Span<const KernelRow> LstmGradKernels();
// GRUBlockCell and its gradient.
SLUICE_AT_START absl::Span<const KernelRow> GruKernels();

// Adds all of them.
SLUICE_AT_START void AddRnnKernels(KernelRegistry& registry);

}  // namespace sluice

#endif  // SLUICE_KERNELS_RNN_FAMILIES_H_

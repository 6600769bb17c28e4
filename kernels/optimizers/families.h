#ifndef SLUICE_KERNELS_OPTIMIZERS_FAMILIES_H_
#define SLUICE_KERNELS_OPTIMIZERS_FAMILIES_H_

// The tables of this directory, one for each family. For each update: [Resource]Apply... and, where TensorFlow has it,
// [Resource]SparseApply...

#include "absl/types/span.h"
#include "kernels/at_start.h"
#include "kernels/kernel_row.h"

namespace sluice {

class KernelRegistry;

// GradientDescent, ProximalGradientDescent, Momentum, KerasMomentum, AddSign, PowerSign.
SLUICE_AT_START absl::Span<const KernelRow> DescentKernels();
// Adagrad, AdagradV2, AdagradDA, ProximalAdagrad, Adadelta.
SLUICE_AT_START absl::Span<const KernelRow> AdagradKernels();
// Adam, AdamWithAmsgrad, AdaMax, RMSProp, CenteredRMSProp.
SLUICE_AT_START absl::Span<const KernelRow> AdamKernels();
// Ftrl, FtrlV2.
SLUICE_AT_START absl::Span<const KernelRow> FtrlKernels();

// Adds all of them.
SLUICE_AT_START void AddOptimizerKernels(KernelRegistry& registry);

}  // namespace sluice

#endif  // SLUICE_KERNELS_OPTIMIZERS_FAMILIES_H_

#ifndef SLUICE_KERNELS_OPTIMIZERS_FAMILIES_H_
#define SLUICE_KERNELS_OPTIMIZERS_FAMILIES_H_

// The tables of this directory, one for each family. For each update: [Resource]Apply... and, where TensorFlow has it,
// [Resource]SparseApply...

#include "absl/types/span.h"
#include "kernels/kernel_row.h"

namespace sluice {

class KernelRegistry;

// GradientDescent, ProximalGradientDescent, Momentum, KerasMomentum, AddSign, PowerSign.
absl::Span<const KernelRow> DescentKernels();
// Adagrad, AdagradV2, AdagradDA, ProximalAdagrad, Adadelta.
absl::Span<const KernelRow> AdagradKernels();
// Adam, AdamWithAmsgrad, AdaMax, RMSProp, CenteredRMSProp.
absl::Span<const KernelRow> AdamKernels();
// Ftrl, FtrlV2.
absl::Span<const KernelRow> FtrlKernels();

// Adds all of them.
void AddOptimizerKernels(KernelRegistry& registry);

}  // namespace sluice

#endif  // SLUICE_KERNELS_OPTIMIZERS_FAMILIES_H_

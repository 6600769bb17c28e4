#ifndef SLUICE_KERNELS_LINALG_WEIGHT_INPUTS_H_
#define SLUICE_KERNELS_LINALG_WEIGHT_INPUTS_H_

#include "graph/ir/signature.h"
#include "kernels/kernel_row.h"

namespace sluice {

// Whether kernels of `row`, under `signature`, take a matrix that stands in a file as input `i` (Note [Tensors in
// files]): B of the products of this directory, in floats or doubles throughout. Rows of others never do.
bool TakesTensorInFile(const KernelRow& row, const Signature& signature, int i);

}  // namespace sluice

#endif  // SLUICE_KERNELS_LINALG_WEIGHT_INPUTS_H_

#ifndef SLUICE_KERNELS_LISTS_LIST_FUNCTIONS_H_
#define SLUICE_KERNELS_LISTS_LIST_FUNCTIONS_H_

#include "kernels/variant_functions.h"

namespace sluice {

// How AddN adds lists, element by element, and what ZerosLike makes of one. Elements that were never set count as zeros
// and stay as they are.
VariantFunctions TensorListFunctions();

}  // namespace sluice

#endif  // SLUICE_KERNELS_LISTS_LIST_FUNCTIONS_H_

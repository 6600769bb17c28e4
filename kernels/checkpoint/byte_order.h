#ifndef SLUICE_KERNELS_CHECKPOINT_BYTE_ORDER_H_
#define SLUICE_KERNELS_CHECKPOINT_BYTE_ORDER_H_

#include <cstddef>

#include "graph/value/dtype.h"

namespace sluice {

// Reverses the byte order of each number. REQUIRES: plain elements, `bytes` a multiple of their size.
void SwapByteOrder(DType dtype, char* data, size_t bytes);

}  // namespace sluice

#endif  // SLUICE_KERNELS_CHECKPOINT_BYTE_ORDER_H_

#ifndef SLUICE_KERNELS_CHECKPOINT_BYTE_ORDER_H_
#define SLUICE_KERNELS_CHECKPOINT_BYTE_ORDER_H_

#include <cstddef>

#include "graph/value/dtype.h"

namespace sluice {

// Turns numbers of the other byte order into ours, or back. REQUIRES: plain elements, `bytes` a multiple of their size.
void SwapByteOrder(DType dtype, char* data, size_t bytes);

}  // namespace sluice

#endif  // SLUICE_KERNELS_CHECKPOINT_BYTE_ORDER_H_

#include "kernels/checkpoint/byte_order.h"

#include <algorithm>

namespace sluice {

void SwapByteOrder(DType dtype, char* data, size_t bytes) {
  const size_t size = IsComplex(dtype) ? DTypeSize(dtype) / 2 : DTypeSize(dtype);  // A complex number is two.
  if (size < 2) return;
  for (char* const end = data + bytes; data != end; data += size) std::reverse(data, data + size);
}

}  // namespace sluice

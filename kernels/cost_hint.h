#ifndef SLUICE_KERNELS_COST_HINT_H_
#define SLUICE_KERNELS_COST_HINT_H_

#include <cstdint>

namespace sluice {

// The duration of a call, judged by the op alone: only decides where nodes run until they are measured.
enum class CostHint : uint8_t {
  kCheap,    // Never worth another thread: metadata, handles, scalars.
  kByBytes,  // Grows with the bytes of inputs and outputs (elementwise).
  kHeavy,    // Always worth it.
};

}  // namespace sluice

#endif  // SLUICE_KERNELS_COST_HINT_H_

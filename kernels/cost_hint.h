#ifndef SLUICE_KERNELS_COST_HINT_H_
#define SLUICE_KERNELS_COST_HINT_H_

#include <cstdint>

namespace sluice {

// How long a call takes, as far as the op alone tells: decides nothing but where nodes run before they were measured.
enum class CostHint : uint8_t {
  kCheap,    // Never worth a hand-over to another thread: metadata, handles, scalars.
  kByBytes,  // Grows with the bytes of inputs and outputs (elementwise).
  kHeavy,    // Always worth it.
};

}  // namespace sluice

#endif  // SLUICE_KERNELS_COST_HINT_H_

#include "frames/pending_counts.h"

namespace sluice {

void PendingCounts::set_initial_pending(Handle h, uint32_t pending) {
  if (h.is_large()) {
    large(h).pending = pending & 0x7fffffffu;
    large(h).is_started = 0;
    large(h).dead = 0;
  } else {
    SLUICE_DCHECK_LE(pending, kMaxPacked);
    packed(h) = static_cast<uint8_t>(pending);
  }
}

void PendingCounts::increment_dead(Handle h) {
  if (pending(h) == 0) return;
  if (h.is_large()) {
    ++large(h).dead;
  } else {
    SLUICE_DCHECK_LT(dead_count(h), kMaxPacked);
    packed(h) = static_cast<uint8_t>(packed(h) + kOneDead);
  }
}

}  // namespace sluice

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

PendingCounts::NodeState PendingCounts::node_state(Handle h) const {
  const uint32_t count = h.is_large() ? large(h).pending : packed(h) & kMaxPacked;
  if (is_started(h)) return count == 0 ? NodeState::kStarted : NodeState::kCompleted;
  return count == 0 ? NodeState::kReady : NodeState::kNotReady;
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

void PendingCounts::mark_completed(Handle h) {
  SLUICE_DCHECK(is_started(h));
  if (h.is_large()) {
    large(h).pending = 1;
  } else {
    packed(h) = static_cast<uint8_t>(packed(h) | 1);
  }
}

}  // namespace sluice

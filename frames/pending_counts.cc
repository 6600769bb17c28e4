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

uint32_t PendingCounts::pending(Handle h) const {
  if (is_started(h)) return 0;
  return h.is_large() ? large(h).pending : packed(h) & kMaxPacked;
}

PendingCounts::NodeState PendingCounts::node_state(Handle h) const {
  const uint32_t count = h.is_large() ? large(h).pending : packed(h) & kMaxPacked;
  if (is_started(h)) return count == 0 ? NodeState::kStarted : NodeState::kCompleted;
  return count == 0 ? NodeState::kReady : NodeState::kNotReady;
}

uint32_t PendingCounts::decrement_pending(Handle h, uint32_t v) {
  SLUICE_DCHECK_GE(pending(h), v);
  if (h.is_large()) return large(h).pending = (large(h).pending - v) & 0x7fffffffu;
  packed(h) = static_cast<uint8_t>(packed(h) - v);
  return packed(h) & kMaxPacked;
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

void PendingCounts::mark_live(Handle h) {
  if ((pending(h) & 1) != 0) decrement_pending(h, 1);
}

void PendingCounts::mark_started(Handle h) {
  SLUICE_DCHECK(!is_started(h));
  if (h.is_large()) {
    large(h).pending = 0;
    large(h).is_started = 1;
  } else {
    packed(h) = static_cast<uint8_t>((packed(h) & ~kMaxPacked) | kStarted);
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

#ifndef SLUICE_FRAMES_PENDING_COUNTS_H_
#define SLUICE_FRAMES_PENDING_COUNTS_H_

#include <cstdint>
#include <cstring>
#include <memory>

#include "graph/base/check.h"

namespace sluice {

// Counts, for one iteration of one frame, how many inputs each node still waits for and how many of those that came
// were dead. Small nodes take a byte (pending 3 bits, dead 3 bits, started), others 8 bytes. Nodes that wait for one
// input only have no counter at all: see GraphView.
//
// A Merge counts differently: pending is 1 (no live value yet) plus 2 for each control input that is still out.
//
// Owned by its IterationState and copied from the frame's prototype in one memcpy per iteration. Thread-safety: none;
// the propagating thread has the run to itself (Note [Baton] in executor/scheduler.h).
class PendingCounts {
 public:
  // The position of one node's counter. A value type.
  class Handle {
   public:
    Handle() = default;
    Handle(uint32_t byte, bool is_large) : bits_(byte << 1 | (is_large ? 1u : 0u)) {}
    bool is_set() const { return bits_ != kUnset; }
    bool is_large() const { return (bits_ & 1) != 0; }
    uint32_t byte() const { return bits_ >> 1; }

   private:
    static constexpr uint32_t kUnset = ~uint32_t{0};
    uint32_t bits_ = kUnset;
  };

  // Assigns positions to counters before a PendingCounts is made. Not thread-safe.
  class Layout {
   public:
    // Adds a counter that can hold these numbers.
    Handle CreateHandle(uint32_t max_pending, uint32_t max_dead) {
      if (max_pending <= kMaxPacked && max_dead <= kMaxPacked) return Handle(num_bytes_++, false);
      num_bytes_ = (num_bytes_ + 7) & ~uint32_t{7};
      const Handle handle(num_bytes_, true);
      num_bytes_ += sizeof(Large);
      return handle;
    }
    uint32_t num_bytes() const { return num_bytes_; }

   private:
    uint32_t num_bytes_ = 0;
  };

  // The state of a node after an arrival.
  enum class Arrival : uint8_t { kWaiting, kLive, kDead };

  PendingCounts() = default;
  // All counts 0, as set_initial_pending expects them.
  explicit PendingCounts(const Layout& layout) : PendingCounts(layout.num_bytes()) {}
  PendingCounts(PendingCounts&&) noexcept = default;
  PendingCounts& operator=(PendingCounts&&) noexcept = default;
  // Copies the counters.
  PendingCounts(const PendingCounts& other) : PendingCounts(other.num_bytes_) { ResetTo(other); }

  // Sets all counters to those of `prototype`. REQUIRES: it has the same layout.
  void ResetTo(const PendingCounts& prototype) {
    SLUICE_DCHECK_EQ(num_bytes_, prototype.num_bytes_);
    if (num_bytes_ > 0) std::memcpy(bytes_.get(), prototype.bytes_.get(), num_bytes_);
  }

  void set_initial_pending(Handle h, uint32_t pending);
  // 0 once the node has started.
  uint32_t pending(Handle h) const {
    if (is_started(h)) return 0;
    return h.is_large() ? large(h).pending : packed(h) & kMaxPacked;
  }
  uint32_t dead_count(Handle h) const { return h.is_large() ? large(h).dead : (packed(h) >> kDeadShift) & kMaxPacked; }

  // One input of an ordinary node has come. REQUIRES: pending(h) > 0.
  Arrival Arrive(Handle h, bool is_dead) {
    if (!h.is_large()) {
      uint8_t& count = packed(h);
      count = static_cast<uint8_t>(count + (is_dead ? kOneDead - 1 : -1));
      if ((count & kMaxPacked) != 0) return Arrival::kWaiting;
      return (count >> kDeadShift & kMaxPacked) != 0 ? Arrival::kDead : Arrival::kLive;
    }
    Large& count = large(h);
    count.dead += is_dead ? 1u : 0u;
    if (--count.pending != 0) return Arrival::kWaiting;
    return count.dead != 0 ? Arrival::kDead : Arrival::kLive;
  }

  // --- For Merges, and code that counts by hand
  // ----------------------------------------------------------------------- Takes `v` off and returns what is left.
  // REQUIRES: pending(h) >= v.
  uint32_t decrement_pending(Handle h, uint32_t v) {
    SLUICE_DCHECK_GE(pending(h), v);
    if (h.is_large()) return large(h).pending = (large(h).pending - v) & 0x7fffffffu;
    packed(h) = static_cast<uint8_t>(packed(h) - v);
    return packed(h) & kMaxPacked;
  }
  // No effect once pending is 0: the node's fate is settled.
  void increment_dead(Handle h);
  // A live value has come (the lowest bit of pending goes). Nothing happens when one had come before, or after the
  // start.
  void mark_live(Handle h) {
    if ((pending(h) & 1) != 0) decrement_pending(h, 1);
  }
  bool has_live(Handle h) const { return (pending(h) & 1) == 0; }
  // REQUIRES: pending(h) == 0 or, for a dead Merge, 1.
  void mark_started(Handle h) {
    SLUICE_DCHECK(!is_started(h));
    if (h.is_large()) {
      large(h).pending = 0;
      large(h).is_started = 1;
    } else {
      packed(h) = static_cast<uint8_t>((packed(h) & ~kMaxPacked) | kStarted);
    }
  }
  bool is_started(Handle h) const { return h.is_large() ? large(h).is_started : (packed(h) & kStarted) != 0; }

 private:
  struct Large {
    uint32_t pending : 31;
    uint32_t is_started : 1;  // Then `pending` is 1 when completed.
    uint32_t dead;
  };
  static constexpr uint32_t kMaxPacked = 7;
  static constexpr int kDeadShift = 3;
  static constexpr int kOneDead = 1 << kDeadShift;
  static constexpr uint8_t kStarted = 1 << 6;

  explicit PendingCounts(uint32_t num_bytes)
      : num_bytes_(num_bytes), bytes_(num_bytes > 0 ? std::make_unique<Large[]>((num_bytes + 7) / 8) : nullptr) {}

  uint8_t& packed(Handle h) { return reinterpret_cast<uint8_t*>(bytes_.get())[h.byte()]; }
  uint8_t packed(Handle h) const { return reinterpret_cast<const uint8_t*>(bytes_.get())[h.byte()]; }
  Large& large(Handle h) { return bytes_[h.byte() / sizeof(Large)]; }
  const Large& large(Handle h) const { return bytes_[h.byte() / sizeof(Large)]; }

  uint32_t num_bytes_ = 0;
  std::unique_ptr<Large[]> bytes_;  // Of 8 bytes each, for the alignment.
};

}  // namespace sluice

#endif  // SLUICE_FRAMES_PENDING_COUNTS_H_

#ifndef SLUICE_EXECUTOR_SERIAL_KEPT_PLAN_H_
#define SLUICE_EXECUTOR_SERIAL_KEPT_PLAN_H_

// Note [Kept values]
// Registers hold nothing between the segments of a step (Note [Segments]): they belong to the thread that runs one. A
// value that is read in another segment than the one that computes it, or read or written by an asynchronous call, is
// kept: it has a slot in the step's own record, in which it is written and read in place. Values share a slot where
// every reader of the one has always ended before the segment begins that computes the other; so the size of a step's
// record depends on what must be kept during waits, not on the size of its graph.
//
// A kept value is released in one of three ways:
// - in a segment that comes after all its other readers: its last reader there may take the buffer, as with registers;
// - with an asynchronous call that comes after all its other readers, and may take it;
// - by a count, where its readers do not wait for one another: each segment that reads it, and each call, drops it
// once.

#include <cstdint>
#include <utility>
#include <vector>

#include "absl/types/span.h"
#include "executor/serial/serial_code.h"

namespace sluice {

// Assigns slots to the kept values of a graph that waits, and says how each is released. See Note [Kept values].
// Immutable.
class KeptPlan {
 public:
  // Says that the value in `slot` has one reader fewer; `counter` has the number left.
  struct Drop {
    int32_t slot;
    int32_t counter;
  };

  // REQUIRES: code.segments() != nullptr.
  explicit KeptPlan(const SerialCode& code);

  int32_t num_slots() const { return static_cast<int32_t>(slots_.size()); }
  // -1: `value` is not kept.
  int32_t slot_of(int32_t value) const {
    const int32_t index = index_of_[static_cast<size_t>(value)];
    return index >= 0 ? values_[static_cast<size_t>(index)].slot : -1;
  }
  // Whether the last read of the kept `value` is by a step that starts a call, rather than by another step. For values
  // that are not counted, the last read in a segment is the last in program order.
  bool EndsInCall(int32_t value) const { return Of(value).ends == Ends::kInCall; }
  bool EndsInSegment(int32_t value) const { return Of(value).ends == Ends::kInSegment; }
  // The slots that each segment drops when it has run, and each stop when it has ended.
  const std::vector<Drop>& drops_of_segment(int32_t segment) const {
    return of_segments_[static_cast<size_t>(segment)];
  }
  const std::vector<Drop>& drops_of_stop(int32_t stop) const { return of_stops_[static_cast<size_t>(stop)]; }
  // How many readers each counter begins with.
  const std::vector<int32_t>& counters() const { return counters_; }

 private:
  enum class Ends : uint8_t { kNever, kInSegment, kInCall, kCounted };
  struct Read {
    int32_t segment;
    int32_t stop;      // -1: by the segment itself.
    int32_t position;  // The last step in the segment that reads it.
    bool is_twice;     // By one call.
  };
  struct Value {
    int32_t value;
    int32_t segment;    // The segment that defines it.
    int32_t stop = -1;  // The stop that writes it; -1 if none does.
    GuardId guard = kAlways;
    int32_t slot = -1;
    Ends ends = Ends::kNever;
    std::vector<Read> reads;
  };

  const Value& Of(int32_t value) const { return values_[static_cast<size_t>(index_of_[static_cast<size_t>(value)])]; }
  template <typename Visit>
  void VisitSteps(Visit&& visit) const;
  void FindValues();
  void FindReads();
  void FindEnd(Value& value);
  bool EndsInSegment(const Value& value) const;
  bool EndsInCall(const Value& value) const;
  void AssignSlots();
  bool HasEndedBefore(const Value& value, int32_t segment) const;

  const SerialCode& code_;
  const SegmentPlan& segments_;
  std::vector<int32_t> index_of_;  // By value: in values_, or -1.
  std::vector<Value> values_;      // By segment and definition.
  std::vector<int32_t> slots_;     // The last of values_ in each.
  std::vector<std::vector<Drop>> of_segments_, of_stops_;
  std::vector<int32_t> counters_;
};

}  // namespace sluice

#endif  // SLUICE_EXECUTOR_SERIAL_KEPT_PLAN_H_

#ifndef SLUICE_EXECUTOR_SERIAL_SEGMENT_PLAN_H_
#define SLUICE_EXECUTOR_SERIAL_SEGMENT_PLAN_H_

// Note [Segments]
// An asynchronous node is a stop: nodes that need its outcome wait. The stops before a node are those on which it
// depends, directly or indirectly, through data and control edges. Nodes with the same stops before them form a
// segment; a loop is in one segment as a whole. As soon as those stops have ended, the whole segment can run as
// straight code (Note [Serial programs]) without a wait. No node in it could have begun earlier, so no effect and no
// start of an asynchronous call is delayed by a wait on which it does not depend. Between segments a step needs no
// registers: only values alive there are kept (Note [Kept values] in kept_plan.h).
//
// A stop under a condition that does not hold is skipped: it counts as ended once its own segment has run. A stop may
// also leave some or all of its outputs dead, as a Recv of a dead value does. The readers of a dead output are dead,
// and all nodes after them; nodes that a control edge of the stop leads to are not. So each output also has a number
// among the stops, that of its outcome, which ends together with its stop and may be dead. (A stop with a single output
// and no control edges is its own outcome.) All nodes after a dead outcome are dead, so whole segments are dead, and of
// their code only the transfers run.
//
// This works for structured graphs (Note [Guards]) in which, in addition,
// - every stop that precedes one input of a Merge precedes all of them, or runs only when that input is taken, so that
//   a Merge does not wait for a stop in vain;
// - stops and sends are in no loop, and transfers under no condition;
// - the exits of a loop, and the nodes with effects in it, depend on all its inputs: the loop begins when these are
//   there;
// - no ControlTrigger, which runs even after dead stops, comes after a stop.
// Others are refused, and so are graphs with calls of functions (Note [Called bodies]).

#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "executor/serial/region_order.h"
#include "executor/serial/stop_sets.h"
#include "executor/serial/structure.h"

namespace sluice {

// The stops and segments of one graph. See Note [Segments]. Segments are numbered so that each comes after all those
// with fewer stops before them; segment 0 has none. Immutable once made.
class SegmentPlan {
 public:
  // These keep the sets small. Outcomes with numbers of their own count as stops.
  static constexpr int32_t kMaxStops = 1024;
  static constexpr size_t kMaxSets = 1 << 16;
  // Over the nodes of a loop: keeps the planning linear.
  static constexpr int kMaxRounds = 64;

  // Returns false and sets `*why_not` if the graph does not meet these conditions. `orders` is null for graphs without
  // control flow.
  static bool Create(const SerialStructure& structure, const RegionOrders* orders, SegmentPlan* plan,
                     std::string* why_not);

  int32_t num_segments() const { return static_cast<int32_t>(segments_.size()); }
  // The units of a segment, in order. Every node of the root frame is in one, and so is every loop of it.
  absl::Span<const RegionUnit> units(int32_t segment) const { return units_[static_cast<size_t>(segment)]; }
  // The nodes that are stops, by number, and then those of the outcomes that have numbers of their own.
  absl::Span<const NodeId> stops() const { return stops_; }
  // The number of the outcome of output 0 of stop `stop`; those of its other outputs follow. `stop` itself where that
  // is its own outcome; -1: no output is read.
  int32_t first_outcome(int32_t stop) const { return first_outcome_[static_cast<size_t>(stop)]; }
  // -1 if it is not a stop.
  int32_t stop_of(NodeId id) const { return stop_of_[static_cast<size_t>(id.value())]; }
  // The segment in which stop `stop`, or that of an outcome, starts.
  int32_t starts_in(int32_t stop) const { return starts_in_[static_cast<size_t>(stop)]; }

  const StopSets& sets() const { return sets_; }
  StopSetId stops_before(int32_t segment) const { return segments_[static_cast<size_t>(segment)]; }
  bool IsBefore(int32_t stop, int32_t segment) const { return sets_.Contains(stops_before(segment), stop); }
  // Whether segment `a` has always run before `b` begins.
  bool Precedes(int32_t a, int32_t b) const { return a < b && sets_.IsSubset(stops_before(a), stops_before(b)); }

 private:
  friend class SegmentPlanner;

  StopSets sets_{0};
  std::vector<StopSetId> segments_;
  std::vector<std::vector<RegionUnit>> units_;  // By segment.
  std::vector<NodeId> stops_;
  std::vector<int32_t> stop_of_;                    // By node.
  std::vector<int32_t> starts_in_, first_outcome_;  // By stop.
};

}  // namespace sluice

#endif  // SLUICE_EXECUTOR_SERIAL_SEGMENT_PLAN_H_

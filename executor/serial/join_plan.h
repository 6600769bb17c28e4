#ifndef SLUICE_EXECUTOR_SERIAL_JOIN_PLAN_H_
#define SLUICE_EXECUTOR_SERIAL_JOIN_PLAN_H_

// Note [Joins]
// A segment is ready when all stops before it have ended. With a list of these for each segment, a run would take stops
// times segments: a sum of a thousand dequeues, one after the other, has a thousand segments, and the last one waits
// for all. But the planner has made each set of stops of two smaller ones, or of one and a stop, on the way along the
// edges of the graph. So a join is such a set, which has ended when its parts have: it counts those that have not. Sets
// that no segment has, and that are a part of a single other one, are left out: their parts are that one's. The work of
// a run for its joins is bounded by the number of edges of the graph, however many stops and segments it has. A join is
// dead when something before it is.

#include <cstddef>
#include <cstdint>
#include <vector>

#include "executor/serial/segment_plan.h"
#include "executor/serial/stop_sets.h"

namespace sluice {

// The joins of one plan. Immutable once made.
class JoinPlan {
 public:
  explicit JoinPlan(const SegmentPlan& plan);

  int32_t num_joins() const { return static_cast<int32_t>(num_parts_.size()); }
  // By join: its parts; the segment that it makes ready, or -1.
  const std::vector<uint32_t>& num_parts() const { return num_parts_; }
  const std::vector<int32_t>& segments() const { return segments_; }
  // By segment; -1 for those without stops before them.
  const std::vector<int32_t>& join_of_segment() const { return join_of_segment_; }
  // The joins that a stop, or a join, is a part of; one twice where it is that twice.
  const std::vector<std::vector<int32_t>>& after_stop() const { return after_stop_; }
  const std::vector<std::vector<int32_t>>& after_join() const { return after_join_; }

 private:
  void AddStop(int32_t stop, int32_t join);

  std::vector<uint32_t> num_parts_;
  std::vector<int32_t> segments_, join_of_segment_;
  std::vector<std::vector<int32_t>> after_stop_, after_join_;
};

}  // namespace sluice

#endif  // SLUICE_EXECUTOR_SERIAL_JOIN_PLAN_H_

#ifndef SLUICE_EXECUTOR_SERIAL_JOIN_PLAN_H_
#define SLUICE_EXECUTOR_SERIAL_JOIN_PLAN_H_

// Note [Joins]
// A segment is ready when all stops before it have ended. With a list of stops for each segment, a run would cost stops
// times segments: a sum of a thousand dequeues, one after the other, has a thousand segments, and the last waits for
// all stops. But the planner makes each set of stops from two smaller sets, or a set and a stop, along the edges of the
// graph. A join is such a set; it counts its parts that have not ended, and has ended when all have. A set that no
// segment has and that is part of only one other set gets no join: its parts become that set's. The work of a run for
// its joins is bounded by the number of edges of the graph, however many stops and segments it has. A join is dead when
// something before it is.

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
  // The joins of which a stop, or a join, is a part; listed twice if it is a part twice.
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

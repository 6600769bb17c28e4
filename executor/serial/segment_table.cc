#include "executor/serial/segment_table.h"

#include <utility>

namespace sluice {

SegmentTable::SegmentTable(const SegmentPlan& plan, const JoinPlan& joins, const KeptPlan& kept,
                           std::vector<int32_t> begins, std::vector<int32_t> starts)
    : begins_(std::move(begins)),
      start_of_(std::move(starts)),
      stop_words_(plan.sets().num_words()),
      join_counts_(joins.num_parts()),
      segment_of_join_(joins.segments()),
      join_of_segment_(joins.join_of_segment()),
      num_kept_(kept.num_slots()),
      counters_(kept.counters()) {
  const size_t num_stops = plan.stops().size();
  std::vector<std::vector<int32_t>> started(static_cast<size_t>(plan.num_segments()));
  for (size_t stop = 0; stop < num_stops; ++stop) {
    started[static_cast<size_t>(plan.starts_in(static_cast<int32_t>(stop)))].push_back(static_cast<int32_t>(stop));
  }
  for (int32_t segment = 0; segment < plan.num_segments(); ++segment) {
    started_in_.Add(started[static_cast<size_t>(segment)]);
    of_segments_.Add(kept.drops_of_segment(segment));
  }
  for (size_t stop = 0; stop < num_stops; ++stop) {
    first_outcome_.push_back(plan.first_outcome(static_cast<int32_t>(stop)));
    after_stop_.Add(joins.after_stop()[stop]);
    of_stops_.Add(kept.drops_of_stop(static_cast<int32_t>(stop)));
  }
  for (const std::vector<int32_t>& after : joins.after_join()) after_join_.Add(after);
}

}  // namespace sluice

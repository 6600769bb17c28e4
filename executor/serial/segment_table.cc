#include "executor/serial/segment_table.h"

#include <utility>

namespace sluice {

SegmentTable::SegmentTable(const SegmentPlan& plan, const KeptPlan& kept, std::vector<int32_t> begins,
                           std::vector<int32_t> starts)
    : begins_(std::move(begins)),
      start_of_(std::move(starts)),
      stop_words_(plan.sets().num_words()),
      num_kept_(kept.num_slots()),
      counters_(kept.counters()) {
  const size_t num_stops = plan.stops().size();
  std::vector<std::vector<int32_t>> started(static_cast<size_t>(plan.num_segments())), woken(num_stops);
  for (size_t stop = 0; stop < num_stops; ++stop) {
    started[static_cast<size_t>(plan.starts_in(static_cast<int32_t>(stop)))].push_back(static_cast<int32_t>(stop));
  }
  for (int32_t segment = 0; segment < plan.num_segments(); ++segment) {
    const StopSets::Words& words = plan.sets().words(plan.stops_before(segment));
    stops_before_.insert(stops_before_.end(), words.begin(), words.end());
    for (const int32_t stop : plan.LastStops(segment)) woken[static_cast<size_t>(stop)].push_back(segment);
    started_in_.Add(started[static_cast<size_t>(segment)]);
    of_segments_.Add(kept.drops_of_segment(segment));
  }
  for (size_t stop = 0; stop < num_stops; ++stop) {
    first_outcome_.push_back(plan.first_outcome(static_cast<int32_t>(stop)));
    woken_by_.Add(woken[stop]);
    of_stops_.Add(kept.drops_of_stop(static_cast<int32_t>(stop)));
  }
}

}  // namespace sluice

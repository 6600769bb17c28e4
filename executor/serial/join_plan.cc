#include "executor/serial/join_plan.h"

#include <utility>

namespace sluice {

JoinPlan::JoinPlan(const SegmentPlan& plan)
    : join_of_segment_(static_cast<size_t>(plan.num_segments()), -1), after_stop_(plan.stops().size()) {
  const StopSets& sets = plan.sets();
  std::vector<int32_t> segment_of(sets.size(), -1), join_of(sets.size(), -1), num_uses(sets.size(), 0);
  for (int32_t segment = 0; segment < plan.num_segments(); ++segment) {
    segment_of[static_cast<size_t>(plan.stops_before(segment).value())] = segment;
  }
  // From the largest id on: what a set is a part of comes before it. join_of: that of the set itself, or of the only
  // one that it is a part of.
  std::vector<std::pair<size_t, int32_t>> parts;  // Sets, and joins that they are a part of.
  for (size_t set = sets.size(); set-- > 1;) {
    const int32_t segment = segment_of[set];
    if (segment < 0 && num_uses[set] == 0) continue;
    if (segment >= 0 || num_uses[set] > 1) {
      join_of[set] = num_joins();
      num_parts_.push_back(0);
      segments_.push_back(segment);
      if (segment >= 0) join_of_segment_[static_cast<size_t>(segment)] = join_of[set];
    }
    const int32_t join = join_of[set];
    const StopSetId id(static_cast<int32_t>(set));
    const StopSets::Origin& origin = sets.origin(id);
    if (origin.stop >= 0) AddStop(origin.stop, join);
    for (const StopSetId part : {origin.a, origin.b}) {
      if (part == kNoStops) continue;
      const size_t at = static_cast<size_t>(part.value());
      join_of[at] = join;  // Until it has its own.
      ++num_uses[at];
      parts.emplace_back(at, join);
    }
    if (origin.stop >= 0 || origin.a != kNoStops) continue;
    for (const int32_t stop : sets.Members(id)) AddStop(stop, join);
  }
  after_join_.resize(num_parts_.size());
  for (const auto& [set, join] : parts) {
    if (segment_of[set] < 0 && num_uses[set] == 1) continue;  // Left out.
    after_join_[static_cast<size_t>(join_of[set])].push_back(join);
    ++num_parts_[static_cast<size_t>(join)];
  }
}

void JoinPlan::AddStop(int32_t stop, int32_t join) {
  after_stop_[static_cast<size_t>(stop)].push_back(join);
  ++num_parts_[static_cast<size_t>(join)];
}

}  // namespace sluice

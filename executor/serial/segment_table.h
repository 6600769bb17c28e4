#ifndef SLUICE_EXECUTOR_SERIAL_SEGMENT_TABLE_H_
#define SLUICE_EXECUTOR_SERIAL_SEGMENT_TABLE_H_

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "absl/types/span.h"
#include "executor/serial/join_plan.h"
#include "executor/serial/kept_plan.h"
#include "executor/serial/segment_plan.h"
#include "graph/value/entry.h"

namespace sluice {

// The table of kept values (Note [Kept values]) among those of operands: serial programs have no invariants of frames.
inline constexpr Operand::Table kKeptTable = Operand::Table::kInvariants;

// The facts about segments and stops (Note [Segments]) that a run of a program that waits needs, as flat tables.
// Immutable.
class SegmentTable {
 public:
  using Drop = KeptPlan::Drop;

  // `begins`: where each segment begins among the instructions, and where the last ends; `starts`: the instruction that
  // starts each stop.
  SegmentTable(const SegmentPlan& plan, const KeptPlan& kept, std::vector<int32_t> begins, std::vector<int32_t> starts)
      : SegmentTable(plan, JoinPlan(plan), kept, std::move(begins), std::move(starts)) {}

  int32_t num_segments() const { return static_cast<int32_t>(begins_.size()) - 1; }
  int32_t num_stops() const { return static_cast<int32_t>(start_of_.size()); }
  int32_t begin(int32_t segment) const { return begins_[static_cast<size_t>(segment)]; }
  int32_t end(int32_t segment) const { return begins_[static_cast<size_t>(segment) + 1]; }
  // Of bits, one for each stop.
  size_t stop_words() const { return stop_words_; }
  // See SegmentPlan::first_outcome.
  int32_t first_outcome(int32_t stop) const { return first_outcome_[static_cast<size_t>(stop)]; }
  // The stops that start in `segment`, and their outcomes.
  absl::Span<const int32_t> started_in(int32_t segment) const { return started_in_.of(segment); }
  // See Note [Joins]. How many parts of each have to end; which joins count that a stop, or a join, has ended; the
  // segment that is ready when `join` has, or -1; the other way round, -1 for a segment that is ready at the start.
  absl::Span<const uint32_t> join_counts() const { return join_counts_; }
  absl::Span<const int32_t> joins_after_stop(int32_t stop) const { return after_stop_.of(stop); }
  absl::Span<const int32_t> joins_after_join(int32_t join) const { return after_join_.of(join); }
  int32_t segment_of_join(int32_t join) const { return segment_of_join_[static_cast<size_t>(join)]; }
  int32_t join_of_segment(int32_t segment) const { return join_of_segment_[static_cast<size_t>(segment)]; }
  absl::Span<const Drop> drops_of_segment(int32_t segment) const { return of_segments_.of(segment); }
  absl::Span<const Drop> drops_of_stop(int32_t stop) const { return of_stops_.of(stop); }

  int32_t num_kept() const { return num_kept_; }
  absl::Span<const int32_t> counters() const { return counters_; }

 private:
  SegmentTable(const SegmentPlan& plan, const JoinPlan& joins, const KeptPlan& kept, std::vector<int32_t> begins,
               std::vector<int32_t> starts);

  // Several lists in one array.
  template <typename T>
  class Lists {
   public:
    absl::Span<const T> of(int32_t i) const {
      const int32_t begin = begins_[static_cast<size_t>(i)], end = begins_[static_cast<size_t>(i) + 1];
      return absl::MakeConstSpan(items_.data() + begin, static_cast<size_t>(end - begin));
    }
    void Add(absl::Span<const T> list) {
      items_.insert(items_.end(), list.begin(), list.end());
      begins_.push_back(static_cast<int32_t>(items_.size()));
    }

   private:
    std::vector<int32_t> begins_ = {0};
    std::vector<T> items_;
  };

  const std::vector<int32_t> begins_, start_of_;
  std::vector<int32_t> first_outcome_;  // By stop.
  const size_t stop_words_;
  const std::vector<uint32_t> join_counts_;
  const std::vector<int32_t> segment_of_join_, join_of_segment_;
  Lists<int32_t> started_in_, after_stop_, after_join_;
  Lists<Drop> of_segments_, of_stops_;
  const int32_t num_kept_;
  const std::vector<int32_t> counters_;
};

}  // namespace sluice

#endif  // SLUICE_EXECUTOR_SERIAL_SEGMENT_TABLE_H_

#ifndef SLUICE_EXECUTOR_SERIAL_STEP_RECORD_H_
#define SLUICE_EXECUTOR_SERIAL_STEP_RECORD_H_

#include <cstddef>
#include <cstdint>
#include <memory>

#include "executor/serial/segment_table.h"
#include "graph/value/entry.h"

namespace sluice {

// What a step of a program with segments holds while it waits: its kept values, a bit for each stop and segment, a
// count for each join (Note [Joins] in executor/serial/join_plan.h), and the counts of readers. One piece of memory.
// Nothing here but the constructor allocates. Not thread-safe.
class StepRecord {
 public:
  explicit StepRecord(const SegmentTable& table);
  StepRecord(const StepRecord&) = delete;
  StepRecord& operator=(const StepRecord&) = delete;
  ~StepRecord();

  Entry* kept() { return reinterpret_cast<Entry*>(memory_.get()); }

  // --- Stops ------------------------------------------------------------------------------------------------------
  bool HasBegun(int32_t stop) const { return Get(begun_, stop); }
  void SetBegun(int32_t stop) { Set(begun_, stop); }
  // Ends a stop or an outcome: drops the values that it has read and marks the segments ready for which it was the
  // last. `is_dead`: everything after it is dead. REQUIRES: at most once for each.
  void EndStop(int32_t stop, bool is_dead);

  // --- Segments ---------------------------------------------------------------------------------------------------
  bool has_ready() const { return num_ready_ > 0; }
  // Removes and returns the first ready segment. REQUIRES: has_ready().
  int32_t PopReady();
  void ClearReady();
  // Whether some stop before `segment` is dead.
  bool IsDead(int32_t segment) const;
  // Ends `segment`, which has run or is dead: drops the values that it has read and ends the stops that it did not
  // begin.
  void EndSegment(int32_t segment, bool is_dead);
  // The number of segments that have ended.
  int32_t num_ended() const { return num_ended_; }

 private:
  // A bit of a join's word says that it is dead, the others count; once it has ended, they link it to the next ended
  // one whose successors have to be notified.
  static constexpr uint32_t kDead = uint32_t{1} << 31;

  // After one another: a bit by stop, by segment, and, where there are several words of these, by word.
  uint64_t* ready() const { return begun_ + table_.stop_words(); }
  size_t ready_words() const { return (static_cast<size_t>(table_.num_segments()) + 63) / 64; }
  uint64_t* not_empty() const { return ready() + ready_words(); }
  size_t num_words() const { return table_.stop_words() + ready_words() + (ready_words() + 63) / 64; }
  static bool Get(const uint64_t* bits, int32_t i) { return (bits[i / 64] >> (i % 64) & 1) != 0; }
  static void Set(uint64_t* bits, int32_t i) { bits[i / 64] |= uint64_t{1} << (i % 64); }
  void SetReady(int32_t segment);
  // Counts that a part of `join` has ended. If that was the last, puts the join before *first.
  void CountDown(int32_t join, uint32_t dead, uint32_t* first);
  void Drop(absl::Span<const SegmentTable::Drop> drops);

  const SegmentTable& table_;
  std::unique_ptr<unsigned char[]> memory_;  // Entries, bits, counts.
  uint64_t* begun_;
  int32_t* counters_;
  uint32_t* joins_;
  int32_t num_ready_ = 0;
  int32_t num_ended_ = 0;
};

}  // namespace sluice

#endif  // SLUICE_EXECUTOR_SERIAL_STEP_RECORD_H_

#ifndef SLUICE_EXECUTOR_COMPILED_STEP_RECORD_H_
#define SLUICE_EXECUTOR_COMPILED_STEP_RECORD_H_

#include <cstddef>
#include <cstdint>
#include <memory>

#include "executor/serial/segment_table.h"
#include "graph/value/entry.h"

namespace sluice {

// What a step of a program with segments holds while it waits: its kept values, a bit or two for each stop and segment,
// and the counts of readers. One piece of memory. Not thread-safe.
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
  // Marks `stop` as ended, drops what it has read, and marks as ready the segments that nothing keeps from beginning
  // any more; or an outcome, in the same way. `is_dead`: all that comes after it is dead.
  void EndStop(int32_t stop, bool is_dead);

  // --- Segments ---------------------------------------------------------------------------------------------------
  bool has_ready() const { return num_ready_ > 0; }
  // The first one. REQUIRES: has_ready().
  int32_t PopReady();
  void ClearReady();
  // Whether some stop before `segment` is dead.
  bool IsDead(int32_t segment) const;
  // `segment` has run, or was found dead: drops what it has read, and ends the stops that it has not begun.
  void EndSegment(int32_t segment, bool is_dead);
  // How many have ended.
  int32_t num_ended() const { return num_ended_; }

 private:
  // After one another: three bits by stop, one by segment.
  uint64_t* ended() const { return begun_ + table_.stop_words(); }
  uint64_t* dead() const { return begun_ + 2 * table_.stop_words(); }
  uint64_t* ready() const { return begun_ + 3 * table_.stop_words(); }
  static bool Get(const uint64_t* bits, int32_t i) { return (bits[i / 64] >> (i % 64) & 1) != 0; }
  static void Set(uint64_t* bits, int32_t i) { bits[i / 64] |= uint64_t{1} << (i % 64); }
  void SetReady(int32_t segment);
  void Drop(absl::Span<const SegmentTable::Drop> drops);

  const SegmentTable& table_;
  std::unique_ptr<unsigned char[]> memory_;  // Entries, bits, counts.
  uint64_t* begun_;
  int32_t* counters_;
  int32_t num_ready_ = 0;
  int32_t num_ended_ = 0;
};

}  // namespace sluice

#endif  // SLUICE_EXECUTOR_COMPILED_STEP_RECORD_H_

#include "executor/compiled/step_record.h"

#include <algorithm>
#include <cstring>
#include <new>

namespace sluice {

static_assert(alignof(Entry) <= alignof(std::max_align_t), "entries lie in plain memory");

StepRecord::StepRecord(const SegmentTable& table) : table_(table) {
  const size_t stop_words = table.stop_words();
  const size_t segment_words = (static_cast<size_t>(table.num_segments()) + 63) / 64;
  const size_t num_kept = static_cast<size_t>(table.num_kept()), num_counters = table.counters().size();
  const size_t num_words = 3 * stop_words + segment_words;
  // Not cleared twice: most of it is entries.
  memory_.reset(
      new unsigned char[num_kept * sizeof(Entry) + num_words * sizeof(uint64_t) + num_counters * sizeof(int32_t)]);
  for (size_t i = 0; i < num_kept; ++i) new (kept() + i) Entry;
  uint64_t* const words = reinterpret_cast<uint64_t*>(memory_.get() + num_kept * sizeof(Entry));
  begun_ = words;
  std::fill(words, words + num_words, 0);
  counters_ = reinterpret_cast<int32_t*>(words + num_words);
  std::copy(table.counters().begin(), table.counters().end(), counters_);
  SetReady(0);
}

StepRecord::~StepRecord() {
  for (int32_t i = 0; i < table_.num_kept(); ++i) kept()[i].~Entry();
}

void StepRecord::SetReady(int32_t segment) {
  Set(ready(), segment);
  ++num_ready_;
}

int32_t StepRecord::PopReady() {
  uint64_t* const first = ready();
  uint64_t* word = first;
  while (*word == 0) ++word;
  const int32_t bit = __builtin_ctzll(*word);
  *word &= *word - 1;
  --num_ready_;
  return static_cast<int32_t>(word - first) * 64 + bit;
}

void StepRecord::ClearReady() {
  while (num_ready_ > 0) PopReady();
}

void StepRecord::Drop(absl::Span<const SegmentTable::Drop> drops) {
  for (const SegmentTable::Drop& drop : drops) {
    if (--counters_[drop.counter] == 0) kept()[drop.slot].Clear();
  }
}

void StepRecord::EndStop(int32_t stop, bool is_dead) {
  Set(ended(), stop);
  if (is_dead) Set(dead(), stop);
  Drop(table_.drops_of_stop(stop));
  const uint64_t* const ended_stops = ended();
  for (const int32_t segment : table_.woken_by(stop)) {
    const uint64_t* const before = table_.stops_before(segment);
    bool is_ready = true;
    for (size_t w = 0; w < table_.stop_words(); ++w) is_ready = is_ready && (before[w] & ~ended_stops[w]) == 0;
    if (is_ready) SetReady(segment);
  }
}

bool StepRecord::IsDead(int32_t segment) const {
  const uint64_t* const before = table_.stops_before(segment);
  const uint64_t* const dead_stops = dead();
  for (size_t w = 0; w < table_.stop_words(); ++w) {
    if ((before[w] & dead_stops[w]) != 0) return true;
  }
  return false;
}

void StepRecord::EndSegment(int32_t segment, bool is_dead) {
  ++num_ended_;
  Drop(table_.drops_of_segment(segment));
  for (const int32_t stop : table_.started_in(segment)) {
    if (!HasBegun(stop)) EndStop(stop, is_dead);
  }
}

}  // namespace sluice

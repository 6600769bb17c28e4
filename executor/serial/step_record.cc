#include "executor/serial/step_record.h"

#include <algorithm>
#include <cstring>
#include <new>
#include <utility>

namespace sluice {

static_assert(alignof(Entry) <= alignof(std::max_align_t), "entries lie in plain memory");

StepRecord::StepRecord(const SegmentTable& table) : table_(table) {
  const size_t num_kept = static_cast<size_t>(table.num_kept()), num_counters = table.counters().size();
  const size_t num_joins = table.join_counts().size();
  // Not cleared twice: most of it is entries.
  memory_.reset(new unsigned char[num_kept * sizeof(Entry) + num_words() * sizeof(uint64_t) +
                                  num_counters * sizeof(int32_t) + num_joins * sizeof(uint32_t)]);
  for (size_t i = 0; i < num_kept; ++i) new (kept() + i) Entry;
  begun_ = reinterpret_cast<uint64_t*>(memory_.get() + num_kept * sizeof(Entry));
  std::fill(begun_, begun_ + num_words(), 0);
  counters_ = reinterpret_cast<int32_t*>(begun_ + num_words());
  std::copy(table.counters().begin(), table.counters().end(), counters_);
  joins_ = reinterpret_cast<uint32_t*>(counters_ + num_counters);
  std::copy(table.join_counts().begin(), table.join_counts().end(), joins_);
  SetReady(0);
}

StepRecord::~StepRecord() {
  for (int32_t i = 0; i < table_.num_kept(); ++i) kept()[i].~Entry();
}

void StepRecord::SetReady(int32_t segment) {
  Set(ready(), segment);
  Set(not_empty(), segment / 64);
  ++num_ready_;
}

int32_t StepRecord::PopReady() {
  uint64_t* summary = not_empty();
  while (*summary == 0) ++summary;
  const size_t at = static_cast<size_t>(summary - not_empty()) * 64 + static_cast<size_t>(__builtin_ctzll(*summary));
  uint64_t& word = ready()[at];
  const int32_t bit = __builtin_ctzll(word);
  word &= word - 1;
  if (word == 0) *summary &= *summary - 1;
  --num_ready_;
  return static_cast<int32_t>(at) * 64 + bit;
}

void StepRecord::ClearReady() {
  while (num_ready_ > 0) PopReady();
}

void StepRecord::Drop(absl::Span<const SegmentTable::Drop> drops) {
  for (const SegmentTable::Drop& drop : drops) {
    if (--counters_[drop.counter] == 0) kept()[drop.slot].Clear();
  }
}

void StepRecord::CountDown(int32_t join, uint32_t dead, uint32_t* first) {
  uint32_t& word = joins_[join];
  word = (word | dead) - 1;
  if ((word & ~kDead) != 0) return;
  word |= *first;
  *first = static_cast<uint32_t>(join) + 1;
}

// The joins that have ended are a list through their own words: a chain of them takes no stack and no memory.
void StepRecord::EndStop(int32_t stop, bool is_dead) {
  Drop(table_.drops_of_stop(stop));
  uint32_t first = 0;  // One more than the join; 0: none.
  for (const int32_t join : table_.joins_after_stop(stop)) CountDown(join, is_dead ? kDead : 0, &first);
  while (first != 0) {
    const int32_t join = static_cast<int32_t>(first - 1);
    const uint32_t dead = joins_[join] & kDead;
    first = std::exchange(joins_[join], dead) & ~kDead;
    const int32_t segment = table_.segment_of_join(join);
    if (segment >= 0) SetReady(segment);
    for (const int32_t next : table_.joins_after_join(join)) CountDown(next, dead, &first);
  }
}

bool StepRecord::IsDead(int32_t segment) const {
  const int32_t join = table_.join_of_segment(segment);
  return join >= 0 && (joins_[join] & kDead) != 0;
}

void StepRecord::EndSegment(int32_t segment, bool is_dead) {
  ++num_ended_;
  Drop(table_.drops_of_segment(segment));
  for (const int32_t stop : table_.started_in(segment)) {
    if (!HasBegun(stop)) EndStop(stop, is_dead);
  }
}

}  // namespace sluice

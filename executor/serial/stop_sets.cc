#include "executor/serial/stop_sets.h"

#include <algorithm>
#include <utility>

namespace sluice {

StopSets::StopSets(int32_t num_stops) : num_words_(static_cast<size_t>((num_stops + kBits - 1) / kBits)) {
  Intern(Words(num_words_, 0), Origin());
}

StopSetId StopSets::Intern(Words words, const Origin& origin) {
  const auto found = ids_.find(words);
  if (found != ids_.end()) return found->second;
  const StopSetId id(static_cast<int32_t>(sets_.size()));
  sets_.push_back(words);
  origins_.push_back(origin);
  ids_.emplace(std::move(words), id);
  return id;
}

StopSetId StopSets::Union(StopSetId a, StopSetId b) {
  if (a == b || b == kNoStops) return a;
  if (a == kNoStops) return b;
  const std::pair<int32_t, int32_t> pair = std::minmax(a.value(), b.value());
  const auto found = unions_.find(pair);
  if (found != unions_.end()) return found->second;
  Words both = words(a);
  for (size_t w = 0; w < num_words_; ++w) both[w] |= words(b)[w];
  const StopSetId id = Intern(std::move(both), {a, b, -1});
  unions_.emplace(pair, id);
  return id;
}

StopSetId StopSets::Intersection(StopSetId a, StopSetId b) {
  if (a == b) return a;
  Words both = words(a);
  for (size_t w = 0; w < num_words_; ++w) both[w] &= words(b)[w];
  return Intern(std::move(both), Origin());
}

StopSetId StopSets::With(StopSetId set, int32_t stop) {
  const std::pair<int32_t, int32_t> pair(set.value(), stop);
  const auto found = withs_.find(pair);
  if (found != withs_.end()) return found->second;
  Words more = words(set);
  more[static_cast<size_t>(stop / kBits)] |= uint64_t{1} << (stop % kBits);
  const StopSetId id = Intern(std::move(more), {set, kNoStops, stop});
  withs_.emplace(pair, id);
  return id;
}

bool StopSets::IsSubset(StopSetId a, StopSetId b) const {
  for (size_t w = 0; w < num_words_; ++w) {
    if ((words(a)[w] & ~words(b)[w]) != 0) return false;
  }
  return true;
}

int32_t StopSets::Count(StopSetId set) const {
  int32_t count = 0;
  for (const uint64_t word : words(set)) count += __builtin_popcountll(word);
  return count;
}

std::vector<int32_t> StopSets::Members(StopSetId set) const {
  std::vector<int32_t> members;
  for (size_t w = 0; w < num_words_; ++w) {
    for (uint64_t left = words(set)[w]; left != 0; left &= left - 1) {
      members.push_back(static_cast<int32_t>(w) * kBits + __builtin_ctzll(left));
    }
  }
  return members;
}

}  // namespace sluice

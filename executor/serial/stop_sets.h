#ifndef SLUICE_EXECUTOR_SERIAL_STOP_SETS_H_
#define SLUICE_EXECUTOR_SERIAL_STOP_SETS_H_

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "graph/base/hash_table.h"
#include "graph/base/strong_id.h"

namespace sluice {

using StopSetId = StrongId<struct StopSetIdTag, int32_t>;

inline constexpr StopSetId kNoStops{0};  // The empty set.

// Sets of stops (asynchronous nodes, by number), each stored once, as bits. Not thread-safe; made for one compilation.
class StopSets {
 public:
  using Words = std::vector<uint64_t>;
  static constexpr int32_t kBits = 64;  // In a word.

  // Of stops with numbers below `num_stops`.
  explicit StopSets(int32_t num_stops);

  StopSetId Union(StopSetId a, StopSetId b);
  StopSetId Intersection(StopSetId a, StopSetId b);
  StopSetId With(StopSetId set, int32_t stop);
  bool Contains(StopSetId set, int32_t stop) const {
    return (words(set)[static_cast<size_t>(stop / kBits)] >> (stop % kBits) & 1) != 0;
  }
  // Whether all of `a` is in `b`.
  bool IsSubset(StopSetId a, StopSetId b) const;
  int32_t Count(StopSetId set) const;
  std::vector<int32_t> Members(StopSetId set) const;

  // What a set was first made of: two others with smaller ids (kNoStops: none) and a stop (-1: none). Together they are
  // the set, but for an intersection, which has nothing here.
  struct Origin {
    StopSetId a = kNoStops, b = kNoStops;
    int32_t stop = -1;
  };
  const Origin& origin(StopSetId set) const { return origins_[static_cast<size_t>(set.value())]; }
  const Words& words(StopSetId set) const { return sets_[static_cast<size_t>(set.value())]; }
  size_t num_words() const { return num_words_; }
  size_t size() const { return sets_.size(); }

 private:
  StopSetId Intern(Words words, const Origin& origin);

  size_t num_words_;
  std::vector<Words> sets_;
  std::vector<Origin> origins_;  // By set.
  HashMap<Words, StopSetId> ids_;
  HashMap<std::pair<int32_t, int32_t>, StopSetId> unions_;
  HashMap<std::pair<int32_t, int32_t>, StopSetId> withs_;
};

}  // namespace sluice

#endif  // SLUICE_EXECUTOR_SERIAL_STOP_SETS_H_

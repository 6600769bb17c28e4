#ifndef SLUICE_KERNELS_TABLES_KEY_INDEX_H_
#define SLUICE_KERNELS_TABLES_KEY_INDEX_H_

#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include "absl/hash/hash.h"
#include "absl/strings/string_view.h"
#include "graph/value/allocator.h"
#include "graph/value/tstring.h"
#include "kernels/memory/container_allocator.h"

namespace sluice {

// Numbers keys from 0 on, without gaps: the values that belong to them lie in rows of these numbers elsewhere. All of
// it lies in memory of an Allocator, which must outlive it, so that tables count against the limit of a session.
// `Key` is int64_t or TString, looked up by int64_t or string_view.
// Not thread-safe; constant access from any thread. An operation that throws std::bad_alloc changes nothing.
template <typename Key, typename View>
class KeyIndex {
 public:
  static constexpr int64_t kNone = -1;
  static constexpr int64_t kMaxSize = std::numeric_limits<uint32_t>::max() / 2;

  explicit KeyIndex(Allocator& allocator)
      : buckets_(ContainerAllocator<uint32_t>(allocator)), keys_(ContainerAllocator<Key>(allocator)) {}

  int64_t size() const { return static_cast<int64_t>(keys_.size()); }
  const Key& key(int64_t number) const { return keys_[static_cast<size_t>(number)]; }

  // The number of `key`, or kNone.
  int64_t Find(View key) const {
    if (keys_.empty()) return kNone;
    return int64_t{buckets_[BucketOf(key)]} - 1;
  }
  // Its number, the next one where it is new. REQUIRES: size() < kMaxSize.
  int64_t Insert(View key) {
    if (2 * (keys_.size() + 1) > buckets_.size()) Grow();
    const size_t bucket = BucketOf(key);
    if (buckets_[bucket] == 0) {
      keys_.emplace_back(key);
      buckets_[bucket] = static_cast<uint32_t>(keys_.size());
    }
    return int64_t{buckets_[bucket]} - 1;
  }
  // Takes the key away. Its number, which the last key has now, or kNone where there was no such key.
  int64_t Remove(View key) {
    if (keys_.empty()) return kNone;
    const size_t bucket = BucketOf(key);
    if (buckets_[bucket] == 0) return kNone;
    const uint32_t number = buckets_[bucket] - 1;
    buckets_[BucketOf(ViewOf(keys_.back()))] = number + 1;
    Empty(bucket, number);
    keys_[number] = std::move(keys_.back());
    keys_.pop_back();
    return number;
  }
  void Clear() {
    keys_.clear();
    buckets_.clear();
  }
  int64_t MemoryUsed() const {
    return static_cast<int64_t>(keys_.capacity() * sizeof(Key) + buckets_.capacity() * sizeof(uint32_t));
  }

 private:
  static int64_t ViewOf(int64_t key) { return key; }
  static absl::string_view ViewOf(const TString& key) { return key.view(); }

  size_t HomeOf(View key) const { return absl::HashOf(key) & (buckets_.size() - 1); }
  size_t After(size_t bucket) const { return (bucket + 1) & (buckets_.size() - 1); }

  // Where the number of `key` is, or would be. REQUIRES: an empty bucket.
  size_t BucketOf(View key) const {
    size_t bucket = HomeOf(key);
    while (buckets_[bucket] != 0 && ViewOf(keys_[buckets_[bucket] - 1]) != key) bucket = After(bucket);
    return bucket;
  }
  // Empties `hole`, the bucket of the key that had `number`, and moves keys that had to go past it.
  void Empty(size_t hole, uint32_t number) {
    const size_t mask = buckets_.size() - 1;
    for (size_t next = After(hole); buckets_[next] != 0; next = After(next)) {
      // The last key has the removed one's number already, and still stands at the end.
      const Key& key = buckets_[next] == number + 1 ? keys_.back() : keys_[buckets_[next] - 1];
      if (((next - HomeOf(ViewOf(key))) & mask) < ((next - hole) & mask)) continue;
      buckets_[hole] = buckets_[next];
      hole = next;
    }
    buckets_[hole] = 0;
  }
  void Grow() {
    const size_t size = buckets_.empty() ? 16 : 2 * buckets_.size();
    Buckets grown(size, 0, buckets_.get_allocator());
    keys_.reserve(size / 2);
    buckets_.swap(grown);
    for (size_t i = 0; i < keys_.size(); ++i) {
      size_t bucket = HomeOf(ViewOf(keys_[i]));
      while (buckets_[bucket] != 0) bucket = After(bucket);
      buckets_[bucket] = static_cast<uint32_t>(i + 1);
    }
  }

  using Buckets = std::vector<uint32_t, ContainerAllocator<uint32_t>>;
  Buckets buckets_;  // Numbers + 1; 0: empty. A power of two of them, at most half of them used.
  std::vector<Key, ContainerAllocator<Key>> keys_;
};

using IntKeyIndex = KeyIndex<int64_t, int64_t>;
using StringKeyIndex = KeyIndex<TString, absl::string_view>;

}  // namespace sluice

#endif  // SLUICE_KERNELS_TABLES_KEY_INDEX_H_

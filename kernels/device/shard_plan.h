#ifndef SLUICE_KERNELS_DEVICE_SHARD_PLAN_H_
#define SLUICE_KERNELS_DEVICE_SHARD_PLAN_H_

#include <algorithm>
#include <cmath>
#include <cstdint>

namespace sluice {

// How ParallelFor cuts [0, total) into shards of nearly equal size. A value type, immutable.
//
// A shard takes kShardNs at least. With `num_threads` > 0 there are up to kShardsPerThread for each thread, so that a
// slow thread does not hold the others up. With `num_threads` 0 the shards depend on total and unit_ns only, which is
// what deterministic runs need.
class ShardPlan {
 public:
  static constexpr double kShardNs = 20e3;
  static constexpr int64_t kShardsPerThread = 8;
  static constexpr int64_t kMaxDeterministicShards = 64;

  // REQUIRES: total > 0.
  ShardPlan(int64_t total, double unit_ns, int num_threads) : total_(total) {
    if (num_threads == 1) return;
    const int64_t limit = std::min(total, num_threads > 0 ? kShardsPerThread * num_threads : kMaxDeterministicShards);
    const double wanted = std::ceil(static_cast<double>(total) * unit_ns / kShardNs);
    // Not so for NaN.
    if (wanted > 1) size_ = wanted < static_cast<double>(limit) ? static_cast<int64_t>(wanted) : limit;
  }

  // At least 1.
  int64_t size() const { return size_; }
  // Where shard `i` begins; begin(size()) is the total.
  int64_t begin(int64_t i) const { return total_ / size_ * i + std::min(i, total_ % size_); }

 private:
  int64_t total_;
  int64_t size_ = 1;
};

}  // namespace sluice

#endif  // SLUICE_KERNELS_DEVICE_SHARD_PLAN_H_

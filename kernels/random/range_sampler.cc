#include "kernels/random/range_sampler.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <utility>

namespace sluice {
namespace {

// See NewUniformSampler.
class UniformSampler final : public RangeSampler {
 public:
  explicit UniformSampler(int64_t range) : RangeSampler(range), probability_(static_cast<float>(1.0 / Double(range))) {}
  int64_t Sample(PhiloxWords& words) const override {
    return static_cast<int64_t>(words.Below64(static_cast<uint64_t>(range())));
  }
  float Probability(int64_t) const override { return probability_; }

 private:
  static double Double(int64_t n) { return static_cast<double>(n); }
  const float probability_;
};

// See NewLogUniformSampler.
class LogUniformSampler final : public RangeSampler {
 public:
  explicit LogUniformSampler(int64_t range) : RangeSampler(range), log_range_(std::log1p(static_cast<double>(range))) {}
  // The logarithm of class + 1 is uniform. Roundings may go beyond the range, and beyond int64.
  int64_t Sample(PhiloxWords& words) const override {
    constexpr double kLargest = 9223372036854774784.0;  // Below 2^63.
    const double value = std::min(std::exp(words.NextDouble() * log_range_), kLargest);
    return (static_cast<int64_t>(value) - 1) % range();
  }
  float Probability(int64_t value) const override {
    const double at = static_cast<double>(value);
    return static_cast<float>(std::log((at + 2.0) / (at + 1.0)) / log_range_);
  }

 private:
  const double log_range_;
};

// By the alias method (Walker, 1977): each class has a bucket of equal size, which it shares with at most one other.
class WeightedSampler final : public RangeSampler {
 public:
  explicit WeightedSampler(std::vector<float> weights)
      : RangeSampler(static_cast<int64_t>(weights.size())), weights_(std::move(weights)), buckets_(weights_.size()) {
    double sum = 0.0;
    for (const float weight : weights_) {
      sum_ += weight;
      sum += static_cast<double>(weight);
    }
    FillBuckets(sum);
  }
  int64_t Sample(PhiloxWords& words) const override {
    const float place = words.NextFloat();
    const size_t bucket = words.Below32(static_cast<uint32_t>(buckets_.size()));
    return place < buckets_[bucket].share ? static_cast<int64_t>(bucket) : buckets_[bucket].other;
  }
  float Probability(int64_t value) const override { return weights_[static_cast<size_t>(value)] / sum_; }
  int64_t NumPossible() const override {
    const bool is_regular = sum_ > 0.0f && std::isfinite(sum_);
    if (!is_regular) return range();
    return std::count_if(weights_.begin(), weights_.end(), [](float weight) { return weight > 0.0f; });
  }

 private:
  struct Bucket {
    float share = 1.0f;  // Of the class that it belongs to; the rest is the other's.
    int64_t other = 0;
  };

  // Moves the excess weight of the last rich class to the last poor one, until one of the kinds has run out.
  void FillBuckets(double sum) {
    std::vector<double> filled(weights_.size());
    std::vector<size_t> rich, poor;
    for (size_t i = 0; i < weights_.size(); ++i) {
      filled[i] = static_cast<double>(weights_[i] * static_cast<float>(weights_.size())) / sum;
      (filled[i] < 1.0 ? poor : rich).push_back(i);
      buckets_[i].other = static_cast<int64_t>(i);
    }
    while (!rich.empty() && !poor.empty()) {
      const size_t giver = rich.back();
      const size_t taker = poor.back();
      rich.pop_back();
      poor.pop_back();
      buckets_[taker].share = static_cast<float>(filled[taker]);
      buckets_[taker].other = static_cast<int64_t>(giver);
      filled[giver] -= 1.0 - filled[taker];
      (filled[giver] < 1.0 ? poor : rich).push_back(giver);
    }
  }

  const std::vector<float> weights_;
  std::vector<Bucket> buckets_;
  float sum_ = 0.0f;
};

// A Fenwick tree of what was learnt: node i holds the sum of the classes (i - lowest bit of i, i], counted from 1. The
// initial count 1 of each class is not stored, and nodes without additions take no memory.
class LearningSampler final : public RangeSampler {
 public:
  explicit LearningSampler(int64_t range)
      : RangeSampler(range), total_(range), blocks_(static_cast<size_t>(range / kBlock + 1)) {
    while (highest_ * 2 <= range) highest_ *= 2;
  }
  int64_t Sample(PhiloxWords& words) const override {
    int64_t rest = words.Below32(static_cast<uint32_t>(total_));
    int64_t before = 0;  // Classes whose weights come before.
    for (int64_t step = highest_; step > 0; step /= 2) {
      if (before + step > range() || Node(before + step) > rest) continue;
      before += step;
      rest -= Node(before);
    }
    return before;
  }
  float Probability(int64_t value) const override {
    return static_cast<float>(SumBelow(value + 1) - SumBelow(value)) / static_cast<float>(total_);
  }
  bool Learns() const override { return true; }
  void Learn(absl::Span<const int64_t> values) override {
    for (const int64_t value : values) {
      if (total_ == std::numeric_limits<int32_t>::max()) return;
      MakeBlocks(value);
      ++total_;
      for (int64_t i = value + 1; i <= range(); i += i & -i) ++(*blocks_[BlockOf(i)])[PlaceOf(i)];
    }
  }

 private:
  static constexpr int64_t kBlock = 4096;
  using Block = std::array<int32_t, kBlock>;

  static size_t BlockOf(int64_t node) { return static_cast<size_t>(node / kBlock); }
  static size_t PlaceOf(int64_t node) { return static_cast<size_t>(node % kBlock); }
  // So that adding the value cannot fail in the middle.
  void MakeBlocks(int64_t value) {
    for (int64_t i = value + 1; i <= range(); i += i & -i) {
      if (blocks_[BlockOf(i)] == nullptr) blocks_[BlockOf(i)] = std::make_unique<Block>();
    }
  }
  int64_t Node(int64_t i) const {
    const Block* const block = blocks_[BlockOf(i)].get();
    return (i & -i) + (block == nullptr ? 0 : (*block)[PlaceOf(i)]);
  }
  int64_t SumBelow(int64_t value) const {
    int64_t sum = 0;
    for (int64_t i = value; i > 0; i -= i & -i) sum += Node(i);
    return sum;
  }

  int64_t total_;
  int64_t highest_ = 1;  // The highest power of two within the range.
  std::vector<std::unique_ptr<Block>> blocks_;
};

}  // namespace

std::unique_ptr<RangeSampler> NewUniformSampler(int64_t range) { return std::make_unique<UniformSampler>(range); }

std::unique_ptr<RangeSampler> NewLogUniformSampler(int64_t range) { return std::make_unique<LogUniformSampler>(range); }

std::unique_ptr<RangeSampler> NewWeightedSampler(std::vector<float> weights) {
  return std::make_unique<WeightedSampler>(std::move(weights));
}

std::unique_ptr<RangeSampler> NewLearningSampler(int64_t range) { return std::make_unique<LearningSampler>(range); }

}  // namespace sluice

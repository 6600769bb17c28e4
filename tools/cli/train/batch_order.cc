#include "tools/cli/train/batch_order.h"

#include <algorithm>
#include <numeric>
#include <utility>

namespace sluice {
namespace {

// A generator of 64 bits of state: enough to shuffle by, and the same everywhere.
class SplitMix64 {
 public:
  explicit SplitMix64(uint64_t state) : state_(state) {}

  uint64_t Next() {
    state_ += 0x9e3779b97f4a7c15u;
    uint64_t z = state_;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
  }
  // A number below `limit`: the upper half of a product, which is as even as 64 bits can be.
  uint64_t Below(uint64_t limit) {
    return static_cast<uint64_t>((static_cast<unsigned __int128>(Next()) * limit) >> 64);
  }

 private:
  uint64_t state_;
};

int64_t CountBatches(int64_t rows, const BatchOrder::Options& options) {
  return options.keep_last ? (rows + options.batch - 1) / options.batch : rows / options.batch;
}

}  // namespace

std::vector<int64_t> ShuffledNumbers(int64_t count, uint64_t seed, uint64_t stream) {
  std::vector<int64_t> numbers(static_cast<size_t>(count));
  std::iota(numbers.begin(), numbers.end(), 0);
  SplitMix64 streams(seed);
  SplitMix64 random(streams.Next() ^ SplitMix64(stream).Next());
  for (size_t i = numbers.size(); i > 1; --i) std::swap(numbers[i - 1], numbers[random.Below(i)]);
  return numbers;
}

BatchOrder::BatchOrder(std::vector<int64_t> rows, const Options& options)
    : rows_(std::move(rows)),
      options_(options),
      batches_(CountBatches(static_cast<int64_t>(rows_.size()), options)),
      ordered_(rows_) {}

absl::Span<const int64_t> BatchOrder::Batch(int64_t epoch, int64_t batch) {
  if (options_.shuffle && epoch != epoch_) {
    const std::vector<int64_t> order = ShuffledNumbers(num_rows(), options_.seed, static_cast<uint64_t>(epoch));
    for (size_t i = 0; i < order.size(); ++i) ordered_[i] = rows_[static_cast<size_t>(order[i])];
    epoch_ = epoch;
  }
  const auto begin = static_cast<size_t>(batch * options_.batch);
  const size_t size = std::min(static_cast<size_t>(options_.batch), ordered_.size() - begin);
  return absl::MakeConstSpan(ordered_).subspan(begin, size);
}

}  // namespace sluice

#ifndef SLUICE_TOOLS_CLI_TRAIN_BATCH_ORDER_H_
#define SLUICE_TOOLS_CLI_TRAIN_BATCH_ORDER_H_

#include <cstdint>
#include <vector>

#include "absl/types/span.h"

namespace sluice {

// The numbers from 0 to count - 1 in an order that `seed` and `stream` determine: the same on every machine. A shuffle
// of Fisher and Yates, with SplitMix64.
std::vector<int64_t> ShuffledNumbers(int64_t count, uint64_t seed, uint64_t stream);

// The rows of each batch, a function of (seed, epoch, batch) alone: resumed training needs only its position. Not
// thread-safe.
class BatchOrder {
 public:
  struct Options {
    int64_t batch = 32;
    uint64_t seed = 0;
    bool shuffle = true;
    bool keep_last = true;  // A last batch of fewer rows; else those rows are left out of the epoch.
  };

  // `rows`: the rows to take, in the order that they have without a shuffle.
  BatchOrder(std::vector<int64_t> rows, const Options& options);

  // 0 if there are fewer rows than in a batch and the last one is not kept.
  int64_t batches_per_epoch() const { return batches_; }
  int64_t num_rows() const { return static_cast<int64_t>(rows_.size()); }
  // The rows of one batch; valid until the next call. REQUIRES: 0 <= batch < batches_per_epoch().
  absl::Span<const int64_t> Batch(int64_t epoch, int64_t batch);

 private:
  const std::vector<int64_t> rows_;
  const Options options_;
  const int64_t batches_;
  int64_t epoch_ = -1;            // Of ordered_.
  std::vector<int64_t> ordered_;  // The rows in the order of that epoch.
};

}  // namespace sluice

#endif  // SLUICE_TOOLS_CLI_TRAIN_BATCH_ORDER_H_

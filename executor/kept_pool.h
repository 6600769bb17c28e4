#ifndef SLUICE_EXECUTOR_KEPT_POOL_H_
#define SLUICE_EXECUTOR_KEPT_POOL_H_

#include <cstddef>
#include <optional>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "graph/base/mutex.h"

namespace sluice {

// Objects with their memory that runs of one plan need again and again, kept for the next run: `max_kept` of them, and
// no more than kMaxBytes together. The first one is kept whatever its size. Thread-safe.
template <typename T>
class KeptPool {
 public:
  static constexpr size_t kMaxBytes = size_t{256} << 20;

  explicit KeptPool(size_t max_kept) : max_kept_(max_kept) {}

  // The one that was put back last; nothing where none is kept.
  std::optional<T> Take() ABSL_LOCKS_EXCLUDED(mu_) {
    std::optional<T> taken;
    MutexLock lock(&mu_);
    if (kept_.empty()) return taken;
    taken.emplace(std::move(kept_.back().first));
    bytes_ -= kept_.back().second;
    kept_.pop_back();
    return taken;
  }
  // Keeps `object`, which holds that many bytes, or frees it, without the lock.
  void Put(T object, size_t bytes) ABSL_LOCKS_EXCLUDED(mu_) {
    MutexLock lock(&mu_);
    if (kept_.size() >= max_kept_ || (!kept_.empty() && (bytes > kMaxBytes || bytes_ > kMaxBytes - bytes))) return;
    kept_.emplace_back(std::move(object), bytes);
    bytes_ += bytes;
  }
  size_t num_kept() const ABSL_LOCKS_EXCLUDED(mu_) {
    MutexLock lock(&mu_);
    return kept_.size();
  }
  size_t kept_bytes() const ABSL_LOCKS_EXCLUDED(mu_) {
    MutexLock lock(&mu_);
    return bytes_;
  }

 private:
  const size_t max_kept_;
  mutable Mutex mu_;
  std::vector<std::pair<T, size_t>> kept_ ABSL_GUARDED_BY(mu_);
  size_t bytes_ ABSL_GUARDED_BY(mu_) = 0;  // Beyond kMaxBytes only where a single one is kept.
};

}  // namespace sluice

#endif  // SLUICE_EXECUTOR_KEPT_POOL_H_

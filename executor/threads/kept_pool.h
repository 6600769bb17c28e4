#ifndef SLUICE_EXECUTOR_THREADS_KEPT_POOL_H_
#define SLUICE_EXECUTOR_THREADS_KEPT_POOL_H_

#include <atomic>
#include <cstddef>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "graph/base/mutex.h"

namespace sluice {

// How many bytes several pools keep together for the next run. Thread-safe.
class KeptBytes {
 public:
  static constexpr size_t kMax = size_t{256} << 20;

  // Whether `bytes` more may be kept in addition to `kept`: at most kMax in all, but any amount if nothing is kept yet.
  static bool MayKeep(size_t kept, size_t bytes) { return kept == 0 || (bytes <= kMax && kept <= kMax - bytes); }

  // Counts `bytes` more where they may be kept.
  bool Add(size_t bytes) {
    size_t kept = kept_.load(std::memory_order_relaxed);  // Relaxed, like the others: a count only.
    do {
      if (!MayKeep(kept, bytes)) return false;
    } while (!kept_.compare_exchange_weak(kept, kept + bytes, std::memory_order_relaxed));
    return true;
  }
  void Remove(size_t bytes) { kept_.fetch_sub(bytes, std::memory_order_relaxed); }
  size_t kept() const { return kept_.load(std::memory_order_relaxed); }

 private:
  std::atomic<size_t> kept_{0};
};

// Objects with their memory that runs of one plan need again and again, kept for the next run: `max_kept` of them, and
// no more than KeptBytes::kMax together. Thread-safe.
template <typename T>
class KeptPool {
 public:
  // `shared`: counts what this one and others keep together; null: this one counts alone.
  explicit KeptPool(size_t max_kept, std::shared_ptr<KeptBytes> shared = nullptr)
      : max_kept_(max_kept), shared_(std::move(shared)) {}
  KeptPool(const KeptPool&) = delete;
  KeptPool& operator=(const KeptPool&) = delete;
  ~KeptPool() { Clear(); }

  // Returns the object that was put back last, or nullopt if none is kept.
  std::optional<T> Take() ABSL_LOCKS_EXCLUDED(mu_) {
    std::optional<T> taken;
    MutexLock lock(&mu_);
    if (kept_.empty()) return taken;
    taken.emplace(std::move(kept_.back().first));
    Remove(kept_.back().second);
    kept_.pop_back();
    return taken;
  }
  // Keeps `object`, which holds that many bytes, or frees it, without the lock.
  void Put(T object, size_t bytes) ABSL_LOCKS_EXCLUDED(mu_) {
    MutexLock lock(&mu_);
    if (kept_.size() >= max_kept_) return;
    kept_.reserve(kept_.size() + 1);  // Steps that can throw come first.
    if (Add(bytes)) kept_.emplace_back(std::move(object), bytes);
  }
  // Frees all that is kept, without the lock.
  void Clear() ABSL_LOCKS_EXCLUDED(mu_) {
    std::vector<std::pair<T, size_t>> ended;
    MutexLock lock(&mu_);
    ended.swap(kept_);
    for (const auto& [object, bytes] : ended) Remove(bytes);
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
  bool Add(size_t bytes) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    const bool may_keep = shared_ != nullptr ? shared_->Add(bytes) : KeptBytes::MayKeep(bytes_, bytes);
    if (may_keep) bytes_ += bytes;
    return may_keep;
  }
  void Remove(size_t bytes) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    if (shared_ != nullptr) shared_->Remove(bytes);
    bytes_ -= bytes;
  }

  const size_t max_kept_;
  const std::shared_ptr<KeptBytes> shared_;
  mutable Mutex mu_;
  std::vector<std::pair<T, size_t>> kept_ ABSL_GUARDED_BY(mu_);
  size_t bytes_ ABSL_GUARDED_BY(mu_) = 0;  // Of kept_.
};

}  // namespace sluice

#endif  // SLUICE_EXECUTOR_THREADS_KEPT_POOL_H_

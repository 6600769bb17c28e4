#ifndef SLUICE_EXECUTOR_PROPAGATOR_POOL_H_
#define SLUICE_EXECUTOR_PROPAGATOR_POOL_H_

#include <memory>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "executor/node_calls.h"
#include "frames/flat_propagator.h"
#include "frames/graph_view.h"
#include "graph/base/mutex.h"

namespace sluice {

// What runs of one plan need again and again: propagators and kernel calls, with their memory. Thread-safe.
template <typename Propagator>
class PropagatorPool {
 public:
  struct Kept {
    std::unique_ptr<Propagator> propagator;
    NodeCalls calls;
  };

  PropagatorPool(const GraphView& view, FrameIdHash hash) : view_(view), hash_(hash) {}

  // A propagator at its beginning.
  Kept Take() ABSL_LOCKS_EXCLUDED(mu_) {
    {
      MutexLock lock(&mu_);
      if (!kept_.empty()) {
        Kept kept = std::move(kept_.back());
        kept_.pop_back();
        return kept;
      }
    }
    return {std::make_unique<Propagator>(view_, hash_), NodeCalls()};
  }
  // REQUIRES: the propagator was reset, and no call is under way.
  void Put(Kept kept) ABSL_LOCKS_EXCLUDED(mu_) {
    if (!kept.calls.is_small()) kept.calls = NodeCalls();
    const size_t bytes = kept.propagator->kept_bytes();
    MutexLock lock(&mu_);
    if (kept_.size() >= kMaxKept) return;
    size_t others = 0;
    for (const Kept& other : kept_) others += other.propagator->kept_bytes();
    if (kept_.empty() || others + bytes <= kMaxKeptBytes) kept_.push_back(std::move(kept));
  }
  // How many wait for a run.
  size_t num_kept() const ABSL_LOCKS_EXCLUDED(mu_) {
    MutexLock lock(&mu_);
    return kept_.size();
  }

 private:
  // The first one is always kept.
  static constexpr size_t kMaxKept = 16;
  static constexpr size_t kMaxKeptBytes = size_t{256} << 20;

  const GraphView& view_;
  const FrameIdHash hash_;
  mutable Mutex mu_;
  std::vector<Kept> kept_ ABSL_GUARDED_BY(mu_);
};

}  // namespace sluice

#endif  // SLUICE_EXECUTOR_PROPAGATOR_POOL_H_

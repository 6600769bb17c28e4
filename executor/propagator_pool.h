#ifndef SLUICE_EXECUTOR_PROPAGATOR_POOL_H_
#define SLUICE_EXECUTOR_PROPAGATOR_POOL_H_

#include <memory>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "frames/flat_propagator.h"
#include "frames/graph_view.h"
#include "graph/base/mutex.h"

namespace sluice {

// Propagators of one plan, kept from run to run with their memory. Thread-safe.
template <typename Propagator>
class PropagatorPool {
 public:
  PropagatorPool(const GraphView& view, FrameIdHash hash) : view_(view), hash_(hash) {}

  // One at its beginning.
  std::unique_ptr<Propagator> Take() ABSL_LOCKS_EXCLUDED(mu_) {
    {
      MutexLock lock(&mu_);
      if (!kept_.empty()) {
        std::unique_ptr<Propagator> propagator = std::move(kept_.back());
        kept_.pop_back();
        return propagator;
      }
    }
    return std::make_unique<Propagator>(view_, hash_);
  }
  // REQUIRES: it was reset.
  void Put(std::unique_ptr<Propagator> propagator) ABSL_LOCKS_EXCLUDED(mu_) {
    MutexLock lock(&mu_);
    if (kept_.size() < kMaxKept) kept_.push_back(std::move(propagator));
  }

 private:
  static constexpr size_t kMaxKept = 16;

  const GraphView& view_;
  const FrameIdHash hash_;
  Mutex mu_;
  std::vector<std::unique_ptr<Propagator>> kept_ ABSL_GUARDED_BY(mu_);
};

}  // namespace sluice

#endif  // SLUICE_EXECUTOR_PROPAGATOR_POOL_H_

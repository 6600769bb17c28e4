#ifndef SLUICE_EXECUTOR_SESSION_RENDEZVOUS_POOL_H_
#define SLUICE_EXECUTOR_SESSION_RENDEZVOUS_POOL_H_

#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "graph/base/mutex.h"
#include "rendezvous/local_rendezvous.h"

namespace sluice {

// The rendezvous of a callable's steps, kept from step to step with their memory. Thread-safe.
class RendezvousPool {
 public:
  // `edges` are those of all rendezvous here, and outlive the runs that use them.
  explicit RendezvousPool(EdgeTable& edges) : edges_(edges) {}

  // Returns one without other holders, in which nothing waits.
  CountedPtr<LocalRendezvous> Take() ABSL_LOCKS_EXCLUDED(mu_) {
    MutexLock lock(&mu_);
    if (kept_.empty()) return MakeCounted<LocalRendezvous>(edges_);
    CountedPtr<LocalRendezvous> rendezvous = std::move(kept_.back());
    kept_.pop_back();
    return rendezvous;
  }
  // Takes it back after its step, unless someone else (a host's kernel) still holds it. If there is no memory to keep
  // it, it is freed, and the step's outcome stands.
  void Put(CountedPtr<LocalRendezvous> rendezvous) noexcept ABSL_LOCKS_EXCLUDED(mu_) {
    try {
      if (!rendezvous->RefCountIsOne() || !rendezvous->Clear()) return;
      MutexLock lock(&mu_);
      if (kept_.size() < kMaxKept) kept_.push_back(std::move(rendezvous));
    } catch (...) {
      return;
    }
  }

 private:
  static constexpr size_t kMaxKept = 16;

  EdgeTable& edges_;
  Mutex mu_;
  std::vector<CountedPtr<LocalRendezvous>> kept_ ABSL_GUARDED_BY(mu_);
};

}  // namespace sluice

#endif  // SLUICE_EXECUTOR_SESSION_RENDEZVOUS_POOL_H_

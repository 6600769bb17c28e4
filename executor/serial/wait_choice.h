#ifndef SLUICE_EXECUTOR_SERIAL_WAIT_CHOICE_H_
#define SLUICE_EXECUTOR_SERIAL_WAIT_CHOICE_H_

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <limits>

#include "absl/base/thread_annotations.h"
#include "executor/trace/node_observer.h"
#include "graph/base/mutex.h"

namespace sluice {

// Finds out whether a graph that waits gains from several threads. How long its runs take says nothing: most of it is
// the wait. But a few runs of each look are measured: where so much time goes into kernels that are worth handing to
// another thread, the dataflow driver gets the runs until the next look. The results of runs do not depend on the
// choice. Thread-safe.
class WaitChoice {
 public:
  static constexpr int64_t kMeasuredRuns = 3;  // Per look.
  static constexpr int64_t kRunsPerLook = 4096;
  static constexpr int64_t kLongCallNs = 2'000;           // Such a call may be handed over.
  static constexpr int64_t kWorthHandingOverNs = 60'000;  // In all such calls of a run.

  struct Decision {
    bool use_dataflow = false;
    bool is_measured = false;
    int64_t look = 0;
  };

  // Observes a measured run: adds up the time in long kernels except the longest one, which takes that long on any
  // thread. Relaxed throughout: read after the run.
  class Meter final : public NodeObserver {
   public:
    // The run's own observer, which may be null, receives all calls too. Before the run.
    void SendTo(NodeObserver* next) { next_ = next; }

    void OnStart(NodeId node, int64_t start_ns) override {
      if (next_ != nullptr) next_->OnStart(node, start_ns);
    }
    void OnFailure(NodeId node, int64_t start_ns) override {
      if (next_ != nullptr) next_->OnFailure(node, start_ns);
    }
    void OnCalledNode(const CalledNode& node, int64_t start_ns, int64_t end_ns, const KernelContext& context) override {
      if (next_ != nullptr) next_->OnCalledNode(node, start_ns, end_ns, context);
    }
    void OnNode(NodeId node, int64_t start_ns, int64_t end_ns, const KernelContext& context) override {
      if (next_ != nullptr) next_->OnNode(node, start_ns, end_ns, context);
      const int64_t ns = end_ns - start_ns;
      if (ns < kLongCallNs) return;
      all_ns_.fetch_add(ns, std::memory_order_relaxed);
      int64_t longest = longest_ns_.load(std::memory_order_relaxed);
      while (ns > longest && !longest_ns_.compare_exchange_weak(longest, ns, std::memory_order_relaxed)) {
      }
    }
    int64_t shared_ns() const {
      return all_ns_.load(std::memory_order_relaxed) - longest_ns_.load(std::memory_order_relaxed);
    }

   private:
    NodeObserver* next_ = nullptr;
    std::atomic<int64_t> all_ns_{0}, longest_ns_{0};
  };

  Decision Next() {
    const int64_t run = runs_.fetch_add(1, std::memory_order_relaxed);
    const int64_t look = run / kRunsPerLook;
    if (run % kRunsPerLook < kMeasuredRuns) return {false, true, look};
    return {uses_dataflow_.load(std::memory_order_relaxed), false, look};
  }

  // The run that `decision`, which is_measured, is for has ended well, and has spent `shared_ns`. Counts only within
  // its look.
  void Record(const Decision& decision, int64_t shared_ns) ABSL_LOCKS_EXCLUDED(mu_) {
    MutexLock lock(&mu_);
    if (decision.look < look_) return;
    if (decision.look > look_) least_ns_ = std::numeric_limits<int64_t>::max();
    look_ = decision.look;
    // Takes the minimum: a run may include time in which its thread was not scheduled.
    least_ns_ = std::min(least_ns_, shared_ns);
    uses_dataflow_.store(least_ns_ >= kWorthHandingOverNs, std::memory_order_relaxed);
  }

 private:
  // Relaxed: hints, which change no result.
  std::atomic<int64_t> runs_{0};
  std::atomic<bool> uses_dataflow_{false};
  Mutex mu_;
  int64_t look_ ABSL_GUARDED_BY(mu_) = 0;
  int64_t least_ns_ ABSL_GUARDED_BY(mu_) = std::numeric_limits<int64_t>::max();
};

}  // namespace sluice

#endif  // SLUICE_EXECUTOR_SERIAL_WAIT_CHOICE_H_

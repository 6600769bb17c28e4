#ifndef SLUICE_EXECUTOR_COMPILED_DRIVER_CHOICE_H_
#define SLUICE_EXECUTOR_COMPILED_DRIVER_CHOICE_H_

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <limits>

#include "absl/base/optimization.h"
#include "absl/base/thread_annotations.h"
#include "executor/plan/kernel_set.h"
#include "executor/trace/node_observer.h"
#include "graph/base/mutex.h"

namespace sluice {

// Finds out, for a graph that both drivers can run, which one is faster with the threads there are: in each look, a few
// runs are measured, and the winner is used until the next look, when inputs may have another size. Graphs whose
// measure is below what handing work to another thread costs are not tried with threads. The results of runs do not
// depend on the choice. Thread-safe: runs may overlap, and those that fail need not be recorded.
class DriverChoice {
 public:
  // What is measured.
  enum class By : uint8_t {
    kTime,  // The whole time of a few runs of each driver: the quicker one wins.
    // For graphs that wait, whose time is mostly the wait: the time of serial runs in long kernels (KernelTimeMeter).
    // Much of it is for the dataflow driver, which is not measured.
    kKernelTime,
  };
  static constexpr int64_t kMeasuredRuns = 3;    // Of each driver that is measured, per look.
  static constexpr int64_t kRunsPerLook = 4096;  // A look begins every so many runs.
  static constexpr int64_t kRunsToTime = 64;     // With kTime, so many of them may be measured: others overlap.
  static constexpr int64_t kWorthHandingOverNs = 60'000;

  // What to use for one run, and whether to measure it and call Record.
  struct Decision {
    bool use_dataflow = false;
    bool is_measured = false;
    int64_t look = 0;
  };

  explicit DriverChoice(By by) : by_(by) {}

  Decision Next() {
    const int64_t run = runs_.fetch_add(1, std::memory_order_relaxed);
    const int64_t look = run / kRunsPerLook;
    if (ABSL_PREDICT_TRUE(!IsToMeasure(run))) return {uses_dataflow_.load(std::memory_order_relaxed), false, look};
    return by_ == By::kTime ? NextToTime(look) : Decision{false, true, look};
  }
  // Whether Next would now choose serial without measuring. Another run may change that before Next is called.
  bool IsSerialNow() const {
    return !uses_dataflow_.load(std::memory_order_relaxed) && !IsToMeasure(runs_.load(std::memory_order_relaxed));
  }

  // Records the measure `ns` of the run of `decision`, which has succeeded. Ignored after the end of its look.
  // REQUIRES: decision.is_measured.
  void Record(const Decision& decision, int64_t ns) ABSL_LOCKS_EXCLUDED(mu_) {
    MutexLock lock(&mu_);
    if (decision.look < look_) return;
    BeginLook(decision.look);
    Figure& figure = decision.use_dataflow ? dataflow_ : serial_;
    ++figure.runs;
    // Takes the minimum: a run may include time in which its thread was not scheduled.
    figure.best_ns = std::min(figure.best_ns, ns);
    const bool is_quick = serial_.best_ns < kWorthHandingOverNs;
    if (by_ == By::kKernelTime) return uses_dataflow_.store(!is_quick, std::memory_order_relaxed);
    if (serial_.runs < kMeasuredRuns || (!is_quick && dataflow_.runs < kMeasuredRuns)) return;
    uses_dataflow_.store(!is_quick && dataflow_.best_ns < serial_.best_ns, std::memory_order_relaxed);
    settled_.store(look_, std::memory_order_relaxed);
  }

 private:
  struct Figure {
    int64_t runs = 0;
    int64_t best_ns = std::numeric_limits<int64_t>::max();
  };

  bool IsToMeasure(int64_t run) const {
    return run % kRunsPerLook < (by_ == By::kTime ? kRunsToTime : kMeasuredRuns) &&
           settled_.load(std::memory_order_relaxed) < run / kRunsPerLook;
  }
  Decision NextToTime(int64_t look) ABSL_LOCKS_EXCLUDED(mu_) {
    MutexLock lock(&mu_);
    BeginLook(look);
    if (serial_.runs < kMeasuredRuns) return {false, true, look};
    const bool is_open = dataflow_.runs < kMeasuredRuns && serial_.best_ns >= kWorthHandingOverNs;
    return {is_open || uses_dataflow_.load(std::memory_order_relaxed), is_open, look};
  }
  // Begins look `look`, unless it or a later one has begun.
  void BeginLook(int64_t look) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    if (look <= look_) return;
    look_ = look;
    serial_ = dataflow_ = Figure();
  }

  const By by_;
  // Relaxed throughout: hints, which change no result.
  std::atomic<int64_t> runs_{0};
  std::atomic<bool> uses_dataflow_{false};  // The outcome of the last look that has one.
  std::atomic<int64_t> settled_{-1};        // With kTime: the number of that look; -1 if there was none yet.
  Mutex mu_;
  int64_t look_ ABSL_GUARDED_BY(mu_) = 0;
  Figure serial_ ABSL_GUARDED_BY(mu_), dataflow_ ABSL_GUARDED_BY(mu_);
};

// Observes a run that is measured By::kKernelTime: adds up the time in kernels that are worth handing to another
// thread, except the longest one, which takes that long on any thread. Asynchronous ones only wait, and do not count.
// Relaxed throughout: read after the run.
class KernelTimeMeter final : public NodeObserver {
 public:
  static constexpr int64_t kLongCallNs = 2'000;  // Such a call may be handed over.

  // `next`: the run's own observer, which receives all calls too; or null. `kernels` of the graph; null: none is
  // asynchronous.
  KernelTimeMeter(NodeObserver* next, const KernelSet* kernels) : next_(next), kernels_(kernels) {}

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
    if (ns < kLongCallNs || (kernels_ != nullptr && kernels_->kernel(node)->AsAsync() != nullptr)) return;
    all_ns_.fetch_add(ns, std::memory_order_relaxed);
    int64_t longest = longest_ns_.load(std::memory_order_relaxed);
    while (ns > longest && !longest_ns_.compare_exchange_weak(longest, ns, std::memory_order_relaxed)) {
    }
  }
  int64_t shared_ns() const {
    return all_ns_.load(std::memory_order_relaxed) - longest_ns_.load(std::memory_order_relaxed);
  }

 private:
  NodeObserver* const next_;
  const KernelSet* const kernels_;
  std::atomic<int64_t> all_ns_{0}, longest_ns_{0};
};

}  // namespace sluice

#endif  // SLUICE_EXECUTOR_COMPILED_DRIVER_CHOICE_H_

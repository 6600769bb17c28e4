#ifndef SLUICE_EXECUTOR_COMPILED_DRIVER_CHOICE_H_
#define SLUICE_EXECUTOR_COMPILED_DRIVER_CHOICE_H_

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <limits>

#include "absl/base/optimization.h"
#include "absl/base/thread_annotations.h"
#include "graph/base/mutex.h"

namespace sluice {

// Finds out, for a graph that both drivers can run, which one is faster with the threads there are: in each look, a few
// runs of each are timed, and the quicker one is used until the next look, when inputs may have another size. Graphs
// that take no longer than handing work to another thread does are not tried with threads. The results of runs do not
// depend on the choice. Thread-safe: runs may overlap, and those that fail need not be recorded.
class DriverChoice {
 public:
  static constexpr int64_t kTimedRuns = 3;       // Of each driver, per look.
  static constexpr int64_t kRunsPerLook = 4096;  // A look begins so often.
  static constexpr int64_t kRunsToTime = 64;     // So many of them may be timed.
  static constexpr int64_t kWorthHandingOverNs = 60'000;

  // What to use for one run, and whether to time it and call Record.
  struct Decision {
    bool use_dataflow = false;
    bool is_timed = false;
    int64_t look = 0;
  };

  Decision Next() {
    const int64_t run = runs_.fetch_add(1, std::memory_order_relaxed);
    const int64_t look = run / kRunsPerLook;
    if (ABSL_PREDICT_TRUE(!IsToTime(run))) return {uses_dataflow_.load(std::memory_order_relaxed), false, look};
    return NextToTime(look);
  }
  // Whether Next would say now: serially, and without timing it. Other runs may come first.
  bool IsSerialNow() const {
    return !uses_dataflow_.load(std::memory_order_relaxed) && !IsToTime(runs_.load(std::memory_order_relaxed));
  }

  // The run that `decision` is for took `ns`. Counts only within its look.
  void Record(const Decision& decision, int64_t ns) ABSL_LOCKS_EXCLUDED(mu_) {
    MutexLock lock(&mu_);
    if (decision.look != look_) return;
    Figure& figure = decision.use_dataflow ? dataflow_ : serial_;
    ++figure.runs;
    figure.best_ns = std::min(figure.best_ns, ns);
    if (serial_.runs < kTimedRuns) return;
    const bool is_quick = serial_.best_ns < kWorthHandingOverNs;
    if (!is_quick && dataflow_.runs < kTimedRuns) return;
    uses_dataflow_.store(!is_quick && dataflow_.best_ns < serial_.best_ns, std::memory_order_relaxed);
    settled_.store(look_, std::memory_order_relaxed);
  }

 private:
  struct Figure {
    int64_t runs = 0;
    int64_t best_ns = std::numeric_limits<int64_t>::max();
  };

  bool IsToTime(int64_t run) const {
    return run % kRunsPerLook < kRunsToTime && settled_.load(std::memory_order_relaxed) < run / kRunsPerLook;
  }
  Decision NextToTime(int64_t look) ABSL_LOCKS_EXCLUDED(mu_) {
    MutexLock lock(&mu_);
    if (look > look_) {
      look_ = look;
      serial_ = dataflow_ = Figure();
    }
    if (serial_.runs < kTimedRuns) return {false, true, look};
    const bool is_open = dataflow_.runs < kTimedRuns && serial_.best_ns >= kWorthHandingOverNs;
    return {is_open || uses_dataflow_.load(std::memory_order_relaxed), is_open, look};
  }

  // Relaxed throughout: hints, which change no result.
  std::atomic<int64_t> runs_{0};
  std::atomic<bool> uses_dataflow_{false};  // The outcome of the last look that has one.
  std::atomic<int64_t> settled_{-1};        // The number of that look; -1 if there was none yet.
  Mutex mu_;
  int64_t look_ ABSL_GUARDED_BY(mu_) = 0;
  Figure serial_ ABSL_GUARDED_BY(mu_), dataflow_ ABSL_GUARDED_BY(mu_);
};

}  // namespace sluice

#endif  // SLUICE_EXECUTOR_COMPILED_DRIVER_CHOICE_H_

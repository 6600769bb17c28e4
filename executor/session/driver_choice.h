#ifndef SLUICE_EXECUTOR_SESSION_DRIVER_CHOICE_H_
#define SLUICE_EXECUTOR_SESSION_DRIVER_CHOICE_H_

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <limits>

namespace sluice {

// Finds out, for a graph that both drivers can run, which one is faster with the threads there are: a few runs of each
// are timed and the quicker one is kept, until it is time to look again. Graphs that take no longer than handing work
// to another thread does are not tried twice. The results of runs do not depend on the choice.
// Thread-safe; a race between runs at worst times one run more.
class DriverChoice {
 public:
  // What to use for one run, and whether to time it and call Record.
  struct Decision {
    bool use_dataflow = false;
    bool is_timed = false;
  };

  // Relaxed throughout: counts and times are hints, and change no result.
  Decision Next() {
    const int64_t run = runs_.fetch_add(1, std::memory_order_relaxed) % kRunsPerLook;
    if (run < kTimedRuns) return {false, true};
    if (serial_ns_.load(std::memory_order_relaxed) < kWorthHandingOverNs) return {false, false};
    if (run < 2 * kTimedRuns) return {true, true};
    return {dataflow_ns_.load(std::memory_order_relaxed) < serial_ns_.load(std::memory_order_relaxed), false};
  }

  void Record(bool used_dataflow, int64_t ns) {
    std::atomic<int64_t>& best = used_dataflow ? dataflow_ns_ : serial_ns_;
    // A new look starts afresh: inputs may have another size by now.
    const bool is_first = runs_.load(std::memory_order_relaxed) % kRunsPerLook == (used_dataflow ? kTimedRuns + 1 : 1);
    const int64_t known = is_first ? std::numeric_limits<int64_t>::max() : best.load(std::memory_order_relaxed);
    best.store(std::min(known, ns), std::memory_order_relaxed);
  }

 private:
  static constexpr int64_t kTimedRuns = 3;
  static constexpr int64_t kRunsPerLook = 4096;
  static constexpr int64_t kWorthHandingOverNs = 60'000;

  std::atomic<int64_t> runs_{0};
  std::atomic<int64_t> serial_ns_{std::numeric_limits<int64_t>::max()};
  std::atomic<int64_t> dataflow_ns_{std::numeric_limits<int64_t>::max()};
};

}  // namespace sluice

#endif  // SLUICE_EXECUTOR_SESSION_DRIVER_CHOICE_H_

#ifndef SLUICE_TESTS_BENCH_BATCH_TIMER_H_
#define SLUICE_TESTS_BENCH_BATCH_TIMER_H_

#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

namespace sluice {

inline double NowSeconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

// Runs `run()` in batches of some `batch_ms` after two to warm up; nanoseconds per unit of each batch, ascending. When
// a single run takes longer than 20 batches, one warms up, and two are enough.
template <typename Run>
std::vector<double> TimeBatches(int batches, double batch_ms, double units, const Run& run) {
  std::vector<double> ns;
  int64_t at_once = 1;
  for (int batch = -2; batch < batches; ++batch) {
    const double begin = NowSeconds();
    double end = begin;
    int64_t done = 0;
    for (; end - begin < batch_ms / 1000; end = NowSeconds()) {
      for (int64_t i = 0; i < at_once; ++i) run();
      done += at_once;
    }
    if (batch < 0) {
      at_once = std::max<int64_t>(1, done / 50);
      if ((end - begin) * 1000 > 20 * batch_ms) {
        batch = -1;
        batches = std::min(batches, 2);
      }
    } else {
      ns.push_back((end - begin) * 1e9 / static_cast<double>(done) / units);
    }
  }
  std::sort(ns.begin(), ns.end());
  return ns;
}

// {"min": ..., "median": ..., <more>} in one line. `more` is JSON members, or empty.
inline std::string BatchJson(const std::vector<double>& ns, const std::string& more) {
  return "{\"min\": " + std::to_string(ns.front()) + ", \"median\": " + std::to_string(ns[ns.size() / 2]) +
         (more.empty() ? "" : ", " + more) + "}";
}

// JSON members for what it took to get to a first result: time, and the most memory the process has had by now.
inline std::string ToFirstJson(double seconds) {
  rusage usage;
  getrusage(RUSAGE_SELF, &usage);
  return "\"to_first_ms\": " + std::to_string(seconds * 1e3) +
         ", \"peak_mb\": " + std::to_string(static_cast<double>(usage.ru_maxrss) / 1024);
}

}  // namespace sluice

#endif  // SLUICE_TESTS_BENCH_BATCH_TIMER_H_

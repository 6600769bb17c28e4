#ifndef SLUICE_TESTS_BENCH_CALLER_BATCHES_H_
#define SLUICE_TESTS_BENCH_CALLER_BATCHES_H_

// Many threads that call one thing at once, timed together: wall and processor time per call. Without any library of
// ours, as batch_timer.h.

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <ctime>
#include <future>
#include <string>
#include <thread>
#include <vector>

#include "tests/bench/batch_timer.h"

namespace sluice {

// Nanoseconds per call of each batch, ascending: by the clock, and of all processors for the whole process.
struct CallerTimes {
  std::vector<double> wall_ns, cpu_ns;
};

inline double ProcessCpuSeconds() {
  timespec time;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

// One batch: `callers` threads start at a sign and each call `run(its number)` until some `batch_ms` are over, at least
// once. Every call lies within the time taken. Starting the threads is not in it; waking them and ending them is,
// which is nothing beside batches of half a second.
template <typename Run>
void TimeOneBatchOfCallers(int callers, double batch_ms, double units, const Run& run, CallerTimes* times) {
  std::promise<void> start;
  const std::shared_future<void> started = start.get_future().share();
  std::atomic<bool> is_over{false};  // Relaxed: says nothing about other memory.
  std::atomic<int64_t> calls{0};
  std::vector<std::thread> threads;
  for (int caller = 0; caller < callers; ++caller) {
    threads.emplace_back([&, caller] {
      started.wait();
      int64_t done = 0;
      do {
        run(caller);
        ++done;
      } while (!is_over.load(std::memory_order_relaxed));
      calls.fetch_add(done);
    });
  }
  const double begin = NowSeconds(), cpu_begin = ProcessCpuSeconds();
  start.set_value();
  std::this_thread::sleep_for(std::chrono::duration<double, std::milli>(batch_ms));
  is_over.store(true, std::memory_order_relaxed);
  for (std::thread& thread : threads) thread.join();
  const double per_call = 1e9 / static_cast<double>(calls.load()) / units;
  times->wall_ns.push_back((NowSeconds() - begin) * per_call);
  times->cpu_ns.push_back((ProcessCpuSeconds() - cpu_begin) * per_call);
}

// `batches` of them, after one to warm up.
template <typename Run>
CallerTimes TimeCallers(int callers, int batches, double batch_ms, double units, const Run& run) {
  CallerTimes warm_up, times;
  TimeOneBatchOfCallers(callers, batch_ms, units, run, &warm_up);
  for (int batch = 0; batch < batches; ++batch) TimeOneBatchOfCallers(callers, batch_ms, units, run, &times);
  std::sort(times.wall_ns.begin(), times.wall_ns.end());
  std::sort(times.cpu_ns.begin(), times.cpu_ns.end());
  return times;
}

// As BatchJson, with processor time beside the wall's.
inline std::string CallerJson(const CallerTimes& times, const std::string& more) {
  return BatchJson(times.wall_ns, "\"cpu_min\": " + std::to_string(times.cpu_ns.front()) +
                                      ", \"cpu_median\": " + std::to_string(times.cpu_ns[times.cpu_ns.size() / 2]) +
                                      (more.empty() ? "" : ", " + more));
}

}  // namespace sluice

#endif  // SLUICE_TESTS_BENCH_CALLER_BATCHES_H_

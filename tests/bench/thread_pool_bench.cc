// What the pool costs: hand-over of a task, ParallelFor around nothing, and what a second thread wins.

#include <atomic>

#include "absl/time/clock.h"
#include "benchmark/benchmark.h"
#include "executor/threads/thread_pool.h"

namespace sluice {
namespace {

ThreadPoolOptions OfSize(int num_threads) {
  ThreadPoolOptions options;
  options.num_threads = num_threads;
  return options;
}

void SpinFor(double ns) {
  const auto end = absl::GetCurrentTimeNanos() + static_cast<int64_t>(ns);
  while (absl::GetCurrentTimeNanos() < end) {
  }
}

// From Schedule to the first instruction of the task and back, on a thread that looks for work.
void BM_HandOver(benchmark::State& state) {
  ThreadPool pool(OfSize(2));
  std::atomic<bool> ran{false};
  for (auto _ : state) {
    ran.store(false, std::memory_order_relaxed);
    pool.Schedule([&] { ran.store(true, std::memory_order_release); });
    while (!ran.load(std::memory_order_acquire)) {
    }
  }
}
BENCHMARK(BM_HandOver)->UseRealTime();

// The same on a thread that sleeps.
void BM_HandOverToSleeper(benchmark::State& state) {
  ThreadPool pool(OfSize(2));
  std::atomic<bool> ran{false};
  for (auto _ : state) {
    state.PauseTiming();
    absl::SleepFor(absl::Microseconds(200));
    ran.store(false, std::memory_order_relaxed);
    state.ResumeTiming();
    pool.Schedule([&] { ran.store(true, std::memory_order_release); });
    while (!ran.load(std::memory_order_acquire)) {
    }
  }
}
BENCHMARK(BM_HandOverToSleeper)->UseRealTime()->Iterations(500);

// ParallelFor of work that stays on the caller.
void BM_ParallelForOfLittle(benchmark::State& state) {
  ThreadPool pool(OfSize(2));
  for (auto _ : state) pool.ParallelFor(10, 1, false, [](int64_t, int64_t) { benchmark::ClobberMemory(); });
}
BENCHMARK(BM_ParallelForOfLittle);

// Shards that do nothing though they claim to take 20 us: what cutting, offering and joining costs.
void BM_ParallelForOfNothing(benchmark::State& state) {
  ThreadPool pool(OfSize(2));
  for (auto _ : state) {
    pool.ParallelFor(state.range(0), 20e3, false, [](int64_t, int64_t) { benchmark::ClobberMemory(); });
  }
}
BENCHMARK(BM_ParallelForOfNothing)->Arg(2)->Arg(16)->UseRealTime();

// 10 us units; items per second tell the speed-up over one thread.
void BM_TenMicrosecondUnits(benchmark::State& state) {
  ThreadPool pool(OfSize(static_cast<int>(state.range(0))));
  for (auto _ : state) {
    pool.ParallelFor(state.range(1), 10e3, false, [](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) SpinFor(10e3);
    });
  }
  state.SetItemsProcessed(state.iterations() * state.range(1));
}
BENCHMARK(BM_TenMicrosecondUnits)->ArgsProduct({{1, 2}, {8, 100}})->UseRealTime();

}  // namespace
}  // namespace sluice

BENCHMARK_MAIN();

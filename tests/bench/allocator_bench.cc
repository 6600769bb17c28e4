// How long a block of memory takes, from the allocator of tensors and from the plain heap.

#include <cstring>
#include <vector>

#include "benchmark/benchmark.h"
#include "kernels/memory/cpu_allocator.h"

namespace sluice {
namespace {

Allocator& Chosen(const benchmark::State& state) { return state.range(0) == 0 ? HostAllocator() : CpuAllocator(); }

// A block that is freed at once: the chain of nodes.
void BM_OneBlock(benchmark::State& state) {
  Allocator& allocator = Chosen(state);
  const size_t bytes = static_cast<size_t>(state.range(1));
  for (auto _ : state) {
    void* const data = allocator.Allocate(bytes, kHostStream);
    benchmark::DoNotOptimize(data);
    allocator.Free(data, bytes, kHostStream);
  }
}

// A step that makes 64 values, writes all their bytes, and drops them.
void BM_Step(benchmark::State& state) {
  Allocator& allocator = Chosen(state);
  const size_t bytes = static_cast<size_t>(state.range(1));
  std::vector<void*> blocks(64);
  for (auto _ : state) {
    for (void*& block : blocks) {
      block = allocator.Allocate(bytes, kHostStream);
      std::memset(block, 1, bytes);
    }
    for (void* const block : blocks) allocator.Free(block, bytes, kHostStream);
  }
  state.SetItemsProcessed(state.iterations() * 64);
}

void Sizes(benchmark::internal::Benchmark* bench) {
  for (const int64_t bytes : {64, 1024, 65536, 1 << 20}) {
    for (const int64_t which : {0, 1}) bench->Args({which, bytes});
  }
  bench->ArgNames({"cpu", "bytes"});
}

BENCHMARK(BM_OneBlock)->Apply(Sizes);
BENCHMARK(BM_OneBlock)->Args({0, 256})->Args({1, 256})->ArgNames({"cpu", "bytes"})->Threads(2);
BENCHMARK(BM_Step)->Apply(Sizes);

}  // namespace
}  // namespace sluice

BENCHMARK_MAIN();

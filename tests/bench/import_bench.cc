// From the bytes of a GraphDef to a Graph: time and memory a node. Const and AddV2 mixed, as in B10's load stage.

#include <malloc.h>

#include <string>

#include "benchmark/benchmark.h"
#include "graph/ir/export.h"
#include "graph/ir/import.h"
#include "graph/ops/op_table.h"
#include "tests/testing/chain_graph.h"

namespace sluice {
namespace {

size_t HeapBytes() {
  const struct mallinfo2 info = mallinfo2();
  return info.uordblks + info.hblkhd;
}

// Counters: ns a node, bytes a node held by the graph beside the file's bytes.
void BM_Import(benchmark::State& state) {
  const std::string bytes = ChainGraphBytes(state.range(0));
  ImportOptions options;
  options.ops = NewOpRegistry();
  GraphSource source;
  source.bytes = bytes;
  size_t held = 0;
  for (auto _ : state) {
    const size_t before = HeapBytes();
    absl::StatusOr<Graph> graph = ImportGraph(source, options);
    if (!graph.ok()) return state.SkipWithError(graph.status().ToString().c_str());
    state.PauseTiming();
    held = HeapBytes() - before;
    graph = absl::CancelledError();  // Freed outside the time.
    state.ResumeTiming();
  }
  const double nodes = static_cast<double>(state.range(0));
  state.counters["bytes_a_node"] = static_cast<double>(held) / nodes;
  state.counters["ns_a_node"] =
      benchmark::Counter(nodes * 1e-9, benchmark::Counter::kIsIterationInvariantRate | benchmark::Counter::kInvert);
}
BENCHMARK(BM_Import)->RangeMultiplier(10)->Range(1000, 1000000)->Unit(benchmark::kMillisecond);

void BM_Export(benchmark::State& state) {
  ImportOptions options;
  options.ops = NewOpRegistry();
  absl::StatusOr<Graph> graph = ImportGraph(GraphSource::Copy(ChainGraphBytes(state.range(0))), options);
  if (!graph.ok()) return state.SkipWithError(graph.status().ToString().c_str());
  for (auto _ : state) benchmark::DoNotOptimize(ExportGraph(*graph));
}
BENCHMARK(BM_Export)->Arg(100000)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace sluice

BENCHMARK_MAIN();

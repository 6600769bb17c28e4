// Cutting a signature out of a graph, placing it, cutting it up: the shapes of TensorFlow's BM_Subgraph and of its
// device-name benchmarks. Times per graph; items are nodes.

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "benchmark/benchmark.h"
#include "graph/base/check.h"
#include "graph/base/device_name.h"
#include "graph/ir/builder.h"
#include "graph/ops/op_table.h"
#include "graph/passes/feed_fetch.h"
#include "graph/placement/partition.h"
#include "graph/placement/placer.h"

namespace sluice {
namespace {

// in -> n1 -> n2 -> ... with a second input per node from a constant.
Graph Chain(int64_t nodes) {
  GraphBuilder b(NewOpRegistry());
  const Output one = b.Const("one", Tensor::Scalar(1.0f));
  Output x = b.Op("Identity", "in", {one});
  for (int64_t i = 1; i < nodes; ++i) x = b.Op("AddV2", absl::StrCat("n", i), {x, one});
  SLUICE_CHECK_OK(b.status());
  return std::move(b.graph());
}

void Subgraph(benchmark::State& state, FeedFetchOptions::Convention convention) {
  const Graph graph = Chain(state.range(0));
  FeedFetchOptions options;
  options.convention = convention;
  const FeedFetchSpec spec{{"in"}, {absl::StrCat("n", state.range(0) - 1)}, {}, {}};
  for (auto _ : state) {
    absl::StatusOr<FeedFetchGraph> made = ApplyFeedsAndFetches(graph, spec, options);
    SLUICE_CHECK_OK(made);
    benchmark::DoNotOptimize(made->graph.num_nodes());
  }
  state.SetItemsProcessed(state.iterations() * state.range(0));
}
void BM_Subgraph(benchmark::State& state) { Subgraph(state, FeedFetchOptions::Convention::kRendezvous); }
void BM_SubgraphFunctionConvention(benchmark::State& state) {
  Subgraph(state, FeedFetchOptions::Convention::kFunction);
}

// A handful of nodes out of a large graph.
void BM_SmallPartOfLargeGraph(benchmark::State& state) {
  const Graph graph = Chain(state.range(0));
  const FeedFetchSpec spec{{"n10"}, {"n20"}, {}, {}};
  for (auto _ : state) SLUICE_CHECK_OK(ApplyFeedsAndFetches(graph, spec, {}));
}

std::vector<std::string> Devices(int count) {
  std::vector<std::string> names;
  for (int i = 0; i < count; ++i) names.push_back(absl::StrCat("/job:a/replica:0/task:0/device:CPU:", i));
  return names;
}

void BM_Place(benchmark::State& state) {
  const Graph graph = Chain(state.range(0));
  const absl::StatusOr<DeviceList> devices = DeviceList::Create(Devices(2));
  for (auto _ : state) {
    state.PauseTiming();
    Graph copy = graph;
    state.ResumeTiming();
    SLUICE_CHECK_OK(PlaceGraph(copy, *devices, AllowAllCatalog(), {}));
  }
  state.SetItemsProcessed(state.iterations() * state.range(0));
}

// Every 100th edge crosses.
void BM_Partition(benchmark::State& state) {
  Graph graph = Chain(state.range(0));
  const std::vector<std::string> devices = Devices(4);
  for (NodeId id : graph.Nodes()) graph.SetDevice(id, devices[static_cast<size_t>(id.value() / 100 % 4)]);
  for (auto _ : state) SLUICE_CHECK_OK(PartitionGraph(graph, {}));
  state.SetItemsProcessed(state.iterations() * state.range(0));
}

void BM_ParseDeviceName(benchmark::State& state) {
  DeviceName name;
  for (auto _ : state) {
    benchmark::DoNotOptimize(ParseDeviceName("/job:worker/replica:3/task:0/device:CPU:0", &name));
  }
}

BENCHMARK(BM_Subgraph)->Arg(100)->Arg(1000)->Arg(10000)->Arg(100000);
BENCHMARK(BM_SubgraphFunctionConvention)->Arg(100)->Arg(1000)->Arg(10000)->Arg(100000)->Arg(1000000);
BENCHMARK(BM_SmallPartOfLargeGraph)->Arg(1000)->Arg(1000000);
BENCHMARK(BM_Place)->Arg(10000)->Arg(1000000);
BENCHMARK(BM_Partition)->Arg(10000)->Arg(1000000);
BENCHMARK(BM_ParseDeviceName);

}  // namespace
}  // namespace sluice

BENCHMARK_MAIN();

// What it takes to add nodes to a graph and to know their shapes: through Graph, whose checker keeps what it has found
// out about a kind of node, and through GraphEditor. Counter ns_a_node.

#include <cstdint>
#include <string>
#include <vector>

#include "benchmark/benchmark.h"
#include "graph/edit/graph_editor.h"
#include "graph/ir/graph.h"
#include "graph/ops/op_table.h"
#include "graph/shapes/inference.h"
#include "graph/value/shape.h"

namespace sluice {
namespace {

constexpr int64_t kNodes = 100'000;

void CountNodes(benchmark::State& state, int64_t nodes) {
  state.counters["ns_a_node"] = benchmark::Counter(
      static_cast<double>(nodes) * 1e-9, benchmark::Counter::kIsIterationInvariantRate | benchmark::Counter::kInvert);
}

std::vector<std::string> Names(int64_t count) {
  std::vector<std::string> names;
  for (int64_t i = 0; i < count; ++i) names.push_back("node" + std::to_string(i));
  return names;
}

Output AddPlaceholder(GraphEditor& edit) {
  return edit.Add("Placeholder", "x", {}, {{"dtype", DType::kFloat}, {"shape", PartialShape::Of({-1, 8})}});
}

// A chain of `count` AddV2 nodes through Graph::AddNode.
void BM_GraphAddNode(benchmark::State& state) {
  const std::vector<std::string> names = Names(kNodes);
  for (auto _ : state) {
    state.PauseTiming();
    Graph graph(NewOpRegistry());
    GraphEditor edit(graph);
    Output last = AddPlaceholder(edit);
    NodeSpec node;
    node.op = "AddV2";
    node.attrs = {{"T", DType::kFloat}};
    state.ResumeTiming();
    for (const std::string& name : names) {
      node.name = name;
      node.inputs = {last, last};
      const absl::StatusOr<NodeId> id = graph.AddNode(node);
      if (!id.ok()) return state.SkipWithError(id.status().ToString().c_str());
      last = Output{*id, 0};
    }
    state.PauseTiming();
    graph = Graph(NewOpRegistry());  // Freed outside the time.
    state.ResumeTiming();
  }
  CountNodes(state, kNodes);
}
BENCHMARK(BM_GraphAddNode)->Unit(benchmark::kMillisecond);

// The same through GraphEditor::Add, which finds names and types. Arg: 0 alone, 1 with uses, 2 with shapes that are
// asked for after each node.
void BM_EditorAdd(benchmark::State& state) {
  for (auto _ : state) {
    state.PauseTiming();
    Graph graph(NewOpRegistry());
    GraphEditor edit(graph);
    Output last = AddPlaceholder(edit);
    if (state.range(0) >= 1) benchmark::DoNotOptimize(edit.IsUsed(last.node));
    state.ResumeTiming();
    for (int64_t i = 0; i < kNodes; ++i) {
      last = edit.Add("AddV2", "", {last, last});
      if (state.range(0) >= 2) benchmark::DoNotOptimize(edit.Shapes());
    }
    state.PauseTiming();
    if (!edit.status().ok()) return state.SkipWithError(edit.status().ToString().c_str());
    graph = Graph(NewOpRegistry());
    state.ResumeTiming();
  }
  CountNodes(state, kNodes);
}
BENCHMARK(BM_EditorAdd)->DenseRange(0, 2)->Unit(benchmark::kMillisecond);

// One edit near the end of a chain of `range` nodes, and the shapes after it.
void BM_ShapesAfterAnEdit(benchmark::State& state) {
  Graph graph(NewOpRegistry());
  GraphEditor edit(graph);
  const Output x = AddPlaceholder(edit);
  Output last = x;
  for (int64_t i = 0; i < state.range(0); ++i) last = edit.Add("Relu", "", {last});
  const Output end = edit.Add("AddV2", "end", {last, last});
  if (!edit.status().ok() || !edit.Shapes().ok()) return state.SkipWithError("no graph");
  bool is_x = false;
  for (auto _ : state) {
    is_x = !is_x;
    if (!edit.SetInput(end.node, 1, is_x ? x : last).ok()) return state.SkipWithError("no edit");
    benchmark::DoNotOptimize(edit.Shapes());
  }
}
BENCHMARK(BM_ShapesAfterAnEdit)->RangeMultiplier(10)->Range(1000, 1000000)->Unit(benchmark::kMicrosecond);

void BM_InferShapes(benchmark::State& state) {
  Graph graph(NewOpRegistry());
  GraphEditor edit(graph);
  Output last = AddPlaceholder(edit);
  for (int64_t i = 0; i < state.range(0); ++i) last = edit.Add("Relu", "", {last});
  if (!edit.status().ok()) return state.SkipWithError(edit.status().ToString().c_str());
  for (auto _ : state) benchmark::DoNotOptimize(InferShapes(graph));
  CountNodes(state, state.range(0));
}
BENCHMARK(BM_InferShapes)->RangeMultiplier(10)->Range(1000, 1000000)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace sluice

BENCHMARK_MAIN();

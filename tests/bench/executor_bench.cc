// What the dataflow driver costs per node: chains, fans, layers, NoOp graphs, conds and loops. See performance.md
// section 4 for the shapes. Arguments are sizes; "nodes" counters are per second.

#include <benchmark/benchmark.h>

#include <memory>
#include <random>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "executor/compiled/local_executor.h"
#include "executor/threads/thread_pool.h"
#include "graph/base/check.h"
#include "graph/ir/builder.h"
#include "graph/ops/op_table.h"
#include "kernels/device/cpu_device.h"
#include "tests/testing/plain_kernels.h"

namespace sluice {
namespace {

// One graph, ready to run over and over.
class Bench {
 public:
  explicit Bench(GraphBuilder& b) {
    absl::StatusOr<Graph> graph = b.Build();
    SLUICE_CHECK_OK(graph);
    LocalExecutorParams params;
    params.device = &device_;
    AddPlainKernels(registry_);
    params.registry = &registry_;
    params.driver = Driver::kDataflow;
    absl::StatusOr<std::unique_ptr<Executor>> made = NewLocalExecutor(params, *std::move(graph));
    SLUICE_CHECK_OK(made);
    executor_ = *std::move(made);
  }

  void Run(benchmark::State& state, int64_t nodes, TaskRunner* pool = nullptr) {
    Executor::Args args;
    args.task_runner = pool;
    for (auto _ : state) SLUICE_CHECK_OK(executor_->Run(args));
    state.counters["ns_per_node"] = benchmark::Counter(static_cast<double>(state.iterations() * nodes) / 1e9,
                                                       benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
  }

 private:
  CpuDevice device_{absl::StrCat(kLocalTask, "/device:CPU:0"), 1};
  KernelRegistry registry_;
  std::unique_ptr<Executor> executor_;
};

void BM_AddChain(benchmark::State& state) {
  GraphBuilder b(NewOpRegistry());
  const Output one = b.Const("one", Tensor::Scalar(1.0f));
  Output x = one;
  for (int64_t i = 0; i < state.range(0); ++i) x = b.Op("AddV2", "", {x, one});
  Bench(b).Run(state, state.range(0));
}
BENCHMARK(BM_AddChain)->Arg(100)->Arg(10000)->Unit(benchmark::kMicrosecond);

void BM_FanOut(benchmark::State& state) {
  GraphBuilder b(NewOpRegistry());
  const Output one = b.Const("one", Tensor::Scalar(1.0f));
  const Output x = b.Op("AddV2", "", {one, one});
  for (int64_t i = 0; i < state.range(0); ++i) b.Op("AddV2", "", {x, one});
  ThreadPoolOptions options;
  options.num_threads = static_cast<int>(state.range(1));
  ThreadPool pool(options);
  Bench(b).Run(state, state.range(0), &pool);
}
BENCHMARK(BM_FanOut)->Args({10000, 1})->Args({10000, 2})->Unit(benchmark::kMicrosecond);

void BM_Layers(benchmark::State& state) {
  GraphBuilder b(NewOpRegistry());
  std::mt19937 random(17);
  std::vector<Output> layer(100, b.Const("one", Tensor::Scalar(1.0f)));
  for (int i = 0; i < 100; ++i) {
    std::vector<Output> next;
    for (int j = 0; j < 100; ++j) {
      next.push_back(b.Op(
          "AddN", "", {layer[random() % 100], layer[random() % 100], layer[random() % 100], layer[random() % 100]}));
    }
    layer = next;
  }
  ThreadPoolOptions options;
  options.num_threads = static_cast<int>(state.range(0));
  ThreadPool pool(options);
  Bench(b).Run(state, 10000, &pool);
}
BENCHMARK(BM_Layers)->Arg(1)->Arg(2)->Unit(benchmark::kMicrosecond);

// TensorFlow's BM_executor: `width` NoOps in each of `depth` levels, each waiting for some of the level before.
void BM_Executor(benchmark::State& state) {
  GraphBuilder b(NewOpRegistry());
  const int64_t width = state.range(0), depth = state.range(1);
  std::mt19937 random(17);
  std::vector<Output> level;
  int64_t nodes = 0;
  for (int64_t i = 0; i < depth; ++i) {
    std::vector<Output> next;
    const int64_t count = 1 + static_cast<int64_t>(random() % static_cast<uint32_t>(width));
    for (int64_t j = 0; j < count; ++j) {
      next.push_back(b.Op("NoOp", ""));
      for (const Output& before : level) {
        if (random() % 100 < 100 / level.size()) b.AddControl(next.back(), before);
      }
      ++nodes;
    }
    level = next;
  }
  Bench(b).Run(state, nodes);
}
BENCHMARK(BM_Executor)->Args({16, 1024})->Args({32, 8192})->Args({1024, 16})->Unit(benchmark::kMicrosecond);

// A conditional whose branch of `range(0)` nodes is dead.
void BM_DeadBranch(benchmark::State& state) {
  GraphBuilder b(NewOpRegistry());
  const Output one = b.Const("one", Tensor::Scalar(1.0f));
  const Output pred = b.Const("pred", Tensor::Scalar(false));
  const Output sw = b.Op("Switch", "switch", {one, pred});
  Output x = GraphBuilder::Nth(sw, 1);
  for (int64_t i = 0; i < state.range(0); ++i) x = b.Op("AddV2", "", {x, one});
  b.Op("Merge", "merge", {GraphBuilder::Nth(sw, 0), x});
  Bench(b).Run(state, state.range(0));
}
BENCHMARK(BM_DeadBranch)->Arg(10)->Arg(10000)->Unit(benchmark::kMicrosecond);

// A loop that counts to `range(0)` and has `range(1)` more variables that are incremented.
void BM_Loop(benchmark::State& state) {
  GraphBuilder b(NewOpRegistry());
  const Output zero = b.Const("zero", Tensor::Scalar<int32_t>(0));
  const Output one = b.Const("one", Tensor::Scalar<int32_t>(1));
  const Output limit = b.Const("limit", Tensor::Scalar(static_cast<int32_t>(state.range(0))));
  const auto enter = [&](const Output& x, bool is_constant) {
    return b.Op("Enter", "", {x}, {{"frame_name", "loop"}, {"is_constant", is_constant}});
  };
  const Output one_in = enter(one, true), limit_in = enter(limit, true);
  std::vector<Output> merges;
  for (int64_t i = 0; i <= state.range(1); ++i) {
    const Output in = enter(zero, false);
    merges.push_back(b.Op("Merge", "", {in, in}));
  }
  const Output cond = b.Op("LoopCond", "cond", {b.Op("Less", "", {merges[0], limit_in})});
  for (const Output& merge : merges) {
    const Output sw = b.Op("Switch", "", {merge, cond});
    const Output next = b.Op("NextIteration", "", {b.Op("AddV2", "", {GraphBuilder::Nth(sw, 1), one_in})});
    b.SetInput(merge, 1, next);
    b.Op("Exit", "", {sw});
  }
  Bench(b).Run(state, state.range(0));
}
BENCHMARK(BM_Loop)->Args({100000, 0})->Args({1000, 100})->Args({100, 5000})->Unit(benchmark::kMicrosecond);

}  // namespace
}  // namespace sluice

BENCHMARK_MAIN();

// MatMul called as an executor calls it: shape checks, output memory and all. GFLOP/s as "flops". The first argument
// group is the shapes of B12; one thread is measured by its processor time; "constant" has weights that the kernel may
// pack, "fed" has none.

#include <memory>

#include "benchmark/benchmark.h"
#include "executor/threads/thread_pool.h"
#include "graph/base/check.h"
#include "graph/ir/builder.h"
#include "graph/ir/graph_node.h"
#include "graph/ops/op_table.h"
#include "kernels/kernel_registry.h"
#include "kernels/linalg/families.h"

namespace sluice {
namespace {

Tensor Numbers(DType dtype, int64_t rows, int64_t cols) {
  absl::StatusOr<Tensor> tensor = Tensor::MakeZeros(dtype, Shape::Of({rows, cols}));
  SLUICE_CHECK(tensor.ok());
  if (dtype == DType::kFloat) {
    int i = 0;
    for (float& value : tensor->flat<float>()) value = static_cast<float>(++i % 7);
  }
  return *std::move(tensor);
}

// One MatMul node with its inputs in place.
class OneMatMul {
 public:
  OneMatMul(DType dtype, int64_t m, int64_t n, int64_t k, bool is_constant) : graph_(Build(dtype, n, k, is_constant)) {
    registry_.AddTable(MatMulKernels());
    const NodeId node = graph_.Find("y");
    absl::StatusOr<std::unique_ptr<Kernel>> kernel =
        registry_.Create(KernelConstruction(GraphNode(graph_, node)), DeviceKind::kCpu);
    SLUICE_CHECK(kernel.ok());
    kernel_ = *std::move(kernel);
    slots_[0].SetValue(Numbers(dtype, m, k));
    slots_[1].SetValue(Numbers(dtype, k, n));
    for (uint32_t i = 0; i < 3; ++i) operands_[i] = Operand(Operand::Table::kSlots, i);
    const Signature& signature = graph_.signature(node);
    io_.operands = operands_;
    io_.input_types = signature.inputs.data();
    io_.output_types = signature.outputs.data();
    io_.num_inputs = 2;
    io_.num_outputs = 1;
    tables_.table[0] = slots_;
  }

  void Run(const RunContext& run) {
    KernelContext context(run, tables_);
    context.SetNode(io_);
    SLUICE_CHECK(kernel_->Compute(context).ok());
  }

 private:
  static Graph Build(DType dtype, int64_t n, int64_t k, bool is_constant) {
    GraphBuilder b(NewOpRegistry());
    const Output weights = is_constant ? b.Const("b", Numbers(dtype, k, n)) : b.Placeholder("b", dtype);
    b.Op("MatMul", "y", {b.Placeholder("a", dtype), weights});
    absl::StatusOr<Graph> graph = b.Build();
    SLUICE_CHECK(graph.ok());
    return *std::move(graph);
  }

  const Graph graph_;
  KernelRegistry registry_;
  std::unique_ptr<Kernel> kernel_;
  Entry slots_[3];
  Operand operands_[3];
  NodeIo io_;
  EntryTables tables_;
};

void Measure(benchmark::State& state, DType dtype, bool is_constant, int num_threads) {
  const int64_t m = state.range(0);
  const int64_t n = state.range(1);
  const int64_t k = state.range(2);
  ThreadPoolOptions options;
  options.num_threads = num_threads;
  ThreadPool pool(options);
  RunContext run;
  if (num_threads > 1) run.task_runner = &pool;
  OneMatMul matmul(dtype, m, n, k, is_constant);
  for (auto _ : state) matmul.Run(run);
  state.counters["flops"] = benchmark::Counter(
      2.0 * static_cast<double>(m * n * k), benchmark::Counter::kIsIterationInvariantRate, benchmark::Counter::kIs1000);
}

void Shapes(benchmark::internal::Benchmark* b) {
  for (const int64_t size : {1, 4, 16, 64, 128, 256, 512, 1024, 2048}) b->Args({size, size, size});
  b->Args({1, 4096, 4096})->Args({128, 768, 768})->Args({128, 3072, 768});
}

void BM_Fed(benchmark::State& state) { Measure(state, DType::kFloat, false, 1); }
BENCHMARK(BM_Fed)->Apply(Shapes);
void BM_Constant(benchmark::State& state) { Measure(state, DType::kFloat, true, 1); }
BENCHMARK(BM_Constant)->Apply(Shapes);
void BM_ConstantTwoThreads(benchmark::State& state) { Measure(state, DType::kFloat, true, 2); }
BENCHMARK(BM_ConstantTwoThreads)->Apply(Shapes)->UseRealTime();

void SomeShapes(benchmark::internal::Benchmark* b) {
  for (const int64_t size : {16, 128, 512}) b->Args({size, size, size});
}
void BM_Double(benchmark::State& state) { Measure(state, DType::kDouble, false, 1); }
BENCHMARK(BM_Double)->Apply(SomeShapes);
void BM_Half(benchmark::State& state) { Measure(state, DType::kHalf, true, 1); }
BENCHMARK(BM_Half)->Apply(SomeShapes);
void BM_Int32(benchmark::State& state) { Measure(state, DType::kInt32, false, 1); }
BENCHMARK(BM_Int32)->Apply(SomeShapes);
void BM_Complex64(benchmark::State& state) { Measure(state, DType::kComplex64, false, 1); }
BENCHMARK(BM_Complex64)->Apply(SomeShapes);

}  // namespace
}  // namespace sluice

BENCHMARK_MAIN();

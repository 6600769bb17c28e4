// The tape: recording and backward passes (T1 to T4 of the issue on define-by-run autograd). One thread unless said.

#include <cstdint>
#include <random>
#include <vector>

#include "benchmark/benchmark.h"
#include "executor/tape/ops.h"
#include "executor/tape/tape.h"
#include "graph/base/check.h"

namespace sluice {
namespace {

std::vector<float> Numbers(size_t count) {
  std::vector<float> numbers;
  for (size_t i = 0; i < count; ++i) numbers.push_back(static_cast<float>((i * 7919) % 1009) / 1009 - 0.5f);
  return numbers;
}

Var Matrix(Tape& tape, int64_t rows, int64_t columns) {
  const Shape shape = Shape::Of({rows, columns});
  return tape.Leaf(Tensor::Of<float>(shape, Numbers(static_cast<size_t>(rows * columns))));
}

// T1: a chain of scalar ops, recorded and gone through backward; time per op. With the argument 0 each pass has a
// structure that was never seen before.
void ScalarChain(benchmark::State& state) {
  constexpr int kLength = 1000;
  TapeOptions options;
  options.max_structures = state.range(0) == 0 ? 0 : 256;
  Tape tape(options);
  const Var x = tape.Leaf(Tensor::Scalar(0.5f)), one = tape.Constant(Tensor::Scalar(0.999f));
  for (auto _ : state) {
    Var y = x;
    for (int i = 0; i < kLength; ++i) y = i % 2 == 0 ? y * one : y + one;
    SLUICE_CHECK(y.Backward().ok());
    Var(x).ClearGrad();
  }
  state.SetItemsProcessed(state.iterations() * kLength);
}
BENCHMARK(ScalarChain)->Arg(1)->Arg(0);

// The same without the pass.
void ScalarChainForward(benchmark::State& state) {
  constexpr int kLength = 1000;
  Tape tape;
  const Var x = tape.Leaf(Tensor::Scalar(0.5f)), one = tape.Constant(Tensor::Scalar(0.999f));
  for (auto _ : state) {
    Var y = x;
    for (int i = 0; i < kLength; ++i) y = i % 2 == 0 ? y * one : y + one;
    benchmark::DoNotOptimize(y.state());
  }
  state.SetItemsProcessed(state.iterations() * kLength);
}
BENCHMARK(ScalarChainForward);

// T2: a training step of a network 784-256-128-10, batch 64.
void MlpStep(benchmark::State& state) {
  Tape tape;
  std::vector<Var> weights = {Matrix(tape, 784, 256), Matrix(tape, 256, 128), Matrix(tape, 128, 10)};
  std::vector<Var> biases = {Matrix(tape, 1, 256), Matrix(tape, 1, 128), Matrix(tape, 1, 10)};
  const Var x = Matrix(tape, 64, 784).Detach();
  std::vector<int32_t> classes;
  for (int i = 0; i < 64; ++i) classes.push_back(i % 10);
  const Var labels = tape.Constant(Tensor::Vector<int32_t>(classes));
  for (auto _ : state) {
    Var h = x;
    for (size_t i = 0; i < 3; ++i) {
      h = MatMul(h, weights[i]) + biases[i];
      if (i < 2) h = Relu(h);
    }
    SLUICE_CHECK(Mean(SparseSoftmaxCrossEntropy(h, labels)).Backward().ok());
    const NoGradScope no_grad;
    for (std::vector<Var>* const group : {&weights, &biases}) {
      for (Var& v : *group) {
        SLUICE_CHECK(v.AssignSub(v.grad() * 0.01).ok());
        v.ClearGrad();
      }
    }
  }
}
BENCHMARK(MlpStep)->Unit(benchmark::kMicrosecond);

// T3: a tree of another shape at each step, 200 nodes of 64 floats.
void RandomTree(benchmark::State& state) {
  Tape tape;
  const Var left = Matrix(tape, 64, 64), right = Matrix(tape, 64, 64), leaf = Matrix(tape, 1, 64);
  std::mt19937 random(1);
  for (auto _ : state) {
    std::vector<Var> open(100, leaf);
    while (open.size() > 1) {
      std::swap(open[random() % open.size()], open.back());
      const Var a = open.back();
      open.pop_back();
      Var& b = open[random() % open.size()];
      b = Tanh(MatMul(a, left) + MatMul(b, right));
    }
    SLUICE_CHECK(Sum(open[0]).Backward().ok());
    for (Var v : {left, right, leaf}) v.ClearGrad();
  }
}
BENCHMARK(RandomTree)->Unit(benchmark::kMicrosecond);

// T4: 64 independent branches of some 50 us each; by threads. The pass alone.
void Branches(benchmark::State& state) {
  TapeOptions options;
  options.num_threads = static_cast<int>(state.range(0));
  Tape tape(options);
  std::vector<Var> leaves;
  for (int i = 0; i < 64; ++i) leaves.push_back(Matrix(tape, 128, 128));
  for (auto _ : state) {
    state.PauseTiming();
    std::vector<Var> ends;
    for (const Var& leaf : leaves) ends.push_back(Sum(MatMul(leaf, leaf)));
    state.ResumeTiming();
    SLUICE_CHECK(tape.Backward(ends).ok());
  }
}
BENCHMARK(Branches)->Arg(1)->Arg(2)->UseRealTime()->Unit(benchmark::kMicrosecond);

}  // namespace
}  // namespace sluice

BENCHMARK_MAIN();

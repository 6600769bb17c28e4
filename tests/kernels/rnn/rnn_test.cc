#include <cmath>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "executor/threads/thread_pool.h"
#include "gtest/gtest.h"
#include "kernels/memory/tracking_allocator.h"
#include "tests/kernels/image/images.h"
#include "tests/testing/kernel_runner.h"
#include "tests/testing/status_matchers.h"

namespace sluice {
namespace {

using Doubles = std::vector<double>;

// Numbers of about [-0.5, 0.5), another row of them for each seed.
Tensor Numbers(DType dtype, const std::vector<int64_t>& dims, int seed) {
  int64_t size = 1;
  for (const int64_t dim : dims) size *= dim;
  Doubles values(static_cast<size_t>(size));
  for (size_t i = 0; i < values.size(); ++i) {
    values[i] = static_cast<double>((i * 37 + static_cast<size_t>(seed) * 101) % 64) / 64 - 0.5;
  }
  return TensorOf(dtype, dims, values);
}

struct Sizes {
  int64_t time = 4, batch = 3, inputs = 5, cells = 6;
  int64_t steps = 4;
};

// An LSTM: its attrs and weights.
struct Lstm {
  DType dtype = DType::kFloat;
  bool is_v2 = false;
  bool has_peephole = false;
  float clip = 3;
  float forget_bias = 1;
  Sizes sizes;

  Tensor x(int seed = 1) const { return Numbers(dtype, {sizes.time, sizes.batch, sizes.inputs}, seed); }
  std::vector<Tensor> Inputs() const {
    const Sizes& s = sizes;
    return {Tensor::Scalar<int64_t>(s.steps),
            x(),
            Numbers(dtype, {s.batch, s.cells}, 2),
            Numbers(dtype, {s.batch, s.cells}, 3),
            Numbers(dtype, {s.inputs + s.cells, 4 * s.cells}, 4),
            Numbers(dtype, {s.cells}, 5),
            Numbers(dtype, {s.cells}, 6),
            Numbers(dtype, {s.cells}, 7),
            Numbers(dtype, {4 * s.cells}, 8)};
  }
  KernelRunner Runner(const std::string& op) const {
    KernelRunner runner(op);
    runner.Attr("use_peephole", has_peephole);
    if (op.find("Grad") != std::string::npos) return runner;
    runner.Attr("cell_clip", clip);
    if (!is_v2) runner.Attr("forget_bias", forget_bias);
    return runner;
  }
  KernelRunner Forward() const { return Runner(is_v2 ? "BlockLSTMV2" : "BlockLSTM"); }
};

double Sigmoid(double x) { return 1 / (1 + std::exp(-x)); }

// The definition, in double. i, cs, f, o, ci, co, h of all steps.
std::vector<Doubles> PlainLstm(const Lstm& lstm, const std::vector<Tensor>& inputs) {
  const Sizes& s = lstm.sizes;
  const Doubles x = DoublesOf(inputs[1]), w = DoublesOf(inputs[4]), wci = DoublesOf(inputs[5]),
                wcf = DoublesOf(inputs[6]), wco = DoublesOf(inputs[7]), b = DoublesOf(inputs[8]);
  Doubles cs = DoublesOf(inputs[2]), h = DoublesOf(inputs[3]);
  const size_t state = static_cast<size_t>(s.batch * s.cells), cells = static_cast<size_t>(s.cells);
  std::vector<Doubles> out(7, Doubles(static_cast<size_t>(s.time) * state));
  for (size_t t = 0; t < static_cast<size_t>(s.steps); ++t) {
    const Doubles before_cs = cs, before_h = h;
    for (size_t at = 0; at < state; ++at) {
      const size_t row = at / cells, k = at % cells;
      const auto gate = [&](size_t number) {
        const size_t column = number * cells + k, width = 4 * cells;
        double sum = b[column];
        for (size_t j = 0; j < static_cast<size_t>(s.inputs); ++j) {
          sum +=
              x[(t * static_cast<size_t>(s.batch) + row) * static_cast<size_t>(s.inputs) + j] * w[j * width + column];
        }
        for (size_t j = 0; j < cells; ++j) {
          sum += before_h[row * cells + j] * w[(static_cast<size_t>(s.inputs) + j) * width + column];
        }
        return sum;
      };
      const double peephole = lstm.has_peephole ? 1 : 0;
      const double i = Sigmoid(gate(0) + peephole * wci[k] * before_cs[at]);
      const double f = Sigmoid(gate(lstm.is_v2 ? 1 : 2) + peephole * wcf[k] * before_cs[at] +
                               (lstm.is_v2 ? 0 : static_cast<double>(lstm.forget_bias)));
      const double ci = std::tanh(gate(lstm.is_v2 ? 2 : 1));
      double next = ci * i + before_cs[at] * f;
      if (lstm.clip > 0) next = std::fmax(-double{lstm.clip}, std::fmin(double{lstm.clip}, next));
      const double o = Sigmoid(gate(3) + peephole * wco[k] * next);
      cs[at] = next;
      h[at] = o * std::tanh(next);
      const double values[7] = {i, next, f, o, ci, std::tanh(next), h[at]};
      for (size_t v = 0; v < 7; ++v) out[v][t * state + at] = values[v];
    }
  }
  return out;
}

// All forms worth a look.
std::vector<Lstm> Forms() {
  std::vector<Lstm> forms;
  for (const bool is_v2 : {false, true}) {
    for (const bool has_peephole : {false, true}) {
      for (const float clip : {0.0f, 0.2f}) {
        Lstm lstm;
        lstm.is_v2 = is_v2;
        lstm.has_peephole = has_peephole;
        lstm.clip = clip;
        forms.push_back(lstm);
        lstm.sizes = {5, 1, 0, 1, 2};  // No inputs, one cell, a short sequence.
        forms.push_back(lstm);
        lstm.sizes = {3, 17, 33, 300, 3};  // Weights that are packed, rows of more than a block.
        forms.push_back(lstm);
      }
    }
  }
  return forms;
}

TEST(LstmTest, ComputesItsDefinition) {
  ThreadPoolOptions options;
  options.num_threads = 3;
  ThreadPool pool(options);
  for (Lstm lstm : Forms()) {
    for (const DType dtype : {DType::kFloat, DType::kHalf}) {
      lstm.dtype = dtype;
      KernelRunner runner = lstm.Forward();
      runner.run().task_runner = &pool;
      ASSERT_OK_AND_ASSIGN(const std::vector<Tensor> y, runner.Run(lstm.Inputs()));
      const std::vector<Doubles> want = PlainLstm(lstm, lstm.Inputs());
      for (size_t i = 0; i < 7; ++i)
        EXPECT_EQ(Difference(y[i], want[i], dtype == DType::kFloat ? 3e-5 : 3e-3), "") << i;
    }
  }
}

TEST(LstmTest, ACellIsASequenceOfOneStep) {
  for (const bool has_peephole : {false, true}) {
    Lstm lstm;
    lstm.has_peephole = has_peephole;
    lstm.sizes.time = lstm.sizes.steps = 1;
    std::vector<Tensor> inputs = lstm.Inputs();
    ASSERT_OK_AND_ASSIGN(const std::vector<Tensor> sequence, lstm.Forward().Run(inputs));
    inputs.erase(inputs.begin());
    inputs[0] = inputs[0].Reshaped(Shape::Of({3, 5})).value();
    ASSERT_OK_AND_ASSIGN(const std::vector<Tensor> cell, lstm.Runner("LSTMBlockCell").Run(inputs));
    for (size_t i = 0; i < 7; ++i) {
      EXPECT_EQ(cell[i].bytes(), sequence[i].bytes());
      EXPECT_EQ(cell[i].shape(), Shape::Of({3, 6}));
    }
  }
}

// The loss: the sum of all states, weighted.
double Loss(const Lstm& lstm, const std::vector<Tensor>& inputs, const Doubles& cs_grad, const Doubles& h_grad) {
  const std::vector<Doubles> y = PlainLstm(lstm, inputs);
  double loss = 0;
  for (size_t i = 0; i < y[1].size(); ++i) loss += y[1][i] * cs_grad[i] + y[6][i] * h_grad[i];
  return loss;
}

// Gradients of a few elements of each input, by differences.
TEST(LstmTest, GradientsAreThoseOfTheDefinition) {
  for (Lstm lstm : Forms()) {
    lstm.clip = 0;
    if (lstm.sizes.cells == 300) lstm.sizes = {5, 2, 3, 40, 5};
    const std::vector<Tensor> inputs = lstm.Inputs();
    ASSERT_OK_AND_ASSIGN(const std::vector<Tensor> y, lstm.Forward().Run(inputs));
    const Sizes& s = lstm.sizes;
    std::vector<Tensor> all = inputs;
    all.insert(all.end(), y.begin(), y.end());
    all.push_back(Numbers(DType::kFloat, {s.time, s.batch, s.cells}, 11));
    all.push_back(Numbers(DType::kFloat, {s.time, s.batch, s.cells}, 12));
    // Beyond the length nothing counts.
    const size_t counted = static_cast<size_t>(s.steps * s.batch * s.cells);
    for (size_t i = counted; i < static_cast<size_t>(s.time * s.batch * s.cells); ++i) {
      all[16].flat<float>()[i] = all[17].flat<float>()[i] = 0;
    }
    ASSERT_OK_AND_ASSIGN(const std::vector<Tensor> grads,
                         lstm.Runner(lstm.is_v2 ? "BlockLSTMGradV2" : "BlockLSTMGrad").Run(all));
    for (size_t input = 0; input < 8; ++input) {
      EXPECT_EQ(grads[input].shape(), inputs[input + 1].shape());
      const size_t size = static_cast<size_t>(grads[input].num_elements());
      const bool is_peephole = input >= 4 && input <= 6;
      for (size_t k = 0; k < size; k += size / 5 + 1) {
        std::vector<Tensor> moved = inputs;
        Doubles losses;
        for (const float step : {-1.0f / 64, 1.0f / 64}) {
          moved[input + 1] = inputs[input + 1].DeepCopy().value();
          moved[input + 1].flat<float>()[k] += step;
          losses.push_back(Loss(lstm, moved, DoublesOf(all[16]), DoublesOf(all[17])));
        }
        const double want = is_peephole && !lstm.has_peephole ? 0 : (losses[1] - losses[0]) * 32;
        EXPECT_NEAR(grads[input].flat<float>()[k], want, 2e-3 * (1 + std::abs(want))) << input << " " << k;
      }
    }
  }
}

TEST(LstmTest, TheGradientOfACellIsThatOfASequenceOfOneStep) {
  for (const bool has_peephole : {false, true}) {
    Lstm lstm;
    lstm.has_peephole = has_peephole;
    lstm.clip = 0;
    lstm.sizes.time = lstm.sizes.steps = 1;
    std::vector<Tensor> inputs = lstm.Inputs();
    ASSERT_OK_AND_ASSIGN(const std::vector<Tensor> y, lstm.Forward().Run(inputs));
    inputs.insert(inputs.end(), y.begin(), y.end());
    inputs.push_back(Numbers(DType::kFloat, {1, 3, 6}, 11));
    inputs.push_back(Numbers(DType::kFloat, {1, 3, 6}, 12));
    ASSERT_OK_AND_ASSIGN(const std::vector<Tensor> block, lstm.Runner("BlockLSTMGrad").Run(inputs));
    inputs.erase(inputs.begin() + 15);  // h
    inputs.erase(inputs.begin());
    for (size_t i = 0; i < inputs.size(); ++i) {
      if (inputs[i].rank() == 3) {
        inputs[i] = inputs[i].Reshaped(Shape::Of({3, inputs[i].dim(2)})).value();
      }
    }
    ASSERT_OK_AND_ASSIGN(const std::vector<Tensor> cell, lstm.Runner("LSTMBlockCellGrad").Run(inputs));
    EXPECT_EQ(cell[0].bytes(), block[1].bytes());
    EXPECT_EQ(cell[1].shape(), Shape::Of({3, 24}));
    for (size_t i = 0; i < 3; ++i) EXPECT_EQ(cell[2 + i].bytes(), block[4 + i].bytes());
  }
}

TEST(LstmTest, RefusesOtherShapesAndLengths) {
  const Lstm lstm;
  for (const int64_t steps : {int64_t{-1}, int64_t{5}, INT64_MAX, INT64_MIN}) {
    std::vector<Tensor> inputs = lstm.Inputs();
    inputs[0] = Tensor::Scalar<int64_t>(steps);
    EXPECT_THAT(lstm.Forward().Run(inputs).status(), IsError(ErrorCode::kOpValue));
  }
  for (size_t i = 0; i < 9; ++i) {
    std::vector<Tensor> inputs = lstm.Inputs();
    inputs[i] = i == 0 ? Tensor::Vector<int64_t>({4}) : Numbers(DType::kFloat, {7}, 1);
    EXPECT_THAT(lstm.Forward().Run(inputs).status(), IsError(ErrorCode::kOpShape)) << i;
  }
  TrackingAllocator allocator(HostAllocator(), 1 << 20);
  KernelRunner runner = lstm.Forward();
  runner.run().allocator = &allocator;
  constexpr int64_t kHuge = int64_t{1} << 45;
  const auto none = [](std::vector<int64_t> dims) { return FloatsOf(dims, {}); };
  EXPECT_FALSE(runner
                   .Run({Tensor::Scalar<int64_t>(0), none({1, 0, kHuge}), none({0, kHuge}), none({0, kHuge}),
                         none({0, 4}), none({0}), none({0}), none({0}), none({0})})
                   .ok());
  EXPECT_THAT(KernelRunner("LSTMBlockCell")
                  .Run({none({0, 2}), none({0, 1}), none({0, 1}), Numbers(DType::kFloat, {3, 4}, 1),
                        Numbers(DType::kFloat, {1}, 1), Numbers(DType::kFloat, {1}, 1), Numbers(DType::kFloat, {1}, 1),
                        Numbers(DType::kFloat, {4}, 1)})
                  .status(),
              IsError(ErrorCode::kOpShape));
}

// --- GRU -----------------------------------------------------------------------------------------------------------

struct Gru {
  int64_t batch, inputs, cells;
  std::vector<Tensor> Inputs() const {
    const auto numbers = [](std::vector<int64_t> dims, int seed) { return Numbers(DType::kFloat, dims, seed); };
    return {numbers({batch, inputs}, 1),         numbers({batch, cells}, 2), numbers({inputs + cells, 2 * cells}, 3),
            numbers({inputs + cells, cells}, 4), numbers({2 * cells}, 5),    numbers({cells}, 6)};
  }
};
constexpr Gru kGrus[] = {{3, 5, 6}, {1, 0, 1}, {17, 33, 40}};

// r, u, c, h.
std::vector<Doubles> PlainGru(const Gru& gru, const std::vector<Tensor>& inputs) {
  const Doubles x = DoublesOf(inputs[0]), h = DoublesOf(inputs[1]), b_ru = DoublesOf(inputs[4]),
                b_c = DoublesOf(inputs[5]);
  const Doubles w_ru = DoublesOf(inputs[2]), w_c = DoublesOf(inputs[3]);
  const size_t cells = static_cast<size_t>(gru.cells), n = static_cast<size_t>(gru.inputs);
  const auto sum = [&](const Doubles& w, size_t width, size_t column, size_t row, const Doubles& state) {
    double s = 0;
    for (size_t j = 0; j < n; ++j) s += x[row * n + j] * w[j * width + column];
    for (size_t j = 0; j < cells; ++j) s += state[row * cells + j] * w[(n + j) * width + column];
    return s;
  };
  std::vector<Doubles> out(4, Doubles(h.size()));
  Doubles reset(h.size());
  for (size_t at = 0; at < h.size(); ++at) {
    const size_t row = at / cells, k = at % cells;
    out[0][at] = Sigmoid(sum(w_ru, 2 * cells, k, row, h) + b_ru[k]);
    out[1][at] = Sigmoid(sum(w_ru, 2 * cells, cells + k, row, h) + b_ru[cells + k]);
    reset[at] = out[0][at] * h[at];
  }
  for (size_t at = 0; at < h.size(); ++at) {
    const size_t row = at / cells, k = at % cells;
    out[2][at] = std::tanh(sum(w_c, cells, k, row, reset) + b_c[k]);
    out[3][at] = out[1][at] * h[at] + (1 - out[1][at]) * out[2][at];
  }
  return out;
}

TEST(GruTest, ComputesItsDefinition) {
  for (const Gru& gru : kGrus) {
    ASSERT_OK_AND_ASSIGN(const std::vector<Tensor> y, KernelRunner("GRUBlockCell").Run(gru.Inputs()));
    const std::vector<Doubles> want = PlainGru(gru, gru.Inputs());
    for (size_t i = 0; i < 4; ++i) EXPECT_EQ(Difference(y[i], want[i], 2e-5), "") << i;
  }
}

TEST(GruTest, GradientsAreThoseOfTheDefinition) {
  for (const Gru& gru : kGrus) {
    std::vector<Tensor> inputs = gru.Inputs();
    ASSERT_OK_AND_ASSIGN(const std::vector<Tensor> y, KernelRunner("GRUBlockCell").Run(inputs));
    std::vector<Tensor> all = inputs;
    all.insert(all.end(), y.begin(), y.begin() + 3);
    all.push_back(Numbers(DType::kFloat, {gru.batch, gru.cells}, 9));
    ASSERT_OK_AND_ASSIGN(const std::vector<Tensor> grads, KernelRunner("GRUBlockCellGrad").Run(all));
    const Doubles d_h = DoublesOf(all[9]);
    for (size_t input = 0; input < 2; ++input) {
      const size_t size = static_cast<size_t>(grads[input].num_elements());
      for (size_t k = 0; k < size; k += size / 7 + 1) {
        Doubles losses;
        for (const float step : {-1.0f / 64, 1.0f / 64}) {
          std::vector<Tensor> moved = inputs;
          moved[input] = inputs[input].DeepCopy().value();
          moved[input].flat<float>()[k] += step;
          const Doubles h = PlainGru(gru, moved)[3];
          losses.push_back(0);
          for (size_t i = 0; i < h.size(); ++i) losses.back() += h[i] * d_h[i];
        }
        const double want = (losses[1] - losses[0]) * 32;
        EXPECT_NEAR(grads[input].flat<float>()[k], want, 1e-3 * (1 + std::abs(want))) << input << " " << k;
      }
    }
    EXPECT_EQ(grads[2].shape(), Shape::Of({gru.batch, gru.cells}));
    EXPECT_EQ(grads[3].shape(), Shape::Of({gru.batch, 2 * gru.cells}));
  }
}

TEST(GruTest, EmptyBatchesAndBadShapes) {
  const Gru empty{0, 3, 4};
  ASSERT_OK_AND_ASSIGN(const std::vector<Tensor> y, KernelRunner("GRUBlockCell").Run(empty.Inputs()));
  EXPECT_EQ(y[3].shape(), Shape::Of({0, 4}));
  for (size_t i = 0; i < 6; ++i) {
    std::vector<Tensor> inputs = kGrus[0].Inputs();
    inputs[i] = Numbers(DType::kFloat, {7}, 1);
    if (i < 4) inputs[i] = Numbers(DType::kFloat, {7, 7}, 1);
    EXPECT_THAT(KernelRunner("GRUBlockCell").Run(inputs).status(), IsError(ErrorCode::kOpShape)) << i;
  }
  // A state of another batch, whose cells fit.
  std::vector<Tensor> inputs = kGrus[0].Inputs();
  inputs[1] = Numbers(DType::kFloat, {kGrus[0].batch + 1, kGrus[0].cells}, 1);
  EXPECT_THAT(KernelRunner("GRUBlockCell").Run(inputs).status(), IsError(ErrorCode::kOpShape));
}

}  // namespace
}  // namespace sluice

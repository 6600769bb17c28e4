// Options of training steps, against what TensorFlow's optimizers make of the same problems.

#include "graph/training/train_options.h"

#include <algorithm>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "absl/strings/str_join.h"
#include "graph/training/train_step.h"
#include "gtest/gtest.h"
#include "tests/executor/gradients/train_fixture.h"
#include "tests/executor/gradients/train_numbers.h"
#include "tests/testing/status_matchers.h"

namespace sluice {
namespace {

using Kind = Optimizer::Kind;
using ScheduleKind = LearningRateSchedule::Kind;
using Change = std::function<void(TrainStepOptions&)>;

constexpr float kInfinity = std::numeric_limits<float>::infinity();

class TrainOptionsTest : public TrainFixture {
 protected:
  static TrainStepOptions With(const Change& change) {
    TrainStepOptions options;
    change(options);
    return options;
  }
  static Tensor Gradient(const std::vector<float>& values, float factor = 1) {
    std::vector<float> scaled = values;
    for (float& value : scaled) value *= factor;
    return Tensor::Of<float>(Shape::Of({static_cast<int64_t>(values.size() / 2), 2}), scaled);
  }
  // The third row is half of the first one.
  static Tensor RowGradient(size_t step) {
    std::vector<float> g = kTrainGradients[step];
    g.push_back(g[0] / 2);
    g.push_back(g[1] / 2);
    return Gradient(g);
  }
  static void Append(const std::vector<double>& more, std::vector<double>* all) {
    all->insert(all->end(), more.begin(), more.end());
  }
  static void ExpectNumbers(const std::string& problem, const std::vector<double>& found, double tolerance = 2e-6) {
    const std::vector<double>& wanted = TrainNumbers(problem);
    ASSERT_EQ(found.size(), wanted.size()) << problem;
    for (size_t i = 0; i < found.size(); ++i) {
      EXPECT_NEAR(found[i], wanted[i], tolerance) << problem << ", number " << i;
    }
  }

  // Six steps of w, which begins with kTrainStart, by kTrainGradients times `factor`.
  void RunDense(const std::string& problem, const TrainStepOptions& options, float factor = 1) {
    for (const bool is_resource : {true, false}) {
      Clear();
      is_resource_ = is_resource;
      const Output w = Floats("w", Shape::Of({2, 2}), kTrainStart);
      ASSERT_NO_FATAL_FAILURE(Train(Total(b_.Op("Mul", "", {Read(w), Input("g")})), {w}, options));
      const std::string read = Reader(w);
      ASSERT_NO_FATAL_FAILURE(Begin());
      std::vector<double> found;
      for (const std::vector<float>& g : kTrainGradients) {
        ASSERT_OK(session_->Run({{"g", Gradient(g, factor)}}, {}, {"train"}));
        Append(Fetch(read), &found);
      }
      ExpectNumbers(problem, found);
    }
  }
  // A second variable b has thrice the gradient.
  void RunTwo(const std::string& problem, const TrainStepOptions& options) {
    const Output w = Floats("w", Shape::Of({2, 2}), kTrainStart), b = Floats("b", Shape::Of({2, 2}), {0, 0, 0, 0});
    const Output g = Input("g");
    const Output thrice = b_.Op("Mul", "", {g, Number("three", 3)});
    const Output both = b_.Op("AddV2", "", {b_.Op("Mul", "", {Read(w), g}), b_.Op("Mul", "", {Read(b), thrice})});
    ASSERT_NO_FATAL_FAILURE(Train(Total(both), {w, b}, options));
    const std::string read_w = Reader(w), read_b = Reader(b);
    ASSERT_NO_FATAL_FAILURE(Begin());
    std::vector<double> found;
    for (const std::vector<float>& values : kTrainGradients) {
      ASSERT_OK(session_->Run({{"g", Gradient(values)}}, {}, {"train"}));
      Append(Fetch(read_w), &found);
      Append(Fetch(read_b), &found);
    }
    ExpectNumbers(problem, found);
  }
  // Six steps of rows; numbers are of every `each`-th one.
  void RunRows(const std::string& problem, const TrainStepOptions& options, size_t each = 1) {
    for (const bool is_resource : {true, false}) {
      Clear();
      is_resource_ = is_resource;
      const Output w = Floats("w", Shape::Of({3, 2}), kTrainRows);
      const Output rows = Rows(w, b_.Placeholder("ids", DType::kInt32));
      ASSERT_NO_FATAL_FAILURE(Train(Total(b_.Op("Mul", "", {rows, Input("g")})), {w}, options));
      const std::string read = Reader(w);
      ASSERT_NO_FATAL_FAILURE(Begin());
      std::vector<double> found;
      for (size_t i = 0; i < kTrainGradients.size(); ++i) {
        const NamedTensors feeds = {{"g", RowGradient(i)}, {"ids", Tensor::Vector<int32_t>(kTrainLookups[i])}};
        ASSERT_OK(session_->Run(feeds, {}, {"train"}));
        if ((i + 1) % each == 0) Append(Fetch(read), &found);
      }
      ExpectNumbers(problem, found);
    }
  }
};

TrainStepOptions AdamOptions(Kind kind = Kind::kAdam) {
  TrainStepOptions options;
  options.optimizer.kind = kind;
  options.optimizer.epsilon = 0.001;
  return options;
}
TrainStepOptions MomentumOptions() {
  TrainStepOptions options;
  options.optimizer.kind = Kind::kMomentum;
  options.optimizer.momentum = 0.9;
  return options;
}

TEST_F(TrainOptionsTest, AdaMaxAndAdamWAreThoseOfKeras) {
  RunDense("adamax", AdamOptions(Kind::kAdaMax));
  TrainStepOptions options = AdamOptions(Kind::kAdamW);
  options.optimizer.weight_decay = 0.2;
  RunDense("adamw", options);
}

TEST_F(TrainOptionsTest, ValuesAreClipped) {
  RunTwo("clip_value", With([](TrainStepOptions& o) { o.clip_value = 0.4; }));
}
TEST_F(TrainOptionsTest, EachNormIsClipped) {
  RunTwo("clip_each_norm", With([](TrainStepOptions& o) { o.clip_each_norm = 2; }));
}
TEST_F(TrainOptionsTest, TheNormOfAllIsClipped) {
  RunTwo("clip_norm", With([](TrainStepOptions& o) { o.clip_norm = 4; }));
}

TEST_F(TrainOptionsTest, WeightsDecay) {
  TrainStepOptions options = MomentumOptions();
  options.weight_decay = 0.3;
  RunDense("weight_decay", options);
  options = MomentumOptions();
  options.l2_regularization = 0.2;
  RunDense("l2", options);
  RunDense("l2_clipped", With([](TrainStepOptions& o) { o.l2_regularization = 0.2, o.clip_each_norm = 1.5; }));
}

TEST_F(TrainOptionsTest, SomeVariablesDoNotDecay) {
  const Output w = Floats("w", Shape::Of({1, 2}), {1, 2}), b = Floats("b", Shape::Of({1, 2}), {1, 2});
  TrainStepOptions options;
  options.weight_decay = 0.5;
  options.not_decayed = {b.node};
  const Output zero = Number("zero", 0);
  const Output both = b_.Op("AddV2", "", {b_.Op("Mul", "", {Read(w), zero}), b_.Op("Mul", "", {Read(b), zero})});
  Train(Total(both), {w, b}, options);
  const std::string read_w = Reader(w), read_b = Reader(b);
  ASSERT_NO_FATAL_FAILURE(Begin());
  ASSERT_OK(session_->Run({}, {}, {"train"}));
  EXPECT_NEAR(Fetch(read_w)[1], 2 * 0.95, 1e-6);
  EXPECT_EQ(Fetch(read_b)[1], 2);
}

TEST_F(TrainOptionsTest, RowsWithoutAGradient) {
  RunRows("sparse_adam", AdamOptions());
  RunRows("sparse_momentum", MomentumOptions());
  RunRows("sparse_sgd", {});
  TrainStepOptions options = AdamOptions();
  options.rows = RowRule::kLazy;
  RunRows("lazy_adam", options);
  RunRows("lazy_adamax", AdamOptions(Kind::kAdaMax));
  options = MomentumOptions();
  options.rows = RowRule::kExact;
  RunRows("exact_momentum", options);
  options = MomentumOptions();
  options.l2_regularization = 0.2;
  RunRows("sparse_l2", options);
}

// The first two rows decay; the third one is not looked up.
TEST_F(TrainOptionsTest, LazyRowsDecayWhereTheyHaveAGradient) {
  for (const bool is_decoupled : {true, false}) {
    Clear();
    const Output w = Floats("w", Shape::Of({3, 2}), {1, 1, 1, 1, 1, 1});
    const Output rows = Rows(w, b_.Const("ids", Tensor::Vector<int32_t>({0, 1, 0})));
    TrainStepOptions options;
    options.rows = RowRule::kLazy;
    (is_decoupled ? options.weight_decay : options.l2_regularization) = 0.5;
    Train(Total(b_.Op("Mul", "", {rows, Number("zero", 0)})), {w}, options);
    const std::string read = Reader(w);
    ASSERT_NO_FATAL_FAILURE(Begin());
    ASSERT_OK(session_->Run({}, {}, {"train"}));
    const std::vector<double> found = Fetch(read);
    EXPECT_NEAR(found[0], 0.95, 1e-6);
    EXPECT_NEAR(found[3], 0.95, 1e-6);
    EXPECT_EQ(found[4], 1);
  }
}

TEST_F(TrainOptionsTest, GradientsAreAccumulated) {
  TrainStepOptions options = MomentumOptions();
  options.accumulate_steps = 2;
  RunDense("accumulate_momentum", options);
  RunRows("accumulate_rows_momentum", options, 2);
  EXPECT_EQ(absl::StrJoin(SlotNames(), " "),
            "w/gradient_accumulator w/gradient_accumulator_rows accumulated_steps w/Momentum");
  options = AdamOptions();
  options.accumulate_steps = 2;
  RunRows("accumulate_rows_adam", options, 2);
  options.accumulate_steps = 3;
  options.clip_value = 0.4;
  RunDense("accumulate_adam", options);
}

// The global step counts updates, not runs.
TEST_F(TrainOptionsTest, SchedulesGoByUpdates) {
  const Output w = Floats("w", Shape::Of({1, 2}), {1, 1});
  TrainStepOptions options;
  options.accumulate_steps = 2;
  options.schedule.kind = ScheduleKind::kPiecewise;
  options.schedule.boundaries = {0};
  options.schedule.values = {0.5, 0.25};
  Train(Total(Read(w)), {w}, options);
  const std::string read = Reader(w), rate = b_.graph().OutputName(step_.learning_rate);
  ASSERT_NO_FATAL_FAILURE(Begin());
  EXPECT_EQ(Name(step_.global_step), "global_step");
  for (int i = 0; i < 2; ++i) ASSERT_OK(session_->Run({}, {}, {"train"}));
  EXPECT_EQ(Fetch(read)[0], 0.5);
  EXPECT_EQ(Fetch(rate)[0], 0.25);
  for (int i = 0; i < 2; ++i) ASSERT_OK(session_->Run({}, {}, {"train"}));
  EXPECT_EQ(Fetch(read)[0], 0.25);
}

struct ScheduleCase {
  std::string problem;
  std::function<void(LearningRateSchedule&)> change;
};

std::vector<ScheduleCase> ScheduleCases() {
  using S = LearningRateSchedule;
  return {
      {"rate_piecewise",
       [](S& s) {
         s.kind = ScheduleKind::kPiecewise, s.boundaries = {3, 7}, s.values = {1, 0.5, 0.1};
       }},
      {"rate_exponential", [](S& s) { s.kind = ScheduleKind::kExponential, s.decay_steps = 4, s.decay_rate = 0.9; }},
      {"rate_staircase",
       [](S& s) { s.kind = ScheduleKind::kExponential, s.decay_steps = 4, s.decay_rate = 0.9, s.staircase = true; }},
      {"rate_polynomial",
       [](S& s) { s.kind = ScheduleKind::kPolynomial, s.decay_steps = 5, s.end_rate = 0.01, s.power = 2; }},
      {"rate_polynomial_cycle",
       [](S& s) {
         s.kind = ScheduleKind::kPolynomial, s.decay_steps = 5, s.end_rate = 0.01, s.power = 0.5, s.cycle = true;
       }},
      {"rate_cosine", [](S& s) { s.kind = ScheduleKind::kCosine, s.decay_steps = 8, s.alpha = 0.1; }},
      {"rate_restarts",
       [](S& s) { s.kind = ScheduleKind::kCosineRestarts, s.decay_steps = 3, s.m_mul = 0.8, s.alpha = 0.1; }},
      {"rate_restarts_even",
       [](S& s) { s.kind = ScheduleKind::kCosineRestarts, s.decay_steps = 3, s.t_mul = 1, s.m_mul = 0.8; }},
      {"rate_warm_cosine",
       [](S& s) {
         s.kind = ScheduleKind::kCosine, s.decay_steps = 6, s.alpha = 0.1, s.warmup_steps = 4, s.warmup_start = 0.05;
       }},
  };
}

TEST_F(TrainOptionsTest, SchedulesAreThoseOfTensorFlow) {
  for (const ScheduleCase& schedule : ScheduleCases()) {
    for (const bool is_tensor : {false, true}) {
      if (is_tensor && schedule.problem == "rate_piecewise") continue;
      Clear();
      const Output w = Floats("w", Shape::Of({1, 2}), {1, 1});
      TrainStepOptions options;
      schedule.change(options.schedule);
      options.learning_rate = 0.5;
      if (is_tensor) options.learning_rate_tensor = Number("rate", 0.5f);
      ASSERT_NO_FATAL_FAILURE(Add(Total(Read(w)), {w}, options));
      ASSERT_NO_FATAL_FAILURE(Begin());
      const std::string rate = b_.graph().OutputName(step_.learning_rate);
      std::vector<double> found;
      for (int step = 0; step < 13; ++step) {
        Append(Fetch(rate), &found);
        ASSERT_OK(session_->Run({}, {}, {"train"}));
      }
      ExpectNumbers(schedule.problem, found, 2e-7);  // TensorFlow multiplies by what others divide by.
    }
  }
}

TEST_F(TrainOptionsTest, AnyScheduleMayBeWarmedUp) {
  const Output w = Floats("w", Shape::Of({1, 2}), {1, 1});
  TrainStepOptions options;
  options.schedule.kind = ScheduleKind::kPiecewise;
  options.schedule.boundaries = {1};
  options.schedule.values = {0.5, 0.25};
  options.schedule.warmup_steps = 2;
  Train(Total(Read(w)), {w}, options);
  const std::string rate = b_.graph().OutputName(step_.learning_rate);
  std::vector<double> found;
  for (int step = 0; step < 5; ++step) {
    Append(Fetch(rate), &found);
    ASSERT_OK(session_->Run({}, {}, {"train"}));
  }
  EXPECT_EQ(found, (std::vector<double>{0, 0.25, 0.5, 0.5, 0.25}));
}

// The second and the fifth gradient are not finite.
TEST_F(TrainOptionsTest, ScalesThatGrowAndShrink) {
  std::vector<std::vector<float>> gradients = kTrainGradients;
  gradients[1][0] = kInfinity;
  gradients[4][3] = std::numeric_limits<float>::quiet_NaN();
  for (const bool is_resource : {true, false}) {
    Clear();
    is_resource_ = is_resource;
    const Output w = Floats("w", Shape::Of({2, 2}), kTrainStart);
    const Output count = Variable("step", Tensor::Scalar<int64_t>(0));
    TrainStepOptions options = MomentumOptions();
    options.global_step = count.node;
    options.loss_scaling.kind = LossScaling::Kind::kDynamic;
    options.loss_scaling.scale = 8;
    options.loss_scaling.growth_steps = 2;
    Train(Total(b_.Op("Mul", "", {Read(w), Input("g")})), {w}, options);
    EXPECT_EQ(absl::StrJoin(SlotNames(), " "), "current_loss_scale good_steps w/Momentum");
    std::vector<std::string> reads = {Reader(w)};
    for (const size_t i : {0, 1}) {
      const DType type = i == 0 ? DType::kFloat : DType::kInt64;
      reads.push_back(Reader(Output{step_.slots[i], 0}, type));
    }
    reads.push_back(Reader(count, DType::kInt64));
    ASSERT_NO_FATAL_FAILURE(Begin());
    std::vector<double> found;
    for (const std::vector<float>& g : gradients) {
      ASSERT_OK(session_->Run({{"g", Gradient(g)}}, {}, {"train"}));
      for (const std::string& read : reads) Append(Fetch(read), &found);
    }
    ExpectNumbers("dynamic_scale", found);
  }
}

TEST_F(TrainOptionsTest, ScalesThatStay) {
  TrainStepOptions options = AdamOptions();
  options.optimizer.epsilon = 1.0 / (1 << 22);
  options.loss_scaling.kind = LossScaling::Kind::kFixed;
  options.loss_scaling.scale = 1024;
  RunDense("fixed_scale", options, 1.0f / (1 << 22));
}

// Of half numbers without a scale the gradient, 2^-30, is zero.
TEST_F(TrainOptionsTest, ScalesKeepSmallGradientsOfHalfNumbers) {
  for (const bool is_scaled : {true, false}) {
    Clear();
    const Output w = Floats("w", Shape::Of({1, 2}), {0, 0});
    const Output half = b_.Op("Cast", "half", {Read(w)}, {{"DstT", DType::kHalf}});
    const Output small = b_.Op("Cast", "small", {Number("factor", 1.0f / (1 << 15))}, {{"DstT", DType::kHalf}});
    const Output product = b_.Op("Mul", "", {b_.Op("Mul", "", {half, small}), small});
    TrainStepOptions options;
    options.loss_scaling.kind = is_scaled ? LossScaling::Kind::kDynamic : LossScaling::Kind::kNone;
    Train(Total(product), {w}, options);
    const std::string read = Reader(w);
    ASSERT_NO_FATAL_FAILURE(Begin());
    ASSERT_OK(session_->Run({}, {}, {"train"}));
    EXPECT_NEAR(Fetch(read)[0], is_scaled ? -0.1 / (1 << 30) : 0, 1e-13);
  }
}

// Where a run is skipped it does not count for the round either.
TEST_F(TrainOptionsTest, ScalesAndAccumulators) {
  const Output w = Floats("w", Shape::Of({1, 2}), {1, 1});
  TrainStepOptions options;
  options.accumulate_steps = 2;
  options.loss_scaling.kind = LossScaling::Kind::kDynamic;
  Train(Total(b_.Op("Mul", "", {Read(w), Input("g")})), {w}, options);
  const std::string read = Reader(w);
  ASSERT_NO_FATAL_FAILURE(Begin());
  for (const float g : {1.0f, kInfinity, 3.0f, 100.0f}) {
    ASSERT_OK(session_->Run({{"g", Tensor::Scalar(g)}}, {}, {"train"}));
  }
  EXPECT_NEAR(Fetch(read)[0], 1 - 0.1 * 2, 1e-6);
}

TEST_F(TrainOptionsTest, WhatContradictsItselfIsRefused) {
  const Output w = Floats("w", Shape::Of({1, 2}), {1, 1}), rate = Number("rate", 1);
  const Output loss = Total(Read(w));
  ASSERT_OK(b_.status());
  const size_t before = b_.graph().num_nodes();
  const auto expect = [&](absl::string_view words, const Change& change) {
    const absl::Status status = AddTrainStep(b_.graph(), loss, {w.node}, With(change)).status();
    EXPECT_NE(status.message().find(words), absl::string_view::npos) << words << ": " << status;
  };
  expect("clip_norm", [](TrainStepOptions& o) { o.clip_norm = o.clip_value = 1; });
  expect("clip_each_norm", [](TrainStepOptions& o) { o.clip_each_norm = -1; });
  expect("weight_decay", [](TrainStepOptions& o) { o.optimizer.kind = Kind::kAdamW, o.weight_decay = 1; });
  expect("l2_regularization", [](TrainStepOptions& o) { o.l2_regularization = kInfinity; });
  expect("accumulate_steps", [](TrainStepOptions& o) { o.accumulate_steps = 0; });
  expect("schedule.values", [](TrainStepOptions& o) { o.schedule.kind = ScheduleKind::kPiecewise; });
  expect("schedule.boundaries", [](TrainStepOptions& o) {
    o.schedule.kind = ScheduleKind::kPiecewise, o.schedule.boundaries = {2, 2}, o.schedule.values = {1, 2, 3};
  });
  expect("schedule.decay_steps",
         [](TrainStepOptions& o) { o.schedule.kind = ScheduleKind::kCosine, o.schedule.decay_steps = 0; });
  expect("schedule.t_mul",
         [](TrainStepOptions& o) { o.schedule.kind = ScheduleKind::kCosineRestarts, o.schedule.t_mul = 0.5; });
  expect("schedule.warmup_steps", [](TrainStepOptions& o) { o.schedule.warmup_steps = -1; });
  expect("learning_rate_tensor", [&](TrainStepOptions& o) {
    o.schedule.kind = ScheduleKind::kPiecewise, o.schedule.values = {1}, o.learning_rate_tensor = rate;
  });
  expect("loss_scaling.scale",
         [](TrainStepOptions& o) { o.loss_scaling.kind = LossScaling::Kind::kFixed, o.loss_scaling.scale = 0.5; });
  expect("loss_scaling.growth_steps", [](TrainStepOptions& o) {
    o.loss_scaling.kind = LossScaling::Kind::kDynamic, o.loss_scaling.growth_steps = 0;
  });
  expect("grad_ys", [&](TrainStepOptions& o) { o.gradients.grad_ys = {rate}; });
  EXPECT_EQ(b_.graph().num_nodes(), before);
}

}  // namespace
}  // namespace sluice

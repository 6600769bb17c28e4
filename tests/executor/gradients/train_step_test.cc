// Training steps as nodes of a graph, against their formulas.

#include "graph/training/train_step.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "tests/executor/gradients/train_fixture.h"
#include "tests/testing/function_defs.h"
#include "tests/testing/status_matchers.h"

namespace sluice {
namespace {

using Numbers = std::vector<double>;
using Kind = Optimizer::Kind;

// One element of a variable, and what an optimizer keeps for it.
struct Element {
  double w = 0, g = 0;
  std::map<std::string, double> slots;
};

// A step of `o` with rate 0.1, the `t`-th from 1.
void Step(const Optimizer& o, int t, Element* e) {
  const double lr = 0.1;
  double& a = e->slots["a"];
  double& b = e->slots["b"];
  double& c = e->slots["c"];
  const double g = e->g;
  switch (o.kind) {
    case Kind::kSgd:
      e->w -= lr * g;
      return;
    case Kind::kMomentum:
      a = o.momentum * a + g;
      e->w -= o.nesterov ? lr * (g + o.momentum * a) : lr * a;
      return;
    case Kind::kAdagrad:
      if (t == 1) a = o.initial_accumulator;
      a += g * g;
      e->w -= lr * g / std::sqrt(a);
      return;
    case Kind::kAdadelta: {
      a = o.rho * a + (1 - o.rho) * g * g;
      const double u = g * std::sqrt(b + o.epsilon) / std::sqrt(a + o.epsilon);
      b = o.rho * b + (1 - o.rho) * u * u;
      e->w -= lr * u;
      return;
    }
    case Kind::kAdamW:
      e->w -= lr * o.weight_decay * e->w;
      [[fallthrough]];
    case Kind::kAdam:
      a = o.beta1 * a + (1 - o.beta1) * g;
      b = o.beta2 * b + (1 - o.beta2) * g * g;
      e->w -= lr * std::sqrt(1 - std::pow(o.beta2, t)) / (1 - std::pow(o.beta1, t)) * a / (std::sqrt(b) + o.epsilon);
      return;
    case Kind::kAdaMax:
      a = o.beta1 * a + (1 - o.beta1) * g;
      b = std::max(o.beta2 * b, std::abs(g));
      e->w -= lr / (1 - std::pow(o.beta1, t)) * a / (b + o.epsilon);
      return;
    case Kind::kRmsProp:
      if (t == 1) a = 1;
      a = o.decay * a + (1 - o.decay) * g * g;
      c = o.decay * c + (1 - o.decay) * g;
      b = o.momentum * b + lr * g / std::sqrt(a - (o.centered ? c * c : 0) + o.epsilon);
      e->w -= b;
      return;
    case Kind::kFtrl: {
      if (t == 1) a = o.initial_accumulator;
      const double power = -o.learning_rate_power, before = a;
      a += g * g;
      b += g + 2 * o.l2_shrinkage * e->w - (std::pow(a, power) - std::pow(before, power)) / lr * e->w;
      e->w = (std::min(std::max(b, -o.l1), o.l1) - b) / (std::pow(a, power) / lr + 2 * o.l2);
      return;
    }
  }
}

std::vector<Optimizer> Optimizers() {
  std::vector<Optimizer> all;
  const auto add = [&](Kind kind, const std::function<void(Optimizer&)>& change) {
    all.emplace_back();
    all.back().kind = kind;
    change(all.back());
  };
  add(Kind::kSgd, [](Optimizer&) {});
  add(Kind::kMomentum, [](Optimizer& o) { o.momentum = 0.9; });
  add(Kind::kMomentum, [](Optimizer& o) { o.momentum = 0.8, o.nesterov = true; });
  add(Kind::kAdagrad, [](Optimizer&) {});
  add(Kind::kAdadelta, [](Optimizer& o) { o.epsilon = 0.01; });
  add(Kind::kAdam, [](Optimizer& o) { o.epsilon = 0.001; });
  add(Kind::kAdamW, [](Optimizer& o) { o.weight_decay = 0.1; });
  add(Kind::kAdaMax, [](Optimizer& o) { o.epsilon = 0.001; });
  add(Kind::kRmsProp, [](Optimizer& o) { o.momentum = 0.5, o.epsilon = 0.01; });
  add(Kind::kRmsProp, [](Optimizer& o) { o.centered = true, o.epsilon = 0.01; });
  add(Kind::kFtrl, [](Optimizer& o) { o.l1 = 0.1, o.l2 = 0.2, o.l2_shrinkage = 0.05; });
  return all;
}

class TrainStepTest : public TrainFixture {
 protected:
  // A variable "w" of [rows, 2], all of it `start`.
  Output Variable(bool is_resource, int64_t rows, float start, absl::string_view name = "w") {
    is_resource_ = is_resource;
    return Floats(name, Shape::Of({rows, 2}), std::vector<float>(static_cast<size_t>(rows * 2), start));
  }
  void Train(Output loss, Output w, const TrainStepOptions& options) {
    TrainFixture::Train(loss, {w}, options);
    read_ = Reader(w);
    Begin();
  }
  std::vector<double> Weights() { return Fetch(read_); }

  std::string read_;
};

TEST_F(TrainStepTest, DenseUpdatesAreTheFormulas) {
  for (const bool is_resource : {true, false}) {
    for (const Optimizer& optimizer : Optimizers()) {
      Clear();
      const Output w = Variable(is_resource, 1, 1.5f);
      const Output g = b_.Const("g", Tensor::Of<float>(Shape::Of({1, 2}), {0.5f, -2}));
      TrainStepOptions options;
      options.optimizer = optimizer;
      Train(Total(b_.Op("Mul", "product", {Read(w), g})), w, options);
      std::vector<Element> wanted(2);
      wanted[0].w = wanted[1].w = 1.5;
      wanted[0].g = 0.5, wanted[1].g = -2;
      for (int t = 1; t <= 4; ++t) {
        ASSERT_OK(session_->Run({}, {}, {"train"}));
        for (Element& element : wanted) Step(optimizer, t, &element);
        const std::vector<double> found = Weights();
        for (size_t i = 0; i < 2; ++i) {
          EXPECT_NEAR(found[i], wanted[i].w, 1e-4) << static_cast<int>(optimizer.kind) << " step " << t;
        }
      }
    }
  }
}

// Rows 0 and 2 are looked up, row 0 twice; row 1 is not. Adam takes its gradient for zeros, which changes nothing
// before it has had another one.
TEST_F(TrainStepTest, SparseUpdatesAddUpRowsAndLeaveOthersAlone) {
  for (const bool is_resource : {true, false}) {
    for (const Optimizer& optimizer : Optimizers()) {
      if (optimizer.nesterov || optimizer.kind == Kind::kAdamW) continue;  // Nesterov rows: TensorFlow's own formula.
      Clear();
      const Output w = Variable(is_resource, 3, 1.5f);
      const Output ids = b_.Const("ids", Tensor::Vector<int32_t>({0, 2, 0}));
      const Output rows = Rows(w, ids);
      const Output g = b_.Const("g", Tensor::Of<float>(Shape::Of({3, 2}), {0.5f, -2, 1, 3, 0.25f, 1}));
      TrainStepOptions options;
      options.optimizer = optimizer;
      Train(Total(b_.Op("Mul", "product", {rows, g})), w, options);
      std::vector<Element> wanted(6);
      const Numbers gradients = {0.75, -1, 0, 0, 1, 3};
      for (size_t i = 0; i < 6; ++i) wanted[i].w = 1.5, wanted[i].g = gradients[i];
      for (int t = 1; t <= 3; ++t) {
        ASSERT_OK(session_->Run({}, {}, {"train"}));
        for (size_t i = 0; i < 6; ++i) {
          if (i / 2 != 1) Step(optimizer, t, &wanted[i]);
        }
        const std::vector<double> found = Weights();
        for (size_t i = 0; i < 6; ++i) {
          EXPECT_NEAR(found[i], wanted[i].w, 1e-4) << static_cast<int>(optimizer.kind) << " element " << i;
        }
      }
    }
  }
}

TEST_F(TrainStepTest, SlotsHaveTensorFlowsNames) {
  const auto names = [&](Kind kind, bool centered = false) {
    Clear();
    const Output w = Variable(true, 1, 1);
    TrainStepOptions options;
    options.optimizer.kind = kind;
    options.optimizer.centered = centered;
    const absl::StatusOr<TrainStep> step = AddTrainStep(b_.graph(), Total(Read(w)), {w.node}, options);
    EXPECT_OK(step);
    std::string all;
    for (const NodeId slot : step.ok() ? step->slots : std::vector<NodeId>()) {
      absl::StrAppend(&all, all.empty() ? "" : " ", b_.graph().name(slot));
    }
    return all;
  };
  EXPECT_EQ(names(Kind::kSgd), "");
  EXPECT_EQ(names(Kind::kMomentum), "w/Momentum");
  EXPECT_EQ(names(Kind::kAdagrad), "w/Adagrad");
  EXPECT_EQ(names(Kind::kAdadelta), "w/Adadelta w/Adadelta_1");
  EXPECT_EQ(names(Kind::kAdam), "beta1_power beta2_power w/Adam w/Adam_1");
  EXPECT_EQ(names(Kind::kAdaMax), "beta1_power w/AdaMax w/AdaMax_1");
  EXPECT_EQ(names(Kind::kRmsProp), "w/RMSProp w/RMSProp_1");
  EXPECT_EQ(names(Kind::kRmsProp, true), "w/RMSProp w/RMSProp_1 w/RMSProp_2");
  EXPECT_EQ(names(Kind::kFtrl), "w/Ftrl w/Ftrl_1");
}

TEST_F(TrainStepTest, ALossFetchedWithTheUpdateIsTheOneBefore) {
  const Output w = Variable(true, 1, 1);
  const Output loss = Total(b_.Op("Mul", "square", {Read(w), Read(w)}));
  Train(loss, w, {});
  ASSERT_OK_AND_ASSIGN(std::vector<Tensor> run, session_->Run({}, {"loss"}, {"train"}));
  EXPECT_EQ(run[0].flat<float>()[0], 2);
  ASSERT_OK_AND_ASSIGN(run, session_->Run({}, {"loss"}, {"train"}));
  EXPECT_NEAR(run[0].flat<float>()[0], 2 * 0.8 * 0.8, 1e-6);
}

TEST_F(TrainStepTest, NormsAreClipped) {
  const Output w = Variable(true, 1, 0);
  const Output g = b_.Const("g", Tensor::Of<float>(Shape::Of({1, 2}), {3, 4}));
  TrainStepOptions options;
  options.clip_norm = 1;
  Train(Total(b_.Op("Mul", "product", {Read(w), g})), w, options);
  ASSERT_OK(session_->Run({}, {}, {"train"}));
  EXPECT_NEAR(Weights()[0], -0.06, 1e-6);
  EXPECT_NEAR(Weights()[1], -0.08, 1e-6);
}

TEST_F(TrainStepTest, RatesAreReadAnewAndStepsCounted) {
  const Output w = Variable(true, 1, 1);
  const Output count = TrainFixture::Variable("step", Tensor::Scalar<int64_t>(0));
  const std::string steps = Reader(count, DType::kInt64);
  TrainStepOptions options;
  options.learning_rate_tensor = b_.Placeholder("rate", DType::kDouble, PartialShape::Scalar());
  options.global_step = count.node;
  Train(Total(Read(w)), w, options);
  ASSERT_OK(session_->Run({{"rate", Tensor::Scalar(0.5)}}, {}, {"train"}));
  ASSERT_OK(session_->Run({{"rate", Tensor::Scalar(0.25)}}, {}, {"train"}));
  EXPECT_EQ(Weights()[0], 0.25f);
  EXPECT_EQ(Fetch(steps)[0], 2);
}

// Gradients put bodies in the place of calls: what calls gave has other nodes then.
TEST_F(TrainStepTest, LossAndRateMayBeWhatCallsGive) {
  FunctionText("Twice")
      .Arg("x: float")
      .Result("y: float", "sum:z:0")
      .Node("sum = AddV2(x, x)", {{"T", DType::kFloat}})
      .AddTo(b_.graph());
  const Output w = Variable(true, 1, 1);
  TrainStepOptions options;
  options.learning_rate_tensor = b_.Op("Twice", "rate", {Number("half", 0.25f)});
  Train(b_.Op("Twice", "twice", {Total(Read(w))}), w, options);
  ASSERT_OK(session_->Run({}, {}, {"train"}));
  EXPECT_EQ(Weights()[0], 0);
}

TEST_F(TrainStepTest, WhatCannotBeTrainedLeavesTheGraphAlone) {
  const Output w = Variable(true, 1, 1), other = Variable(true, 1, 1, "other");
  const Output loss = Total(Read(w)), number = Int("number", 1), plain = Input("plain");
  ASSERT_OK(b_.status());
  const size_t before = b_.graph().num_nodes();
  const auto code = [&](Output of, NodeId variable) {
    return std::string(AddTrainStep(b_.graph(), of, {variable}, {}).status().message());
  };
  EXPECT_NE(code(loss, other.node).find("depends on none of the variables"), std::string::npos);
  EXPECT_NE(code(loss, plain.node).find("is not a variable"), std::string::npos);
  EXPECT_NE(code(number, w.node).find("not a real-valued tensor"), std::string::npos);
  EXPECT_FALSE(AddTrainStep(b_.graph(), Output{NodeId(9999), 0}, {w.node}, {}).ok());
  EXPECT_FALSE(AddTrainStep(b_.graph(), loss, {NodeId(9999)}, {}).ok());
  EXPECT_EQ(b_.graph().num_nodes(), before);
}

}  // namespace
}  // namespace sluice

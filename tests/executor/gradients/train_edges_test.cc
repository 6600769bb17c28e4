// Training steps where something is unusual: types, names, shapes, control flow, what may not be trained.

#include <algorithm>
#include <cmath>
#include <functional>
#include <set>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "graph/ir/builder.h"
#include "graph/training/train_step.h"
#include "gtest/gtest.h"
#include "tests/executor/gradients/train_fixture.h"
#include "tests/executor/gradients/train_numbers.h"
#include "tests/testing/function_defs.h"
#include "tests/testing/status_matchers.h"

namespace sluice {
namespace {

using Kind = Optimizer::Kind;

class TrainEdgesTest : public TrainFixture {
 protected:
  // Trains w on `loss` for `steps` runs; its elements then.
  std::vector<double> After(int steps, Output loss, Output w, const TrainStepOptions& options,
                            const NamedTensors& feeds = {}) {
    Train(loss, {w}, options);
    if (HasFatalFailure()) return std::vector<double>(6);
    const std::string read = Reader(w);
    Begin();
    if (HasFatalFailure()) return std::vector<double>(6);
    for (int i = 0; i < steps; ++i) EXPECT_OK(session_->Run(feeds, {}, {Name(step_.update)}));
    return Fetch(read);
  }
  std::vector<double> AfterOne(Output loss, Output w, const NamedTensors& feeds = {}) {
    return After(1, loss, w, {}, feeds);
  }
  static TrainStepOptions OfKind(Kind kind) {
    TrainStepOptions options;
    options.optimizer.kind = kind;
    return options;
  }
  absl::Status StatusOf(Output loss, const std::vector<NodeId>& variables, const TrainStepOptions& options = {}) {
    return AddTrainStep(b_.graph(), loss, variables, options).status();
  }
  void ExpectRefused(const absl::Status& status, absl::string_view words) {
    EXPECT_FALSE(status.ok()) << words;
    EXPECT_TRUE(absl::StrContains(status.message(), words)) << words << ": " << status;
  }
};

// --- Types -----------------------------------------------------------------------------------------------------------

struct TypeCase {
  DType type;
  std::string name;
  double tolerance;  // A few units of the last place: kernels of TensorFlow compute in half numbers.
};

Optimizer OptimizerOf(const std::string& name) {
  Optimizer o;
  if (name == "momentum") o.kind = Kind::kMomentum, o.momentum = 0.9;
  if (name == "adagrad") o.kind = Kind::kAdagrad;
  if (name == "adadelta") o.kind = Kind::kAdadelta, o.epsilon = 0.01;
  if (name == "adam") o.kind = Kind::kAdam, o.epsilon = 0.001;
  if (name == "rmsprop") o.kind = Kind::kRmsProp, o.momentum = 0.5, o.epsilon = 0.01;
  if (name == "ftrl") o.kind = Kind::kFtrl, o.l1 = 0.1;
  return o;
}

TEST_F(TrainEdgesTest, VariablesOfAllTypesTrainAsInTensorFlow) {
  const std::vector<TypeCase> types = {
      {DType::kHalf, "float16", 0.004}, {DType::kBFloat16, "bfloat16", 0.03}, {DType::kDouble, "float64", 1e-13}};
  for (const TypeCase& of : types) {
    for (const std::string name : {"sgd", "momentum", "adagrad", "adadelta", "adam", "rmsprop", "ftrl"}) {
      Clear();
      const GraphBuilder::Attrs cast = {{"DstT", of.type}};
      const PartialShape shape = PartialShape::Of({2, 2});
      const Output w = b_.Op("VarHandleOp", "w", {}, {{"dtype", of.type}, {"shape", shape}, {"shared_name", "w"}});
      const Output floats = b_.Const("start", Tensor::Of<float>(Shape::Of({2, 2}), kTrainStart));
      b_.Op("AssignVariableOp", "w_init", {w, b_.Op("Cast", "", {floats}, cast)}, {{"dtype", of.type}});
      inits_ = {"w_init"};
      const Output g = b_.Op("Cast", "", {Input("g")}, cast);
      TrainStepOptions options;
      options.optimizer = OptimizerOf(name);
      ASSERT_NO_FATAL_FAILURE(Train(Total(b_.Op("Mul", "", {Read(w, of.type), g})), {w}, options));
      const std::string read = Reader(w, of.type);
      ASSERT_NO_FATAL_FAILURE(Begin());
      for (size_t i = 0; i < 3; ++i) {
        const Tensor values = Tensor::Of<float>(Shape::Of({2, 2}), kTrainGradients[i]);
        ASSERT_OK(session_->Run({{"g", values}}, {}, {"train"}));
      }
      const std::vector<double> found = Fetch(read);
      const std::vector<double>& wanted = TrainNumbers(absl::StrCat(name, "_", of.name));
      ASSERT_EQ(found.size(), wanted.size());
      for (size_t i = 0; i < found.size(); ++i) {
        EXPECT_NEAR(found[i], wanted[i], of.tolerance * std::max(1.0, std::abs(wanted[i]))) << name << " " << of.name;
      }
    }
  }
}

// Or no checkpoint of TensorFlow could be restored.
TEST_F(TrainEdgesTest, PowersAreFloatsWhateverTheVariables) {
  const Output w = Variable("w", Tensor::Of<double>(Shape::Of({1, 2}), {1, 2}));
  ASSERT_NO_FATAL_FAILURE(Add(Total(Read(w, DType::kDouble)), {w}, OfKind(Kind::kAdam)));
  EXPECT_EQ(absl::StrJoin(SlotNames(), " "), "beta1_power beta2_power w/Adam w/Adam_1");
  for (const size_t i : {0, 1, 2, 3}) {
    ASSERT_OK_AND_ASSIGN(const DType type, b_.graph().GetType(step_.slots[i], "dtype"));
    EXPECT_EQ(type, i < 2 ? DType::kFloat : DType::kDouble);
  }
}

TEST_F(TrainEdgesTest, VariablesOfSeveralTypesShareOneStep) {
  const Output w = Floats("w", Shape::Of({1, 2}), {1, 2});
  const Output d = Variable("d", Tensor::Of<double>(Shape::Of({1, 2}), {1, 2}));
  const Output narrow = b_.Op("Cast", "", {Read(d, DType::kDouble)}, {{"DstT", DType::kFloat}});
  TrainStepOptions options = OfKind(Kind::kAdam);
  options.clip_norm = 1;
  ASSERT_NO_FATAL_FAILURE(Train(Total(b_.Op("Mul", "", {Read(w), narrow})), {w, d}, options));
  const std::string read_w = Reader(w), read_d = Reader(d, DType::kDouble);
  ASSERT_NO_FATAL_FAILURE(Begin());
  for (int i = 0; i < 3; ++i) ASSERT_OK(session_->Run({}, {}, {"train"}));
  EXPECT_NEAR(Fetch(read_w)[1], Fetch(read_d)[1], 1e-6);
  EXPECT_NEAR(Fetch(read_w)[1], 1.7, 1e-3);
}

TEST_F(TrainEdgesTest, ARateMayBeAnInteger) {
  const Output w = Floats("w", Shape::Of({1, 2}), {1, 2});
  TrainStepOptions options;
  options.learning_rate_tensor = Int("rate", 2);
  EXPECT_EQ(After(1, Total(Read(w)), w, options)[0], -1);
}

// --- Names -----------------------------------------------------------------------------------------------------------

TEST_F(TrainEdgesTest, TwoStepsOfOneGraph) {
  const Output w = Floats("w", Shape::Of({1, 2}), {1, 2}), other = Floats("other", Shape::Of({1, 2}), {1, 2});
  const Output x = Read(w), y = Read(other);
  const Output loss = Total(b_.Op("AddV2", "", {x, y}));
  ASSERT_NO_FATAL_FAILURE(Add(loss, {w}, OfKind(Kind::kAdam)));
  EXPECT_EQ(Name(step_.update), "train");
  ASSERT_NO_FATAL_FAILURE(Add(loss, {other, w}, OfKind(Kind::kAdam)));
  EXPECT_EQ(Name(step_.update), "train_1");
  EXPECT_EQ(Name(step_.init), "train_1/init");
  // As a second optimizer of TensorFlow calls them.
  EXPECT_EQ(absl::StrJoin(SlotNames(), " "), "beta1_power_1 beta2_power_1 other/Adam other/Adam_1 w/Adam_2 w/Adam_3");
  const std::string read_w = Reader(w), read_other = Reader(other);
  ASSERT_NO_FATAL_FAILURE(Begin());
  ASSERT_OK(session_->Run({}, {}, {"train"}));
  EXPECT_EQ(Fetch(read_other)[0], 1);
  EXPECT_NEAR(Fetch(read_w)[0], 0.99, 1e-6);
  ASSERT_OK(session_->Run({}, {}, {"train_1"}));
  EXPECT_NEAR(Fetch(read_w)[0], 0.98, 1e-6);
  EXPECT_NEAR(Fetch(read_other)[0], 0.99, 1e-6);
}

TEST_F(TrainEdgesTest, NamesThatAreTaken) {
  const Output w = Floats("w", Shape::Of({1, 2}), {1, 2});
  for (const char* name : {"train/init", "train/gradients", "train/constants/Const", "w/Adam", "beta1_power",
                           "current_loss_scale", "gradients", "accumulated_steps", "w/gradient_accumulator",
                           "global_step", "train/learning_rate/Cast", "train/w/shape"}) {
    Number(name, 1);
  }
  TrainStepOptions options = OfKind(Kind::kAdam);
  options.loss_scaling.kind = LossScaling::Kind::kDynamic;
  options.accumulate_steps = 2;
  options.schedule.kind = LearningRateSchedule::Kind::kCosine;
  const std::vector<double> found = After(2, Total(Read(w)), w, options);
  EXPECT_NEAR(found[0], 0.9, 1e-5);
  EXPECT_EQ(absl::StrJoin(SlotNames(), " "),
            "current_loss_scale_1 good_steps global_step_1 w/gradient_accumulator_1 accumulated_steps_1 beta1_power_1 "
            "beta2_power w/Adam_1 w/Adam_2");
}

// A node may share its resource under a name that no node has.
TEST_F(TrainEdgesTest, SharedNamesThatAreTaken) {
  if (!is_resource_) return;
  const Output w = Floats("w", Shape::Of({1, 2}), {1, 2});
  const Output other =
      b_.Op("VarHandleOp", "import/slot", {},
            {{"dtype", DType::kFloat}, {"shape", PartialShape::Of({1, 2})}, {"shared_name", "w/Adam"}});
  const Output kept = b_.Const("kept", Tensor::Of<float>(Shape::Of({1, 2}), {7, 8}));
  b_.Op("AssignVariableOp", "import/init", {other, kept}, {{"dtype", DType::kFloat}});
  inits_.push_back("import/init");
  const Output loss = Total(Read(w));
  Train(loss, {w}, OfKind(Kind::kAdam));
  const std::string read = Reader(other);
  Begin();
  ASSERT_OK(session_->Run({}, {}, {Name(step_.update)}));
  EXPECT_THAT(Fetch(read), ::testing::ElementsAre(7, 8));
}

// A value that is fetched together with the step is the one before the step.
TEST_F(TrainEdgesTest, UpdatesWaitForWhatIsFetched) {
  const Output w = Floats("w", Shape::Of({1, 2}), {1, 2});
  const Output loss = Total(Read(w)), metric = b_.Op("Neg", "metric", {Read(w)});
  TrainStepOptions options;
  options.before_update = {metric};
  Train(loss, {w}, options);
  std::vector<NodeId> waiting = {step_.update};
  std::set<NodeId> above;
  while (!waiting.empty()) {
    const NodeId id = waiting.back();
    waiting.pop_back();
    if (!above.insert(id).second) continue;
    for (const Output& input : b_.graph().all_inputs(id)) waiting.push_back(input.node);
  }
  EXPECT_EQ(above.count(metric.node), 1u);
}

TEST_F(TrainEdgesTest, NodesStandWhereTheirVariableDoes) {
  b_.WithDevice("/device:CPU:0");
  const Output w = Floats("w", Shape::Of({1, 2}), {1, 2});
  b_.WithDevice("");
  TrainStepOptions options = OfKind(Kind::kAdam);
  options.learning_rate_tensor = Number("rate", 0.5f);
  EXPECT_NEAR(After(1, Total(Read(w)), w, options)[0], 0.5, 1e-5);
  for (const char* name : {"w/Adam", "w/Adam/Fill", "w/Adam/Assign", "train/update_w/apply"}) {
    const NodeId id = b_.graph().Find(name);
    ASSERT_TRUE(b_.graph().Contains(id)) << name;
    EXPECT_EQ(b_.graph().device(id), "/device:CPU:0") << name;
  }
}

// --- Shapes and reads ------------------------------------------------------------------------------------------------

TEST_F(TrainEdgesTest, ShapesThatNobodyKnows) {
  for (const Kind kind : {Kind::kSgd, Kind::kAdam, Kind::kAdaMax, Kind::kRmsProp}) {
    Clear();
    const Tensor start = Tensor::Of<float>(Shape::Of({3, 2}), kTrainRows);
    const Output w = Variable("w", start, PartialShape());
    const Output rows = Rows(w, b_.Placeholder("ids", DType::kInt32));
    TrainStepOptions options = OfKind(kind);
    options.accumulate_steps = 2;
    options.l2_regularization = kind == Kind::kSgd ? 0 : 0.1;
    const NamedTensors feeds = {{"ids", Tensor::Vector<int32_t>({0, 0})}};
    const std::vector<double> found = After(2, Total(rows), w, options, feeds);
    ASSERT_EQ(found.size(), 6u);
    EXPECT_LT(found[0], 0.95) << static_cast<int>(kind);
    if (kind == Kind::kSgd) {
      EXPECT_EQ(found[2], 0.5);
    }
  }
}

TEST_F(TrainEdgesTest, AVariableThatIsReadTwice) {
  for (const bool is_resource : {true, false}) {
    Clear();
    is_resource_ = is_resource;
    const Output w = Floats("w", Shape::Of({3, 2}), {1, 1, 1, 1, 1, 1});
    const Output rows = Rows(w, b_.Const("ids", Tensor::Vector<int32_t>({1})));
    const Output more = Rows(w, b_.Const("more", Tensor::Vector<int64_t>({1})));
    const Output both = b_.Op("AddV2", "", {rows, more});
    const Output sum = Total(b_.Op("ConcatV2", "", {both, Read(w), Int("axis", 0)}, {{"N", 2}}));
    const std::vector<double> found = AfterOne(sum, w);
    EXPECT_NEAR(found[0], 0.9, 1e-6);
    EXPECT_NEAR(found[2], 0.7, 1e-6);
  }
}

TEST_F(TrainEdgesTest, ALossMayHaveManyElements) {
  const Output w = Floats("w", Shape::Of({1, 2}), {1, 2});
  TrainStepOptions options;
  options.loss_scaling.kind = LossScaling::Kind::kDynamic;
  EXPECT_NEAR(After(1, b_.Op("Square", "", {Read(w)}), w, options)[1], 2 - 0.1 * 4, 1e-6);
}

TEST_F(TrainEdgesTest, VariablesThatTheLossDoesNotReachStay) {
  const Output w = Floats("w", Shape::Of({1, 2}), {1, 2}), other = Floats("other", Shape::Of({1, 2}), {1, 2});
  TrainStepOptions options = OfKind(Kind::kAdam);
  options.gradients.unconnected = GradientOptions::Unconnected::kZero;
  ASSERT_NO_FATAL_FAILURE(Train(Total(Read(w)), {other, w}, options));
  EXPECT_FALSE(step_.gradients[0].is_set());
  EXPECT_TRUE(step_.gradients[1].is_set());
  EXPECT_EQ(absl::StrJoin(SlotNames(), " "), "beta1_power beta2_power w/Adam w/Adam_1");
  ASSERT_OK(session_->Run({}, {}, {"train"}));
}

// --- Control flow and functions --------------------------------------------------------------------------------------

// A loss that a run does not compute trains nothing, and counts as no step.
TEST_F(TrainEdgesTest, ALossOfABranchThatIsNotTaken) {
  const Output w = Floats("w", Shape::Of({1, 2}), {1, 1});
  const Output count = Variable("step", Tensor::Scalar<int64_t>(0));
  const Output taken = b_.Placeholder("p", DType::kBool);
  const Output loss = Nth(b_.Op("Switch", "gate", {Total(Read(w)), taken}), 1);
  TrainStepOptions options = OfKind(Kind::kAdam);
  options.global_step = count.node;
  ASSERT_NO_FATAL_FAILURE(Train(loss, {w}, options));
  const std::string read = Reader(w), steps = Reader(count, DType::kInt64);
  const std::string power = Reader(Output{step_.slots[0], 0});
  ASSERT_NO_FATAL_FAILURE(Begin());
  ASSERT_OK(session_->Run({{"p", Tensor::Scalar(false)}}, {}, {"train"}));
  EXPECT_EQ(Fetch(read)[0], 1);
  EXPECT_EQ(Fetch(steps)[0], 0);
  EXPECT_NEAR(Fetch(power)[0], 0.9, 1e-6);
  ASSERT_OK(session_->Run({{"p", Tensor::Scalar(true)}}, {}, {"train"}));
  EXPECT_NEAR(Fetch(read)[0], 0.9, 1e-5);
  EXPECT_EQ(Fetch(steps)[0], 1);
}

TEST_F(TrainEdgesTest, HandlesThatFunctionsAndLoopsRead) {
  FunctionText("ReadAndSum")
      .Arg("w: resource")
      .Result("y: float", "sum:output:0")
      .Node("read = ReadVariableOp(w)", {{"dtype", DType::kFloat}})
      .Node("axes = Const()", {{"dtype", DType::kInt32}, {"value", Tensor::Vector<int32_t>({0, 1})}})
      .Node("sum = Sum(read:value:0, axes:output:0)", {{"T", DType::kFloat}, {"Tidx", DType::kInt32}})
      .Stateful()
      .AddTo(b_.graph());
  const Output w = Floats("w", Shape::Of({1, 2}), {1, 2});
  TrainStepOptions options = OfKind(Kind::kMomentum);
  options.loss_scaling.kind = LossScaling::Kind::kDynamic;
  EXPECT_NEAR(After(2, b_.Op("ReadAndSum", "loss", {w}), w, options)[0], 0.8, 1e-6);
}

TEST_F(TrainEdgesTest, ARateInALoopIsRefused) {
  const Output w = Floats("w", Shape::Of({1, 2}), {1, 2});
  const Output loss = Total(Read(w));
  const GraphBuilder::Attrs frame = {{"frame_name", "loop"}};
  const Output enter = b_.Op("Enter", "enter", {Number("start", 1)}, frame);
  const Output merge = b_.Op("Merge", "merge", {enter, enter});
  const Output limit = b_.Op("Enter", "limit", {Number("end", 3)}, {{"frame_name", "loop"}, {"is_constant", true}});
  const Output less = b_.Op("Less", "less", {merge, limit});
  const Output gate = b_.Op("Switch", "gate", {merge, b_.Op("LoopCond", "cond", {less})});
  b_.SetInput(merge, 1, b_.Op("NextIteration", "next", {b_.Op("AddV2", "sum", {Nth(gate, 1), Nth(gate, 1)})}));
  const Output exit = b_.Op("Exit", "exit", {gate});
  ASSERT_OK(b_.status());
  TrainStepOptions options;
  options.learning_rate_tensor = merge;
  ExpectRefused(StatusOf(loss, {w.node}, options), "it is in loop 'loop'");
  options.learning_rate_tensor = exit;
  EXPECT_NEAR(After(1, loss, w, options)[0], 1 - 4, 1e-6);
}

// --- What may not be -------------------------------------------------------------------------------------------------

TEST_F(TrainEdgesTest, WrongRatesStepsAndVariablesAreRefused) {
  const Output w = Floats("w", Shape::Of({1, 2}), {1, 2}), ints = Variable("ints", Tensor::Vector<int32_t>({1}));
  const Output loss = Total(Read(w));
  const Output text = b_.Const("text", Tensor::String("0.1"));
  ASSERT_OK(b_.status());
  const size_t before = b_.graph().num_nodes();
  TrainStepOptions options;
  options.learning_rate_tensor = Output{NodeId(9999), 0};
  ExpectRefused(StatusOf(loss, {w.node}, options), "is not in the graph");
  options.learning_rate_tensor = Output{text.node, 3};
  ExpectRefused(StatusOf(loss, {w.node}, options), "is not in the graph");
  options.learning_rate_tensor = text;
  ExpectRefused(StatusOf(loss, {w.node}, options), "must be a number");
  options = TrainStepOptions();
  options.global_step = ints.node;
  ExpectRefused(StatusOf(loss, {w.node}, options), "is to count the steps");
  options.global_step = w.node;
  ExpectRefused(StatusOf(loss, {w.node}, options), "is to count the steps");
  ExpectRefused(StatusOf(loss, {w.node, w.node}), "is named twice");
  ExpectRefused(StatusOf(loss, {}), "needs variables");
  ExpectRefused(StatusOf(loss, {ints.node}), "no optimizer takes its type");
  options = TrainStepOptions();
  options.gradients.stop = {Output{NodeId(9999), 0}};
  EXPECT_FALSE(StatusOf(loss, {w.node}, options).ok());
  EXPECT_EQ(b_.graph().num_nodes(), before);
}

// The call has been replaced when it turns out that no gradient comes through: it comes back, what was added goes.
TEST_F(TrainEdgesTest, WhatFailsHalfWayLeavesTheGraphAlone) {
  FunctionText("Twice")
      .Arg("x: float")
      .Result("y: float", "sum:z:0")
      .Node("sum = AddV2(x, x)", {{"T", DType::kFloat}})
      .AddTo(b_.graph());
  const Output w = Floats("w", Shape::Of({1, 2}), {1, 2});
  const Output loss = b_.Op("StopGradient", "stopped", {b_.Op("Twice", "call", {Total(Read(w))})});
  ASSERT_OK(b_.status());
  const int32_t limit = b_.graph().id_limit();
  std::vector<std::string> before;
  for (int32_t i = 0; i < limit; ++i) before.push_back(absl::StrCat(b_.graph().op_name(NodeId(i)), Name(NodeId(i))));
  TrainStepOptions options;
  options.loss_scaling.kind = LossScaling::Kind::kDynamic;
  ExpectRefused(StatusOf(loss, {w.node}, options), "depends on none of the variables");
  size_t num_nodes = 0;
  for (int32_t i = 0; i < b_.graph().id_limit(); ++i) {
    if (!b_.graph().Contains(NodeId(i))) continue;
    ASSERT_LT(i, limit);
    EXPECT_EQ(before[num_nodes++], absl::StrCat(b_.graph().op_name(NodeId(i)), Name(NodeId(i))));
  }
  EXPECT_EQ(num_nodes, before.size());
}

}  // namespace
}  // namespace sluice

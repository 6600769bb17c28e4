// Programs as a user of PyTorch's C++ would write them: they read as they do there.

#include <complex>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "executor/tape/grad_mode.h"
#include "executor/tape/ops.h"
#include "executor/tape/tape.h"
#include "graph/base/status_macros.h"
#include "gtest/gtest.h"
#include "tests/testing/status_matchers.h"

namespace sluice {
namespace {

using Vars = std::vector<Var>;

// --- A network that is trained with momentum, by updates in place
// -----------------------------------------------------

absl::StatusOr<float> TrainNetwork(Tape& tape) {
  const Var x = tape.Constant<float>({{0, 0}, {0, 1}, {1, 0}, {1, 1}});
  const Var labels = tape.Constant<int32_t>({0, 1, 1, 0});
  Var w1 = tape.Leaf<float>({{0.5f, -0.4f, 0.3f, 0.8f}, {-0.6f, 0.7f, 0.2f, 0.9f}});
  Var b1 = tape.Leaf<float>({0, 0, 0, 0});
  Var w2 = tape.Leaf<float>({{0.3f, -0.3f}, {0.6f, -0.2f}, {-0.5f, 0.4f}, {0.1f, 0.7f}});
  Var b2 = tape.Leaf<float>({0, 0});
  const std::vector<Var*> parameters = {&w1, &b1, &w2, &b2};
  Vars speeds;
  for (const Var* p : parameters) speeds.push_back(ZerosLike(*p));
  float last = 0;
  for (int step = 0; step < 300; ++step) {
    const Var hidden = Tanh(MatMul(x, w1) + b1);
    const Var log_probabilities = LogSoftmax(MatMul(hidden, w2) + b2, 1);
    const Var loss = -Mean(Gather(log_probabilities, 1, Unsqueeze(labels, 1)));
    SLUICE_RETURN_IF_ERROR(loss.Backward());
    SLUICE_ASSIGN_OR_RETURN(last, loss.Item<float>());
    const NoGradScope no_grad;
    for (size_t i = 0; i < parameters.size(); ++i) {
      SLUICE_RETURN_IF_ERROR(speeds[i].AssignMul(0.9));
      SLUICE_RETURN_IF_ERROR(speeds[i].AssignAdd(parameters[i]->grad()));
      SLUICE_RETURN_IF_ERROR(parameters[i]->AssignSub(speeds[i] * 0.1));
      parameters[i]->ClearGrad();
    }
  }
  return last;
}

TEST(ApiProgramsTest, ANetworkLearns) {
  Tape tape;
  ASSERT_OK_AND_ASSIGN(const float loss, TrainNetwork(tape));
  EXPECT_LT(loss, 0.02f);
}

// --- Hooks that clip gradients, for a while
// ---------------------------------------------------------------------------

absl::Status ClipForOneStep(Tape& tape, std::vector<float>* clipped, std::vector<float>* whole) {
  Var w = tape.Leaf<float>({1, -2, 0.01f});
  std::vector<HookHandle> hooks;
  SLUICE_ASSIGN_OR_RETURN(hooks.emplace_back(), w.AddHook([](const Var& grad) { return Clip(grad, -1, 1); }));
  const Var loss = Sum(Pow(w, 2));
  BackwardOptions options;
  options.retain_graph = true;
  SLUICE_RETURN_IF_ERROR(tape.Backward({loss}, {}, options));
  SLUICE_ASSIGN_OR_RETURN(*clipped, w.grad().Elements<float>());
  for (HookHandle& hook : hooks) hook.Remove();
  w.ClearGrad();
  SLUICE_RETURN_IF_ERROR(loss.Backward());
  SLUICE_ASSIGN_OR_RETURN(*whole, w.grad().Elements<float>());
  return absl::OkStatus();
}

TEST(ApiProgramsTest, HooksClipUntilTheyAreRemoved) {
  Tape tape;
  std::vector<float> clipped, whole;
  ASSERT_OK(ClipForOneStep(tape, &clipped, &whole));
  EXPECT_EQ(clipped, (std::vector<float>{1, -1, 0.02f}));
  EXPECT_EQ(whole, (std::vector<float>{2, -4, 0.02f}));
}

// --- A custom function whose calls have state of their own
// ------------------------------------------------------------

// Multiplies by the power of two next to the largest element, which Backward has to know.
class NextPower final : public CustomFunction {
 public:
  std::string name() const override { return "NextPower"; }
  absl::StatusOr<Vars> Forward(FunctionContext& context, absl::Span<const Var> inputs) override {
    double& factor = context.State<Factor>().value;
    SLUICE_ASSIGN_OR_RETURN(const double largest, Max(Abs(inputs[0])).Item<double>());
    while (factor < largest) factor *= 2;
    return Vars{inputs[0] * factor};
  }
  absl::StatusOr<Vars> Backward(FunctionContext& context, absl::Span<const Var> grads) override {
    return Vars{grads[0] * context.State<Factor>().value};
  }

 private:
  struct Factor {
    double value = 1;
  };
};

TEST(ApiProgramsTest, CallsOfOneFunctionHaveStateOfTheirOwn) {
  Tape tape;
  const auto next_power = std::make_shared<NextPower>();
  const Var a = tape.Leaf<double>({1, 3}), b = tape.Leaf<double>({10, -20});
  const Var y = tape.Apply(next_power, {a})[0], z = tape.Apply(next_power, {b})[0];
  ASSERT_OK((Sum(y) + Sum(z)).Backward());
  ASSERT_OK_AND_ASSIGN(const std::vector<double> of_a, a.grad().Elements<double>());
  ASSERT_OK_AND_ASSIGN(const std::vector<double> of_b, b.grad().Elements<double>());
  EXPECT_EQ(of_a, (std::vector<double>{4, 4}));
  EXPECT_EQ(of_b, (std::vector<double>{32, 32}));
}

// Asks for another type in Backward than in Forward.
class TwoStates final : public CustomFunction {
 public:
  std::string name() const override { return "TwoStates"; }
  absl::StatusOr<Vars> Forward(FunctionContext& context, absl::Span<const Var> inputs) override {
    context.State<int>() = 1;
    return Vars{inputs[0] * 2.0};
  }
  absl::StatusOr<Vars> Backward(FunctionContext& context, absl::Span<const Var> grads) override {
    return Vars{grads[0] * static_cast<double>(context.State<float>())};
  }
};

TEST(ApiProgramsTest, AnotherTypeOfStateIsAnError) {
  Tape tape;
  const Var x = tape.Leaf<float>(1);
  EXPECT_FALSE(tape.Apply(std::make_shared<TwoStates>(), {x})[0].Backward().ok());
  EXPECT_FALSE(x.grad().defined());
}

// --- Tensors from lists, and numbers from tensors
// ----------------------------------------------------------------------

TEST(ApiProgramsTest, TensorsAreMadeOfListsAndRead) {
  Tape tape;
  EXPECT_EQ(tape.Leaf<float>(2.5f).shape(), Shape());
  EXPECT_EQ(tape.Constant<double>({{{1, 2, 3}}, {{4, 5, 6}}}).shape(), Shape::Of({2, 1, 3}));
  EXPECT_EQ(tape.Constant<int64_t>({}).shape(), Shape::Of({0}));
  EXPECT_EQ(tape.Constant<bool>({true, false}).dtype(), DType::kBool);
  EXPECT_THAT(tape.Constant<float>({{1, 2}, {3}}).status(), IsError(ErrorCode::kTensorShape));
  EXPECT_THAT(tape.Constant<float>({1, {2}}).status(), IsError(ErrorCode::kTensorShape));
  EXPECT_THAT(tape.Leaf<int32_t>({1}).status(), IsError(ErrorCode::kInputType));
  ASSERT_OK_AND_ASSIGN(const double number, tape.Constant<int64_t>({{7}}).Item<double>());
  EXPECT_EQ(number, 7);
  ASSERT_OK_AND_ASSIGN(const int32_t whole, tape.Constant<double>(-1.75).Item<int32_t>());
  EXPECT_EQ(whole, -1);
  EXPECT_THAT(tape.Constant<double>(3e9).Item<int32_t>(), IsError(ErrorCode::kTensorDType, "3e+09"));
  EXPECT_THAT(tape.Constant<double>(1e300).Item<float>(), IsError(ErrorCode::kTensorDType));
  EXPECT_THAT(tape.Constant<float>({1, 2}).Item<float>(), IsError(ErrorCode::kTensorShape));
  EXPECT_THAT(Var().Item<float>(), IsError(ErrorCode::kTapeUndefined));
  EXPECT_THAT(Var::Failed(absl::AbortedError("first")).Item<float>(), StatusIs(absl::StatusCode::kAborted));
  for (const DType type : {DType::kHalf, DType::kBFloat16, DType::kInt8, DType::kUInt64, DType::kComplex64}) {
    ASSERT_OK_AND_ASSIGN(const Tensor made, TensorOfNumbers(type, Shape::Of({2}), {3, 100}));
    ASSERT_OK_AND_ASSIGN(const std::vector<std::complex<double>> read, ElementsAs<std::complex<double>>(made));
    EXPECT_EQ(read, (std::vector<std::complex<double>>{3, 100})) << DTypeName(type);
  }
  EXPECT_THAT(FilledTensor(DType::kInt8, Shape(), 200), IsError(ErrorCode::kTensorDType, "200 is not an int8"));
  EXPECT_THAT(FilledTensor(DType::kUInt8, Shape(), -1), IsError(ErrorCode::kTensorDType, "-1 is not a uint8"));
  EXPECT_THAT(TensorOfNumbers(DType::kFloat, Shape::Of({3}), {1, 2}), IsError(ErrorCode::kTensorShape));
  EXPECT_THAT(FilledTensor(DType::kString, Shape(), 1), IsError(ErrorCode::kTensorDType));
  EXPECT_THAT(ElementsAs<double>(Tensor::String("1")), IsError(ErrorCode::kTensorDType));
}

}  // namespace
}  // namespace sluice

// Random define-by-run programs whose answers PyTorch has given (torch_programs.py): equal gradients, the same hooks in
// the same order, the same kind of error at the same line.

#include <cmath>
#include <fstream>
#include <map>
#include <memory>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"
#include "executor/tape/ops.h"
#include "executor/tape/tape.h"
#include "graph/base/error_code_of.h"
#include "graph/base/status_macros.h"
#include "gtest/gtest.h"
#include "tests/testing/status_matchers.h"

namespace sluice {
namespace {

using Vars = std::vector<Var>;

// tanh(x) x, whose gradient is computed by a pass of its own.
class Checkpoint final : public CustomFunction {
 public:
  explicit Checkpoint(Tape& tape) : tape_(tape) {}
  std::string name() const override { return "Checkpoint"; }
  absl::StatusOr<Vars> Forward(FunctionContext& c, absl::Span<const Var> inputs) override {
    c.SaveForBackward({inputs[0]});
    return Vars{Tanh(inputs[0]) * inputs[0]};
  }
  absl::StatusOr<Vars> Backward(FunctionContext& c, absl::Span<const Var> grads) override {
    SLUICE_ASSIGN_OR_RETURN(const Vars saved, c.Saved());
    const Var inner = tape_.Leaf(saved[0].value());
    {
      const GradModeScope records(true);
      SLUICE_RETURN_IF_ERROR(Sum(Tanh(inner) * inner).Backward());
    }
    return Vars{inner.grad() * grads[0]};
  }

 private:
  Tape& tape_;
};

std::string KindOf(const absl::Status& status) {
  if (status.ok()) return "ok";
  const std::pair<ErrorCode, const char*> kinds[] = {
      {ErrorCode::kTapeModified, "version"},    {ErrorCode::kTapeFreed, "released"},
      {ErrorCode::kTapeNeedsNoGrad, "no_grad"}, {ErrorCode::kTapeRoot, "scalar"},
      {ErrorCode::kTapeUnused, "unused"},       {ErrorCode::kTapeLeafAssigned, "leaf"},
  };
  for (const auto& [code, kind] : kinds) {
    if (ErrorCodeOf(status) == code) return kind;
  }
  return status.ToString();
}

// One program as it runs.
class ProgramRun {
 public:
  explicit ProgramRun(Tape& tape) : tape_(tape) {}

  // A line that does something; its outcome for lines that can fail.
  absl::Status Do(const std::vector<std::string>& words) {
    const std::string& what = words[0];
    if (what == "leaf" || what == "const") return Make(words);
    const auto operand = [&](size_t i) { return vars_[static_cast<size_t>(Int(words[i]))]; };
    Var a = operand(1);
    if (what == "backward") return Backward(a, words);
    if (what == "grad") return Grad(a, words);
    if (what == "hook") return AddHook(a, words);
    if (what == "retain") return a.RetainGrad();
    if (what == "clear") return a.SetGrad(Var());
    if (what == "iadd") return a.AssignAdd(operand(2));
    if (what == "iscale") return a.AssignMul(Number(words[2]));
    if (what == "update") {
      const NoGradScope no_grad;
      return a.AssignSub(a.grad().Detach() * 0.125);
    }
    vars_.push_back(Compute(what, a, words));
    return vars_.back().status();
  }
  const std::vector<int>& hooks() const { return hooks_; }
  const Var& var(size_t i) const { return vars_[i]; }

 private:
  static int Int(const std::string& word) {
    int value = 0;
    EXPECT_TRUE(absl::SimpleAtoi(word, &value)) << word;
    return value;
  }
  static double Number(const std::string& word) {
    double value = 0;
    EXPECT_TRUE(absl::SimpleAtod(word, &value)) << word;
    return value;
  }

  absl::Status Make(const std::vector<std::string>& words) {
    std::vector<int64_t> dims;
    if (words[1] != "s") {
      for (const absl::string_view dim : absl::StrSplit(words[1], 'x')) dims.push_back(Int(std::string(dim)));
    }
    SLUICE_ASSIGN_OR_RETURN(const Shape shape, Shape::Make(dims));
    std::vector<double> values;
    for (int64_t k = 0; k < shape.num_elements(); ++k) {
      values.push_back(std::sin(1.7 * Int(words[2]) + 0.9 * static_cast<double>(k)));
    }
    const Tensor tensor = Tensor::Of<double>(shape, values);
    vars_.push_back(words[0] == "leaf" ? tape_.Leaf(tensor) : tape_.Constant(tensor));
    return absl::OkStatus();
  }

  Var Compute(const std::string& what, const Var& a, const std::vector<std::string>& words) {
    if (what == "scale") return a * Number(words[2]);
    if (what == "tanh") return Tanh(a);
    if (what == "exp") return Exp(a);
    if (what == "sigmoid") return Sigmoid(a);
    if (what == "square") return Square(a);
    if (what == "sum") return Sum(a);
    if (what == "mean") return Mean(a);
    if (what == "detach") return a.Detach();
    if (what == "checkpoint") return tape_.Apply(std::make_shared<Checkpoint>(tape_), {a})[0];
    const Var b = vars_[static_cast<size_t>(Int(words[2]))];
    if (what == "add") return a + b;
    if (what == "sub") return a - b;
    if (what == "mul") return a * b;
    if (what == "mm") return MatMul(a, b);
    return Var::Failed(absl::InvalidArgumentError(what));
  }

  absl::Status Backward(const Var& root, const std::vector<std::string>& words) {
    BackwardOptions options;
    options.retain_graph = words[2] == "1";
    options.create_graph = words[3] == "1";
    return tape_.Backward({root}, {}, options);
  }

  absl::Status Grad(const Var& root, const std::vector<std::string>& words) {
    GradOptions options;
    options.retain_graph = true;
    options.create_graph = words[2] == "1";
    Vars inputs;
    for (size_t i = 3; i < words.size(); ++i) inputs.push_back(vars_[static_cast<size_t>(Int(words[i]))]);
    SLUICE_ASSIGN_OR_RETURN(const Vars found, tape_.Grad({root}, inputs, {}, options));
    vars_.insert(vars_.end(), found.begin(), found.end());
    return absl::OkStatus();
  }

  absl::Status AddHook(Var& var, const std::vector<std::string>& words) {
    const int name = num_hooks_++;
    const double factor = Number(words[2]);
    return var
        .AddHook([this, name, factor](const Var& grad) {
          hooks_.push_back(name);
          return factor == 0 ? Var() : grad * factor;
        })
        .status();
  }

  Tape& tape_;
  Vars vars_;
  std::vector<int> hooks_;
  int num_hooks_ = 0;
};

void CheckGradient(const Var& var, const std::vector<std::string>& words) {
  const Var grad = var.grad();
  if (words[0] == "none") {
    EXPECT_FALSE(grad.defined());
    return;
  }
  ASSERT_TRUE(grad.defined());
  double dot = 0, sum = 0, expected_dot = 0, expected_sum = 0;
  ASSERT_TRUE(absl::SimpleAtod(words[2], &expected_dot) && absl::SimpleAtod(words[3], &expected_sum));
  const absl::Span<const double> g = grad.value().flat<double>();
  for (size_t k = 0; k < g.size(); ++k) {
    dot += g[k] * std::cos(static_cast<double>(k) + 1);
    sum += std::abs(g[k]);
  }
  const double tolerance = 1e-8 * std::abs(expected_sum) + 1e-10;
  EXPECT_NEAR(dot, expected_dot, tolerance);
  EXPECT_NEAR(sum, expected_sum, tolerance);
}

// The lines of all programs, each program with its outcomes.
TEST(TorchProgramsTest, TheTapeAnswersWhatPyTorchAnswers) {
  std::ifstream file("tests/executor/tape/torch_programs.txt");
  ASSERT_TRUE(file.good());
  Tape tape;
  std::unique_ptr<ProgramRun> run;
  std::string line, program;
  absl::Status last;
  int num_programs = 0, num_gradients = 0;
  while (std::getline(file, line)) {
    const std::vector<std::string> words = absl::StrSplit(line, ' ', absl::SkipEmpty());
    SCOPED_TRACE(program + ": " + line);
    if (words[0] == "program") {
      run = std::make_unique<ProgramRun>(tape);
      program = line;
      ++num_programs;
    } else if (words[0] == "=") {
      EXPECT_EQ(KindOf(last), words[1]);
    } else if (words[0] == "hooks") {
      std::vector<std::string> hooks;
      for (const int hook : run->hooks()) hooks.push_back(std::to_string(hook));
      EXPECT_EQ(hooks, std::vector<std::string>(words.begin() + 1, words.end()));
    } else if (words[0] == "is" || words[0] == "none") {
      CheckGradient(run->var(static_cast<size_t>(std::stoi(words[1]))), words);
      ++num_gradients;
    } else {
      last = run->Do(words);
    }
    if (::testing::Test::HasFailure()) return;
  }
  EXPECT_GE(num_programs, 2000);
  EXPECT_GE(num_gradients, 1500);
}

}  // namespace
}  // namespace sluice

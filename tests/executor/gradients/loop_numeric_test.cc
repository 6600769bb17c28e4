// First and second gradients of loops and conditionals against differences, for each number of rounds, none included.

#include <algorithm>
#include <cmath>
#include <functional>
#include <memory>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "executor/session/session.h"
#include "gmock/gmock.h"
#include "graph/base/status_macros.h"
#include "graph/gradients/gradients.h"
#include "tests/executor/gradients/control_flow_fixture.h"

namespace sluice {
namespace {

using Doubles = std::vector<double>;

class LoopNumericTest : public ControlFlowFixture {
 public:
  // For the functions of the table below.
  using ControlFlowFixture::Begin, ControlFlowFixture::Count, ControlFlowFixture::End, ControlFlowFixture::Enter;
  using ControlFlowFixture::Gate, ControlFlowFixture::Int, ControlFlowFixture::Invariant, ControlFlowFixture::Loop;
  using ControlFlowFixture::Next, ControlFlowFixture::Nth, GradientsFixture::b_;
  // What a case reads: float64 vectors x and w, and the number of rounds n.
  struct Inputs {
    Output x, w, n;
  };
  Output Real(const std::string& name, double value) { return b_.Const(name, Tensor::Scalar(value)); }
  Output Apply(absl::string_view op, const std::string& name, std::vector<Output> inputs,
               GraphBuilder::Attrs attrs = {}) {
    return b_.Op(op, name, std::move(inputs), std::move(attrs));
  }
  // v starts at x and u at w; n times: (v, u) = body(v, u). Gives the sum of squares of v and u.
  using Body = std::function<std::pair<Output, Output>(const Loop& loop, Output v, Output u)>;
  Output LoopOfTwo(const Inputs& in, const Body& body) {
    const Loop loop = Begin("loop", in.n);
    const Variable v = Enter(loop, "v", in.x), u = Enter(loop, "u", in.w);
    const auto [next_v, next_u] = body(loop, v.value, u.value);
    Next(v, "v", next_v);
    Next(u, "u", next_u);
    End(loop);
    return Apply("AddV2", "y", {Apply("Square", "v2", {v.last}), Apply("Square", "u2", {u.last})});
  }
  // One branch is sin, the next one a product with `other`, the third one a constant; by a Case of `num_branches`.
  Output CaseOf(const std::string& name, Output index, int num_branches, Output value, Output other) {
    const GraphBuilder::Attrs count = {{"num_outs", num_branches}};
    const Output gate = Apply("_SwitchN", name + "/gate", {value, index}, count);
    const Output other_gate = Apply("_SwitchN", name + "/other_gate", {other, index}, count);
    std::vector<Output> results = {Apply("Sin", name + "/sin", {gate})};
    if (num_branches > 1) results.push_back(Apply("Mul", name + "/mul", {Nth(gate, 1), Nth(other_gate, 1)}));
    if (num_branches > 2) results.push_back(Apply("ZerosLike", name + "/zeros", {Nth(other_gate, 2)}));
    return Apply("Merge", name, results);
  }

 protected:
  static Tensor Vector(const Doubles& values) { return Tensor::Vector<double>(values); }
  NamedTensors Feeds(const Doubles& x, const Doubles& w, int rounds) const {
    return {{"x", Vector(x)}, {"w", Vector(w)}, {"n", Tensor::Scalar<int32_t>(rounds)}};
  }
  Inputs MakeInputs() {
    return {b_.Placeholder("x", DType::kDouble), b_.Placeholder("w", DType::kDouble),
            b_.Placeholder("n", DType::kInt32)};
  }
  absl::StatusOr<std::vector<Doubles>> Fetch(Session& session, const std::vector<Output>& outputs,
                                             const NamedTensors& feeds) {
    std::vector<std::string> names;
    for (const Output& output : outputs) names.push_back(b_.graph().OutputName(output));
    SLUICE_ASSIGN_OR_RETURN(const std::vector<Tensor> tensors, session.Run(feeds, names, {}));
    std::vector<Doubles> values;
    for (const Tensor& tensor : tensors) {
      values.emplace_back(tensor.flat<double>().begin(), tensor.flat<double>().end());
    }
    return values;
  }
  // The sum of all elements of `outputs`.
  absl::StatusOr<double> SumOf(Session& session, const std::vector<Output>& outputs, const NamedTensors& feeds) {
    SLUICE_ASSIGN_OR_RETURN(const std::vector<Doubles> values, Fetch(session, outputs, feeds));
    double sum = 0;
    for (const Doubles& value : values) {
      for (const double element : value) sum += element;
    }
    return sum;
  }
  // Checks `gradients` (by x, by w) of the sum of `ys`.
  void Check(Session& session, const std::vector<Output>& ys, const std::vector<Output>& gradients, int rounds) {
    const std::vector<Doubles> at = {{0.3, -0.8}, {0.6, 0.4}};
    ASSERT_OK_AND_ASSIGN(const std::vector<Doubles> found, Fetch(session, gradients, Feeds(at[0], at[1], rounds)));
    constexpr double kStep = 1e-3;
    for (size_t input = 0; input < 2; ++input) {
      for (size_t i = 0; i < 2; ++i) {
        const auto moved = [&](double by) {
          std::vector<Doubles> values = at;
          values[input][i] += by;
          return SumOf(session, ys, Feeds(values[0], values[1], rounds)).value();
        };
        const double near = (moved(kStep) - moved(-kStep)) / (2 * kStep);
        const double far = (moved(2 * kStep) - moved(-2 * kStep)) / (4 * kStep);
        EXPECT_NEAR(found[input][i], (4 * near - far) / 3, 1e-7)
            << "by element " << i << (input == 0 ? " of x, " : " of w, ") << rounds << " rounds";
      }
    }
  }
  // Gradients of the sum of `ys` by x and w; zeros where they are not connected.
  absl::StatusOr<std::vector<Output>> GradientsOf(const std::vector<Output>& ys, const Inputs& in) {
    GradientOptions options;
    options.unconnected = GradientOptions::Unconnected::kZero;
    SLUICE_ASSIGN_OR_RETURN(const GradientResult found, Add(ys, {in.x, in.w}, options));
    return std::vector<Output>{found.xs[0].value, found.xs[1].value};
  }
};

struct LoopCase {
  const char* name;
  std::function<Output(LoopNumericTest&, const LoopNumericTest::Inputs&)> make;
};

using Test = LoopNumericTest;
using Pair = std::pair<Output, Output>;

// A case whose loop has the body; `t` is the test.
template <typename Body>
std::function<Output(Test&, const Test::Inputs&)> Two(const Body& body) {
  return [body](Test& t, const Test::Inputs& in) {
    return t.LoopOfTwo(in, [&](const auto& loop, Output v, Output u) { return body(t, loop, v, u); });
  };
}

Output CasesOutside(Test& t, const Test::Inputs& in) {
  const Output one = t.CaseOf("one", in.n, 1, in.x, in.w), two = t.CaseOf("two", in.n, 2, in.x, one);
  return t.Apply("Square", "y", {t.CaseOf("three", in.n, 3, two, in.w)});
}

std::vector<LoopCase> LoopCases() {
  return {
      {"Kept", Two([](Test& t, const auto&, Output v, Output u) {
         return Pair(v, t.Apply("Mul", "vu", {v, u}));
       })},
      {"ReplacedByAConstant", Two([](Test& t, const auto& loop, Output v, Output u) {
         return Pair(t.Apply("Sin", "sin", {t.Apply("Mul", "vu", {v, u})}),
                     t.Apply("AddV2", "constant",
                             {t.Invariant(loop, "k/in", t.Real("k", 0.7)), t.Apply("ZerosLike", "none", {u})}));
       })},
      {"ReplacedByZeros", Two([](Test& t, const auto&, Output v, Output u) {
         return Pair(t.Apply("ZerosLike", "zeros", {v}), t.Apply("Mul", "vu", {v, u}));
       })},
      {"BothReplaced", Two([](Test& t, const auto&, Output v, Output u) {
         return Pair(t.Apply("ZerosLike", "zeros", {u}), t.Apply("OnesLike", "ones", {v}));
       })},
      {"ThroughAnInteger", Two([](Test& t, const auto&, Output v, Output u) {
         const Output whole = t.Apply("Cast", "whole", {v}, {{"DstT", DType::kInt32}});
         return Pair(t.Apply("Cast", "back", {whole}, {{"DstT", DType::kDouble}}), t.Apply("Mul", "vu", {v, u}));
       })},
      // Both of one variable: the other one has a gradient at the end only.
      {"BothOfOne", Two([](Test& t, const auto&, Output v, Output) {
         const Output tanh = t.Apply("Tanh", "tanh", {v});
         return Pair(tanh, tanh);
       })},
      {"Swapped", Two([](Test& t, const auto&, Output v, Output u) {
         return Pair(t.Apply("Sin", "sin", {u}), t.Apply("Mul", "vu", {v, v}));
       })},
      {"AConditional", Two([](Test& t, const auto& loop, Output v, Output u) {
         const Output early = t.Apply("Less", "early", {t.Count(loop), t.Invariant(loop, "one", t.Int("1", 1))});
         const Output gate = t.Gate("gate", v, early);
         const Output yes = t.Apply("Mul", "yes", {t.Nth(gate, 1), t.Nth(t.Gate("other", u, early), 1)});
         return Pair(t.Apply("Merge", "both", {t.Apply("Sin", "no", {gate}), yes}), t.Apply("Tanh", "tanh", {u}));
       })},
      {"ACaseOfOne", Two([](Test& t, const auto& loop, Output v, Output u) {
         return Pair(t.CaseOf("case", t.Count(loop), 1, v, u), t.Apply("Mul", "vu", {v, u}));
       })},
      {"ACaseOfTwo", Two([](Test& t, const auto& loop, Output v, Output u) {
         return Pair(t.CaseOf("case", t.Count(loop), 2, v, u), t.Apply("Sin", "sin", {u}));
       })},
      {"ACaseOfThree", Two([](Test& t, const auto& loop, Output v, Output u) {
         return Pair(v, t.CaseOf("case", t.Count(loop), 3, v, u));
       })},
      // One index that chooses among two and among three.
      {"TwoCasesOfOneIndex", Two([](Test& t, const auto& loop, Output v, Output u) {
         return Pair(t.CaseOf("two", t.Count(loop), 2, v, u), t.CaseOf("three", t.Count(loop), 3, u, v));
       })},
      {"ALoopInTheLoop", Two([](Test& t, const auto& loop, Output v, Output u) {
         const auto inner = t.Begin("inner", t.Count(loop), &loop);
         const auto a = t.Enter(inner, "a", v), b = t.Enter(inner, "b", u);
         t.Next(a, "a", t.Apply("Mul", "ab", {a.value, t.Apply("Sin", "sin_b", {b.value})}));
         t.Next(b, "b", t.Apply("ZerosLike", "zeros", {b.value}));
         t.End(inner);
         return Pair(t.Apply("Tanh", "tanh", {a.last}), t.Apply("AddV2", "sum", {b.last, u}));
       })},
      {"CasesOutside", &CasesOutside},
  };
}

class LoopCasesTest : public LoopNumericTest, public ::testing::WithParamInterface<LoopCase> {};

TEST_P(LoopCasesTest, FirstAndSecondGradients) {
  const Inputs in = MakeInputs();
  const Output y = GetParam().make(*this, in);
  ASSERT_OK(b_.status());
  ASSERT_OK_AND_ASSIGN(const std::vector<Output> first, GradientsOf({y}, in));
  ASSERT_OK_AND_ASSIGN(const std::vector<Output> second, GradientsOf(first, in));
  SessionOptions options;
  options.num_threads = 1;
  ASSERT_OK_AND_ASSIGN(const std::unique_ptr<Session> session, Session::Create(options, b_.graph()));
  for (int rounds = 0; rounds < 4; ++rounds) {
    Check(*session, {y}, first, rounds);
    Check(*session, first, second, rounds);
  }
}

INSTANTIATE_TEST_SUITE_P(Cases, LoopCasesTest, ::testing::ValuesIn(LoopCases()),
                         [](const ::testing::TestParamInfo<LoopCase>& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace sluice

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
#include "graph/value/shape.h"
#include "tests/executor/gradients/control_flow_fixture.h"

namespace sluice {
namespace {

using Doubles = std::vector<double>;

class LoopNumericTest : public ControlFlowFixture {
 public:
  // For the functions of the table below.
  using ControlFlowFixture::Begin, ControlFlowFixture::Count, ControlFlowFixture::End, ControlFlowFixture::Enter;
  using ControlFlowFixture::Frame, ControlFlowFixture::Gate, ControlFlowFixture::Int, ControlFlowFixture::Invariant,
      ControlFlowFixture::Loop;
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
  // A TensorArray of float64, and the flow behind what was done to it last.
  struct Array {
    Output handle, flow;
  };
  Array MakeArray(const std::string& name, Output size, const PartialShape& element = PartialShape()) {
    const Output handle = Apply("TensorArrayV3", name, {size},
                                {{"dtype", DType::kDouble}, {"element_shape", element}, {"clear_after_read", false}});
    return {handle, Nth(handle, 1)};
  }
  // Of four vectors of two, which x and w decide.
  Array RowsOf(const Inputs& in) {
    Array rows = MakeArray("rows", Int("four", 4), PartialShape::Of({2}));
    const Output packed =
        Apply("Pack", "packed", {Apply("Sin", "sin_x", {in.x}), in.w, Apply("Mul", "xw", {in.x, in.w}), in.x});
    const Output all = b_.Const("all", Tensor::Vector<int32_t>({0, 1, 2, 3}));
    rows.flow = Apply("TensorArrayScatterV3", "rows/scatter", {rows.handle, all, packed, rows.flow});
    return rows;
  }
  Array In(const Loop& loop, const std::string& name, const Array& array) {
    return {Invariant(loop, name + "/handle", array.handle), Invariant(loop, name + "/flow", array.flow)};
  }
  Output Read(const std::string& name, const Array& array, Output index) {
    return Apply("TensorArrayReadV3", name, {array.handle, index, array.flow}, {{"dtype", DType::kDouble}});
  }
  // A loop that writes what `body` gives, as its v is, at the iteration's place of an array of n elements.
  Array WrittenInALoop(const Inputs& in, const PartialShape& element, const Body& body) {
    Array array = MakeArray("written", in.n, element);
    const Loop loop = Begin("writes", in.n);
    const Variable v = Enter(loop, "wv", in.x), u = Enter(loop, "wu", in.w), flow = Enter(loop, "flow", array.flow);
    const auto [next_v, next_u] = body(loop, v.value, u.value);
    const Output handle = Invariant(loop, "written/in", array.handle);
    Next(flow, "flow", Apply("TensorArrayWriteV3", "write", {handle, Count(loop), next_v, flow.value}));
    Next(v, "wv", next_v);
    Next(u, "wu", next_u);
    End(loop);
    return {array.handle, flow.last};
  }
  // x and what all elements give together.
  Output SumOfAll(const Inputs& in, Output all) {
    const Output sum =
        Apply("Sum", "sum_all", {Apply("Mul", "all2", {all, Apply("Sin", "sin_all", {all})}), Int("axis", 0)});
    return Apply("AddV2", "y", {sum, Apply("Mul", "x2", {in.x, in.x})});
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

// A conditional by `chosen`; only one branch reads v; the other one begins with a Switch by `early`, which is the same.
Output OneBranchReads(Test& t, Output v, Output early, Output chosen) {
  const Output none = t.Apply("OnesLike", "none", {t.Gate("pivot", t.Apply("ZerosLike", "zeros", {v}), early)});
  const Output yes = t.Apply("Sin", "yes", {t.Nth(t.Gate("gate", v, chosen), 1)});
  return t.Apply("AddV2", "v_next", {v, t.Apply("Merge", "both", {none, yes})});
}

// --- TensorArrays ----------------------------------------------------------------------------------------------------

Output ReadsAnArray(Test& t, const Test::Inputs& in) {
  const Test::Array rows = t.RowsOf(in);
  return t.LoopOfTwo(in, [&](const auto& loop, Output v, Output u) {
    const Output row = t.Read("row", t.In(loop, "rows", rows), t.Count(loop));
    return Pair(t.Apply("Mul", "v_row", {v, row}), t.Apply("AddV2", "u_row", {t.Apply("Sin", "sin_u", {u}), row}));
  });
}

// Gradients add up in one element.
Output ReadsOneElement(Test& t, const Test::Inputs& in) {
  const Test::Array rows = t.RowsOf(in);
  return t.LoopOfTwo(in, [&](const auto& loop, Output v, Output u) {
    const Output row = t.Read("row", t.In(loop, "rows", rows), t.Invariant(loop, "at", t.Int("at", 2)));
    return Pair(t.Apply("Mul", "v_row", {v, row}), t.Apply("Mul", "uv", {u, v}));
  });
}

Output ReadsInABranch(Test& t, const Test::Inputs& in) {
  const Test::Array rows = t.RowsOf(in);
  return t.LoopOfTwo(in, [&](const auto& loop, Output v, Output u) {
    const Output early = t.Apply("Less", "early", {t.Count(loop), t.Invariant(loop, "one", t.Int("1", 1))});
    const Test::Array here = t.In(loop, "rows", rows);
    const Test::Array there = {t.Nth(t.Gate("gate/handle", here.handle, early), 1),
                               t.Nth(t.Gate("gate/flow", here.flow, early), 1)};
    const Output gate = t.Gate("gate", v, early);
    const Output row = t.Read("row", there, t.Nth(t.Gate("gate/count", t.Count(loop), early), 1));
    const Output yes = t.Apply("Mul", "yes", {t.Nth(gate, 1), row});
    return Pair(t.Apply("Merge", "both", {t.Apply("Sin", "no", {gate}), yes}), t.Apply("Mul", "uv", {u, v}));
  });
}

Output ReadsInAnInnerLoop(Test& t, const Test::Inputs& in) {
  const Test::Array rows = t.RowsOf(in);
  return t.LoopOfTwo(in, [&](const auto& loop, Output v, Output u) {
    const auto inner = t.Begin("inner", t.Count(loop), &loop);
    const auto a = t.Enter(inner, "a", v);
    const Output row = t.Read("row", t.In(inner, "rows", rows), t.Count(inner));
    t.Next(a, "a", t.Apply("Mul", "a_row", {a.value, row}));
    t.End(inner);
    return Pair(t.Apply("Tanh", "tanh", {a.last}), t.Apply("Mul", "uv", {u, v}));
  });
}

// Each round makes an array, the first one of no elements.
Output WritesArraysOfTheLoop(Test& t, const Test::Inputs& in) {
  const PartialShape element = PartialShape::Of({2});
  return t.LoopOfTwo(in, [&](const auto& loop, Output v, Output u) {
    const Test::Array made = t.MakeArray("made", t.Count(loop), element);
    const auto inner = t.Begin("inner", t.Count(loop), &loop);
    const auto a = t.Enter(inner, "a", v), flow = t.Enter(inner, "flow", made.flow);
    const Output handle = t.Apply("Enter", "made/in", {made.handle}, Test::Frame("inner", true));
    t.Next(flow, "flow", t.Apply("TensorArrayWriteV3", "write", {handle, t.Count(inner), a.value, flow.value}));
    t.Next(a, "a", t.Apply("Sin", "sin_a", {a.value}));
    t.End(inner);
    const Output zero = t.Invariant(loop, "zero", t.Int("0", 0)), one = t.Invariant(loop, "one", t.Int("1", 1));
    const Output places = t.Apply("Range", "places", {zero, t.Count(loop), one});
    const Output all = t.Apply("TensorArrayGatherV3", "gathered", {made.handle, places, flow.last},
                               {{"dtype", DType::kDouble}, {"element_shape", element}});
    const Output sum = t.Apply("Sum", "sum_all", {t.Apply("Mul", "all2", {all, all}), zero});
    return Pair(t.Apply("AddV2", "v_sum", {a.last, sum}), t.Apply("Mul", "uv", {u, v}));
  });
}

// With no round, an array of no elements.
Output WritesAnArray(Test& t, const Test::Inputs& in) {
  const PartialShape element = PartialShape::Of({2});
  const Test::Array written = t.WrittenInALoop(in, element, [&](const auto&, Output v, Output u) {
    return Pair(t.Apply("Mul", "wvu", {v, u}), t.Apply("Sin", "wsin", {u}));
  });
  const Output places = t.Apply("Range", "places", {t.Int("zero", 0), in.n, t.Int("step", 1)});
  return t.SumOfAll(in, t.Apply("TensorArrayGatherV3", "gathered", {written.handle, places, written.flow},
                                {{"dtype", DType::kDouble}, {"element_shape", element}}));
}

Output ConcatsAnArray(Test& t, const Test::Inputs& in) {
  const Test::Array written = t.WrittenInALoop(in, PartialShape::Of({2}), [&](const auto&, Output v, Output u) {
    return Pair(t.Apply("Mul", "wvu", {v, u}), t.Apply("Sin", "wsin", {u}));
  });
  const PartialShape scalar = PartialShape::Scalar();
  return t.SumOfAll(in, t.Apply("TensorArrayConcatV3", "joined", {written.handle, written.flow},
                                {{"dtype", DType::kDouble}, {"element_shape_except0", scalar}}));
}

Output SplitsAnArray(Test& t, const Test::Inputs& in) {
  Test::Array parts = t.MakeArray("parts", t.Int("three", 3));
  const Output whole = t.Apply("ConcatV2", "whole", {in.x, t.Apply("Sin", "sin_w", {in.w}), t.Int("axis0", 0)});
  const Output lengths = t.b_.Const("lengths", Tensor::Vector<int64_t>({2, 1, 1}));
  parts.flow = t.Apply("TensorArraySplitV3", "split", {parts.handle, whole, lengths, parts.flow});
  return t.LoopOfTwo(in, [&](const auto& loop, Output v, Output u) {
    const Output part = t.Read("part", t.In(loop, "parts", parts), t.Count(loop));
    return Pair(t.Apply("Mul", "v_part", {v, part}), t.Apply("Mul", "uv", {u, v}));
  });
}

Output ArraysOutside(Test& t, const Test::Inputs& in) {
  Test::Array pair = t.MakeArray("pair", t.Int("two", 2));
  const Output zero = t.Int("0", 0), one = t.Int("1", 1);
  pair.flow = t.Apply("TensorArrayWriteV3", "write0", {pair.handle, zero, in.x, pair.flow});
  pair.flow =
      t.Apply("TensorArrayWriteV3", "write1", {pair.handle, one, t.Apply("Mul", "xw", {in.x, in.w}), pair.flow});
  const Output twice = t.Apply("Mul", "twice", {t.Read("read0", pair, zero), t.Read("read1", pair, one)});
  return t.Apply("Mul", "y", {twice, t.Read("read0_again", pair, zero)});
}

std::vector<LoopCase> ArrayCases() {
  return {
      {"ReadsAnArray", &ReadsAnArray},     {"ReadsOneElement", &ReadsOneElement},
      {"ReadsInABranch", &ReadsInABranch}, {"ReadsInAnInnerLoop", &ReadsInAnInnerLoop},
      {"WritesAnArray", &WritesAnArray},   {"WritesArraysOfTheLoop", &WritesArraysOfTheLoop},
      {"ConcatsAnArray", &ConcatsAnArray}, {"SplitsAnArray", &SplitsAnArray},
      {"ArraysOutside", &ArraysOutside},
  };
}

std::vector<LoopCase> PredicateCases() {
  return {
      {"APredicateBehindAControlEdge", Two([](Test& t, const auto& loop, Output v, Output u) {
         const Output early = t.Apply("Less", "early", {t.Count(loop), t.Invariant(loop, "one", t.Int("1", 1))});
         const Output chosen = t.Apply("Identity", "chosen", {early, GraphBuilder::Control(v)});
         return Pair(OneBranchReads(t, v, early, chosen), t.Apply("Mul", "uv", {u, v}));
       })},
      {"OnePredicateComputedTwice", Two([](Test& t, const auto& loop, Output v, Output u) {
         const Output early = t.Apply("Less", "early", {t.Count(loop), t.Invariant(loop, "one", t.Int("1", 1))});
         const Output chosen = t.Apply("LogicalNot", "chosen", {t.Apply("LogicalNot", "late", {early})});
         return Pair(OneBranchReads(t, v, early, chosen), t.Apply("Mul", "uv", {u, v}));
       })},
  };
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
INSTANTIATE_TEST_SUITE_P(Predicates, LoopCasesTest, ::testing::ValuesIn(PredicateCases()),
                         [](const ::testing::TestParamInfo<LoopCase>& info) { return std::string(info.param.name); });
INSTANTIATE_TEST_SUITE_P(Arrays, LoopCasesTest, ::testing::ValuesIn(ArrayCases()),
                         [](const ::testing::TestParamInfo<LoopCase>& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace sluice

// Loops and conditionals as TensorFlow's own tests have them (control_flow_ops_py_test.py), laid out by hand the way
// its while_loop and cond lay them out, for both drivers.

#include <utility>
#include <vector>

#include "absl/time/clock.h"
#include "tests/executor/session/session_fixture.h"

namespace sluice {
namespace {

// One loop under construction: variables enter, are looked at by the condition, and go round.
class Loop {
 public:
  Loop(GraphBuilder& b, std::string frame, const std::vector<Output>& starts, int64_t parallel_iterations = 10)
      : b_(b), frame_(std::move(frame)), parallel_(parallel_iterations) {
    for (const Output& start : starts) {
      const Output enter = Enter(start, false);
      merges_.push_back(b_.Op("Merge", "", {enter, enter}));
    }
  }

  // What the condition sees of variable `i`; what the body does.
  Output seen(size_t i) const { return merges_[i]; }
  Output in_body(size_t i) const { return bodies_[i]; }
  // The value of `outside` in all iterations.
  Output Constant(Output outside) { return Enter(outside, true); }

  void SetCondition(Output condition) {
    const Output cond = b_.Op("LoopCond", "", {condition});
    for (const Output& merge : merges_) {
      switches_.push_back(b_.Op("Switch", "", {merge, cond}));
      bodies_.push_back(b_.Op("Identity", "", {GraphBuilder::Nth(switches_.back(), 1)}));
    }
  }

  // The values of the next iteration; gives those after the last.
  std::vector<Output> Close(const std::vector<Output>& nexts) {
    std::vector<Output> ends;
    for (size_t i = 0; i < nexts.size(); ++i) {
      b_.SetInput(merges_[i], 1, b_.Op("NextIteration", "", {nexts[i]}));
      ends.push_back(b_.Op("Exit", "", {switches_[i]}));
    }
    return ends;
  }

 private:
  Output Enter(Output outside, bool is_constant) {
    const bool is_ref = IsRef(b_.graph().output_type(outside.node, outside.index));
    return b_.Op(is_ref ? "RefEnter" : "Enter", "", {outside},
                 {{"frame_name", frame_}, {"is_constant", is_constant}, {"parallel_iterations", parallel_}});
  }

  GraphBuilder& b_;
  const std::string frame_;
  const int64_t parallel_;
  std::vector<Output> merges_, switches_, bodies_;
};

// The driver that runs the graph, and its number of threads.
struct Mode {
  Driver driver;
  int num_threads;
};

class ControlFlowTest : public SessionFixture, public ::testing::WithParamInterface<Mode> {
 protected:
  Output C(int32_t value) { return b_.Const("", Int(value)); }
  Output Op(const char* op, std::vector<Output> inputs, GraphBuilder::Attrs attrs = {}) {
    return b_.Op(op, "", std::move(inputs), std::move(attrs));
  }
  // The value of `x` where `pred` is false, and where it is true.
  std::pair<Output, Output> Split(Output x, Output pred) {
    const Output ports = Op("Switch", {x, pred});
    return {Op("Identity", {ports}), Op("Identity", {GraphBuilder::Nth(ports, 1)})};
  }
  Output Join(Output no, Output yes) { return Op("Merge", {no, yes}); }
  // A constant that exists where `pivot` is live.
  Output Within(Output pivot, int32_t value) {
    const Output constant = C(value);
    b_.AddControl(constant, pivot);
    return constant;
  }
  void Name(const char* name, Output value) { b_.Op("Identity", name, {value}); }
  Output Variable(const char* name, const Tensor& start) {
    const Output v = b_.Op("VariableV2", name, {}, {{"dtype", start.dtype()}, {"shape", start.shape()}});
    const Output assign = b_.Op("Assign", "", {v, b_.Const("", start)});
    if (!init_.is_set()) init_ = b_.Op("NoOp", "init");
    b_.AddControl(init_, assign);
    return v;
  }
  // while (x < limit) x = x + step
  Output CountTo(const std::string& frame, Output x, Output limit, Output step) {
    Loop loop(b_, frame, {x});
    loop.SetCondition(Op("Less", {loop.seen(0), loop.Constant(limit)}));
    return loop.Close({Op("AddV2", {loop.in_body(0), loop.Constant(step)})})[0];
  }
  void Start() {
    SessionOptions options;
    options.driver = GetParam().driver;
    options.num_threads = GetParam().num_threads;
    Open(options);
    if (!init_.is_set()) return;
    ASSERT_OK(session_->Run({}, {}, {"init"}));
  }
  std::string Text(const std::string& name, const NamedTensors& feeds = {}) {
    const absl::StatusOr<Tensor> value = Fetch(name, feeds);
    return value.ok() ? value->ToString() : FormatError(value.status());
  }

  Output init_;
};

INSTANTIATE_TEST_SUITE_P(Drivers, ControlFlowTest,
                         ::testing::Values(Mode{Driver::kAuto, 1}, Mode{Driver::kDataflow, 1},
                                           Mode{Driver::kDataflow, 2}));

TEST_P(ControlFlowTest, WhatIsBehindTheOtherPortCannotBeFetched) {
  const auto [no, yes] = Split(C(7), b_.Const("", Tensor::Scalar(true)));
  Name("dead", no);
  Name("live", yes);
  Start();
  EXPECT_THAT(Fetch("dead"), IsError(ErrorCode::kFetchDead));
  ExpectFetch("live", 7);
}

// A predicate that is not a scalar is an error, also where nothing reads what its Switch sends, and in each iteration.
TEST_P(ControlFlowTest, PredicatesOfSwitchesThatNothingReadsAreLookedAt) {
  const Output pred = b_.Placeholder("pred", DType::kBool);
  const Output target = b_.Const("target", Int(3));
  b_.AddControl(target, Op("Switch", {C(1), pred}));

  Loop loop(b_, "loop", {C(0)});
  loop.SetCondition(Op("Less", {loop.seen(0), loop.Constant(C(2))}));
  const Output next = Op("AddV2", {loop.in_body(0), loop.Constant(C(1))});
  b_.AddControl(next, Op("Switch", {loop.in_body(0), loop.Constant(pred)}));
  Name("rounds", loop.Close({next})[0]);

  Start();
  const Tensor vector = Tensor::Vector<bool>({true, false});
  for (const char* name : {"target", "rounds"}) {
    EXPECT_THAT(Text(name, {{"pred", Tensor::Scalar(true)}}), ::testing::HasSubstr("int32")) << name << ": the value";
    EXPECT_THAT(Text(name, {{"pred", vector}}), ::testing::HasSubstr("SLC2601")) << name;
  }
}

TEST_P(ControlFlowTest, AMergeOfBothPortsIsTheValueWhicheverIsTaken) {
  const Output pred = Op("Less", {b_.Placeholder("a", DType::kInt32), C(1)});
  const Output ports = Op("Switch", {C(42), pred});
  const Output merge = Op("Merge", {ports, GraphBuilder::Nth(ports, 1)});
  Name("value", merge);
  Name("which", GraphBuilder::Nth(merge, 1));
  Start();
  for (const int32_t a : {0, 1}) {
    ExpectFetch("value", 42, {{"a", Int(a)}});
    ExpectFetch("which", a == 0 ? 1 : 0, {{"a", Int(a)}});
  }
}

// The predicate comes in the first iteration only, so the second waits for nothing: it never begins.
TEST_P(ControlFlowTest, ALoopWhosePredicateEntersOnceEndsAfterOneLook) {
  const GraphBuilder::Attrs frame = {{"frame_name", "f"}};
  const Output no = Op("Enter", {b_.Const("", Tensor::Scalar(false))}, frame);
  const Output n = Op("Enter", {C(10)}, frame);
  const Output merge = Op("Merge", {n, n});
  const Output ports = Op("Switch", {merge, no});
  b_.SetInput(merge, 1, Op("NextIteration", {ports}));
  b_.Op("Exit", "end", {ports});
  Start();
  ExpectFetch("end", 10);
}

TEST_P(ControlFlowTest, OnlyTheTakenSideHasAnEffect) {
  const Output pred = b_.Placeholder("pred", DType::kBool);
  const auto [no, yes] = Split(pred, pred);
  const Output a = Variable("a", Int(7)), c = Variable("c", Int(7));
  b_.AddControl(b_.Op("NoOp", "run"), Join(Op("Assign", {c, Within(no, 3)}), Op("Assign", {a, Within(yes, 1)})));
  Start();
  ASSERT_OK(session_->Run({{"pred", Tensor::Scalar(true)}}, {}, {"run"}));
  ExpectFetch("a", 1);
  ExpectFetch("c", 7);
  ASSERT_OK(session_->Run({{"pred", Tensor::Scalar(false)}}, {}, {"run"}));
  ExpectFetch("a", 1);
  ExpectFetch("c", 3);
}

TEST_P(ControlFlowTest, AConditionalStandsInAnother) {
  const Output x = b_.Placeholder("x", DType::kInt32);
  const auto [small, large] = Split(x, Op("Less", {C(5), x}));
  const auto [middle, very] = Split(large, Op("Less", {Within(large, 50), large}));
  Name("y", Join(Op("Neg", {small}), Join(Op("AddV2", {middle, middle}), Op("Square", {very}))));
  Start();
  for (const auto& [in, out] : std::vector<std::pair<int32_t, int32_t>>{{3, -3}, {20, 40}, {60, 3600}}) {
    ExpectFetch("y", out, {{"x", Int(in)}});
  }
}

TEST_P(ControlFlowTest, TenThousandIterations) {
  Name("n", CountTo("f", C(0), C(10000), C(1)));
  Start();
  ExpectFetch("n", 10000);
}

// Nothing in it is called, and nothing takes time: the deadline is seen all the same.
TEST_P(ControlFlowTest, AnEndlessLoopWithoutKernelsEndsAtTheDeadline) {
  Loop loop(b_, "f", {C(1)});
  loop.SetCondition(loop.Constant(b_.Placeholder("goes_on", DType::kBool, PartialShape::Scalar())));
  Name("end", loop.Close({loop.in_body(0)})[0]);
  Start();
  ExpectFetch("end", 1, {{"goes_on", Tensor::Scalar(false)}});
  CallOptions call;
  call.deadline = absl::Now() + absl::Milliseconds(20);
  EXPECT_THAT(Fetch("end", {{"goes_on", Tensor::Scalar(true)}}, call), IsError(ErrorCode::kDeadline));
}

TEST_P(ControlFlowTest, SeveralVariablesGoRoundTogether) {
  Loop loop(b_, "f", {C(0), C(0), C(0), C(0)}, 20);
  loop.SetCondition(Op("Less", {loop.seen(0), loop.Constant(C(100))}));
  const Output one = loop.Constant(C(1));
  const Output i = Op("AddV2", {loop.in_body(0), one}), m = Op("AddV2", {loop.in_body(1), one});
  const Output c = Op("AddV2", {loop.in_body(2), one});
  const Output o = Op("AddV2", {Op("AddV2", {m, c}), loop.in_body(3)});
  Name("o", loop.Close({i, m, c, o})[3]);
  Start();
  ExpectFetch("o", 10100);
}

TEST_P(ControlFlowTest, ALoopReadsAnElementInEachIteration) {
  const Output all = b_.Const("", Tensor::Vector<int32_t>({1, 2, 3, 4, 5, 6}));
  Loop loop(b_, "f", {C(0), C(0)});
  loop.SetCondition(Op("Less", {loop.seen(0), loop.Constant(Op("Size", {all}))}));
  const Output element = Op("Gather", {loop.Constant(all), loop.in_body(0)});
  const std::vector<Output> ends =
      loop.Close({Op("AddV2", {loop.in_body(0), loop.Constant(C(1))}), Op("AddV2", {loop.in_body(1), element})});
  Name("sum", ends[1]);
  Start();
  ExpectFetch("sum", 21);
}

TEST_P(ControlFlowTest, AVariableGrowsFromIterationToIteration) {
  Loop loop(b_, "f", {C(0), b_.Const("", Tensor::Vector<int32_t>({0}))});
  loop.SetCondition(Op("Less", {loop.seen(0), loop.Constant(C(4))}));
  const Output i = Op("AddV2", {loop.in_body(0), loop.Constant(C(1))});
  const Output zero = loop.Constant(C(0));
  const Output grown = Op("ConcatV2", {loop.in_body(1), Op("ExpandDims", {i, zero}), zero});
  Name("list", loop.Close({i, grown})[1]);
  Start();
  EXPECT_EQ(Text("list"), "int32 [5] {0, 1, 2, 3, 4}");
}

TEST_P(ControlFlowTest, AConstantOfTheBodyWaitsForIt) {
  Loop loop(b_, "f", {C(0), C(0)});
  loop.SetCondition(Op("Less", {loop.seen(0), loop.Constant(C(10))}));
  const Output next = Op("AddV2", {loop.in_body(0), loop.Constant(C(1))});
  b_.AddControl(next, loop.in_body(1));
  Name("r", loop.Close({next, Within(loop.in_body(1), 12)})[1]);
  Start();
  ExpectFetch("r", 12);
}

TEST_P(ControlFlowTest, ALoopWaitsForAControlInputOutsideAndInside) {
  const Output gate = Op("Identity", {b_.Placeholder("gate", DType::kBool)});
  const Output start = C(0);
  b_.AddControl(start, gate);
  Loop loop(b_, "f", {start});
  loop.SetCondition(Op("Less", {loop.seen(0), loop.Constant(C(10))}));
  const Output next = Op("AddV2", {loop.in_body(0), loop.Constant(C(1))});
  b_.AddControl(next, loop.Constant(gate));
  Name("r", loop.Close({next})[0]);
  Start();
  ExpectFetch("r", 10, {{"gate", Tensor::Scalar(false)}});
}

TEST_P(ControlFlowTest, AConstantBehindALoopOfABranchWaitsForItsEnd) {
  const Output pred = b_.Placeholder("pred", DType::kBool);
  const auto [no, yes] = Split(pred, pred);
  const Output end = CountTo("f", Within(no, 0), Within(no, 100), Within(no, 1));
  Name("r", Join(Within(end, 6), Within(yes, 1)));
  Start();
  ExpectFetch("r", 6, {{"pred", Tensor::Scalar(false)}});
  ExpectFetch("r", 1, {{"pred", Tensor::Scalar(true)}});
}

TEST_P(ControlFlowTest, ALoopStandsInEitherSideOfAConditional) {
  const Output x = b_.Placeholder("x", DType::kInt32);
  const auto [no, yes] = Split(x, Op("Less", {x, C(10)}));
  const Output up = CountTo("up", yes, Within(yes, 10), Within(yes, 1));
  Name("r", Join(CountTo("far", no, Within(no, 1000), Within(no, 7)), up));
  Start();
  ExpectFetch("r", 10, {{"x", Int(3)}});
  ExpectFetch("r", 1003, {{"x", Int(65)}});
}

TEST_P(ControlFlowTest, AConditionalStandsInALoop) {
  Loop loop(b_, "f", {C(0), C(0)});
  loop.SetCondition(Op("Less", {loop.seen(0), loop.Constant(C(10))}));
  const Output i = loop.in_body(0);
  const auto [no, yes] = Split(loop.in_body(1), Op("Less", {i, loop.Constant(C(6))}));
  const Output chosen = Join(Op("AddV2", {no, Within(no, 100)}), Op("AddV2", {yes, Within(yes, 1)}));
  Name("r", loop.Close({Op("AddV2", {i, loop.Constant(C(1))}), chosen})[1]);
  Start();
  ExpectFetch("r", 406);
}

TEST_P(ControlFlowTest, ALoopStandsInALoop) {
  Loop outer(b_, "outer", {C(0), C(0)}, 3);
  outer.SetCondition(Op("Less", {outer.seen(0), outer.Constant(C(5))}));
  const Output i = outer.in_body(0), zero = outer.Constant(C(0)), one = outer.Constant(C(1));
  Loop inner(b_, "inner", {zero, outer.in_body(1)}, 2);
  inner.SetCondition(Op("Less", {inner.seen(0), inner.Constant(i)}));
  const std::vector<Output> ends =
      inner.Close({Op("AddV2", {inner.in_body(0), inner.Constant(one)}),
                   Op("AddV2", {inner.in_body(1), Op("Mul", {inner.in_body(0), inner.Constant(i)})})});
  Name("r", outer.Close({Op("AddV2", {i, one}), ends[1]})[1]);
  Start();
  ExpectFetch("r", 2 + 9 + 24);
}

TEST_P(ControlFlowTest, ALoopWritesAVariable) {
  const Output v = Variable("v", Tensor::Vector<float>({3, 4, 5}));
  Loop loop(b_, "f", {C(0)}, 1);
  loop.SetCondition(Op("Less", {loop.seen(0), loop.Constant(C(3))}));
  const Output ten = loop.Constant(b_.Const("", Tensor::Scalar(10.0f)));
  const Output write = Op("ScatterUpdate", {loop.Constant(v), loop.in_body(0), ten});
  const Output next = Op("AddV2", {loop.in_body(0), loop.Constant(C(1))});
  b_.AddControl(next, write);
  Name("r", loop.Close({next})[0]);
  Start();
  ExpectFetch("r", 3);
  EXPECT_EQ(Text("v"), "float32 [3] {10, 10, 10}");
}

// Each iteration adds to one variable, then that to another, in this order.
TEST_P(ControlFlowTest, TwoVariablesAreWrittenInOrder) {
  const Output a = Variable("a", Int(0)), c = Variable("c", Int(0));
  Loop loop(b_, "f", {C(0)}, 1);
  loop.SetCondition(Op("Less", {loop.seen(0), loop.Constant(C(10))}));
  const Output one = loop.Constant(C(1));
  const Output first = Op("AssignAdd", {loop.Constant(a), one});
  b_.AddControl(first, loop.in_body(0));
  const Output second = Op("AssignAdd", {loop.Constant(c), first});
  const Output next = Op("AddV2", {loop.in_body(0), one});
  b_.AddControl(next, second);
  Name("r", loop.Close({next})[0]);
  Start();
  ExpectFetch("r", 10);
  ExpectFetch("a", 10);
  ExpectFetch("c", 55);
}

TEST_P(ControlFlowTest, TheConditionReadsTheVariableAnewInEachIteration) {
  const Output a = Variable("a", Int(0)), c = Variable("c", Int(0));
  Loop loop(b_, "f", {C(0)}, 1);
  const Output c_inside = loop.Constant(c);
  const Output read = Op("Identity", {c_inside});
  b_.AddControl(read, loop.seen(0));
  loop.SetCondition(Op("Less", {read, loop.Constant(C(10))}));
  const Output one = loop.Constant(C(1));
  const Output first = Op("AssignAdd", {loop.Constant(a), one});
  b_.AddControl(first, loop.in_body(0));
  const Output next = Op("AddV2", {loop.in_body(0), one});
  b_.AddControl(next, Op("AssignAdd", {c_inside, first}));
  Name("r", loop.Close({next})[0]);
  Start();
  ExpectFetch("r", 4);
  ExpectFetch("a", 4);
  ExpectFetch("c", 10);
}

TEST_P(ControlFlowTest, WhatOneLoopPushesAnotherPops) {
  const Output stack = Op("StackV2", {b_.Const("", Int(-1))}, {{"elem_type", DType::kInt32}, {"stack_name", "s"}});
  Loop push(b_, "push", {C(0)}, 1);
  push.SetCondition(Op("Less", {push.seen(0), push.Constant(C(10))}));
  const Output pushed = Op("StackPushV2", {push.Constant(stack), push.in_body(0)});
  const Output up = Op("AddV2", {push.in_body(0), push.Constant(C(1))});
  b_.AddControl(up, pushed);
  Loop pop(b_, "pop", {push.Close({up})[0], C(0)}, 1);
  pop.SetCondition(Op("Greater", {pop.seen(0), pop.Constant(C(0))}));
  const Output popped = Op("StackPopV2", {pop.Constant(stack)}, {{"elem_type", DType::kInt32}});
  b_.AddControl(popped, pop.in_body(0));
  // 2 * sum + popped: the order shows.
  const Output sum = Op("AddV2", {Op("Mul", {pop.in_body(1), pop.Constant(C(2))}), popped});
  Name("r", pop.Close({Op("Sub", {pop.in_body(0), pop.Constant(C(1))}), sum})[1]);
  Start();
  ExpectFetch("r", 8194);
}

TEST_P(ControlFlowTest, ALoopFillsATensorArray) {
  const Output array = Op("TensorArrayV3", {C(5)}, {{"dtype", DType::kInt32}});
  Loop loop(b_, "f", {C(0), GraphBuilder::Nth(array, 1)});
  loop.SetCondition(Op("Less", {loop.seen(0), loop.Constant(C(5))}));
  const Output i = loop.in_body(0), handle = loop.Constant(array);
  const Output flow = Op("TensorArrayWriteV3", {handle, i, Op("Square", {i}), loop.in_body(1)});
  const Output end = loop.Close({Op("AddV2", {i, loop.Constant(C(1))}), flow})[1];
  const Output range = Op("Range", {C(0), C(5), C(1)});
  Name("r", Op("TensorArrayGatherV3", {array, range, end}, {{"dtype", DType::kInt32}}));
  Start();
  EXPECT_EQ(Text("r"), "int32 [5] {0, 1, 4, 9, 16}");
  EXPECT_EQ(Text("r"), "int32 [5] {0, 1, 4, 9, 16}") << "each step has an array of its own";
}

TEST_P(ControlFlowTest, QuantizedValuesAreSwitchedAndMerged) {
  ASSERT_OK_AND_ASSIGN(Tensor five, Tensor::Make(DType::kQInt8, Shape()));
  static_cast<char*>(five.mutable_raw_data())[0] = 5;
  const auto [no, yes] = Split(b_.Const("", five), b_.Placeholder("pred", DType::kBool));
  Name("r", Join(no, yes));
  Start();
  for (const bool pred : {false, true}) {
    ASSERT_OK_AND_ASSIGN(const Tensor r, Fetch("r", {{"pred", Tensor::Scalar(pred)}}));
    EXPECT_EQ(r.dtype(), DType::kQInt8);
    EXPECT_EQ(static_cast<const char*>(r.raw_data())[0], 5);
  }
}

TEST_P(ControlFlowTest, AnEndlessLoopEndsWithItsDeadline) {
  AddEndlessLoop();
  Start();
  CallOptions options;
  options.deadline = absl::Now() + absl::Milliseconds(20);
  EXPECT_THAT(Fetch("endless", {}, options), StatusIs(absl::StatusCode::kDeadlineExceeded));
}

}  // namespace
}  // namespace sluice

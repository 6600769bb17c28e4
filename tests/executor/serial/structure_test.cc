// Which graphs are structured, and why others are not.

#include "executor/serial/structure.h"

#include <string>

#include "gmock/gmock.h"
#include "graph/ir/builder.h"
#include "graph/ops/op_table.h"
#include "gtest/gtest.h"
#include "tests/testing/serial_runner.h"
#include "tests/testing/status_matchers.h"

namespace sluice {
namespace {

using ::testing::HasSubstr;

// A graph under construction with two scalars and a predicate.
class StructureTest : public ::testing::Test {
 protected:
  StructureTest() : b_(NewOpRegistry()) {
    x_ = Arg("x", DType::kInt32, 0);
    y_ = Arg("y", DType::kInt32, 1);
    p_ = Arg("p", DType::kBool, 2);
    q_ = Arg("q", DType::kBool, 3);
  }

  Output Arg(absl::string_view name, DType type, int index) {
    return b_.Op("_Arg", name, {}, {{"T", type}, {"index", index}});
  }
  Output Switch(absl::string_view name, Output data, Output pred) { return b_.Op("Switch", name, {data, pred}); }
  static Output True(Output output) { return GraphBuilder::Nth(output, 1); }
  void Return(Output value, int index = 0) {
    b_.Op("_Retval", absl::StrCat("ret", index), {value}, {{"index", index}});
  }
  Output Enter(absl::string_view name, Output data, absl::string_view frame, bool is_constant = false) {
    return b_.Op("Enter", name, {data}, {{"frame_name", frame}, {"is_constant", is_constant}});
  }
  Output OpenMerge(absl::string_view name, Output enter) {
    return b_.Op("Merge", name, {enter, Output()}, {{"T", DType::kInt32}, {"N", 2}});
  }

  // A loop that counts from x to y; `body` sees the counter in the body and answers what comes next.
  struct Loop {
    Output merge, condition, in_body, exit;
  };
  Loop CountingLoop(absl::string_view frame) {
    Loop loop;
    loop.merge = OpenMerge("merge", Enter("enter", x_, frame));
    const Output limit = Enter("limit", y_, frame, true);
    loop.condition = b_.Op("LoopCond", "loopcond", {b_.Op("Less", "less", {loop.merge, limit})});
    const Output ports = Switch("loopswitch", loop.merge, loop.condition);
    loop.in_body = True(ports);
    loop.exit = b_.Op("Exit", "exit", {ports});
    return loop;
  }
  void Close(const Loop& loop, Output next) { b_.SetInput(loop.merge, 1, b_.Op("NextIteration", "next", {next})); }
  Output One(const Loop& loop) {
    const Output one = b_.Const("one", Tensor::Scalar<int32_t>(1));
    b_.AddControl(one, b_.Op("Identity", "pivot", {loop.in_body}));
    return one;
  }

  // Why the graph is refused; empty when it is not.
  std::string WhyNot() {
    absl::StatusOr<Graph> graph = b_.Build();
    EXPECT_OK(graph);
    if (!graph.ok()) return graph.status().ToString();
    runner_ = std::make_unique<SerialRunner>(*std::move(graph));
    EXPECT_OK(runner_->Prepare());
    EXPECT_EQ(runner_->program() == nullptr, !runner_->why_not().empty());
    return runner_->why_not();
  }

  // The graph is accepted, and for these arguments answers what the rules say.
  void ExpectRight(int32_t x, int32_t y, bool p, bool q) {
    if (runner_ == nullptr) {
      ASSERT_EQ(WhyNot(), "");
    }
    SCOPED_TRACE(absl::StrCat("x ", x, " y ", y, " p ", p, " q ", q));
    const std::vector<Tensor> args = {Tensor::Scalar(x), Tensor::Scalar(y), Tensor::Scalar(p), Tensor::Scalar(q)};
    std::unique_ptr<TokenEvaluator> rules;
    ASSERT_OK(runner_->Evaluate(args, &rules));
    ASSERT_OK_AND_ASSIGN(const std::vector<Tensor> found, runner_->Run(args));
    for (size_t i = 0; i < found.size(); ++i) {
      const Tensor wanted = i < rules->results().size() ? rules->results()[i] : Tensor();
      EXPECT_EQ(found[i].ToString(), wanted.ToString()) << "result " << i;
    }
  }
  void ExpectRightForAll() {
    for (int bits = 0; bits < 4; ++bits) ExpectRight(2, 5, (bits & 1) != 0, (bits & 2) != 0);
    ExpectRight(5, 2, true, false);
  }

  GraphBuilder b_;
  Output x_, y_, p_, q_;
  std::unique_ptr<SerialRunner> runner_;
};

TEST_F(StructureTest, AConditionalIsStructured) {
  const Output ports = Switch("s", x_, p_);
  Return(b_.Op("Merge", "m", {b_.Op("Neg", "n", {ports}), True(ports)}));
  ExpectRightForAll();
}

TEST_F(StructureTest, ABranchMayStandUnderAControlEdgeOnly) {
  const Output pivot = b_.Op("Identity", "pivot", {True(Switch("s", p_, p_))});
  const Output other = b_.Op("Identity", "other", {Switch("s2", p_, p_)});
  const Output a = b_.Op("Neg", "a", {x_}), c = b_.Op("Identity", "c", {y_});
  b_.AddControl(a, pivot);
  b_.AddControl(c, other);
  const Output merge = b_.Op("Merge", "m", {a, c});
  Return(merge, 0);
  Return(GraphBuilder::Nth(merge, 1), 1);
  ExpectRightForAll();
}

TEST_F(StructureTest, AMergeOfTwoPredicatesIsRefused) {
  Return(b_.Op("Merge", "m", {Switch("s", x_, p_), True(Switch("t", y_, q_))}));
  EXPECT_THAT(WhyNot(), HasSubstr("'m' does not merge the sides of one Switch"));
}

TEST_F(StructureTest, AMergeOfALiveValueIsRefused) {
  Return(b_.Op("Merge", "m", {Switch("s", x_, p_), y_}));
  EXPECT_THAT(WhyNot(), HasSubstr("'m'"));
}

TEST_F(StructureTest, AMergeOfOneSideIsThatSide) {
  Return(b_.Op("Merge", "m", {Switch("s", x_, p_)}, {{"N", 1}}));
  ExpectRightForAll();
}

// The same predicate within its own side: one of the inner sides never runs.
TEST_F(StructureTest, ASideThatContradictsItselfNeverRuns) {
  const Output inner_pred = True(Switch("s", p_, p_));
  const Output ports = Switch("inner", True(Switch("t", x_, p_)), inner_pred);
  const Output never = b_.Op("Neg", "never", {ports});
  const Output inner = b_.Op("Merge", "inner_merge", {never, b_.Op("Abs", "abs", {True(ports)})});
  Return(b_.Op("Merge", "m", {inner, Switch("t2", y_, p_)}), 0);
  Return(never, 1);
  ExpectRightForAll();
}

TEST_F(StructureTest, AVariableMayBeSwitchedByThePredicateOfItsOwnSide) {
  const Output v = b_.Op("VariableV2", "v", {}, {{"dtype", DType::kInt32}, {"shape", Shape()}});
  const Output now = b_.Op("Assign", "assign", {v, x_});
  const Output ports = Switch("inner", now, True(Switch("s", p_, p_)));
  Return(b_.Op("Merge", "m", {b_.Op("Neg", "n", {True(ports)}), Switch("t", y_, p_)}));
  ExpectRightForAll();
}

// What waits for a node that never runs still waits for what that waits for.
TEST_F(StructureTest, OrderIsKeptThroughNodesThatNeverRun) {
  const Output v = b_.Op("VariableV2", "v", {}, {{"dtype", DType::kInt32}, {"shape", Shape()}});
  const Output set = b_.Op("Assign", "assign", {v, x_});
  const Output add = b_.Op("AssignAdd", "add", {set, y_});
  const Output ports = Switch("inner", True(Switch("t", x_, p_)), True(Switch("s", p_, p_)));
  const Output never = b_.Op("Neg", "never", {ports});
  b_.AddControl(never, add);
  const Output trigger = b_.Op("ControlTrigger", "trigger");
  b_.AddControl(trigger, never);
  const Output read = b_.Op("Identity", "aa_read", {set});
  b_.AddControl(read, trigger);
  Return(read);
  ExpectRightForAll();
}

// q decides behind two Switches on p and itself; what it lets through decides again.
TEST_F(StructureTest, APredicateHandedThroughSwitchesDecidesInTime) {
  const Output in_p = True(Switch("qp", q_, p_));
  const Output in_pp = True(Switch("qpp", in_p, True(Switch("pp", p_, p_))));
  const Output deep = True(Switch("deep", True(Switch("xp", x_, p_)), in_pp));
  const Output w = b_.Op("Less", "w", {True(Switch("xq", x_, q_)), True(Switch("yq", y_, q_))});
  const Output ports = Switch("by_w", True(Switch("xq2", x_, q_)), w);
  const Output both = b_.Op("AddV2", "both", {deep, True(ports)});
  Return(both, 0);
  Return(b_.Op("Neg", "alone", {True(ports)}), 1);
  ExpectRightForAll();
}

TEST_F(StructureTest, APredicateOfABranchDecidesInALoopToo) {
  const Output inner = b_.Op("Less", "inner", {True(Switch("xp", x_, p_)), True(Switch("yp", y_, p_))});
  const Loop loop = CountingLoop("f");
  (void)loop;
  const Output captured = Enter("captured", inner, "g", true);
  const Output start = True(Switch("start", x_, p_));
  const Output merge = OpenMerge("m2", Enter("e2", start, "g"));
  const Output limit = Enter("l2", True(Switch("yp2", y_, p_)), "g", true);
  const Output condition = b_.Op("LoopCond", "c2", {b_.Op("Less", "less2", {merge, limit})});
  const Output ports = Switch("s2", merge, condition);
  const Output by_inner = Switch("by_inner", True(ports), captured);
  const Output one = b_.Const("one2", Tensor::Scalar<int32_t>(1));
  b_.AddControl(one, b_.Op("Identity", "pivot2", {True(ports)}));
  const Output merged = b_.Op("Merge", "m3", {by_inner, b_.Op("AddV2", "plus", {True(by_inner), one})});
  b_.SetInput(merge, 1, b_.Op("NextIteration", "n2", {b_.Op("AddV2", "plus2", {merged, one})}));
  const Output out = b_.Op("Exit", "x2", {ports});
  Return(b_.Op("Merge", "m", {out, Switch("else", y_, p_)}), 0);
  Close(loop, b_.Op("AddV2", "plus3", {loop.in_body, One(loop)}));
  Return(loop.exit, 1);
  ExpectRightForAll();
}

TEST_F(StructureTest, ALoopIsStructured) {
  const Loop loop = CountingLoop("f");
  Close(loop, b_.Op("AddV2", "plus", {loop.in_body, One(loop)}));
  Return(loop.exit);
  ExpectRightForAll();
}

TEST_F(StructureTest, WhichIterationItIsCannotBeAsked) {
  const Loop loop = CountingLoop("f");
  const Output index = True(Switch("index_switch", GraphBuilder::Nth(loop.merge, 1), loop.condition));
  Close(loop, b_.Op("AddV2", "plus", {loop.in_body, b_.Op("AddV2", "index", {index, One(loop)})}));
  Return(loop.exit);
  EXPECT_THAT(WhyNot(), HasSubstr("'index_switch' does not get all its inputs in every iteration"));
}

TEST_F(StructureTest, WhatRunsInTheFirstIterationOnlyIsRefused) {
  const Loop loop = CountingLoop("f");
  const Output first = b_.Op("Neg", "first", {Enter("captured", y_, "f", true)});
  b_.AddControl(first, {b_.graph().Find("enter"), 0});
  Close(loop, b_.Op("AddV2", "plus", {loop.in_body, One(loop)}));
  Return(loop.exit);
  EXPECT_THAT(WhyNot(), HasSubstr("'first'"));
}

TEST_F(StructureTest, WhatRunsInLaterIterationsOnlyIsRefused) {
  const Loop loop = CountingLoop("f");
  Close(loop, b_.Op("AddV2", "plus", {loop.in_body, One(loop)}));
  const Output later = b_.Op("Neg", "later", {Enter("captured", y_, "f", true)});
  b_.AddControl(later, {b_.graph().Find("next"), 0});
  Return(loop.exit);
  EXPECT_THAT(WhyNot(), HasSubstr("'later'"));
}

TEST_F(StructureTest, ALoopVariableThatGoesOnOutsideOfTheBodyIsRefused) {
  const Loop loop = CountingLoop("f");
  Close(loop, b_.Op("AddV2", "plus", {loop.in_body, One(loop)}));
  const Output free = OpenMerge("free", Enter("free_enter", x_, "f"));
  b_.SetInput(free, 1, b_.Op("NextIteration", "free_next", {free}));
  Return(loop.exit);
  EXPECT_NE(WhyNot(), "");
}

TEST_F(StructureTest, EntersUnderDifferentConditionsAreRefused) {
  const Loop loop = CountingLoop("f");
  Close(loop, b_.Op("AddV2", "plus", {loop.in_body, One(loop)}));
  const Output other = OpenMerge("other", Enter("other_enter", True(Switch("s", x_, p_)), "f"));
  const Output ports = Switch("other_switch", other, loop.condition);
  b_.SetInput(other, 1, b_.Op("NextIteration", "other_next", {True(ports)}));
  Return(loop.exit);
  EXPECT_THAT(WhyNot(), HasSubstr("'other_enter' stands under another condition"));
}

TEST_F(StructureTest, AnEarlyExitIsRefused) {
  const Loop loop = CountingLoop("f");
  Close(loop, b_.Op("AddV2", "plus", {loop.in_body, One(loop)}));
  Return(b_.Op("Exit", "early", {loop.in_body}));
  EXPECT_THAT(WhyNot(), HasSubstr("'early' does not leave its loop where the loop ends"));
}

TEST_F(StructureTest, ALoopThatWaitsForItsOwnEndIsRefused) {
  const Loop loop = CountingLoop("f");
  const Output captured = Enter("captured", loop.exit, "f", true);
  const Output ports = Switch("s", captured, loop.condition);
  Close(loop, b_.Op("AddV2", "plus", {loop.in_body, True(ports)}));
  Return(loop.exit);
  EXPECT_THAT(WhyNot(), HasSubstr("a loop depends on itself from outside"));
}

TEST_F(StructureTest, TransfersAreRefused) {
  const Output got = b_.Op("_Recv", "got", {},
                           {{"tensor_type", DType::kInt32},
                            {"tensor_name", "t"},
                            {"send_device", "/job:a/replica:0/task:0/device:CPU:0"},
                            {"send_device_incarnation", 1},
                            {"recv_device", "/job:a/replica:0/task:0/device:CPU:0"}});
  Return(got);
  absl::StatusOr<Graph> graph = b_.Build();
  ASSERT_OK(graph);
  SerialRunner runner(*std::move(graph));
  ASSERT_OK(runner.Prepare());
  EXPECT_THAT(runner.why_not(), HasSubstr("'got' completes elsewhere"));
}

// Nothing ever sends the inner Switch's other port: what depends on it has no value to decide by.
TEST_F(StructureTest, AValueThatIsNeverComputedDoesNotEnterALoop) {
  const Output never = Switch("opposite", True(Switch("s", p_, p_)), p_);
  const Loop loop = CountingLoop("f");
  const Output captured = Enter("captured", never, "f", true);
  const Output ports = Switch("inner", loop.in_body, captured);
  Close(loop, b_.Op("AddV2", "plus", {b_.Op("Merge", "m", {ports, True(ports)}), One(loop)}));
  Return(loop.exit);
  EXPECT_THAT(WhyNot(), HasSubstr("Enter 'captured' stands under another condition than its loop"));
}

TEST_F(StructureTest, ControlEdgesOutOfALoopAndIntoItHaveTheGuardOfTheFrameTheyLeadTo) {
  const Output pivot = b_.Op("Identity", "outer_pivot", {True(Switch("s", x_, p_))});
  const Loop loop = CountingLoop("f");
  const Output captured = Enter("captured", x_, "f", true);
  const Output plus = b_.Op("AddV2", "plus", {loop.in_body, One(loop)});
  b_.AddControl(plus, captured);
  Close(loop, plus);
  const Output after = b_.Op("Neg", "after", {pivot});
  b_.AddControl(after, loop.exit);
  Return(b_.Op("Merge", "m", {b_.Op("Abs", "otherwise", {Switch("s2", y_, p_)}), after}));
  ExpectRightForAll();
}

}  // namespace
}  // namespace sluice

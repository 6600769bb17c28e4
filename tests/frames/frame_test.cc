// Loops: frames, iterations, invariants, exits. See Note [Frame lifetime].

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/frames/graph_runner.h"

namespace sluice {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::Pair;
using testing::SizeIs;
using testing::UnorderedElementsAre;

// Builds loops that count. `i` goes from 0 to `limit`; the body is added by the test.
class FrameTest : public testing::TestWithParam<int> {
 protected:
  using Runner = GraphRunner<FramedPropagator>;

  Output Int(int value) {
    const auto inserted = ints_.try_emplace(value);
    if (inserted.second) {
      inserted.first->second = b_.Const("c" + std::to_string(value), Tensor::Scalar<int32_t>(value));
    }
    return inserted.first->second;
  }
  Output Add(const std::string& name, Output x, Output y) { return b_.Op("AddV2", name, {x, y}); }
  Output Enter(const std::string& name, Output x, bool is_constant = false, const std::string& frame = "loop") {
    return b_.Op("Enter", name, {x},
                 {{"frame_name", frame}, {"is_constant", is_constant}, {"parallel_iterations", int64_t{GetParam()}}});
  }
  // A loop variable of its own: merge, switch, exit are called `name`_merge and so on.
  struct Variable {
    Output merge, sw, exit;
    Output body() const { return GraphBuilder::Nth(sw, 1); }
  };
  Output Merge(const std::string& name, Output enter) { return b_.Op("Merge", name, {enter, enter}); }
  Variable Close(const std::string& name, Output merge, Output cond) {
    Variable made;
    made.merge = merge;
    made.sw = b_.Op("Switch", name + "_switch", {merge, cond});
    made.exit = b_.Op("Exit", name + "_exit", {made.sw});
    return made;
  }
  void Next(const Variable& variable, Output value) {
    const std::string name(b_.graph().name(variable.merge.node));
    b_.SetInput(variable.merge, 1, b_.Op("NextIteration", name + "_next", {value}));
  }
  // i from `start` while i < `limit`.
  Variable Counter(const std::string& name, Output start, Output limit, const std::string& frame = "loop") {
    const Output limit_in = Enter(name + "_limit", limit, true, frame);
    const Output one = Enter(name + "_one", one_, true, frame);
    const Output merge = Merge(name, Enter(name + "_enter", start, false, frame));
    cond_ = b_.Op("LoopCond", name + "_cond", {b_.Op("Less", name + "_less", {merge, limit_in})});
    const Variable i = Close(name, merge, cond_);
    Next(i, Add(name + "_add", i.body(), one));
    return i;
  }

  GraphBuilder b_{NewOpRegistry()};
  std::map<int, Output> ints_;
  Output one_ = Int(1);
  Output cond_;  // Of the last counter.
};

TEST_P(FrameTest, ALoopRunsItsBodyOncePerIterationAndExitsOnce) {
  const Variable i = Counter("i", Int(0), Int(5));
  Add("y", i.exit, Int(100));
  Runner runner(b_);
  runner.Run();
  EXPECT_THAT(runner.ran("i_add"), ElementsAre(Pair(0, 1), Pair(1, 2), Pair(2, 3), Pair(3, 4), Pair(4, 5)));
  EXPECT_THAT(runner.ran("y"), ElementsAre(Pair(0, 105)));
  EXPECT_EQ(runner.live_frames(), 0);
}

TEST_P(FrameTest, ALoopWithoutAnIterationStillExits) {
  const Variable i = Counter("i", Int(7), Int(5));
  Add("y", i.exit, Int(100));
  Runner runner(b_);
  runner.Run();
  EXPECT_THAT(runner.ran("i_add"), IsEmpty());
  EXPECT_THAT(runner.ran("y"), ElementsAre(Pair(0, 107)));
}

TEST_P(FrameTest, ConstantEntersReachEveryIteration) {
  Counter("i", Int(0), Int(4));
  const Variable sum = Close("sum", Merge("sum", Enter("sum_enter", Int(0))), cond_);
  // The invariant comes late: after the loop could have started.
  const Output late = Add("late2", Add("late1", Int(3), Int(4)), Int(3));
  Next(sum, Add("sum_add", sum.body(), Enter("late_in", late, true)));
  Add("y", sum.exit, Int(100));
  Runner runner(b_);
  for (uint32_t seed = 0; seed < 10; ++seed) {
    runner.Shuffle(seed);
    runner.Run();
    EXPECT_THAT(runner.ran("sum_add"), SizeIs(4));
    EXPECT_THAT(runner.ran("y"), ElementsAre(Pair(0, 140)));
    EXPECT_EQ(runner.live_frames(), 0);
  }
}

TEST_P(FrameTest, ALoopInADeadBranchDoesNotRunAndItsExitIsDead) {
  const Output sw = b_.Op("Switch", "sw", {Int(5), b_.Const("false", Tensor::Scalar(false))});
  const Variable i = Counter("i", GraphBuilder::Nth(sw, 1), Add("limit", GraphBuilder::Nth(sw, 1), Int(3)));
  b_.AddControl(one_, GraphBuilder::Control(b_.Op("Identity", "pivot", {GraphBuilder::Nth(sw, 1)})));
  Add("y", b_.Op("Merge", "merge", {sw, i.exit}), Int(100));
  Runner runner(b_);
  runner.Run();
  EXPECT_THAT(runner.ran("i_less"), IsEmpty());
  EXPECT_THAT(runner.ran("y"), ElementsAre(Pair(0, 105)));
  EXPECT_EQ(runner.live_frames(), 0);
}

TEST_P(FrameTest, ACondInALoopDecidesAnewInEachIteration) {
  const Variable i = Counter("i", Int(0), Int(4));
  const Output two = Enter("two", Int(2), true);
  const Output pred = b_.Op("Less", "pred", {i.body(), two});
  const Output sw = b_.Op("Switch", "sw", {i.body(), pred});
  Add("small", GraphBuilder::Nth(sw, 1), two);
  Add("large", sw, two);
  Runner runner(b_);
  runner.Run();
  EXPECT_THAT(runner.ran("small"), ElementsAre(Pair(0, 2), Pair(1, 3)));
  EXPECT_THAT(runner.ran("large"), ElementsAre(Pair(2, 4), Pair(3, 5)));
}

TEST_P(FrameTest, AGradSumJoinsTheSidesOfACondAnewInEachIteration) {
  const Variable i = Counter("i", Int(0), Int(6));
  const Output three = Enter("three", Int(3), true), hundred = Enter("hundred", Int(100), true);
  const Output sw = b_.Op("Switch", "sw", {i.body(), b_.Op("Less", "pred", {i.body(), three})});
  const Output small = Add("small", GraphBuilder::Nth(sw, 1), hundred), large = Add("large", sw, three);
  b_.Op("GradSum", "sum", {small, large, three});
  b_.Op("GradSum", "only_small", {small, GraphBuilder::Nth(sw, 1)});
  Runner runner(b_);
  for (uint32_t seed = 0; seed < 10; ++seed) {
    runner.Shuffle(seed);
    runner.Run();
    EXPECT_THAT(runner.ran("sum"), UnorderedElementsAre(Pair(0, 103), Pair(1, 104), Pair(2, 105), Pair(3, 9),
                                                        Pair(4, 10), Pair(5, 11), Pair(6, 3)))
        << "in the last iteration both sides are dead";
    EXPECT_THAT(runner.ran("only_small"), UnorderedElementsAre(Pair(0, 100), Pair(1, 102), Pair(2, 104)));
    EXPECT_EQ(runner.live_frames(), 0);
  }
}

TEST_P(FrameTest, AGradSumTakesExitsAndEntersDeadOrLive) {
  const Output sw = b_.Op("Switch", "sw", {Int(5), b_.Const("false", Tensor::Scalar(false))});
  const Variable i = Counter("i", GraphBuilder::Nth(sw, 1), Add("limit", GraphBuilder::Nth(sw, 1), Int(3)));
  b_.Op("GradSum", "of_dead_exit", {i.exit, sw});
  const Output one = Int(1);
  const Variable j = Counter("j", Add("start", sw, one), Add("limit2", sw, Int(3)), "other");
  b_.Op("GradSum", "of_live_exit", {j.exit, GraphBuilder::Nth(sw, 1), i.exit});
  Next(Close("sum", Merge("sum", Enter("sum_enter", Int(0), false, "other")), cond_),
       b_.Op("GradSum", "inside", {j.body(), Enter("dead_in", GraphBuilder::Nth(sw, 1), true, "other")}));
  Runner runner(b_);
  for (uint32_t seed = 0; seed < 10; ++seed) {
    runner.Shuffle(seed);
    runner.Run();
    EXPECT_THAT(runner.ran("of_dead_exit"), ElementsAre(Pair(0, 5)));
    EXPECT_THAT(runner.ran("of_live_exit"), ElementsAre(Pair(0, 8)));
    EXPECT_THAT(runner.ran("inside"), ElementsAre(Pair(0, 6), Pair(1, 7)));
    EXPECT_EQ(runner.live_frames(), 0);
  }
}

TEST_P(FrameTest, AnExitThatIsLiveInTwoIterationsIsAFault) {
  const Variable i = Counter("i", Int(0), Int(5));
  const Output early = b_.Op("Exit", "early", {i.merge});
  Add("y", early, Int(100));
  Runner runner(b_);
  runner.Run();
  EXPECT_EQ(runner.fault(), PropagationFault::Kind::kExitTwice);
  EXPECT_EQ(runner.times("y"), 1);
}

TEST_P(FrameTest, NestedLoopsMakeAFramePerOuterIteration) {
  const Variable outer = Counter("outer", Int(0), Int(3), "outer");
  const Output inner_limit = Enter("limit_for_inner", Int(4), true, "outer");
  one_ = Enter("one_for_inner", one_, true, "outer");
  const Output saved = cond_;
  const Variable inner = Counter("inner", outer.body(), inner_limit, "inner");
  cond_ = saved;
  const Variable sum = Close("sum", Merge("sum", Enter("sum_enter", Int(0), false, "outer")), cond_);
  Next(sum, Add("sum_add", sum.body(), inner.exit));
  Add("y", sum.exit, Int(100));
  Runner runner(b_);
  for (uint32_t seed = 0; seed < 10; ++seed) {
    runner.Shuffle(seed);
    runner.Run();
    EXPECT_EQ(runner.times("inner_add"), 4 + 3 + 2);
    EXPECT_THAT(runner.ran("y"), ElementsAre(Pair(0, 112)));
    EXPECT_EQ(runner.live_frames(), 0);
  }
}

TEST_P(FrameTest, AtMostParallelIterationsLiveAtOnce) {
  const Variable i = Counter("i", Int(0), Int(6));
  // A chain that takes long in each iteration: nothing waits for it, so that the counter runs ahead.
  Output x = i.body();
  const Output one = Enter("one2", Int(1), true);
  for (int k = 0; k < 8; ++k) x = Add("slow" + std::to_string(k), x, one);
  Runner runner(b_);
  runner.Run();
  // When iteration k of the counter's add runs, iteration k - parallel is over: its chain has run.
  EXPECT_THAT(runner.ran("slow7"), SizeIs(6));
  EXPECT_THAT(runner.ran("i_add"), SizeIs(6));
  EXPECT_EQ(runner.live_frames(), 0);
}

TEST_P(FrameTest, SwapsOfLoopVariablesSeeTheValuesBefore) {
  Counter("i", Int(0), Int(3));
  const Variable a = Close("a", Merge("a", Enter("a_enter", Int(10))), cond_);
  const Variable b = Close("b", Merge("b", Enter("b_enter", Int(20))), cond_);
  Next(a, b.body());
  Next(b, a.body());
  Add("ya", a.exit, Int(0));
  Add("yb", b.exit, Int(0));
  Runner runner(b_);
  for (uint32_t seed = 0; seed < 10; ++seed) {
    runner.Shuffle(seed);
    runner.Run();
    EXPECT_THAT(runner.ran("ya"), ElementsAre(Pair(0, 20)));
    EXPECT_THAT(runner.ran("yb"), ElementsAre(Pair(0, 10)));
  }
}

TEST_P(FrameTest, TheLastIterationCostsNoWalkThroughItsBody) {
  Counter("i", Int(0), Int(1));
  const Variable x = Close("x", Merge("x", Enter("x_enter", Int(0))), cond_);
  Output value = x.body();
  const Output one = Enter("one2", Int(1), true);
  for (int k = 0; k < 100; ++k) value = Add("x" + std::to_string(k), value, one);
  Next(x, value);
  Runner runner(b_);
  runner.Run();
  const int with_body = runner.num_visited();
  EXPECT_EQ(runner.times("x99"), 1);
  EXPECT_LT(with_body, 100 + 35);
}

// One NextIteration for two loop variables: the value is theirs alone, and the last reader may work in its buffer.
TEST_P(FrameTest, ABackEdgeToTwoMergesLeavesNothingOfTheValueBehind) {
  Counter("i", Int(0), Int(4));
  const Output start = Enter("start", Add("sum", Int(2), Int(3)));
  const Output one = Enter("one2", Int(1), true);
  const Variable a = Close("a", Merge("a", start), cond_), b = Close("b", Merge("b", start), cond_);
  const Output first = Add("first", a.body(), one);
  const Output second = Add("second", b.body(), one);
  b_.AddControl(second, GraphBuilder::Control(first));
  const Output next = b_.Op("NextIteration", "both_next", {second});
  b_.SetInput(a.merge, 1, next);
  b_.SetInput(b.merge, 1, next);
  Add("y", a.exit, Int(100));
  Add("z", b.exit, Int(200));
  Runner runner(b_);
  for (uint32_t seed = 0; seed < 10; ++seed) {
    runner.Shuffle(seed);
    runner.Run();
    EXPECT_THAT(runner.ran("first"), ElementsAre(Pair(0, 6), Pair(1, 7), Pair(2, 8), Pair(3, 9)));
    EXPECT_THAT(runner.ran("y"), ElementsAre(Pair(0, 109)));
    EXPECT_THAT(runner.ran("z"), ElementsAre(Pair(0, 209)));
    EXPECT_THAT(runner.had_alone("first", 0), ElementsAre(false, false, false, false));
    EXPECT_THAT(runner.had_alone("second", 0), ElementsAre(true, true, true, true));
  }
}

// Values that wait for room in the window are handed on as those that do not.
TEST_P(FrameTest, AParkedValueIsHandedOnAndNotLeftBehind) {
  Counter("i", Int(0), Int(6));
  const Variable x = Close("x", Merge("x", Enter("x_in", Add("sum", Int(2), Int(3)))), cond_);
  const Output one = Enter("one2", Int(1), true);
  const Output next = Add("x_add", x.body(), one);
  Next(x, next);
  Output slow = Add("slow", next, one);  // A second reader in the iteration that parks it.
  for (int k = 0; k < 6; ++k) slow = Add("slow" + std::to_string(k), slow, one);
  Add("y", x.exit, Int(100));
  Runner runner(b_);
  for (uint32_t seed = 0; seed < 10; ++seed) {
    runner.Shuffle(seed);
    runner.Run();
    EXPECT_THAT(runner.ran("y"), ElementsAre(Pair(0, 111)));
  }
}

TEST_P(FrameTest, ManyLoopsInOneFrameAreToldApart) {
  constexpr int kLoops = 40;
  for (int k = 0; k < kLoops; ++k) {
    const std::string name = "l" + std::to_string(k);
    const Variable i = Counter(name, Int(k), Int(k + 2 + k % 3), name);
    Add("y" + std::to_string(k), i.exit, Int(100));
  }
  Runner runner(b_);
  for (uint32_t seed = 0; seed < 5; ++seed) {
    runner.Shuffle(seed);
    runner.Run();
    for (int k = 0; k < kLoops; ++k) {
      EXPECT_THAT(runner.ran("y" + std::to_string(k)), ElementsAre(Pair(0, 100 + k + 2 + k % 3)));
    }
  }
}

TEST_P(FrameTest, ARunWithManyIterationsDoesNotBurdenLaterOnes) {
  // A counter that runs ahead of a slow chain: as many iterations live as the window has room for.
  const Variable i = Counter("i", Int(0), b_.Op("Neg", "limit", {Int(0)}));
  Output x = i.body();
  const Output one = Enter("one2", Int(1), true);
  for (int k = 0; k < 400; ++k) x = Add("slow" + std::to_string(k), x, one);
  Runner runner(b_);
  runner.Set("limit", 64);
  runner.Run();
  EXPECT_GE(runner.propagator().num_kept_iterations(), static_cast<size_t>(GetParam()));
  runner.Set("limit", 1);
  runner.Run();
  EXPECT_LE(runner.propagator().num_kept_iterations(), 20u);
}

INSTANTIATE_TEST_SUITE_P(ParallelIterations, FrameTest, testing::Values(1, 2, 10, 32));

}  // namespace
}  // namespace sluice

// The contract that both propagators keep (Note [Propagator contract]), on graphs without loops.

#include "frames/flat_propagator.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/frames/graph_runner.h"
#include "tests/testing/status_matchers.h"

namespace sluice {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::Pair;

template <typename Propagator>
class PropagatorTest : public testing::Test {
 protected:
  using Runner = GraphRunner<Propagator>;

  // One node for each value.
  Output Int(int value) {
    const auto inserted = ints_.try_emplace(value);
    if (inserted.second) {
      inserted.first->second = b_.Const("c" + std::to_string(value), Tensor::Scalar<int32_t>(value));
    }
    return inserted.first->second;
  }
  Output Bool(bool value) { return b_.Const(value ? "true" : "false", Tensor::Scalar(value)); }
  Output Add(const std::string& name, Output x, Output y) { return b_.Op("AddV2", name, {x, y}); }
  Output Switch(const std::string& name, Output x, Output pred) { return b_.Op("Switch", name, {x, pred}); }
  static Output True(Output sw) { return GraphBuilder::Nth(sw, 1); }
  void Control(Output from, Output to) { b_.AddControl(to, GraphBuilder::Control(from)); }

  void StartOver() {
    b_ = GraphBuilder(NewOpRegistry());
    ints_.clear();
  }

  GraphBuilder b_{NewOpRegistry()};
  std::map<int, Output> ints_;
};

using Propagators = testing::Types<FlatPropagator, FramedPropagator>;
TYPED_TEST_SUITE(PropagatorTest, Propagators);

TYPED_TEST(PropagatorTest, ANodeRunsOnceWhenAllItsInputsHaveCome) {
  const Output x = this->Add("x", this->Int(1), this->Int(2));
  const Output y = this->Add("y", x, this->Int(4));
  this->Add("z", x, y);
  typename TestFixture::Runner runner(this->b_);
  runner.Run();
  EXPECT_THAT(runner.ran("z"), ElementsAre(Pair(0, 10)));
  EXPECT_EQ(runner.num_visited(), 3) << "constants are not visited";
}

TYPED_TEST(PropagatorTest, RunsAgainAfterReset) {
  this->Add("z", this->Add("x", this->Int(1), this->Int(2)), this->Int(4));
  typename TestFixture::Runner runner(this->b_);
  runner.Run();
  runner.Run();
  EXPECT_THAT(runner.ran("z"), ElementsAre(Pair(0, 7)));
}

TYPED_TEST(PropagatorTest, OneDeadInputMakesAnOrdinaryNodeDead) {
  const Output sw = this->Switch("sw", this->Int(5), this->Bool(false));
  this->Add("live", sw, this->Int(1));
  const Output dead = this->Add("dead", TestFixture::True(sw), this->Int(1));
  this->Add("both", sw, dead);
  typename TestFixture::Runner runner(this->b_);
  runner.Run();
  EXPECT_THAT(runner.ran("live"), ElementsAre(Pair(0, 6)));
  EXPECT_THAT(runner.ran("dead"), IsEmpty());
  EXPECT_THAT(runner.ran("both"), IsEmpty());
}

TYPED_TEST(PropagatorTest, OneDeadControlInputMakesAnOrdinaryNodeDead) {
  const Output sw = this->Switch("sw", this->Int(5), this->Bool(false));
  const Output dead = this->Add("dead", TestFixture::True(sw), this->Int(1));
  const Output after = this->Add("after", sw, this->Int(1));
  this->Control(dead, after);
  this->Control(sw, this->Add("beside", this->Int(1), this->Int(2)));
  typename TestFixture::Runner runner(this->b_);
  runner.Run();
  EXPECT_THAT(runner.ran("after"), IsEmpty());
  EXPECT_EQ(runner.times("beside"), 1) << "the Switch itself is live";
}

TYPED_TEST(PropagatorTest, AMergeForwardsItsLiveInput) {
  const Output sw = this->Switch("sw", this->Int(5), this->Bool(true));
  const Output merge = this->b_.Op("Merge", "merge", {sw, TestFixture::True(sw)});
  this->Add("y", merge, this->Int(1));
  this->Add("index", GraphBuilder::Nth(merge, 1), this->Int(10));
  typename TestFixture::Runner runner(this->b_);
  runner.Run();
  EXPECT_THAT(runner.ran("y"), ElementsAre(Pair(0, 6)));
  EXPECT_THAT(runner.ran("index"), ElementsAre(Pair(0, 11)));
}

TYPED_TEST(PropagatorTest, AMergeIsDeadWhenAllItsInputsAre) {
  const Output outer = this->Switch("outer", this->Int(5), this->Bool(false));
  const Output pred = this->b_.Op("Less", "pred", {TestFixture::True(outer), this->Int(9)});
  const Output inner = this->Switch("inner", TestFixture::True(outer), pred);
  const Output merge = this->b_.Op("Merge", "merge", {inner, TestFixture::True(inner)});
  const Output join = this->b_.Op("Merge", "join", {outer, this->Add("x", merge, this->Int(1))});
  this->Add("y", join, this->Int(1));
  typename TestFixture::Runner runner(this->b_);
  runner.Run();
  EXPECT_THAT(runner.ran("merge"), IsEmpty());
  EXPECT_THAT(runner.ran("y"), ElementsAre(Pair(0, 6)));
}

TYPED_TEST(PropagatorTest, AMergeWaitsForItsControlInputs) {
  const Output sw = this->Switch("sw", this->Int(5), this->Bool(true));
  const Output merge = this->b_.Op("Merge", "merge", {sw, TestFixture::True(sw)});
  const Output slow = this->Add("slow", this->Add("x", this->Int(1), this->Int(2)), this->Int(1));
  this->Control(slow, merge);
  this->Control(TestFixture::True(this->Switch("other", slow, this->Bool(false))), merge);
  this->Add("y", merge, this->Int(1));
  typename TestFixture::Runner runner(this->b_);
  for (uint32_t seed = 0; seed < 20; ++seed) {
    runner.Shuffle(seed);
    runner.Run();
    EXPECT_EQ(runner.times("y"), 1) << "and control inputs never make it dead";
  }
}

TYPED_TEST(PropagatorTest, TwoLiveInputsOfAMergeAreAFault) {
  this->b_.Op("Merge", "merge",
              {this->Add("x", this->Int(1), this->Int(2)), this->Add("y", this->Int(1), this->Int(2))});
  typename TestFixture::Runner runner(this->b_);
  runner.Run();
  EXPECT_EQ(runner.fault(), PropagationFault::Kind::kMergeTwice);
}

TYPED_TEST(PropagatorTest, AControlTriggerIsNeverDead) {
  const Output sw = this->Switch("sw", this->Int(5), this->Bool(false));
  const Output dead = this->Add("dead", TestFixture::True(sw), this->Int(1));
  const Output trigger = this->b_.Op("ControlTrigger", "trigger");
  this->Control(dead, trigger);
  this->Control(sw, trigger);
  const Output after = this->Add("after", this->Int(1), this->Int(2));
  this->Control(trigger, after);
  typename TestFixture::Runner runner(this->b_);
  runner.Run();
  EXPECT_EQ(runner.times("after"), 1);
}

TYPED_TEST(PropagatorTest, AGradSumAddsWhatIsLiveAndIsDeadWhenNothingIs) {
  const Output sw = this->Switch("sw", this->Int(5), this->Bool(false));
  const Output dead = this->Add("dead", TestFixture::True(sw), this->Int(1));
  const Output live = this->Add("live", sw, this->Int(1));
  this->Add("y", this->b_.Op("GradSum", "some", {live, dead, sw}), this->Int(100));
  this->Add("z", this->b_.Op("GradSum", "none", {dead, TestFixture::True(sw)}), this->Int(100));
  typename TestFixture::Runner runner(this->b_);
  for (uint32_t seed = 0; seed < 10; ++seed) {
    runner.Shuffle(seed);
    runner.Run();
    EXPECT_THAT(runner.ran("y"), ElementsAre(Pair(0, 111)));
    EXPECT_THAT(runner.ran("none"), IsEmpty());
    EXPECT_THAT(runner.ran("z"), IsEmpty());
  }
}

TYPED_TEST(PropagatorTest, AGradSumWaitsForAllItsInputs) {
  const Output sw = this->Switch("sw", this->Int(5), this->Bool(true));
  Output slow = TestFixture::True(sw);
  for (int i = 0; i < 5; ++i) slow = this->Add("slow" + std::to_string(i), slow, this->Int(1));
  this->b_.Op("GradSum", "sum", {TestFixture::True(sw), slow, sw, slow});
  typename TestFixture::Runner runner(this->b_);
  for (uint32_t seed = 0; seed < 10; ++seed) {
    runner.Shuffle(seed);
    runner.Run();
    EXPECT_THAT(runner.ran("sum"), ElementsAre(Pair(0, 5 + 10 + 10)));
  }
}

TYPED_TEST(PropagatorTest, DeadControlInputsDoNotMakeAGradSumDead) {
  const Output sw = this->Switch("sw", this->Int(5), this->Bool(false));
  const Output dead = this->Add("dead", TestFixture::True(sw), this->Int(1));
  const Output sum = this->b_.Op("GradSum", "sum", {sw, dead});
  this->Control(this->Add("other", TestFixture::True(sw), this->Int(2)), sum);
  const Output of_constants = this->b_.Op("GradSum", "of_constants", {this->Int(3), this->Int(4)});
  this->Control(dead, of_constants);
  typename TestFixture::Runner runner(this->b_);
  runner.Run();
  EXPECT_THAT(runner.ran("sum"), ElementsAre(Pair(0, 5)));
  EXPECT_THAT(runner.ran("of_constants"), ElementsAre(Pair(0, 7)));
}

TYPED_TEST(PropagatorTest, AGradSumOfManyInputsCountsThemAll) {
  const Output pred = this->b_.Op("Less", "pred", {this->Int(1), this->Int(2)});
  std::vector<Output> all, dead;
  for (int i = 0; i < 40; ++i) {
    const Output sw = this->Switch("sw" + std::to_string(i), this->Int(i), pred);
    all.push_back(i % 8 == 0 ? TestFixture::True(sw) : sw);
    if (i % 8 != 0) dead.push_back(sw);
  }
  this->b_.Op("GradSum", "some", all);
  this->b_.Op("GradSum", "none", dead);
  typename TestFixture::Runner runner(this->b_);
  runner.Run();
  EXPECT_THAT(runner.ran("some"), ElementsAre(Pair(0, 0 + 8 + 16 + 24 + 32)));
  EXPECT_THAT(runner.ran("none"), IsEmpty());
}

TYPED_TEST(PropagatorTest, ADeadConstantIsNotAdded) {
  const Output pred = this->b_.Op("Less", "pred", {this->Int(1), this->Int(2)});
  const Output sw = this->Switch("sw", this->Int(5), pred);
  const Output dead = this->Int(20), live = this->Int(30);
  this->Control(this->b_.Op("Identity", "pivot", {sw}), dead);
  this->Control(this->b_.Op("Identity", "other", {TestFixture::True(sw)}), live);
  this->b_.Op("GradSum", "sum", {dead, live});
  typename TestFixture::Runner runner(this->b_);
  for (int run = 0; run < 3; ++run) {
    runner.Set("pred", run % 2);
    runner.Run();
    EXPECT_THAT(runner.ran("sum"), ElementsAre(Pair(0, 30)));
  }
}

TYPED_TEST(PropagatorTest, GradSumsInDeadBranchesAreNotVisited) {
  const Output sw = this->Switch("sw", this->Int(5), this->Bool(false));
  Output x = TestFixture::True(sw);
  for (int i = 0; i < 100; ++i) x = this->b_.Op("GradSum", "x" + std::to_string(i), {x, TestFixture::True(sw)});
  this->b_.Op("GradSum", "y", {sw, x});
  typename TestFixture::Runner runner(this->b_);
  runner.Run();
  EXPECT_THAT(runner.ran("y"), ElementsAre(Pair(0, 5)));
  EXPECT_LE(runner.num_visited(), 102) << "once each at most";
}

TYPED_TEST(PropagatorTest, AMergeMayReadAConstant) {
  const Output sw = this->Switch("sw", this->Int(5), this->Bool(false));
  this->Add("y", this->b_.Op("Merge", "merge", {TestFixture::True(sw), this->Int(3)}), this->Int(1));
  typename TestFixture::Runner runner(this->b_);
  runner.Run();
  EXPECT_THAT(runner.ran("y"), ElementsAre(Pair(0, 4)));
}

TYPED_TEST(PropagatorTest, ConstantsInABranchRunWithIt) {
  const Output sw = this->Switch("sw", this->Int(5), this->Bool(false));
  const Output dead = this->Int(1), live = this->Int(2);  // No other node reads it.
  this->Control(this->b_.Op("Identity", "pivot", {TestFixture::True(sw)}), dead);
  this->Control(this->b_.Op("Identity", "other", {sw}), live);
  this->Add("x", dead, this->Int(10));
  this->Add("y", live, this->Int(20));
  typename TestFixture::Runner runner(this->b_);
  runner.Run();
  EXPECT_THAT(runner.ran("x"), IsEmpty());
  EXPECT_THAT(runner.ran("y"), ElementsAre(Pair(0, 22)));
}

TYPED_TEST(PropagatorTest, ADeadBranchIsNotVisitedWhateverItsSize) {
  const Output sw = this->Switch("sw", this->Int(5), this->Bool(false));
  Output x = TestFixture::True(sw);
  for (int i = 0; i < 100; ++i) x = this->Add("x" + std::to_string(i), x, this->Int(1000 + i));
  this->Add("y", this->b_.Op("Merge", "merge", {sw, x}), this->Int(1));
  typename TestFixture::Runner runner(this->b_);
  runner.Run();
  EXPECT_THAT(runner.ran("y"), ElementsAre(Pair(0, 6)));
  EXPECT_EQ(runner.num_visited(), 3) << "Switch, Merge, y";
}

TYPED_TEST(PropagatorTest, NestedDeadBranchesReachTheirMergeOnce) {
  for (const bool value : {false, true}) {
    this->StartOver();
    const Output p = this->Bool(value), c = this->Int(5);
    const Output outer = this->Switch("outer", c, p);
    const Output pred = this->b_.Op("Less", "pred", {TestFixture::True(outer), this->Int(3)});
    const Output inner = this->Switch("inner", TestFixture::True(outer), pred);
    const Output inner_merge = this->b_.Op(
        "Merge", "inner_merge", {this->Add("f", inner, this->Int(1)), this->Add("t", TestFixture::True(inner), c)});
    this->Add("y", this->b_.Op("Merge", "merge", {outer, inner_merge}), this->Int(100));
    typename TestFixture::Runner runner(this->b_);
    runner.Run();
    EXPECT_THAT(runner.ran("y"), ElementsAre(Pair(0, value ? 106 : 105)));
    EXPECT_EQ(runner.fault(), PropagationFault::Kind::kNone);
  }
}

// Checks elsewhere refuse such nodes, which can be built; here they must do no harm.
TYPED_TEST(PropagatorTest, AMergeOfNothingNeverRuns) {
  const Output sw = this->Switch("sw", this->Int(5), this->Bool(false));
  const Output merge = this->b_.Op("Merge", "merge", {}, {{"T", DType::kInt32}, {"N", 0}});
  this->Add("never", merge, sw);
  this->Add("y", sw, this->Int(1));
  ASSERT_OK(this->b_.status());
  typename TestFixture::Runner runner(this->b_);
  runner.Run();
  EXPECT_THAT(runner.ran("y"), ElementsAre(Pair(0, 6)));
  EXPECT_THAT(runner.ran("never"), IsEmpty());
  EXPECT_EQ(runner.fault(), PropagationFault::Kind::kNone);
}

TYPED_TEST(PropagatorTest, ASwitchWithoutPortsIsAFault) {
  const Output index = this->Add("index", this->Int(1), this->Int(2));
  this->b_.Op("_SwitchN", "ports", {this->Int(1), index}, {{"num_outs", 0}});
  ASSERT_OK(this->b_.status());
  typename TestFixture::Runner runner(this->b_);
  runner.Run();
  EXPECT_EQ(runner.fault(), PropagationFault::Kind::kPredicate);
}

}  // namespace
}  // namespace sluice

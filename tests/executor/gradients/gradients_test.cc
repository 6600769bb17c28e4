// AddGradients: its handling of ys, xs, seeds and stops, its sums, and its errors.

#include "graph/gradients/gradients.h"

#include <set>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "graph/base/cancellation.h"
#include "graph/base/error.h"
#include "graph/base/stop_poll.h"
#include "graph/gradients/gradient_context.h"
#include "tests/executor/gradients/gradients_fixture.h"

namespace sluice {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using Values = std::vector<std::vector<float>>;

class GradientsTest : public GradientsFixture {
 protected:
  static NamedTensors At(float x) { return {{"x", Tensor::Scalar(x)}}; }
  // y = x * x.
  Output Squared(absl::string_view name, Output x) { return b_.Op("Mul", name, {x, x}); }
};

TEST_F(GradientsTest, SeveralYsAddUp) {
  const Output x = Input("x");
  const Output a = Squared("a", x), c = b_.Op("Neg", "c", {x});
  ASSERT_OK_AND_ASSIGN(const Values dx, Gradients({a, c}, {x}, At(3)));
  EXPECT_THAT(dx, ElementsAre(ElementsAre(5)));
}

// Int64 scalars are exact beyond what a double holds.
absl::Status ExactDifference(GradientContext& c) {
  constexpr int64_t kLarge = (int64_t{1} << 53) + 1;
  c.SetInput(0, c.dy() * Cast(c.Int64(kLarge) - c.Int64(kLarge - 1), DType::kFloat));
  return absl::OkStatus();
}

TEST_F(GradientsTest, Int64ScalarsAreExact) {
  const Output x = Input("x"), y = b_.Op("Sin", "y", {x});
  GradientOptions options;
  options.rows = {{"Sin", &ExactDifference}};
  ASSERT_OK_AND_ASSIGN(const Values dx, Gradients({y}, {x}, At(3), options));
  EXPECT_THAT(dx, ElementsAre(ElementsAre(1)));
}

TEST_F(GradientsTest, AYThatFeedsAnotherCountsTwice) {
  const Output x = Input("x");
  const Output a = Squared("a", x), c = Squared("c", a);
  ASSERT_OK_AND_ASSIGN(const Values dx, Gradients({a, c}, {x}, At(2)));
  EXPECT_THAT(dx, ElementsAre(ElementsAre(2 * 2 + 4 * 8)));
}

TEST_F(GradientsTest, ARepeatedYCountsTwiceAndARepeatedXIsGivenTwice) {
  const Output x = Input("x");
  const Output y = Squared("y", x);
  ASSERT_OK_AND_ASSIGN(const Values dx, Gradients({y, y}, {x, x}, At(3)));
  EXPECT_THAT(dx, ElementsAre(ElementsAre(12), ElementsAre(12)));
}

TEST_F(GradientsTest, EachYMayBeginWithAGradientOfItsOwn) {
  const Output x = Input("x");
  const Output a = Squared("a", x), c = b_.Op("Neg", "c", {x});
  GradientOptions options;
  options.grad_ys = {Number("ga", 10), Output{NodeId(-1), 0}};
  ASSERT_OK_AND_ASSIGN(const Values dx, Gradients({a, c}, {x}, At(3), options));
  EXPECT_THAT(dx, ElementsAre(ElementsAre(59)));
}

TEST_F(GradientsTest, AnXMayLieBetweenAnotherAndY) {
  const Output x = Input("x");
  const Output a = Squared("a", x), y = Squared("y", a);
  ASSERT_OK_AND_ASSIGN(const Values dx, Gradients({y}, {x, a, y}, At(2)));
  EXPECT_THAT(dx, ElementsAre(ElementsAre(32), ElementsAre(8), ElementsAre(1)));
}

TEST_F(GradientsTest, PartlyKnownIntegersAreReadWhenTheGradientRuns) {
  const Output x = b_.Placeholder("x", DType::kFloat, PartialShape::Of({3, 2}));
  const Output row = b_.Placeholder("row", DType::kInt32, PartialShape::Scalar());
  const Output begin = b_.Op("Pack", "begin", {row, Int("one", 1)});
  const Output size = b_.Const("size", Tensor::Of<int32_t>(Shape::Of({2}), {1, 1}));
  const Output y = b_.Op("Slice", "y", {x, begin, size});
  const NamedTensors feeds = {{"x", Tensor::Of<float>(Shape::Of({3, 2}), {1, 2, 3, 4, 5, 6})},
                              {"row", Tensor::Scalar<int32_t>(1)}};
  ASSERT_OK_AND_ASSIGN(const Values dx, Gradients({y}, {x}, feeds));
  EXPECT_THAT(dx, ElementsAre(ElementsAre(0, 0, 0, 1, 0, 0)));
}

TEST_F(GradientsTest, WhatIsNotConnectedIsNothingOrZeros) {
  const Output x = Input("x"), other = Input("other");
  const Output y = Squared("y", x), round = b_.Op("Floor", "round", {other});
  const Output whole =
      b_.Op("Cast", "whole", {b_.Op("Cast", "int", {other}, {{"DstT", DType::kInt32}})}, {{"DstT", DType::kFloat}});
  const NamedTensors feeds = {{"x", Tensor::Scalar(3.f)}, {"other", Tensor::Scalar(2.5f)}};
  ASSERT_OK_AND_ASSIGN(const Values none, Gradients({y, round, whole}, {x, other}, feeds));
  EXPECT_THAT(none, ElementsAre(ElementsAre(6), IsEmpty()));
  GradientOptions options;
  options.unconnected = GradientOptions::Unconnected::kZero;
  ASSERT_OK_AND_ASSIGN(const Values zeros, Gradients({y, round, whole}, {x, other}, feeds, options));
  EXPECT_THAT(zeros, ElementsAre(ElementsAre(6), ElementsAre(0)));
}

TEST_F(GradientsTest, NothingFlowsThroughAStop) {
  const Output x = Input("x");
  const Output a = Squared("a", x), y = b_.Op("Mul", "y", {a, x});
  GradientOptions options;
  options.stop = {a};
  ASSERT_OK_AND_ASSIGN(const Values dx, Gradients({y}, {x, a}, At(3), options));
  EXPECT_THAT(dx, ElementsAre(ElementsAre(9), ElementsAre(3)));
}

TEST_F(GradientsTest, NodesWithUnusedOutputsTakeZerosForThem) {
  const Output x = b_.Placeholder("x", DType::kFloat, *PartialShape::Make({4}));
  const Output parts = b_.Op("Split", "parts", {Int("axis", 0), x}, {{"num_split", 2}});
  const Output y = Squared("y", Nth(parts, 1));
  const NamedTensors feeds = {{"x", Tensor::Vector<float>({1, 2, 3, 4})}};
  ASSERT_OK_AND_ASSIGN(const Values dx, Gradients({y}, {x}, feeds));
  EXPECT_THAT(dx, ElementsAre(ElementsAre(0, 0, 6, 8)));
}

class AggregationTest : public GradientsTest, public ::testing::WithParamInterface<GradientOptions::Aggregation> {};

TEST_P(AggregationTest, AllWaysToAddGiveTheSum) {
  const Output x = Input("x");
  std::vector<Output> ys;
  for (int i = 0; i < 5; ++i) {
    ys.push_back(b_.Op("Mul", absl::StrCat("y", i), {x, Number(absl::StrCat("k", i), static_cast<float>(1 << i))}));
  }
  GradientOptions options;
  options.aggregation = GetParam();
  ASSERT_OK_AND_ASSIGN(const Values dx, Gradients(ys, {x}, At(3), options));
  EXPECT_THAT(dx, ElementsAre(ElementsAre(31)));
}

INSTANTIATE_TEST_SUITE_P(All, AggregationTest,
                         ::testing::Values(GradientOptions::Aggregation::kAddN, GradientOptions::Aggregation::kTree,
                                           GradientOptions::Aggregation::kStreaming));

// No shape needs the axis, which is a constant all the same.
TEST_F(GradientsTest, RowsOfUnknownNumberStaySparse) {
  const Output x = Input("x"), ids = b_.Placeholder("ids", DType::kInt32);
  ASSERT_OK_AND_ASSIGN(const GradientResult rows, Add({b_.Op("GatherV2", "y", {x, ids, Int("axis", 0)})}, {x}));
  EXPECT_TRUE(rows.xs[0].is_slices());
}

TEST_F(GradientsTest, RowsStaySparseUntilATensorIsAdded) {
  const Output x = b_.Placeholder("x", DType::kFloat, *PartialShape::Make({3, 1}));
  const Output axis = Int("axis", 0);
  const Output a = b_.Op("GatherV2", "a", {x, b_.Const("ia", Tensor::Vector<int32_t>({2, 2})), axis});
  const Output c = b_.Op("GatherV2", "c", {x, b_.Const("ic", Tensor::Vector<int64_t>({0})), axis});
  const Output y = b_.Op("Neg", "y", {x});
  ASSERT_OK_AND_ASSIGN(const GradientResult sparse, Add({a, c}, {x}));
  EXPECT_TRUE(sparse.xs[0].is_slices());
  const NamedTensors feeds = {{"x", Tensor::Of<float>(Shape::Of({3, 1}), {1, 2, 3})}};
  ASSERT_OK_AND_ASSIGN(const Values rows, Gradients({a, c}, {x}, feeds));
  EXPECT_THAT(rows, ElementsAre(ElementsAre(1, 0, 2)));
  ASSERT_OK_AND_ASSIGN(const GradientResult dense, Add({a, c, y}, {x}));
  EXPECT_FALSE(dense.xs[0].is_slices());
  ASSERT_OK_AND_ASSIGN(const Values all, Gradients({a, c, y}, {x}, feeds));
  EXPECT_THAT(all, ElementsAre(ElementsAre(0, -1, 1)));
}

TEST_F(GradientsTest, GradientsOfGradientsHaveNamesOfTheirOwn) {
  const Output x = Input("x");
  const Output y = b_.Op("Mul", "y", {Squared("a", x), x});
  ASSERT_OK_AND_ASSIGN(const GradientResult first, Add({y}, {x}));
  ASSERT_OK_AND_ASSIGN(const GradientResult second, Add({first.xs[0].value}, {x}));
  EXPECT_EQ(first.name, "gradients");
  EXPECT_EQ(second.name, "gradients_1");
  ASSERT_OK_AND_ASSIGN(const Values third, Gradients({second.xs[0].value}, {x}, At(3)));
  EXPECT_THAT(third, ElementsAre(ElementsAre(6)));
}

TEST_F(GradientsTest, NodesAreAtThePlaceOfTheForwardOnes) {
  b_.WithDevice("/device:CPU:0");
  const Output x = Input("x"), y = b_.Op("Tanh", "y", {x});
  GradientOptions options;
  options.colocate = true;
  ASSERT_OK_AND_ASSIGN(const GradientResult found, Add({y}, {x}, options));
  const NodeId id = found.xs[0].value.node;
  EXPECT_EQ(b_.graph().device(id), "/device:CPU:0");
  AttrView group;
  ASSERT_TRUE(b_.graph().FindAttr(id, "_class", &group));
  EXPECT_EQ((*group.AsStringList())[0], "loc:@y");
}

// Names of the nodes that the graph has.
std::set<std::string> NamesOf(const Graph& graph) {
  std::set<std::string> names;
  for (const NodeId id : graph.Nodes()) names.emplace(graph.name(id));
  return names;
}

TEST_F(GradientsTest, AFailureNamesTheNodeAndLeavesTheGraphAsItWas) {
  const Output x = Input("x");
  const Output stack = b_.Op("StackV2", "stack", {Int("size", 3)}, {{"elem_type", DType::kFloat}});
  const Output push = b_.Op("StackPushV2", "push", {stack, Squared("a", x)});
  const Output y = Squared("y", push);
  const std::set<std::string> before = NamesOf(b_.graph());
  const absl::Status status = Add({y}, {x}).status();
  EXPECT_THAT(status, StatusIs(absl::StatusCode::kUnimplemented, "push"));
  EXPECT_EQ(NamesOf(b_.graph()), before);
  EXPECT_OK(b_.Build());
}

TEST_F(GradientsTest, WrongArgumentsAreNamed) {
  const Output x = Input("x"), y = Squared("y", x);
  const Output z = b_.Placeholder("z", DType::kComplex64);
  GradientOptions too_many, wrong_type;
  too_many.grad_ys = {x, x};
  wrong_type.grad_ys = {z};
  const struct {
    std::vector<Output> ys, xs;
    GradientOptions options;
    ErrorCode code;
  } cases[] = {
      {{Output{NodeId(999), 0}}, {x}, {}, ErrorCode::kNodeMissing},
      {{y}, {Output{NodeId(-1), 0}}, {}, ErrorCode::kNodeMissing},
      {{Output{y.node, 1}}, {x}, {}, ErrorCode::kInputSlot},
      {{y}, {Output{x.node, kControlIndex}}, {}, ErrorCode::kInputSlot},
      {{y}, {x}, too_many, ErrorCode::kInputCount},
      {{y}, {x}, wrong_type, ErrorCode::kInputType},
      {{z}, {z}, {}, ErrorCode::kInputType},
  };
  for (const auto& wrong : cases) {
    EXPECT_THAT(Add(wrong.ys, wrong.xs, wrong.options), IsError(wrong.code)) << static_cast<int>(wrong.code);
  }
}

// A chain of `n` Tanhs.
std::pair<Graph, Output> Chain(int n) {
  GraphBuilder b(NewOpRegistry());
  Output y = b.Placeholder("x", DType::kFloat, *PartialShape::Make({4}));
  for (int i = 0; i < n; ++i) y = b.Op("Tanh", absl::StrCat("t", i), {y});
  return {std::move(b.graph()), y};
}

TEST(GradientsSizeTest, AMillionNodesNeedNoStackAndNoMoreNodesThanTheyMust) {
  constexpr int kNodes = 1000000;
  auto [graph, y] = Chain(kNodes);
  ASSERT_OK_AND_ASSIGN(const GradientResult found, AddGradients(graph, {y}, {Output{graph.Find("x"), 0}}));
  EXPECT_GE(found.num_added, kNodes);
  EXPECT_LE(found.num_added, kNodes + 8);
}

TEST(GradientsSizeTest, MoreNodesThanTheLimitAreRefused) {
  auto [graph, y] = Chain(1000);
  GradientOptions options;
  options.limits.max_nodes = 1500;
  const size_t before = graph.num_nodes();
  EXPECT_THAT(AddGradients(graph, {y}, {Output{graph.Find("x"), 0}}, options),
              IsError(ErrorCode::kLimitNodes, "too many nodes"));
  EXPECT_EQ(graph.num_nodes(), before);
}

TEST(GradientsSizeTest, StopsAtADeadlineAndWhenCancelled) {
  auto [graph, y] = Chain(1000);
  const size_t before = graph.num_nodes();
  GradientOptions options;
  StopPoll deadline(absl::InfinitePast(), nullptr);
  options.stop_poll = &deadline;
  EXPECT_THAT(AddGradients(graph, {y}, {Output{graph.Find("x"), 0}}, options),
              StatusIs(absl::StatusCode::kDeadlineExceeded, ""));
  CancellationManager cancellation;
  cancellation.StartCancelWithStatus(absl::CancelledError("enough"));
  StopPoll cancelled(absl::InfiniteFuture(), &cancellation);
  options.stop_poll = &cancelled;
  EXPECT_THAT(AddGradients(graph, {y}, {Output{graph.Find("x"), 0}}, options),
              StatusIs(absl::StatusCode::kCancelled, "enough"));
  EXPECT_EQ(graph.num_nodes(), before);
}

// A size beyond int32 does not become an int32 constant: the op computes it, and its run fails.
TEST(GradientsSizeTest, SizesBeyondInt32) {
  GraphBuilder b(NewOpRegistry());
  const Output x = b.Placeholder("x", DType::kFloat, PartialShape::Of({(int64_t{1} << 32) + 2}));
  const Output axes = b.Const("axes", Tensor::Vector<int32_t>({0}));
  ASSERT_OK(AddGradients(b.graph(), {b.Op("Mean", "y", {b.Op("Sin", "sin", {x}), axes})}, {x}));
  int count = 0;
  for (const NodeId id : b.graph().Nodes()) {
    if (!b.graph().Is(id, "BroadcastTo")) continue;
    ++count;
    EXPECT_TRUE(b.graph().Is(b.graph().inputs(id)[1].node, "Shape"));
  }
  EXPECT_EQ(count, 1);
}

// Anything that looks at all uses for each of them would not come to an end.
TEST(GradientsSizeTest, ManyUsesOfOneValueAndManyYs) {
  constexpr int kUses = 200000;
  GraphBuilder b(NewOpRegistry());
  const Output x = b.Placeholder("x", DType::kFloat, PartialShape::Scalar());
  std::vector<Output> ys;
  for (int i = 0; i < kUses; ++i) ys.push_back(b.Op("Neg", absl::StrCat("y", i), {x}));
  ASSERT_OK_AND_ASSIGN(const GradientResult found, AddGradients(b.graph(), ys, {x}));
  const Output sum = found.xs[0].value;
  EXPECT_TRUE(b.graph().Is(sum.node, "AddN"));
  EXPECT_GT(b.graph().inputs(sum.node).size(), 1u) << "a node has at most 65,536 inputs: this one adds sums";
  EXPECT_LE(found.num_added, 2 * kUses + 64);
}

}  // namespace
}  // namespace sluice

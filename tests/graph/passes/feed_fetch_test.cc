#include "graph/passes/feed_fetch.h"

#include <memory>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "graph/ir/builder.h"
#include "graph/ir/op_schema_builder.h"
#include "graph/ir/runnable_check.h"
#include "graph/ops/op_table.h"
#include "graph/passes/fed_shape.h"
#include "gtest/gtest.h"
#include "tests/testing/graph_text.h"
#include "tests/testing/status_matchers.h"

namespace sluice {
namespace {

using Convention = FeedFetchOptions::Convention;

std::shared_ptr<const OpRegistry> TestOps() {
  std::shared_ptr<OpRegistry> ops = NewOpRegistry();
  EXPECT_OK(ops->Add(*OpSchemaBuilder("Weights").Output("w: float").Build()));
  EXPECT_OK(ops->Add(*OpSchemaBuilder("RefWeights").Output("w: Ref(float)").Build()));
  EXPECT_OK(ops->Add(*OpSchemaBuilder("Source").Output("a: float").Output("b: float").Build()));
  return ops;
}

// w1, w2, source (outputs a and b); t1 = w1 * b; t2 = w2 * t1; t3_a, t3_b = relu(t2); a chain c0 -> ... -> c5.
class FeedFetchTest : public testing::Test {
 protected:
  FeedFetchTest() : b_(TestOps()) {
    const Output w1 = b_.Op("Weights", "w1");
    const Output w2 = b_.Op("RefWeights", "w2");
    const Output source = b_.Op("Source", "source");
    const Output t1 = b_.Op("Mul", "t1", {w1, GraphBuilder::Nth(source, 1)});
    const Output t2 = b_.Op("Mul", "t2", {w2, t1});
    b_.Op("Relu", "t3_a", {t2});
    b_.Op("Relu", "t3_b", {t2});
    Output c = b_.Op("Weights", "c0");
    for (const char* name : {"c1", "c2", "c3", "c4", "c5"}) c = b_.Op("Relu", name, {c});
    b_.Op("NoOp", "nothing");
  }

  absl::StatusOr<FeedFetchGraph> Apply(std::vector<std::string> feeds, std::vector<std::string> fetches,
                                       std::vector<std::string> targets = {},
                                       std::vector<std::pair<std::string, std::string>> connections = {}) {
    EXPECT_OK(b_.status());
    FeedFetchSpec spec{std::move(feeds), std::move(fetches), std::move(targets), std::move(connections)};
    return ApplyFeedsAndFetches(b_.graph(), spec, options_);
  }
  // The names of the nodes that Apply leaves, or the error.
  std::string Names(std::vector<std::string> feeds, std::vector<std::string> fetches,
                    std::vector<std::string> targets = {}) {
    const absl::StatusOr<FeedFetchGraph> made = Apply(std::move(feeds), std::move(fetches), std::move(targets));
    return made.ok() ? NodeNames(made->graph) : made.status().ToString();
  }

  GraphBuilder b_;
  FeedFetchOptions options_;
};

// Few nodes of many are found and numbered by other means than many are.
TEST_F(FeedFetchTest, FewOfManyNodes) {
  constexpr int kNodes = 20'000;
  const auto name = [](int i) { return absl::StrCat("n", i); };
  Output last = b_.Placeholder("x", DType::kFloat);
  for (int i = 0; i < kNodes; ++i) last = b_.Op("Relu", name(i), {last});
  for (const int depth : {1, 2, 15, 50, 100, 3000, kNodes - 1}) {
    // The other end of the chain, whose ids are high.
    const int from = kNodes - 1 - depth;
    ASSERT_OK_AND_ASSIGN(const FeedFetchGraph made, Apply({name(from)}, {name(kNodes - 1)}, {"nothing"}));
    EXPECT_EQ(made.graph.num_nodes(), static_cast<size_t>(depth) + 3) << depth;
    EXPECT_EQ(NodeText(made.graph, name(from + 1)), absl::StrCat(name(from + 1), "(_arg_", name(from), "_0_0)"));
    EXPECT_OK(CheckRunnable(made.graph));
    for (int i = from + 2; i < kNodes; i += 7) {
      EXPECT_EQ(NodeText(made.graph, name(i)), absl::StrCat(name(i), "(", name(i - 1), ")"));
      EXPECT_EQ(*made.graph.GetType(made.graph.Find(name(i)), "T"), DType::kFloat);
    }
    EXPECT_EQ(made.graph.name(made.targets[0]), "nothing");
  }
}

TEST_F(FeedFetchTest, ATargetKeepsWhatItNeeds) { EXPECT_EQ(Names({}, {}, {"t1"}), "source t1 w1"); }

TEST_F(FeedFetchTest, SeveralTargetsKeepTheUnionOfTheirNeeds) {
  EXPECT_EQ(Names({}, {}, {"t2", "t3_a"}), "source t1 t2 t3_a w1 w2");
}

TEST_F(FeedFetchTest, AFedOutputReplacesItsNode) {
  ASSERT_OK_AND_ASSIGN(const FeedFetchGraph made, Apply({"source:1"}, {}, {"t2"}));
  EXPECT_EQ(NodeNames(made.graph), "_arg_source_1_0 t1 t2 w1 w2");
  EXPECT_EQ(NodeText(made.graph, "t1"), "t1(w1, _arg_source_1_0)");
  ASSERT_EQ(made.feeds.size(), 1u);
  EXPECT_EQ(made.feeds[0].endpoint, "source:1");
  EXPECT_EQ(made.feeds[0].dtype, DType::kFloat);
  EXPECT_EQ(made.graph.name(made.feeds[0].node), "_arg_source_1_0");
  EXPECT_TRUE(made.graph.Is(made.feeds[0].node, "_Arg"));
  ASSERT_EQ(made.targets.size(), 1u);
  EXPECT_EQ(made.graph.name(made.targets[0]), "t2");
}

TEST_F(FeedFetchTest, AFedOutputReplacesItsNodeThroughTheRendezvous) {
  options_.convention = Convention::kRendezvous;
  options_.client_device = "/job:localhost/replica:0/task:0/device:CPU:0";
  options_.client_incarnation = 77;
  ASSERT_OK_AND_ASSIGN(const FeedFetchGraph made, Apply({"source:1"}, {"t1"}));
  EXPECT_EQ(NodeNames(made.graph), "_recv_source_1 _send_t1_0 t1 w1");
  const NodeId recv = made.graph.Find("_recv_source_1");
  EXPECT_EQ(*made.graph.GetString(recv, "tensor_name"), "source:1");
  EXPECT_EQ(*made.graph.GetString(recv, "send_device"), options_.client_device);
  EXPECT_EQ(*made.graph.GetString(recv, "recv_device"), options_.client_device);
  EXPECT_EQ(*made.graph.GetInt(recv, "send_device_incarnation"), 77);
  EXPECT_TRUE(*made.graph.GetBool(recv, "client_terminated"));
  EXPECT_EQ(*made.graph.GetType(recv, "tensor_type"), DType::kFloat);
  EXPECT_EQ(made.graph.device(recv), options_.client_device);
  EXPECT_EQ(*made.graph.GetString(made.graph.Find("_send_t1_0"), "tensor_name"), "t1:0");
}

TEST_F(FeedFetchTest, AFedReferenceBecomesAValue) {
  for (const Convention convention : {Convention::kFunction, Convention::kRendezvous}) {
    options_.convention = convention;
    ASSERT_OK_AND_ASSIGN(const FeedFetchGraph made, Apply({"w2"}, {}, {"t2"}));
    EXPECT_EQ(made.graph.output_type(made.feeds[0].node, 0), DType::kFloat);
    EXPECT_EQ(made.graph.inputs(made.graph.Find("t2"))[0].node, made.feeds[0].node);
  }
}

TEST_F(FeedFetchTest, AFedVariableCannotBeWritten) {
  const Output v = b_.Op("VariableV2", "v", {}, {{"dtype", DType::kFloat}, {"shape", PartialShape::Scalar()}});
  b_.Op("Assign", "assign", {v, b_.Op("Weights", "init")});
  EXPECT_THAT(Apply({"v"}, {}, {"assign"}), IsError(ErrorCode::kInputRef, "assign"));
}

TEST_F(FeedFetchTest, SeveralFeedsCutTheGraphNearTheTarget) {
  ASSERT_OK_AND_ASSIGN(const FeedFetchGraph made, Apply({"source:1", "t1", "w2"}, {}, {"t2"}));
  EXPECT_EQ(NodeNames(made.graph), "_arg_t1_0_1 _arg_w2_0_2 t2");
  EXPECT_FALSE(made.feeds[0].node.valid()) << "nothing needs source:1";
  EXPECT_EQ(*made.graph.GetInt(made.feeds[2].node, "index"), 2);
}

TEST_F(FeedFetchTest, FetchesEndInRetvals) {
  ASSERT_OK_AND_ASSIGN(const FeedFetchGraph made, Apply({}, {"w2", "source:1", "t1", "t2:0"}, {"t2"}));
  EXPECT_EQ(NodeNames(made.graph),
            "_retval_source_1_1 _retval_t1_0_2 _retval_t2_0_3 _retval_w2_0_0 source t1 t2 w1 w2");
  EXPECT_EQ(NodeText(made.graph, "_retval_source_1_1"), "_retval_source_1_1(source:1)");
  EXPECT_EQ(*made.graph.GetInt(made.fetches[3].node, "index"), 3);
  EXPECT_EQ(made.fetches[3].endpoint, "t2:0");
  EXPECT_EQ(made.fetches[0].dtype, DType::kFloat) << "a fetched reference is a value";
}

TEST_F(FeedFetchTest, AFetchAndATargetKeepWhatEitherNeeds) {
  options_.convention = Convention::kRendezvous;
  EXPECT_EQ(Names({}, {"t3_a"}, {"t2"}), "_send_t3_a_0 source t1 t2 t3_a w1 w2");
}

TEST_F(FeedFetchTest, AFeedCutsAChain) {
  EXPECT_EQ(Names({"c2"}, {"c1", "c4"}), "_arg_c2_0_0 _retval_c1_0_0 _retval_c4_0_1 c0 c1 c3 c4");
  EXPECT_EQ(Names({"c1:0", "c3:0"}, {"c2", "c5"}), "_arg_c1_0_0 _arg_c3_0_1 _retval_c2_0_0 _retval_c5_0_1 c2 c4 c5");
}

TEST_F(FeedFetchTest, AFetchedOutputMayBeFetchedTwice) {
  ASSERT_OK_AND_ASSIGN(FeedFetchGraph made, Apply({}, {"c1", "c0", "c1:0"}));
  EXPECT_EQ(NodeNames(made.graph), "_retval_c0_0_1 _retval_c1_0_0 _retval_c1_0_2 c0 c1");
  options_.convention = Convention::kRendezvous;
  ASSERT_OK_AND_ASSIGN(made, Apply({}, {"c1", "c0", "c1:0"}));
  EXPECT_EQ(NodeNames(made.graph), "_send_c0_0 _send_c1_0 c0 c1") << "one key carries one value";
  EXPECT_EQ(made.fetches[0].node, made.fetches[2].node);
}

TEST_F(FeedFetchTest, OneOutputOfSeveralMayBeFed) {
  b_.Op("AddV2", "sum", {Output{b_.graph().Find("source"), 0}, Output{b_.graph().Find("source"), 1}});
  ASSERT_OK_AND_ASSIGN(const FeedFetchGraph made, Apply({"source:0"}, {"sum"}));
  EXPECT_EQ(NodeText(made.graph, "sum"), "sum(_arg_source_0_0, source:1)");
}

TEST_F(FeedFetchTest, ControlEdgesOfAFedPlaceholderMoveToTheFeed) {
  const Output first = b_.Op("NoOp", "first");
  const Output p = b_.Placeholder("p", DType::kFloat);
  b_.AddControl(p, first);
  b_.AddControl(b_.Op("NoOp", "after"), p);
  ASSERT_OK_AND_ASSIGN(const FeedFetchGraph made, Apply({"p"}, {}, {"after"}));
  EXPECT_EQ(NodeNames(made.graph), "_arg_p_0_0 after");
  EXPECT_EQ(NodeText(made.graph, "after"), "after(^_arg_p_0_0)");
}

TEST_F(FeedFetchTest, OtherFedNodesStillRunForTheirControlEdges) {
  b_.AddControl(b_.Op("NoOp", "after"), Output{b_.graph().Find("c2"), 0});
  ASSERT_OK_AND_ASSIGN(const FeedFetchGraph made, Apply({"c2"}, {"c3"}, {"after"}));
  EXPECT_EQ(NodeNames(made.graph), "_arg_c2_0_0 _retval_c3_0_0 after c0 c1 c2 c3");
  EXPECT_EQ(NodeText(made.graph, "after"), "after(^c2)");
}

TEST_F(FeedFetchTest, AFeedBehindASwitchIsARoot) {
  const Output sw = b_.Op("Switch", "sw", {b_.Op("Weights", "x"), b_.Placeholder("pred", DType::kBool)});
  b_.Op("Relu", "branch", {sw});
  EXPECT_EQ(Names({"sw:0"}, {"branch"}), "_arg_sw_0_0 _retval_branch_0_0 branch");
}

TEST_F(FeedFetchTest, TheGraphItselfIsNotChanged) {
  const std::string before = NodeNames(b_.graph());
  ASSERT_OK(Apply({"t1"}, {"t2"}));
  EXPECT_EQ(NodeNames(b_.graph()), before);
  EXPECT_EQ(NodeText(b_.graph(), "t2"), "t2(w2, t1)");
}

TEST_F(FeedFetchTest, TakenNamesOfFeedsAndFetchesAreAvoided) {
  NodeSpec spec;
  spec.name = "_arg_c1_0_0";
  spec.op = "NoOp";
  ASSERT_OK(b_.graph().AddNode(spec));
  ASSERT_OK_AND_ASSIGN(const FeedFetchGraph made, Apply({"c1"}, {"c2"}, {"_arg_c1_0_0"}));
  EXPECT_EQ(NodeText(made.graph, "c2"), "c2(_arg_c1_0_0_1)");
}

// --- What is refused ------------------------------------------------------------------------------------------------

TEST_F(FeedFetchTest, NothingToRunIsRefused) {
  EXPECT_THAT(Apply({}, {}), IsError(ErrorCode::kNothingToRun));
  EXPECT_THAT(Apply({"c1"}, {}), StatusIs(absl::StatusCode::kInvalidArgument));
}

TEST_F(FeedFetchTest, UnknownNamesAreRefusedWithNearOnes) {
  EXPECT_THAT(Apply({"sorce:0"}, {"c1"}), IsError(ErrorCode::kFeedUnknown, "sorce"));
  EXPECT_THAT(Apply({}, {"zz:0"}), StatusIs(absl::StatusCode::kInvalidArgument, "zz"));
  EXPECT_THAT(Apply({}, {}, {"zz"}), StatusIs(absl::StatusCode::kNotFound, "zz"));
  const absl::Status status = Apply({"sorce:0"}, {"c1"}).status();
  EXPECT_NE(FormatError(status).find("'source'"), std::string::npos) << FormatError(status);
}

TEST_F(FeedFetchTest, MalformedNamesAreUnknown) {
  for (const char* name : {"", "c1:-1", "c1:x", ":0", "^", "c1:99999999999"}) {
    EXPECT_THAT(Apply({}, {name}), IsError(ErrorCode::kFetchUnknown)) << name;
    EXPECT_THAT(Apply({name}, {"c5"}), IsError(ErrorCode::kFeedUnknown)) << name;
  }
  EXPECT_THAT(Apply({}, {}, {""}), IsError(ErrorCode::kTargetUnknown));
  EXPECT_THAT(Apply({}, {}, {"c1:x"}), IsError(ErrorCode::kTargetUnknown));
}

// As in TensorFlow: programs hand the names of tensors and of control inputs on as targets.
TEST_F(FeedFetchTest, ATargetMayBeNamedByAnOutputOfItsNode) {
  for (const char* name : {"c1", "c1:0", "c1:7", "^c1"}) EXPECT_OK(Apply({}, {}, {name})) << name;
}

TEST_F(FeedFetchTest, SlotsThatAreNotThereAreOutOfRange) {
  EXPECT_THAT(Apply({}, {"c1:1"}), IsError(ErrorCode::kFetchSlot, "c1"));
  EXPECT_THAT(Apply({}, {"source:2"}), StatusIs(absl::StatusCode::kOutOfRange, "source"));
  EXPECT_THAT(Apply({"source:2"}, {"c1"}), IsError(ErrorCode::kFeedSlot, "source"));
  EXPECT_THAT(Apply({"source:2"}, {"c1"}), StatusIs(absl::StatusCode::kOutOfRange));
}

TEST_F(FeedFetchTest, NodesWithoutValuesCannotBeFetched) {
  EXPECT_THAT(Apply({}, {"nothing"}), IsError(ErrorCode::kFetchNoOutput, "nothing"));
  EXPECT_THAT(Apply({}, {"^c1"}), StatusIs(absl::StatusCode::kOutOfRange, "c1"));
}

TEST_F(FeedFetchTest, OneEndpointIsFedOnce) {
  EXPECT_THAT(Apply({"c1", "c1:0"}, {"c2"}), IsError(ErrorCode::kFeedTwice, "c1"));
}

TEST_F(FeedFetchTest, WhatIsFedIsTheAnswerWhereThatIsAskedFor) {
  EXPECT_THAT(Apply({"c1"}, {"c1:0"}), IsError(ErrorCode::kFedAndFetched, "c1:0"));
  FeedFetchSpec spec{{"c1"}, {"c1:0", "c1"}, {}, {}};
  spec.fed_is_answer = true;
  ASSERT_OK_AND_ASSIGN(const FeedFetchGraph cut, ApplyFeedsAndFetches(b_.graph(), spec, options_));
  EXPECT_EQ(cut.graph.num_nodes(), 3u) << "the feed and two fetches, not what is fed";
  for (const FeedFetchGraph::Port& fetch : cut.fetches) {
    EXPECT_EQ(cut.graph.inputs(fetch.node)[0].node, cut.feeds[0].node);
  }
  EXPECT_THAT(Apply({"source:0"}, {"source:1"}), IsOk()) << "another output of the same node";
}

TEST_F(FeedFetchTest, AllMistakesAreReportedAtOnce) {
  const absl::Status status = Apply({"zz", "c1", "c1"}, {"yy", "c1:4"}, {"xx"}).status();
  EXPECT_EQ(AllErrors(status).size(), 5u);
  EXPECT_THAT(status, IsError(ErrorCode::kFeedUnknown, "zz"));
}

TEST_F(FeedFetchTest, APlaceholderThatIsNeededMustBeFed) {
  const Output p = b_.Placeholder("p", DType::kFloat, PartialShape::Of({-1, 3}));
  b_.Op("Relu", "y", {p});
  EXPECT_THAT(Apply({}, {"y"}), IsError(ErrorCode::kFeedMissing, "p"));
  EXPECT_THAT(Apply({}, {"y"}), StatusIs(absl::StatusCode::kInvalidArgument, "[?,3]"));
  EXPECT_THAT(Apply({}, {"c1"}), IsOk()) << "nothing needs it";
  EXPECT_THAT(Apply({"y"}, {"c1"}), IsOk());
}

TEST_F(FeedFetchTest, APlaceholderThatWaitsMayTurnOutDead) {
  const Output p = b_.Placeholder("p", DType::kFloat);
  b_.AddControl(p, b_.Op("NoOp", "pivot"));
  b_.Op("Relu", "y", {p});
  EXPECT_THAT(Apply({}, {"y"}), IsOk()) << "whether it runs is known at run time";
}

// --- Shapes of feeds ------------------------------------------------------------------------------------------------

TEST_F(FeedFetchTest, PortsKnowTheShapeThatAPlaceholderDeclares) {
  b_.graph().versions().producer = kGraphVersion;
  b_.Op("Relu", "y", {b_.Placeholder("p", DType::kFloat, PartialShape::Of({-1, 3}))});
  b_.Op("Relu", "z", {b_.Placeholder("q", DType::kFloat, PartialShape::Scalar())});
  ASSERT_OK_AND_ASSIGN(const FeedFetchGraph made, Apply({"p", "q", "c1"}, {"y", "z", "c2"}));
  EXPECT_EQ(made.feeds[0].shape, PartialShape::Of({-1, 3}));
  EXPECT_EQ(made.feeds[1].shape, PartialShape::Scalar());
  EXPECT_FALSE(made.feeds[2].shape.has_rank());
}

TEST_F(FeedFetchTest, AScalarPlaceholderOfAnOldGraphTakesAnyShape) {
  b_.graph().versions().producer = 23;
  const Output p = b_.Placeholder("p", DType::kFloat, PartialShape::Scalar());
  EXPECT_FALSE(FedShape(b_.graph(), p).has_rank());
}

TEST_F(FeedFetchTest, FedValuesAreCheckedAgainstDtypeAndShape) {
  b_.graph().versions().producer = kGraphVersion;
  const Output p = b_.Placeholder("p", DType::kFloat, PartialShape::Of({-1, 3}));
  const Graph& graph = b_.graph();
  EXPECT_OK(CheckFedValue(graph, p, DType::kFloat, Shape::Of({2, 3})));
  EXPECT_THAT(CheckFedValue(graph, p, DType::kDouble, Shape::Of({2, 3})), IsError(ErrorCode::kFeedType, "p"));
  EXPECT_THAT(CheckFedValue(graph, p, DType::kFloat, Shape::Of({2, 4})), IsError(ErrorCode::kFeedShape, "[2,4]"));
  EXPECT_THAT(CheckFedValue(graph, p, DType::kFloat, Shape()), IsError(ErrorCode::kFeedShape, "[?,3]"));
}

}  // namespace
}  // namespace sluice

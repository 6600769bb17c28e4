// One tensor wired onto another before pruning (TensorConnection of a callable), and feeds and fetches in loops.

#include <string>
#include <utility>

#include "graph/ir/builder.h"
#include "graph/ops/op_table.h"
#include "graph/passes/feed_fetch.h"
#include "gtest/gtest.h"
#include "tests/testing/graph_text.h"
#include "tests/testing/status_matchers.h"

namespace sluice {
namespace {

using Connections = std::vector<std::pair<std::string, std::string>>;

// y = x + x_neg where x_neg = -x and x is a variable; w = 2 outputs; z = relu(y).
class ConnectionTest : public testing::Test {
 protected:
  ConnectionTest() : b_(NewOpRegistry()) {
    const Output a = b_.Const("a", Tensor::Scalar(3.0f));
    const Output x = b_.Op("Identity", "x", {a});
    const Output y = b_.Op("Mul", "y", {x, x});
    b_.Op("Neg", "y_neg", {y});
    b_.Const("other", Tensor::Scalar(5.0f));
    b_.Const("number", Tensor::Scalar(int32_t{5}));
    b_.Op("NoOp", "nothing");
  }

  absl::StatusOr<FeedFetchGraph> Connect(Connections connections, std::vector<std::string> fetches,
                                         std::vector<std::string> feeds = {}) {
    EXPECT_OK(b_.status());
    return ApplyFeedsAndFetches(b_.graph(), {std::move(feeds), std::move(fetches), {}, std::move(connections)}, {});
  }

  GraphBuilder b_;
};

TEST_F(ConnectionTest, AConnectionReplacesATensorByAnother) {
  ASSERT_OK_AND_ASSIGN(const FeedFetchGraph made, Connect({{"other:0", "x:0"}}, {"y"}));
  EXPECT_EQ(NodeNames(made.graph), "_identity_x_0 _retval_y_0_0 other y");
  EXPECT_EQ(NodeText(made.graph, "_identity_x_0"), "_identity_x_0(other)");
  EXPECT_EQ(NodeText(made.graph, "y"), "y(_identity_x_0, _identity_x_0)");
  EXPECT_TRUE(made.feeds.empty()) << "a connection is no feed";
}

TEST_F(ConnectionTest, TheSourceOfAConnectionMayBeFetchedToo) {
  ASSERT_OK_AND_ASSIGN(const FeedFetchGraph made, Connect({{"other", "x"}}, {"other", "y_neg"}));
  EXPECT_EQ(NodeText(made.graph, "_retval_other_0_0"), "_retval_other_0_0(other)");
  EXPECT_EQ(NodeText(made.graph, "y"), "y(_identity_x_0, _identity_x_0)");
}

TEST_F(ConnectionTest, AFedSourceIsConnectedAsFed) {
  ASSERT_OK_AND_ASSIGN(const FeedFetchGraph made, Connect({{"other", "x"}}, {"y"}, {"other"}));
  EXPECT_EQ(NodeNames(made.graph), "_arg_other_0_0 _identity_x_0 _retval_y_0_0 y");
  EXPECT_EQ(NodeText(made.graph, "_identity_x_0"), "_identity_x_0(_arg_other_0_0)");
}

TEST_F(ConnectionTest, ConnectionsFormChains) {
  ASSERT_OK_AND_ASSIGN(const FeedFetchGraph made, Connect({{"other", "x"}, {"x", "y"}}, {"y_neg"}));
  EXPECT_EQ(NodeNames(made.graph), "_identity_x_0 _identity_y_0 _retval_y_neg_0_0 other y_neg");
  EXPECT_EQ(NodeText(made.graph, "_identity_y_0"), "_identity_y_0(_identity_x_0)");
}

TEST_F(ConnectionTest, AConnectionThatNothingNeedsLeavesNoTrace) {
  ASSERT_OK_AND_ASSIGN(const FeedFetchGraph made, Connect({{"other", "y"}}, {"x"}));
  EXPECT_EQ(NodeNames(made.graph), "_retval_x_0_0 a x");
}

TEST_F(ConnectionTest, ACycleIsRefused) {
  EXPECT_THAT(Connect({{"y_neg:0", "x:0"}}, {"y"}), IsError(ErrorCode::kCycle));
  EXPECT_THAT(Connect({{"x", "other"}, {"other", "x"}}, {"y"}), IsError(ErrorCode::kCycle));
  EXPECT_THAT(Connect({{"x", "x"}}, {"y"}), IsError(ErrorCode::kCycle));
}

TEST_F(ConnectionTest, UnknownEndsAreRefused) {
  EXPECT_THAT(Connect({{"unknown:0", "x:0"}}, {"y"}), IsError(ErrorCode::kFeedUnknown, "unknown"));
  EXPECT_THAT(Connect({{"other:0", "unknown:0"}}, {"y"}), IsError(ErrorCode::kFeedUnknown, "unknown"));
  EXPECT_THAT(Connect({{"other:17", "x:0"}}, {"y"}), StatusIs(absl::StatusCode::kInvalidArgument, "slot 17"));
  EXPECT_THAT(Connect({{"other:0", "x:17"}}, {"y"}), StatusIs(absl::StatusCode::kInvalidArgument, "slot 17"));
  EXPECT_THAT(Connect({{"", "x"}}, {"y"}), StatusIs(absl::StatusCode::kInvalidArgument));
  EXPECT_THAT(Connect({{"nothing", "x"}}, {"y"}), StatusIs(absl::StatusCode::kInvalidArgument, "nothing"));
}

TEST_F(ConnectionTest, NothingIsFedTwice) {
  EXPECT_THAT(Connect({{"other", "x"}, {"a", "x"}}, {"y"}), IsError(ErrorCode::kFeedTwice, "x"));
  EXPECT_THAT(Connect({{"other", "x"}}, {"y"}, {"x:0"}), IsError(ErrorCode::kFeedTwice, "x"));
  EXPECT_THAT(Connect({{"other", "x"}}, {"x"}), IsError(ErrorCode::kFedAndFetched, "x"));
}

TEST_F(ConnectionTest, TypesMustFit) {
  EXPECT_THAT(Connect({{"number", "x"}}, {"y"}), IsError(ErrorCode::kFeedType, "x"));
}

// --- Loops ----------------------------------------------------------------------------------------------------------

// i = 0; while (i < 10) i = i + 1
class LoopFeedFetchTest : public testing::Test {
 protected:
  LoopFeedFetchTest() : b_(NewOpRegistry()) {
    const Output zero = b_.Const("zero", Tensor::Scalar(0.0f));
    const Output enter = b_.Op("Enter", "enter", {zero}, {{"frame_name", "loop"}});
    const Output limit = b_.Op("Enter", "limit", {b_.Const("ten", Tensor::Scalar(10.0f))},
                               {{"frame_name", "loop"}, {"is_constant", true}});
    const Output merge = b_.Op("Merge", "merge", {enter, Output()}, {{"T", DType::kFloat}, {"N", int64_t{2}}});
    const Output cond = b_.Op("LoopCond", "cond", {b_.Op("Less", "less", {merge, limit})});
    const Output sw = b_.Op("Switch", "switch", {merge, cond});
    b_.Op("Exit", "exit", {sw});
    const Output body = b_.Op("Relu", "body", {GraphBuilder::Nth(sw, 1)});
    b_.SetInput(merge, 1, b_.Op("NextIteration", "next", {body}));
    b_.Op("Neg", "result", {Output{b_.graph().Find("exit"), 0}});
  }

  absl::StatusOr<FeedFetchGraph> Apply(std::vector<std::string> feeds, std::vector<std::string> fetches) {
    EXPECT_OK(b_.status());
    return ApplyFeedsAndFetches(b_.graph(), {std::move(feeds), std::move(fetches), {}, {}}, {});
  }

  GraphBuilder b_;
};

TEST_F(LoopFeedFetchTest, TheResultOfALoopKeepsTheWholeLoop) {
  ASSERT_OK_AND_ASSIGN(const FeedFetchGraph made, Apply({}, {"result"}));
  EXPECT_EQ(made.graph.num_nodes(), b_.graph().num_nodes() + 1);
  EXPECT_EQ(NodeText(made.graph, "merge"), "merge(enter, next)");
  EXPECT_THAT(Apply({}, {"exit"}), IsOk()) << "an Exit's value stands outside";
}

TEST_F(LoopFeedFetchTest, FetchingInsideALoopIsRefused) {
  for (const char* name : {"body", "merge", "merge:1", "enter", "cond", "switch:1", "next"}) {
    EXPECT_THAT(Apply({}, {name}), IsError(ErrorCode::kFetchInFrame, "loop")) << name;
  }
}

TEST_F(LoopFeedFetchTest, FeedingTheInputOfALoopIsFine) {
  ASSERT_OK_AND_ASSIGN(const FeedFetchGraph made, Apply({"zero"}, {"result"}));
  EXPECT_EQ(NodeText(made.graph, "enter"), "enter(_arg_zero_0_0)");
}

TEST_F(LoopFeedFetchTest, FeedingInsideALoopBreaksTheFrame) {
  EXPECT_THAT(Apply({"body"}, {"result"}), StatusIs(absl::StatusCode::kInvalidArgument));
  EXPECT_THAT(Apply({"limit"}, {"result"}), IsError(ErrorCode::kFrameMixed));
}

TEST_F(LoopFeedFetchTest, FeedingBehindALoopDropsIt) {
  ASSERT_OK_AND_ASSIGN(const FeedFetchGraph made, Apply({"exit"}, {"result"}));
  EXPECT_EQ(NodeNames(made.graph), "_arg_exit_0_0 _retval_result_0_0 result");
}

}  // namespace
}  // namespace sluice

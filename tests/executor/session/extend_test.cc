// Session::Extend: what it adds, what it leaves unchanged, and when it may be called.

#include <atomic>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "executor/session/session.h"
#include "graph/ir/export.h"
#include "gtest/gtest.h"
#include "tests/executor/session/session_fixture.h"
#include "tests/graph/ir/graph_equal.h"
#include "tests/testing/graph_bytes.h"
#include "tests/testing/status_matchers.h"

namespace sluice {
namespace {

using namespace graph_bytes;  // NOLINT: a vocabulary made for tests.

constexpr int64_t kNoVersion = 0;

class ExtendTest : public SessionFixture {
 protected:
  absl::Status Extend(const std::vector<MessageBytes>& nodes, const MessageBytes& library = {},
                      int64_t producer = kNoVersion) {
    // Without an owner, as a view that is only good for the call.
    const std::string bytes = GraphDefBytes(nodes, library, producer);
    GraphSource source;
    source.bytes = bytes;
    return session_->Extend(std::move(source));
  }
  static MessageBytes Neg(const std::string& name, const std::vector<std::string>& inputs) {
    return UnaryNode(name, "Neg", inputs, kInt32);
  }
  static MessageBytes Add(const std::string& name, const std::string& a, const std::string& b) {
    return NodeDefBytes(name, "AddV2", {a, b}, {{"T", TypeAttr(kInt32)}});
  }
  // A function of `name` that negates its argument through `op`.
  static MessageBytes Unary(const std::string& name, const std::string& op) {
    FunctionBytes f;
    f.name = name;
    f.args = {{"a", kInt32}};
    f.results = {{"r", kInt32}};
    f.nodes = {NodeDefBytes("n", op, {"a"}, {{"T", TypeAttr(kInt32)}})};
    f.ret = {{"r", "n:y:0"}};
    return LibraryBytes({f.Message()});
  }
};

TEST_F(ExtendTest, AddedNodesUseWhatIsThere) {
  AddSimpleGraph();
  Open();
  ASSERT_OK(Extend({Neg("w", {"z"}), Neg("v", {"w", "^x"})}));
  ExpectFetch("w", -4, {{"x", Int(1)}});
  ASSERT_OK(Extend({Add("sum", "v", "y")}));
  ExpectFetch("sum", 6, {{"x", Int(1)}});
  EXPECT_EQ(session_->CopyGraph()->num_nodes(), b_.graph().num_nodes() + 3);
}

// See Note [What TensorFlow imports] in graph/load/findings.h.
TEST_F(ExtendTest, APartThatIsWrongFailsTheStepsThatNeedIt) {
  AddSimpleGraph();
  Open();
  ASSERT_OK(Extend({Neg("w", {"z"})}, Unary("F", "NoSuchOp")));
  ASSERT_OK(Extend({NodeDefBytes("call", "F", {"w"}, {})}));
  ExpectFetch("w", -4, {{"x", Int(1)}});
  EXPECT_THAT(Fetch("call", {{"x", Int(1)}}), IsError(ErrorCode::kOpUnknown, "NoSuchOp"));
  const MessageBytes argument = NodeDefBytes("arg", "_Arg", {}, {{"T", TypeAttr(kInt32)}, {"index", IntAttr(0)}});
  ASSERT_OK(Extend({argument, Neg("of_arg", {"arg"})}));
  EXPECT_THAT(Fetch("of_arg"), IsError(ErrorCode::kOpInternal, "_Arg 'arg'"));
  ExpectFetch("of_arg", -7, {{"arg", Int(7)}});
  EXPECT_THAT(Extend({Neg("itself", {"w"})}, Unary("G", "G")), IsError(ErrorCode::kFunctionRecursion));
  ExpectFetch("w", -4, {{"x", Int(1)}});
}

TEST_F(ExtendTest, WhatWasPreparedStaysPreparedAndVariablesKeepTheirValues) {
  AddSimpleGraph();
  AddCounter();
  Open();
  ASSERT_OK(session_->Run({}, {}, {"start"}));
  ExpectFetch("count", 1);
  ExpectFetch("z", 4, {{"x", Int(1)}});
  const size_t prepared = session_->num_prepared();
  ASSERT_OK_AND_ASSIGN(const std::shared_ptr<const Callable> z, session_->Prepare({{"x"}, {"z"}, {}, {}}));
  ASSERT_OK(Extend({Neg("w", {"z"}), Neg("minus", {"count"})}));
  EXPECT_EQ(session_->num_prepared(), prepared);
  ExpectFetch("z", 9, {{"x", Int(2)}});
  EXPECT_EQ(session_->num_prepared(), prepared);
  ExpectFetch("minus", -2);
  Tensor in[] = {Int(3)}, out[1];
  ASSERT_OK(z->Run(in, absl::MakeSpan(out)));
  EXPECT_EQ(*out[0].AsScalar<int32_t>(), 16);
}

TEST_F(ExtendTest, AFailedExtendLeavesTheSessionAsItWas) {
  AddSimpleGraph();
  Open();
  ASSERT_OK(Extend({Neg("first", {"y"})}));
  const std::shared_ptr<const Graph> before = session_->CopyGraph();
  EXPECT_THAT(Extend({Neg("w", {"z"}), Neg("y", {"x"})}), IsError(ErrorCode::kNodeDuplicate, "'y'"));
  EXPECT_THAT(Extend({Neg("w", {"z"}), Neg("v", {"nobody"})}), IsError(ErrorCode::kInputUnknown, "'v'"));
  EXPECT_THAT(Extend({Neg("w", {"z:1"})}), IsError(ErrorCode::kInputSlot));
  EXPECT_THAT(Extend({NodeDefBytes("w", "Nope")}), IsError(ErrorCode::kOpUnknown));
  EXPECT_THAT(Extend({Neg("w", {"v"}), Neg("v", {"w"})}), IsError(ErrorCode::kCycle, "w -> v -> w"));
  EXPECT_THAT(Extend({}, Unary("Neg", "Abs")), IsError(ErrorCode::kFunctionDuplicate));
  EXPECT_THAT(Extend({Neg("w", {"z"})}, {}, /*producer=*/12), IsError(ErrorCode::kFileVersion, "12"));
  GraphSource damaged;
  damaged.bytes = "\x0a\x7fx";
  EXPECT_FALSE(session_->Extend(damaged).ok());
  std::string why;
  EXPECT_TRUE(GraphsEqual(*session_->CopyGraph(), *before, &why)) << why;
  // The names are free, and what was added before is intact.
  ASSERT_OK(Extend({Neg("w", {"z"}), Neg("v", {"first"})}));
  ExpectFetch("w", -4, {{"x", Int(1)}});
  ExpectFetch("v", 2, {{"x", Int(1)}});
}

TEST_F(ExtendTest, TheSameVersionsMayBeStated) {
  AddSimpleGraph();
  Open();
  ASSERT_OK(Extend({Neg("w", {"z"})}, {}, kGraphVersion));
  ExpectFetch("w", -4, {{"x", Int(1)}});
}

TEST_F(ExtendTest, AnEmptySessionTakesTheVersionsOfWhatComesFirst) {
  b_ = GraphBuilder(NewOpRegistry());
  b_.graph().versions() = GraphVersions();
  Open();
  ASSERT_OK(Extend({PlaceholderNode("x", kInt32)}, {}, 1087));
  EXPECT_EQ(session_->CopyGraph()->versions().producer, 1087);
  EXPECT_THAT(Extend({Neg("w", {"x"})}, {}, 1088), IsError(ErrorCode::kFileVersion));
  ASSERT_OK(Extend({Neg("w", {"x"})}, {}, 1087));
  ExpectFetch("w", -1, {{"x", Int(1)}});
}

TEST_F(ExtendTest, AddedFunctionsAreCalledByAddedNodes) {
  AddSimpleGraph();
  Open();
  const auto call = [](const std::string& name, const std::string& f) { return NodeDefBytes(name, f, {"y"}); };
  ASSERT_OK(Extend({call("call_one", "F")}, Unary("F", "Neg")));
  ExpectFetch("call_one", -2, {{"x", Int(1)}});
  ASSERT_OK(Extend({call("call_two", "F")}, Unary("F", "Neg")));  // The same again.
  ASSERT_OK(Extend({call("call_three", "F")}));
  EXPECT_THAT(Extend({call("call_four", "F")}, Unary("F", "Abs")), IsError(ErrorCode::kFunctionDuplicate, "'F'"));
  ASSERT_OK(Extend({call("call_five", "G")}, Unary("G", "Square")));
  ExpectFetch("call_three", -2, {{"x", Int(1)}});
  ExpectFetch("call_five", 4, {{"x", Int(1)}});
  EXPECT_THAT(Extend({}, Unary("H", "H")), IsError(ErrorCode::kFunctionRecursion));
  EXPECT_EQ(session_->CopyGraph()->library().size(), 2u);
}

// Of many functions a signature takes those that it needs.
TEST_F(ExtendTest, OneOfManyFunctionsIsFound) {
  AddSimpleGraph();
  Open();
  for (int i = 0; i < 40; ++i) ASSERT_OK(Extend({}, Unary(absl::StrCat("F", i), i == 7 ? "Neg" : "Square")));
  ASSERT_OK(Extend({NodeDefBytes("call", "F7", {"y"})}));
  ExpectFetch("call", -2, {{"x", Int(1)}});
  ASSERT_OK_AND_ASSIGN(const std::shared_ptr<const Callable> call, session_->Prepare({{"x"}, {"call"}, {}, {}}));
  EXPECT_LE(call->graph().library().size(), 1u);
}

TEST_F(ExtendTest, LoopsMayCome) {
  Open();
  b_ = GraphBuilder(NewOpRegistry());
  AddEndlessLoop();  // Its nodes stand in no order.
  GraphSource source = GraphSource::Copy(ExportGraph(b_.graph()));
  ASSERT_OK(Extend({PlaceholderNode("x", kInt32)}));
  ASSERT_OK(session_->Extend(std::move(source)));
  CallOptions options;
  options.deadline = absl::Now() + absl::Milliseconds(20);
  EXPECT_THAT(Fetch("endless", {}, options), IsError(ErrorCode::kDeadline));
}

TEST_F(ExtendTest, ManyControlInputsFromOldAndNewNodesCountOnce) {
  AddSimpleGraph();
  Open();
  std::vector<MessageBytes> nodes;
  std::vector<std::string> inputs = {"y"};
  for (int i = 0; i < 30; ++i) {
    nodes.push_back(Neg(absl::StrCat("n", i), {"x"}));
    for (const std::string& name : {absl::StrCat("n", i), std::string("z"), std::string("one")}) {
      inputs.push_back(absl::StrCat("^", name));
    }
  }
  nodes.push_back(Neg("last", inputs));
  ASSERT_OK(Extend(nodes));
  const std::shared_ptr<const Graph> graph = session_->CopyGraph();
  EXPECT_EQ(graph->controls(graph->Find("last")).size(), 32u);
  ExpectFetch("last", -2, {{"x", Int(1)}});
}

TEST_F(ExtendTest, ClosedAndFinalisedSessionsRefuse) {
  AddSimpleGraph();
  Open();
  ASSERT_OK(session_->Finalize());
  EXPECT_THAT(Extend({Neg("w", {"z"})}), IsError(ErrorCode::kWrongUse, "finalised"));
  ASSERT_OK(session_->Close());
  EXPECT_THAT(Extend({Neg("w", {"z"})}), IsError(ErrorCode::kSessionClosed));
}

TEST_F(ExtendTest, PartialRunsUseWhatWasAdded) {
  AddSimpleGraph();
  Open();
  ASSERT_OK(Extend({Neg("w", {"z"})}));
  ASSERT_OK_AND_ASSIGN(const std::string handle, session_->PRunSetup({{"x"}, {"y", "w"}, {}, {}}));
  ASSERT_OK(Extend({Neg("v", {"z"})}));
  ASSERT_OK_AND_ASSIGN(const std::vector<Tensor> y, session_->PRun(handle, {{"x", Int(1)}}, {"y"}));
  ASSERT_OK_AND_ASSIGN(const std::vector<Tensor> w, session_->PRun(handle, {}, {"w"}));
  EXPECT_EQ(*w[0].AsScalar<int32_t>(), -4);
}

TEST_F(ExtendTest, LimitsHoldForAllThatIsThere) {
  AddSimpleGraph();
  SessionOptions options;
  options.limits.max_nodes = 6;
  Open(options);
  ASSERT_OK(Extend({Neg("a", {"z"}), Neg("b", {"z"})}));
  EXPECT_THAT(Extend({Neg("c", {"z"})}), IsError(ErrorCode::kLimitNodes));
  ExpectFetch("b", -4, {{"x", Int(1)}});
}

// Threads that prepare and run what others have added, while still others add.
TEST_F(ExtendTest, ThreadsAddPrepareAndRunAtOnce) {
  AddSimpleGraph();
  SessionOptions options;
  options.num_threads = 1;
  options.max_prepared = 8;
  Open(options);
  constexpr int kAdders = 2, kEach = 60;
  std::atomic<int> done[kAdders] = {};
  std::atomic<int> failed{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < kAdders; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < kEach; ++i) {
        const std::string before = i == 0 ? "z" : absl::StrCat("n", t, "_", i - 1);
        if (!Extend({Neg(absl::StrCat("n", t, "_", i), {before})}).ok()) ++failed;
        done[t] = i + 1;
      }
    });
    threads.emplace_back([&, t] {
      for (int seen = 0; seen < kEach;) {
        const int now = done[t];
        if (now == seen) {
          std::this_thread::yield();
          continue;
        }
        seen = now;
        const absl::StatusOr<Tensor> value = Fetch(absl::StrCat("n", t, "_", now - 1), {{"x", Int(1)}});
        const int32_t expected = now % 2 == 0 ? 4 : -4;
        if (!value.ok() || *value->AsScalar<int32_t>() != expected) ++failed;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(failed, 0);
  EXPECT_EQ(session_->CopyGraph()->num_nodes(), b_.graph().num_nodes() + kAdders * kEach);
}

}  // namespace
}  // namespace sluice

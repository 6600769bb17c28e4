// Graphs that load but cannot run: each way into an executor refuses them, naming the node.

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "executor/compiled/local_executor.h"
#include "executor/session/session.h"
#include "graph/base/status_macros.h"
#include "graph/ir/builder.h"
#include "graph/ops/op_table.h"
#include "gtest/gtest.h"
#include "kernels/families/register_all.h"
#include "tests/testing/function_defs.h"
#include "tests/testing/status_matchers.h"

namespace sluice {
namespace {

using Attrs = std::vector<std::pair<std::string, AttrValue>>;

// A node with nothing in its lists. `count` is the attr that says so.
struct EmptyNode {
  const char* op;
  const char* count;
  Attrs attrs;         // Besides `count`.
  int num_inputs = 0;  // Scalars of int32, before the list.
};

std::vector<EmptyNode> EmptyNodes() {
  const Attrs typed = {{"T", DType::kFloat}};
  const Attrs shaped = {{"T", DType::kFloat}, {"shape", Shape()}};
  return {
      {"AddN", "N", typed},
      {"AccumulateNV2", "N", shaped},
      {"ConcatOffset", "N", {}, 1},
      {"GradSum", "N", typed},
      {"Pack", "N", typed},
      {"Concat", "N", typed, 1},
      {"Merge", "N", typed},
      {"_SwitchN", "num_outs", {{"T", DType::kInt32}}, 2},
      {"_ReadVariablesOp", "N", {{"dtypes", std::vector<DType>{DType::kFloat}}}},
  };
}

class RunnableGraphsTest : public ::testing::TestWithParam<Driver> {
 protected:
  absl::Status Prepare(const Graph& graph, const std::string& target) {
    SessionOptions options;
    options.driver = GetParam();
    options.num_threads = 1;
    SLUICE_ASSIGN_OR_RETURN(std::unique_ptr<Session> session, Session::Create(options, graph));
    FeedFetchSpec spec;
    spec.targets = {target};
    return session->Prepare(spec).status();
  }
};

TEST_P(RunnableGraphsTest, InTheGraph) {
  for (const EmptyNode& node : EmptyNodes()) {
    SCOPED_TRACE(node.op);
    GraphBuilder b(NewOpRegistry());
    std::vector<Output> inputs;
    for (int i = 0; i < node.num_inputs; ++i) inputs.push_back(b.Const("", Tensor::Scalar(0)));
    Attrs attrs = node.attrs;
    attrs.emplace_back(node.count, 0);
    b.Op(node.op, "empty", std::move(inputs), attrs);
    ASSERT_OK_AND_ASSIGN(const Graph graph, b.Build());
    EXPECT_THAT(Prepare(graph, "empty"), IsError(ErrorCode::kAttrValue, "'empty'"));
  }
}

// The count is 0 in the body, or comes from the caller through a placeholder.
TEST_P(RunnableGraphsTest, InAFunctionBody) {
  for (const EmptyNode& node : EmptyNodes()) {
    for (const bool from_caller : {false, true}) {
      SCOPED_TRACE(absl::StrCat(node.op, from_caller ? " from the caller" : ""));
      Attrs attrs = node.attrs;
      attrs.emplace_back(node.count, from_caller ? AttrValue::Placeholder("num") : AttrValue(0));
      FunctionText text("F");
      text.Arg("i: int32")
          .Result("r: int32", "i")
          .Attr("num: int=3")
          .Node(absl::StrCat("empty = ", node.op, "(", node.num_inputs > 0 ? "i" : "", node.num_inputs > 1 ? ", i" : "",
                             ")"),
                attrs);
      text.ControlResult("done", "empty").Stateful();
      GraphBuilder b(NewOpRegistry());
      text.AddTo(b.graph());
      Attrs given;
      if (from_caller) given.emplace_back("num", 0);
      Call(b, "call", "F", {b.Const("one", Tensor::Scalar(1))}, {DType::kInt32}, given, "StatefulPartitionedCall");
      ASSERT_OK_AND_ASSIGN(const Graph graph, b.Build());
      EXPECT_THAT(Prepare(graph, "call"), IsError(ErrorCode::kAttrValue, "empty'"));
    }
  }
}

// A host that rewrites a graph may leave consumers of a node that it removed.
TEST_P(RunnableGraphsTest, AfterANodeWasRemoved) {
  for (const bool is_control : {false, true}) {
    GraphBuilder b(NewOpRegistry());
    const Output one = b.Const("one", Tensor::Scalar(1)), gone = b.Const("gone", Tensor::Scalar(2));
    const Output merge = b.Op("Merge", "merge", {one, is_control ? one : gone});
    if (is_control) b.AddControl(merge, gone);
    b.Op("Neg", "y", {merge});
    ASSERT_OK(b.status());
    b.graph().RemoveNode(gone.node);
    EXPECT_THAT(Prepare(b.graph(), "y"), IsError(ErrorCode::kInputUnknown, "'merge'"));
    EXPECT_OK(Prepare(b.graph(), "one"));
  }
}

INSTANTIATE_TEST_SUITE_P(Drivers, RunnableGraphsTest,
                         ::testing::Values(Driver::kAuto, Driver::kSerial, Driver::kDataflow));

TEST(RunnableGraphsOfExecutorsTest, GraphsGivenToTheExecutorAreChecked) {
  for (const EmptyNode& node : EmptyNodes()) {
    SCOPED_TRACE(node.op);
    GraphBuilder b(NewOpRegistry());
    std::vector<Output> inputs;
    for (int i = 0; i < node.num_inputs; ++i) inputs.push_back(b.Const("", Tensor::Scalar(0)));
    Attrs attrs = node.attrs;
    attrs.emplace_back(node.count, 0);
    b.Op(node.op, "empty", std::move(inputs), attrs);
    ASSERT_OK(b.status());
    LocalExecutorParams params;
    params.registry = &BuiltinKernels();
    EXPECT_THAT(NewLocalExecutor(params, b.graph()).status(), IsError(ErrorCode::kAttrValue, "'empty'"));
  }
}

TEST(RunnableGraphsOfExecutorsTest, OpenAndDanglingInputs) {
  GraphBuilder b(NewOpRegistry());
  const Output one = b.Const("one", Tensor::Scalar(1));
  b.Op("Merge", "merge", {one, Output()}, {{"T", DType::kInt32}, {"N", 2}});
  LocalExecutorParams params;
  params.registry = &BuiltinKernels();
  EXPECT_THAT(NewLocalExecutor(params, b.graph()).status(), IsError(ErrorCode::kInputCount, "'merge'"));
  b.graph().RemoveNode(one.node);
  EXPECT_THAT(NewLocalExecutor(params, b.graph()).status(), IsError(ErrorCode::kInputUnknown, "'merge'"));
}

}  // namespace
}  // namespace sluice

// Where a value changes memory there is a node that copies it: Note [Copies].

#include "graph/placement/copy_nodes.h"

#include <string>

#include "graph/ir/builder.h"
#include "graph/ir/runnable_check.h"
#include "graph/ops/op_table.h"
#include "gtest/gtest.h"
#include "tests/testing/status_matchers.h"

namespace sluice {
namespace {

constexpr char kCpu[] = "/job:localhost/replica:0/task:0/device:CPU:0";
constexpr char kGpu[] = "/job:localhost/replica:0/task:0/device:GPU:0";
constexpr char kOther[] = "/job:localhost/replica:0/task:0/device:GPU:1";

// ConcatV2 takes its axis, and Shape and Const give their results, in host memory.
class TestCatalog : public AllowAllCatalog {
 public:
  bool TakesInputOnHost(const Graph& graph, NodeId id, int32_t i, absl::string_view) const override {
    return graph.op_name(id) == "ConcatV2" && i + 1 == static_cast<int32_t>(graph.inputs(id).size());
  }
  bool GivesOutputOnHost(const Graph& graph, NodeId id, int32_t, absl::string_view) const override {
    return graph.op_name(id) == "Shape" || graph.op_name(id) == "Const";
  }
};

class CopyNodesTest : public ::testing::Test {
 protected:
  CopyNodesTest() : b_(NewOpRegistry()) {}

  void Insert() {
    ASSERT_OK_AND_ASSIGN(graph_, b_.Build());
    ASSERT_OK(InsertCopies(graph_, TestCatalog()));
    EXPECT_OK(CheckRunnable(graph_));
  }
  NodeId Node(const std::string& name) { return graph_.Find(name); }
  // "from > to" for the node that gives input `i` of `name`, "GPU:0", "host"; its own name if it is not a copy.
  std::string InputOf(const std::string& name, size_t i) {
    const NodeId source = graph_.inputs(Node(name))[i].node;
    if (graph_.op_name(source) != kCopyOp) return std::string(graph_.name(source));
    const absl::StatusOr<CopyEnds> ends = CopyEndsOf(graph_, source);
    EXPECT_OK(ends.status());
    return Short(ends->from) + " > " + Short(ends->to);
  }
  static std::string Short(const std::string& device) {
    return device.empty() ? "host" : device.substr(device.rfind("device:") + 7);
  }
  int NumCopies() {
    int count = 0;
    for (const NodeId id : graph_.Nodes()) count += graph_.op_name(id) == kCopyOp ? 1 : 0;
    return count;
  }

  GraphBuilder b_;
  Graph graph_{nullptr};
};

TEST_F(CopyNodesTest, OneCopyForAllConsumersInOneMemory) {
  b_.WithDevice(kCpu);
  const Output x = b_.Placeholder("x", DType::kFloat);
  b_.WithDevice(kGpu);
  const Output a = b_.Op("Neg", "a", {x});
  b_.Op("AddV2", "b", {x, a});
  b_.WithDevice(kOther);
  b_.Op("AddV2", "c", {x, a});
  b_.WithDevice(kCpu);
  b_.Op("Neg", "d", {a});
  b_.Op("Abs", "e", {a});
  Insert();
  EXPECT_EQ(InputOf("a", 0), "host > GPU:0");
  EXPECT_EQ(InputOf("b", 0), "host > GPU:0");
  EXPECT_EQ(InputOf("b", 1), "a");
  EXPECT_EQ(InputOf("c", 0), "host > GPU:1");
  EXPECT_EQ(InputOf("c", 1), "GPU:0 > GPU:1");
  EXPECT_EQ(InputOf("d", 0), "GPU:0 > host");
  EXPECT_EQ(graph_.inputs(Node("d"))[0], graph_.inputs(Node("e"))[0]);
  EXPECT_EQ(NumCopies(), 4);
  // What leaves a device does so there.
  EXPECT_EQ(graph_.device(graph_.inputs(Node("d"))[0].node), kGpu);
  EXPECT_EQ(graph_.device(graph_.inputs(Node("c"))[1].node), kOther);
}

TEST_F(CopyNodesTest, WhatTheHostReadsStandsThere) {
  b_.WithDevice(kGpu);
  const Output x = b_.Const("x", Tensor::Scalar(1.0f));
  const Output y = b_.Op("Neg", "y", {x});
  const Output axis =
      b_.Op("ArgMax", "axis", {y, b_.Const("zero", Tensor::Scalar(int32_t{0}))}, {{"output_type", DType::kInt32}});
  b_.Op("ConcatV2", "joined", {y, y, axis});
  b_.Op("Neg", "size", {b_.Op("Shape", "shape", {y})});
  const Output ports = b_.Op("Switch", "ports", {y, b_.Op("Less", "less", {y, y})});
  b_.Op("Merge", "merge", {ports, GraphBuilder::Nth(ports, 1)});
  Insert();
  EXPECT_EQ(InputOf("y", 0), "host > GPU:0") << "constants are the host's";
  EXPECT_EQ(InputOf("joined", 0), "y");
  EXPECT_EQ(InputOf("joined", 2), "GPU:0 > host");
  EXPECT_EQ(InputOf("size", 0), "host > GPU:0");
  EXPECT_EQ(InputOf("ports", 0), "y");
  EXPECT_EQ(InputOf("ports", 1), "GPU:0 > host");
  EXPECT_EQ(InputOf("merge", 1), "ports");
}

// The variable of a loop changes memory before the loop and before the end of an iteration, never at the Merge.
TEST_F(CopyNodesTest, AMergeSeesItsEnterAndItsNextIteration) {
  b_.WithDevice(kCpu);
  const Output x = b_.Placeholder("x", DType::kFloat);
  const Output enter = b_.Op("Enter", "enter", {x}, {{"frame_name", "f"}});
  b_.WithDevice(kGpu);
  const Output merge = b_.Op("Merge", "merge", {enter, Output()}, {{"T", DType::kFloat}, {"N", 2}});
  const Output condition = b_.Op("LoopCond", "cond", {b_.Op("Less", "less", {merge, merge})});
  const Output ports = b_.Op("Switch", "ports", {merge, condition});
  b_.WithDevice(kCpu);
  const Output neg = b_.Op("Neg", "neg", {GraphBuilder::Nth(ports, 1)});
  b_.SetInput(merge, 1, b_.Op("NextIteration", "next", {neg}));
  b_.Op("Neg", "end", {b_.Op("Exit", "exit", {ports})});
  Insert();
  EXPECT_EQ(InputOf("enter", 0), "host > GPU:0");
  EXPECT_EQ(InputOf("merge", 0), "enter");
  EXPECT_EQ(InputOf("merge", 1), "next");
  EXPECT_EQ(InputOf("next", 0), "host > GPU:0");
  EXPECT_EQ(InputOf("neg", 0), "GPU:0 > host");
  EXPECT_EQ(InputOf("cond", 0), "GPU:0 > host");
  EXPECT_EQ(InputOf("exit", 0), "ports");
  EXPECT_EQ(InputOf("end", 0), "GPU:0 > host");
}

TEST_F(CopyNodesTest, CountersStayOnTheHost) {
  b_.WithDevice(kGpu);
  const Output zero = b_.Const("zero", Tensor::Scalar(int32_t{0}));
  const Output enter = b_.Op("Enter", "enter", {zero}, {{"frame_name", "f"}});
  const Output merge = b_.Op("Merge", "merge", {enter, Output()}, {{"T", DType::kInt32}, {"N", 2}});
  b_.SetInput(merge, 1, b_.Op("NextIteration", "next", {merge}));
  Insert();
  EXPECT_EQ(NumCopies(), 0);
}

TEST_F(CopyNodesTest, CpusShareTheirMemory) {
  b_.WithDevice(kCpu);
  const Output x = b_.Placeholder("x", DType::kFloat);
  b_.WithDevice("/job:localhost/replica:0/task:0/device:CPU:1");
  b_.Op("Neg", "a", {x});
  Insert();
  EXPECT_EQ(NumCopies(), 0);
}

TEST_F(CopyNodesTest, NodesMustBePlacedAndReferencesStay) {
  const Output v = b_.Op("VariableV2", "v", {}, {{"dtype", DType::kFloat}, {"shape", Shape()}});
  ASSERT_OK_AND_ASSIGN(graph_, b_.Build());
  EXPECT_THAT(InsertCopies(graph_, TestCatalog()), IsError(ErrorCode::kPartition, "place the graph first"));
  graph_.SetDevice(v.node, kGpu);
  ASSERT_OK_AND_ASSIGN(
      const NodeId c,
      graph_.AddNode({"c", "Const", {}, {}, {{"dtype", DType::kFloat}, {"value", Tensor::Scalar(1.0f)}}, kCpu}));
  ASSERT_OK(graph_.AddNode({"assign", "Assign", {v, Output{c, 0}}, {}, {{"T", DType::kFloat}}, kCpu}).status());
  EXPECT_THAT(InsertCopies(graph_, TestCatalog()), IsError(ErrorCode::kPartition, "cannot cross devices"));
  EXPECT_THAT(InsertCopies(graph_, TestCatalog()), IsError(ErrorCode::kPartition, "the host's memory"));
}

}  // namespace
}  // namespace sluice

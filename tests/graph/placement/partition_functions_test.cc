// Parts of a partition other than its nodes: functions and incarnations.

#include <memory>
#include <string>
#include <vector>

#include "graph/ir/builder.h"
#include "graph/ir/extract.h"
#include "graph/ir/function_library.h"
#include "graph/ops/op_table.h"
#include "graph/placement/incarnations.h"
#include "graph/placement/partition.h"
#include "graph/placement/reachable_functions.h"
#include "gtest/gtest.h"
#include "tests/graph/placement/partition_test_util.h"
#include "tests/testing/graph_bytes.h"
#include "tests/testing/graph_text.h"
#include "tests/testing/status_matchers.h"

namespace sluice {
namespace {

namespace gb = graph_bytes;

// y = body(x) with one node in the body.
std::shared_ptr<const FunctionDefinition> Function(const std::string& name, const gb::MessageBytes& node) {
  gb::FunctionBytes function;
  function.name = name;
  function.args = {{"x", gb::kFloat}};
  function.results = {{"y", gb::kFloat}};
  function.nodes = {node};
  function.ret = {{"y", "n:y:0"}};
  const auto owner = std::make_shared<const std::string>(function.Message().str());
  absl::StatusOr<std::shared_ptr<const FunctionDefinition>> parsed = ParseFunctionDef(owner, *owner, 0, LoadLimits());
  EXPECT_OK(parsed);
  return *std::move(parsed);
}

class PartitionFunctionsTest : public testing::Test {
 protected:
  PartitionFunctionsTest() : b_(NewOpRegistry()) {}

  void Add(const std::string& name, const gb::MessageBytes& node) {
    EXPECT_OK(b_.graph().library().Add(Function(name, node)));
  }
  void AddLeaf(const std::string& name) { Add(name, gb::UnaryNode("n", "Neg", {"x"})); }
  static std::vector<std::string> Names(const Graph& graph) { return graph.library().Names(); }

  GraphBuilder b_;
};

using Strings = std::vector<std::string>;

TEST_F(PartitionFunctionsTest, EachPartGetsTheFunctionsItNeeds) {
  for (const char* name : {"OnA", "OnB", "Unused"}) AddLeaf(name);
  const Output x = b_.Const("a_x", Tensor::Scalar(1.0f));
  b_.Op("OnA", "a_call", {x});
  b_.Op("OnB", "b_call", {x});
  ASSERT_OK(b_.status());
  PlaceByFirstLetter(b_.graph());
  ASSERT_OK_AND_ASSIGN(const std::vector<Partition> parts, PartitionGraph(b_.graph(), {}));
  EXPECT_EQ(Names(PartOf(parts, "CPU:0")), Strings{"OnA"});
  EXPECT_EQ(Names(PartOf(parts, "CPU:1")), Strings{"OnB"});
  EXPECT_EQ(Names(b_.graph()).size(), 3u) << "the graph keeps its own";
  EXPECT_EQ(CheckPartitions(b_.graph(), parts), "");
}

TEST_F(PartitionFunctionsTest, FunctionsAreReachedThroughCallsAttrsListsAndGradients) {
  AddLeaf("Leaf");
  AddLeaf("LeafGrad");
  AddLeaf("Branch");
  AddLeaf("Bound");
  AddLeaf("Unused");
  Add("Caller", gb::NodeDefBytes("n", "Leaf", {"x"}));
  ASSERT_OK(b_.graph().library().AddGradient("Leaf", "LeafGrad"));
  ASSERT_OK(b_.graph().library().AddGradient("Unused", "Leaf"));
  const Output x = b_.Const("x", Tensor::Scalar(1.0f));
  const std::vector<DType> types = {DType::kFloat};
  const std::pair<std::string, AttrValue> bound[] = {{"f", AttrValue::Func("Bound")}};
  b_.Op("PartitionedCall", "call", {x}, {{"f", AttrValue::Func("Caller", bound)}, {"Tin", types}, {"Tout", types}});
  gb::MessageBytes list = gb::MessageBytes().Sub(1, gb::MessageBytes().Sub(9, gb::MessageBytes().Bytes(1, "Branch")));
  b_.Op("Case", "case", {b_.Const("i", Tensor::Scalar(int32_t{0})), x},
        {{"branches", AttrValue::FromBytes(list.str())}, {"Tin", types}, {"Tout", types}});
  ASSERT_OK(b_.status());
  const Strings needed = {"Bound", "Branch", "Caller", "Leaf", "LeafGrad"};
  std::vector<NodeId> ids;
  Graph part = ExtractNodes(b_.graph(), std::vector<NodeId>{b_.graph().Find("call")}, &ids);
  part.library() = FunctionLibrary();
  ASSERT_OK(ReachableFunctions(b_.graph().library()).AddTo(part));
  EXPECT_EQ(part.library().NamesAsAdded(), (Strings{"Leaf", "LeafGrad", "Bound", "Caller"})) << "as in the file";
  EXPECT_EQ(part.library().FindGradient("Leaf"), "LeafGrad");
  EXPECT_EQ(part.library().gradients().size(), 1u);

  KeepReachableFunctions(b_.graph());
  EXPECT_EQ(Names(b_.graph()), needed);
  EXPECT_EQ(b_.graph().library().gradients().size(), 1u);
}

// --- Incarnations ---------------------------------------------------------------------------------------------------

class IncarnationsTest : public PartitionFunctionsTest {
 protected:
  IncarnationsTest()
      : devices_(*DeviceList::CreateWithIncarnations({{TestDevice("CPU:0"), 11}, {TestDevice("CPU:1"), 22}})) {}

  static GraphBuilder::Attrs Pair(const std::string& from, int64_t incarnation) {
    return {{"tensor_name", "t"},
            {"send_device", from},
            {"send_device_incarnation", incarnation},
            {"recv_device", TestDevice("CPU:0")}};
  }
  static int64_t IncarnationOf(const Graph& graph, absl::string_view name) {
    return *graph.GetInt(graph.Find(name), "send_device_incarnation");
  }

  const DeviceList devices_;
};

TEST_F(IncarnationsTest, MissingIncarnationsAreFilledIn) {
  const Output x = b_.Const("x", Tensor::Scalar(1.0f));
  b_.Op("_Send", "send", {x}, Pair(TestDevice("CPU:0"), 0));
  GraphBuilder::Attrs recv = Pair(TestDevice("CPU:1"), 0);
  recv.push_back({"tensor_type", DType::kFloat});
  b_.Op("_HostRecv", "recv", {}, recv);
  b_.Op("_Send", "known", {x}, Pair(TestDevice("CPU:1"), 5));
  b_.Op("_Send", "foreign", {x}, Pair("/job:z/replica:0/task:0/device:CPU:0", 0));
  ASSERT_OK(b_.status());
  ASSERT_OK(SetIncarnations(devices_, b_.graph()));
  EXPECT_EQ(IncarnationOf(b_.graph(), "send"), 11);
  EXPECT_EQ(IncarnationOf(b_.graph(), "recv"), 22);
  EXPECT_EQ(IncarnationOf(b_.graph(), "known"), 5);
  EXPECT_EQ(IncarnationOf(b_.graph(), "foreign"), 0);
}

TEST_F(IncarnationsTest, FunctionBodiesAreFilledInToo) {
  const gb::AttrBytes attrs = {{"T", gb::TypeAttr(gb::kFloat)},
                               {"tensor_name", gb::StringAttr("t")},
                               {"send_device", gb::StringAttr(TestDevice("CPU:1"))},
                               {"send_device_incarnation", gb::IntAttr(0)},
                               {"recv_device", gb::StringAttr(TestDevice("CPU:0"))}};
  Add("Sender", gb::NodeDefBytes("s", "_Send", {"x"}, attrs));
  AddLeaf("Other");
  const std::shared_ptr<const FunctionDefinition> before = b_.graph().library().Find("Sender");
  const std::shared_ptr<const FunctionDefinition> other = b_.graph().library().Find("Other");
  ASSERT_OK(SetIncarnations(devices_, b_.graph()));
  const std::shared_ptr<const FunctionDefinition> after = b_.graph().library().Find("Sender");
  EXPECT_EQ(*after->nodes[0].FindAttr("send_device_incarnation")->value.AsInt(), 22);
  EXPECT_EQ(after->nodes[0].attrs.size(), before->nodes[0].attrs.size());
  EXPECT_EQ(*before->nodes[0].FindAttr("send_device_incarnation")->value.AsInt(), 0) << "others may share it";
  EXPECT_EQ(b_.graph().library().Find("Other"), other);
}

}  // namespace
}  // namespace sluice

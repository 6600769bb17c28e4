#include "graph/placement/partition.h"

#include <random>
#include <string>

#include "absl/strings/str_cat.h"
#include "graph/ir/builder.h"
#include "graph/ops/op_table.h"
#include "gtest/gtest.h"
#include "tests/graph/placement/partition_test_util.h"
#include "tests/testing/graph_text.h"
#include "tests/testing/status_matchers.h"

namespace sluice {
namespace {

class PartitionTest : public testing::Test {
 protected:
  PartitionTest() : b_(NewOpRegistry()) {}

  Output Source(absl::string_view name) { return b_.Const(name, Tensor::Scalar(1.0f)); }
  Output Combine(absl::string_view name, Output x, Output y) { return b_.Op("AddV2", name, {x, y}); }

  // Cuts the graph, nodes placed by their first letter, and checks the cut.
  std::vector<Partition> Cut() {
    PlaceByFirstLetter(b_.graph());
    return CutAsPlaced();
  }
  std::vector<Partition> CutAsPlaced() {
    EXPECT_OK(b_.status());
    absl::StatusOr<std::vector<Partition>> parts = PartitionGraph(b_.graph(), options_);
    EXPECT_OK(parts);
    if (!parts.ok()) return {};
    EXPECT_EQ(CheckPartitions(b_.graph(), *parts), "");
    return *std::move(parts);
  }

  GraphBuilder b_;
  PartitionOptions options_;
};

TEST_F(PartitionTest, OneDeviceGivesOnePartAndNoPairs) {
  const Output a1 = Source("a1");
  Combine("a2", a1, a1);
  const std::vector<Partition> parts = Cut();
  ASSERT_EQ(parts.size(), 1u);
  EXPECT_EQ(parts[0].location, TestDevice("CPU:0"));
  EXPECT_EQ(NodeNames(parts[0].graph), "a1 a2");
}

TEST_F(PartitionTest, ADataEdgeBetweenDevicesBecomesAPair) {
  const Output a1 = Source("a1"), b1 = Source("b1");
  Combine("b2", a1, b1);
  const std::vector<Partition> parts = Cut();
  EXPECT_EQ(NodeNames(PartOf(parts, "CPU:0")), "a1 a1/_0");
  EXPECT_EQ(NodeNames(PartOf(parts, "CPU:1")), "a1/_1 b1 b2");
  EXPECT_EQ(NodeText(PartOf(parts, "CPU:0"), "a1/_0"), "a1/_0(a1)");
  EXPECT_EQ(NodeText(PartOf(parts, "CPU:1"), "b2"), "b2(a1/_1, b1)");
}

TEST_F(PartitionTest, BothEndsOfAPairCarryTheSameKey) {
  Combine("b1", Source("a1"), Source("b2"));
  ASSERT_OK_AND_ASSIGN(const DeviceList devices,
                       DeviceList::CreateWithIncarnations({{TestDevice("CPU:0"), 11}, {TestDevice("CPU:1"), 22}}));
  options_.devices = &devices;
  const std::vector<Partition> parts = Cut();
  for (const char* local : {"CPU:0", "CPU:1"}) {
    const Graph& part = PartOf(parts, local);
    const NodeId id = part.Find(local == std::string("CPU:0") ? "a1/_0" : "a1/_1");
    EXPECT_EQ(*part.GetString(id, "tensor_name"), "edge_0_a1");
    EXPECT_EQ(*part.GetString(id, "send_device"), TestDevice("CPU:0"));
    EXPECT_EQ(*part.GetString(id, "recv_device"), TestDevice("CPU:1"));
    EXPECT_EQ(*part.GetInt(id, "send_device_incarnation"), 11);
    EXPECT_FALSE(*part.GetBool(id, "client_terminated"));
    EXPECT_EQ(*part.GetString(id, "_dst"), "b1");
  }
}

TEST_F(PartitionTest, AControlEdgeBetweenDevicesSendsAnEmptyConstant) {
  const Output a1 = Source("a1"), b1 = Source("b1");
  const Output b2 = Combine("b2", b1, b1);
  b_.AddControl(b2, a1);
  const std::vector<Partition> parts = Cut();
  EXPECT_EQ(NodesOfOp(PartOf(parts, "CPU:0"), "_Send").size(), 1u);
  EXPECT_EQ(NodeText(PartOf(parts, "CPU:0"), "a1/_0"), "a1/_0(^a1)") << "the constant";
  const std::vector<std::string> identities = NodesOfOp(PartOf(parts, "CPU:1"), "Identity");
  ASSERT_EQ(identities.size(), 1u);
  EXPECT_EQ(NodeText(PartOf(parts, "CPU:1"), "b2"), absl::StrCat("b2(b1, b1, ^", identities[0], ")"));
}

TEST_F(PartitionTest, ConsumersOnOneDeviceShareAPair) {
  const Output a1 = Source("a1"), b1 = Source("b1");
  Combine("b2", a1, b1);
  Combine("b3", a1, a1);
  b_.Op("Neg", "c1", {a1});
  const std::vector<Partition> parts = Cut();
  EXPECT_EQ(NodesOfOp(PartOf(parts, "CPU:0"), "_Send").size(), 2u) << "one per device";
  EXPECT_EQ(NodesOfOp(PartOf(parts, "CPU:1"), "_Recv").size(), 1u);
  EXPECT_EQ(NodeText(PartOf(parts, "CPU:1"), "b3"), "b3(a1/_1, a1/_1)");
}

TEST_F(PartitionTest, ControlEdgesToOneDeviceShareAPair) {
  const Output a1 = Source("a1"), b1 = Source("b1");
  for (const char* name : {"b2", "b3"}) b_.AddControl(Combine(name, b1, b1), a1);
  const std::vector<Partition> parts = Cut();
  EXPECT_EQ(NodesOfOp(PartOf(parts, "CPU:0"), "_Send").size(), 1u);
  EXPECT_EQ(NodesOfOp(PartOf(parts, "CPU:1"), "_Recv").size(), 1u);
}

TEST_F(PartitionTest, DataAndControlOfOneNodeTravelApart) {
  const Output a1 = Source("a1"), b1 = Source("b1");
  b_.AddControl(Combine("b2", a1, b1), a1);
  Combine("b3", a1, a1);
  const std::vector<Partition> parts = Cut();
  EXPECT_EQ(NodesOfOp(PartOf(parts, "CPU:0"), "_Send").size(), 2u);
  EXPECT_EQ(NodesOfOp(PartOf(parts, "CPU:1"), "_Recv").size(), 2u);
}

TEST_F(PartitionTest, OutputsOfOneNodeTravelApart) {
  const Output split =
      b_.Op("Split", "a1", {b_.Const("a0", Tensor::Scalar(int32_t{0})), Source("a2")}, {{"num_split", int64_t{2}}});
  Combine("b1", split, GraphBuilder::Nth(split, 1));
  const std::vector<Partition> parts = Cut();
  EXPECT_EQ(NodesOfOp(PartOf(parts, "CPU:1"), "_Recv").size(), 2u);
}

TEST_F(PartitionTest, AReadOfAReferenceWaitsForTheOtherInputs) {
  const GraphBuilder::Attrs attrs = {{"dtype", DType::kFloat}, {"shape", PartialShape::Scalar()}};
  const Output v = b_.Op("VariableV2", "a_v", {}, attrs);
  const Output update = b_.Op("AssignAdd", "a_update", {v, Source("a1")});
  const Output b1 = Source("b1");
  b_.AddControl(Combine("b2", v, b1), update);
  Combine("b3", v, b1);
  const std::vector<Partition> parts = Cut();
  const Graph& part = PartOf(parts, "CPU:1");
  ASSERT_EQ(NodesOfOp(part, "_Recv").size(), 3u) << "a reference is received for each consumer";
  const NodeId late = part.inputs(part.Find("b2"))[0].node;
  EXPECT_EQ(part.controls(late).size(), 2u) << NodeText(part, part.name(late));
  EXPECT_EQ(part.output_type(late, 0), DType::kFloat);
  const NodeId other = part.inputs(part.Find("b3"))[0].node;
  EXPECT_EQ(NodeText(part, part.name(other)), absl::StrCat(part.name(other), "(^b1)"));
}

TEST_F(PartitionTest, AReferenceThatIsWrittenCannotCross) {
  const GraphBuilder::Attrs attrs = {{"dtype", DType::kFloat}, {"shape", PartialShape::Scalar()}};
  b_.Op("Assign", "b_assign", {b_.Op("VariableV2", "a_v", {}, attrs), Source("b1")});
  PlaceByFirstLetter(b_.graph());
  EXPECT_THAT(PartitionGraph(b_.graph(), options_), IsError(ErrorCode::kPartition, "b_assign"));
}

TEST_F(PartitionTest, OpenInputsAreAnError) {
  NodeSpec spec;
  spec.name = "b1";
  spec.op = "Neg";
  spec.inputs = {Output()};
  spec.attrs = {{"T", DType::kFloat}};
  ASSERT_OK(b_.graph().AddNode(spec));
  Source("a1");
  PlaceByFirstLetter(b_.graph());
  EXPECT_THAT(PartitionGraph(b_.graph(), options_), IsError(ErrorCode::kPartition, "b1"));
}

TEST_F(PartitionTest, NodesWithoutAFullDeviceNameAreAnError) {
  b_.SetDevice(Source("a1"), "/cpu:0");
  EXPECT_THAT(PartitionGraph(b_.graph(), options_), IsError(ErrorCode::kPartition, "a1"));
  EXPECT_THAT(PartitionGraph(b_.graph(), options_), StatusIs(absl::StatusCode::kInvalidArgument));
}

TEST_F(PartitionTest, EdgePrefixesKeepGraphsOfOneStepApart) {
  options_.edge_prefix = "f1_edge";
  b_.Op("Neg", "b1", {Source("a1")});
  const std::vector<Partition> parts = Cut();
  EXPECT_EQ(*PartOf(parts, "CPU:1").GetString(PartOf(parts, "CPU:1").Find("a1/_1"), "tensor_name"), "f1_edge_0_a1");
}

TEST_F(PartitionTest, TakenNamesAreAvoided) {
  b_.Op("Neg", "b1", {Source("a1")});
  b_.SetDevice(b_.Op("NoOp", "a1/_1"), TestDevice("CPU:1"));
  b_.Op("NoOp", "a1/_0");
  PlaceByFirstLetter(b_.graph());
  b_.graph().SetDevice(b_.graph().Find("a1/_1"), TestDevice("CPU:1"));
  CutAsPlaced();
}

TEST_F(PartitionTest, VersionsGoWithEachPart) {
  b_.graph().versions().producer = 1234;
  b_.Op("Neg", "b1", {Source("a1")});
  for (const Partition& part : Cut()) EXPECT_EQ(part.graph.versions().producer, 1234);
}

// --- Switch, and the devices of control flow ----------------------------------------------------------------

TEST_F(PartitionTest, ASwitchMovesToItsData) {
  const Output x = Source("a1");
  const Output sw = b_.Op("Switch", "b_switch", {x, b_.Const("c_pred", Tensor::Scalar(true))});
  b_.Op("Merge", "c_merge", {b_.Op("Neg", "c_neg", {sw}), GraphBuilder::Nth(sw, 1)}, {{"N", int64_t{2}}});
  const std::vector<Partition> parts = Cut();
  EXPECT_TRUE(PartOf(parts, "CPU:0").Find("b_switch").valid());
  EXPECT_EQ(parts.size(), 2u) << "nothing is left on the device of the Switch";
}

// --- Accelerators ---------------------------------------------------------------------------------------------

// Reshape takes its shape from host memory; Shape gives its output there.
class HostPortsCatalog : public AllowAllCatalog {
 public:
  bool TakesInputOnHost(const Graph& graph, NodeId id, int32_t i, absl::string_view) const override {
    return graph.Is(id, "Reshape") && i == 1;
  }
  bool GivesOutputOnHost(const Graph& graph, NodeId id, int32_t, absl::string_view) const override {
    return graph.Is(id, "Shape");
  }
};

class HostMemoryTest : public PartitionTest {
 protected:
  HostMemoryTest() { options_.catalog = &catalog_; }
  Output On(Output node, const std::string& device) {
    b_.SetDevice(node, TestDevice(device));
    return node;
  }

  const HostPortsCatalog catalog_;
};

TEST_F(HostMemoryTest, PortsInHostMemoryAreSentAndReceivedByHostNodes) {
  const Output x = On(Source("x"), "GPU:0");
  const Output shape = On(b_.Op("Shape", "shape", {x}), "GPU:0");
  const Output y = On(Source("y"), "GPU:1");
  On(b_.Op("Reshape", "reshape", {y, shape}), "GPU:1");
  const std::vector<Partition> parts = CutAsPlaced();
  EXPECT_EQ(NodesOfOp(PartOf(parts, "GPU:0"), "_HostSend").size(), 1u);
  EXPECT_EQ(NodesOfOp(PartOf(parts, "GPU:1"), "_HostRecv").size(), 1u);
  EXPECT_EQ(NodesOfOp(PartOf(parts, "GPU:1"), "_Recv").size(), 0u);
}

TEST_F(HostMemoryTest, ValuesFromTheCpuArePlainlySent) {
  const Output shape = On(b_.Const("shape", Tensor::Of<int32_t>(Shape::Of({1}), {1})), "CPU:0");
  On(b_.Op("Reshape", "reshape", {On(Source("y"), "GPU:0"), shape}), "GPU:0");
  const std::vector<Partition> parts = CutAsPlaced();
  EXPECT_EQ(NodesOfOp(PartOf(parts, "CPU:0"), "_Send").size(), 1u);
  EXPECT_EQ(NodesOfOp(PartOf(parts, "GPU:0"), "_HostRecv").size(), 1u);
}

TEST_F(HostMemoryTest, NodesOfOneDeviceThatDisagreeAboutMemoryGetAPair) {
  const Output shape = On(b_.Const("shape", Tensor::Of<int32_t>(Shape::Of({1}), {1})), "GPU:0");
  const Output y = On(Source("y"), "GPU:0");
  On(b_.Op("Reshape", "reshape", {y, shape}), "GPU:0");
  On(b_.Op("Reshape", "again", {y, shape}), "GPU:0");
  const std::vector<Partition> parts = CutAsPlaced();
  ASSERT_EQ(parts.size(), 1u);
  const std::vector<std::string> sends = NodesOfOp(parts[0].graph, "_Send");
  const std::vector<std::string> recvs = NodesOfOp(parts[0].graph, "_HostRecv");
  ASSERT_EQ(sends.size(), 1u);
  ASSERT_EQ(recvs.size(), 1u);
  EXPECT_EQ(NodeText(parts[0].graph, recvs[0]), absl::StrCat(recvs[0], "(^", sends[0], ")"));
}

TEST_F(HostMemoryTest, HostAndDeviceConsumersGetTheirOwnCopies) {
  const Output n = On(b_.Const("n", Tensor::Of<int32_t>(Shape::Of({1}), {1})), "CPU:0");
  On(b_.Op("Reshape", "reshape", {On(Source("y"), "GPU:0"), n}), "GPU:0");
  On(b_.Op("Neg", "neg", {n}), "GPU:0");
  const std::vector<Partition> parts = CutAsPlaced();
  EXPECT_EQ(NodesOfOp(PartOf(parts, "GPU:0"), "_HostRecv").size(), 1u);
  EXPECT_EQ(NodesOfOp(PartOf(parts, "GPU:0"), "_Recv").size(), 1u);
}

TEST_F(HostMemoryTest, AgreementNeedsNoPair) {
  const Output x = On(Source("x"), "GPU:0");
  On(b_.Op("Reshape", "reshape", {x, On(b_.Op("Shape", "shape", {x}), "GPU:0")}), "GPU:0");
  EXPECT_EQ(NodeNames(CutAsPlaced()[0].graph), "reshape shape x");
}

// --- Random graphs ----------------------------------------------------------------------------------------------

TEST_F(PartitionTest, RandomGraphsKeepAllTheirEdges) {
  for (uint32_t seed = 1; seed <= 50; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937 random(seed);
    b_ = GraphBuilder(NewOpRegistry());
    std::vector<Output> nodes = {Source("a_first")};
    const auto any = [&] { return nodes[random() % nodes.size()]; };
    for (int i = 0; i < 60; ++i) {
      const std::string name = absl::StrCat(std::string(1, static_cast<char>('a' + random() % 4)), i);
      nodes.push_back(random() % 3 == 0 ? b_.Op("Neg", name, {any()}) : Combine(name, any(), any()));
      while (random() % 3 == 0 && nodes.size() > 2) b_.AddControl(nodes.back(), nodes[random() % (nodes.size() - 1)]);
    }
    Cut();
  }
}

}  // namespace
}  // namespace sluice

#include "graph/ir/export.h"

#include <string>
#include <vector>

#include "graph/ir/builder.h"
#include "graph/ir/import.h"
#include "graph/ir/registered_gradients.h"
#include "graph/ops/op_table.h"
#include "graph/proto/graph.pb.h"
#include "gtest/gtest.h"
#include "tests/testing/graph_bytes.h"
#include "tests/testing/status_matchers.h"

namespace sluice {
namespace {

using namespace graph_bytes;  // NOLINT: a vocabulary made for tests.

absl::StatusOr<Graph> Import(const std::string& bytes) {
  ImportOptions options;
  options.ops = NewOpRegistry();
  return ImportGraph(GraphSource::Copy(bytes), options);
}

// A library field with functions of these names, each without arguments.
std::string LibraryOf(const std::vector<std::string>& names) {
  MessageBytes library;
  for (const std::string& name : names) library.Sub(1, MessageBytes().Sub(1, MessageBytes().Bytes(1, name)));
  return MessageBytes().Sub(2, library).str();
}

TEST(ExportTest, NodesAndFunctionsKeepTheirOrder) {
  const std::string bytes =
      GraphDefBytes({UnaryNode("z", "Relu", {"a"}), PlaceholderNode("a")}) + LibraryOf({"g", "f"});
  ASSERT_OK_AND_ASSIGN(const Graph graph, Import(bytes));
  const std::string exported = ExportGraph(graph);
  EXPECT_LT(exported.find("Relu"), exported.find("Placeholder"));
  EXPECT_EQ(graph.library().NamesAsAdded(), (std::vector<std::string>{"g", "f"}));
  ASSERT_OK_AND_ASSIGN(const Graph again, Import(exported));
  EXPECT_EQ(ExportGraph(again), exported);
}

TEST(ExportTest, GradientsOfBothKindsAreWrittenBack) {
  MessageBytes library;
  for (const char* name : {"f", "g"}) library.Sub(1, MessageBytes().Sub(1, MessageBytes().Bytes(1, name)));
  library.Sub(2, MessageBytes().Bytes(1, "f").Bytes(2, "g"));
  library.Sub(3, MessageBytes().Bytes(1, "g").Bytes(2, "CustomGradient-7"));
  ASSERT_OK_AND_ASSIGN(Graph graph,
                       Import(GraphDefBytes({PlaceholderNode("a")}) + MessageBytes().Sub(2, library).str()));
  EXPECT_EQ(graph.library().FindGradient("f"), "g");
  EXPECT_EQ(FindRegisteredGradient(graph.library(), "CustomGradient-7"), "g");
  EXPECT_EQ(FindRegisteredGradient(graph.library(), "f"), "");
  ASSERT_OK_AND_ASSIGN(const Graph again, Import(ExportGraph(graph)));
  EXPECT_EQ(again.library().gradients(), graph.library().gradients());
  proto::GraphDef def;
  ASSERT_TRUE(def.ParseFromString(ExportGraph(graph)));
  ASSERT_EQ(def.library().registered_gradients_size(), 1);
  EXPECT_EQ(def.library().registered_gradients(0).gradient_func(), "g");
  EXPECT_EQ(def.library().registered_gradients(0).registered_op_type(), "CustomGradient-7");
  // It goes with its function, and not with that of a node that states the type.
  graph.library().RemoveUnless([](absl::string_view name) { return name == "g"; });
  EXPECT_EQ(graph.library().gradients().size(), 1u);
  graph.library().RemoveUnless([](absl::string_view) { return false; });
  EXPECT_TRUE(graph.library().empty());
}

TEST(ExportTest, GraphsDifferByTheFirstThingThatDoes) {
  const auto graph = [](float value) {
    GraphBuilder b(NewOpRegistry());
    b.Op("Relu", "y", {b.Const("c", Tensor::Scalar(value))});
    return b.Build();
  };
  ASSERT_OK_AND_ASSIGN(const Graph one, graph(1));
  ASSERT_OK_AND_ASSIGN(const Graph same, graph(1));
  ASSERT_OK_AND_ASSIGN(Graph two, graph(2));
  std::string why;
  EXPECT_TRUE(GraphsEqual(one, same, &why)) << why;
  EXPECT_FALSE(GraphsEqual(one, two, &why));
  EXPECT_EQ(why, "node 'c': attr 'value'");
  two.SetDevice(two.Find("y"), "/cpu:0");
  ASSERT_OK(two.SetAttr(two.Find("c"), "value", Tensor::Scalar(1.0f)));
  EXPECT_FALSE(GraphsEqual(one, two, &why));
  EXPECT_EQ(why, "node 'y': device");
}

TEST(ExportTest, RemovedNodesAreGoneAndRenamedOnesAreReadByTheirUsers) {
  GraphBuilder b(NewOpRegistry());
  const Output x = b.Placeholder("x", DType::kFloat), y = b.Op("Relu", "y", {x});
  b.Op("Relu", "unused", {x});
  ASSERT_OK_AND_ASSIGN(Graph graph, b.Build());
  graph.RemoveNode(graph.Find("unused"));
  ASSERT_OK(graph.Rename(x.node, "input"));
  ASSERT_OK_AND_ASSIGN(const Graph again, Import(ExportGraph(graph)));
  EXPECT_EQ(again.num_nodes(), 2u);
  EXPECT_EQ(again.OutputName(again.inputs(again.Find("y"))[0]), "input");
  EXPECT_EQ(ExportNode(graph, y.node), ExportNode(again, again.Find("y")));
}

}  // namespace
}  // namespace sluice

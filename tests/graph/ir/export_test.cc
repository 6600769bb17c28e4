#include "graph/ir/export.h"

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "graph/ir/builder.h"
#include "graph/ir/import.h"
#include "graph/ir/registered_gradients.h"
#include "graph/ops/op_table.h"
#include "graph/proto/graph.pb.h"
#include "gtest/gtest.h"
#include "tests/graph/ir/graph_equal.h"
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

// Values that cannot be decoded, each written in two ways: a field with its default or without. Import carries what a
// node's op does not know.
TEST(ExportTest, GraphsAreEqualWhereProtobufReadsTheSame) {
  const auto graph = [](const MessageBytes& value) {
    return *Import(GraphDefBytes({NodeDefBytes("n", "NoOp", {}, {{"_x", value}})}));
  };
  const auto equal = [&graph](const MessageBytes& a, const MessageBytes& b) {
    return GraphsEqual(graph(a), graph(b), nullptr);
  };
  const MessageBytes half = MessageBytes().Bytes(4, "ab"), typed = MessageBytes().Int(1, 0).Bytes(4, "ab");
  const MessageBytes other = MessageBytes().Bytes(4, "ac");
  EXPECT_TRUE(equal(TensorAttr(half), TensorAttr(typed)));
  EXPECT_FALSE(equal(TensorAttr(half), TensorAttr(other)));
  const auto list = [](const MessageBytes& tensor) { return MessageBytes().Sub(1, MessageBytes().Sub(8, tensor)); };
  EXPECT_TRUE(equal(list(half), list(typed)));
  EXPECT_FALSE(equal(list(half), list(other)));
  const auto shape = [](const MessageBytes& dim) { return MessageBytes().Sub(7, MessageBytes().Sub(2, dim)); };
  constexpr int64_t kMin = std::numeric_limits<int64_t>::min();
  EXPECT_TRUE(equal(shape(MessageBytes().Int(1, kMin)), shape(MessageBytes().Int(1, kMin).Bytes(2, ""))));
  EXPECT_FALSE(equal(shape(MessageBytes().Int(1, kMin)), shape(MessageBytes().Int(1, kMin + 1))));
}

TEST(ExportTest, KeepsFieldsOfLaterVersionsAndNoneThatHaveTheTypeOfAnotherMessage) {
  const std::string later = MessageBytes().Int(3, 21).Sub(5, MessageBytes()).Bytes(8, "new").Int(9, 1).str();
  const std::string mistyped = MessageBytes().Int(1, 7).Int(2, 1).Bytes(3, "x").Float(4, 1).Int(5, 1).str();
  ASSERT_OK_AND_ASSIGN(const Graph graph, Import(GraphDefBytes({}) + mistyped + later));
  EXPECT_EQ(graph.unknown_fields(), later);
  EXPECT_TRUE(absl::EndsWith(ExportGraph(graph), later));
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

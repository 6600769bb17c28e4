#include "graph/ir/import.h"

#include <memory>
#include <string>
#include <vector>

#include "graph/ir/export.h"
#include "graph/ops/op_table.h"
#include "gtest/gtest.h"
#include "tests/graph/ir/graph_equal.h"
#include "tests/testing/graph_bytes.h"
#include "tests/testing/status_matchers.h"

namespace sluice {
namespace {

using namespace graph_bytes;  // NOLINT: a vocabulary made for tests.

ImportOptions Options() {
  ImportOptions options;
  options.ops = NewOpRegistry();
  return options;
}

absl::StatusOr<Graph> Import(const std::string& bytes, const ImportOptions& options = Options()) {
  return ImportGraph(GraphSource::Copy(bytes), options);
}

TEST(ImportTest, EmptyFileIsAnEmptyGraph) {
  ASSERT_OK_AND_ASSIGN(const Graph graph, Import(""));
  EXPECT_EQ(graph.num_nodes(), 0u);
}

TEST(ImportTest, ReadsNodesEdgesAndAttrsInAnyOrder) {
  ASSERT_OK_AND_ASSIGN(
      const Graph graph,
      Import(GraphDefBytes({UnaryNode("y", "Relu", {"x", "^c"}), PlaceholderNode("x"), NodeDefBytes("c", "NoOp")})));
  const NodeId y = graph.Find("y");
  EXPECT_EQ(graph.OutputName(graph.inputs(y)[0]), "x");
  EXPECT_EQ(graph.OutputName(graph.controls(y)[0]), "^c");
  EXPECT_EQ(*graph.GetType(y, "T"), DType::kFloat);
  EXPECT_EQ(graph.source_index(y), 0);
}

TEST(ImportTest, CollectsTheErrorsOfAllNodes) {
  const absl::Status status = Import(GraphDefBytes({NodeDefBytes("a", "Nope"), UnaryNode("b", "Relu", {"nix"}),
                                                    UnaryNode("c", "Relu", {"a"}), NodeDefBytes("d", "Placeholder")}))
                                  .status();
  const std::vector<absl::Status> errors = AllErrors(status);
  ASSERT_EQ(errors.size(), 3u);  // c only suffers from a.
  EXPECT_THAT(errors[0], IsError(ErrorCode::kOpUnknown, "'a'"));
  EXPECT_THAT(errors[1], IsError(ErrorCode::kInputUnknown, "'b'"));
  EXPECT_THAT(errors[2], IsError(ErrorCode::kAttrMissing, "'d'"));
}

TEST(ImportTest, ErrorsKnowWhereTheNodeStands) {
  const std::string first = PlaceholderNode("x").str();
  const std::string bytes = GraphDefBytes({PlaceholderNode("x"), UnaryNode("y", "Relu", {"x:3"})});
  const auto info = ErrorInfoOf(Import(bytes).status());
  ASSERT_TRUE(info.has_value());
  EXPECT_EQ(info->code, ErrorCode::kInputSlot);
  EXPECT_EQ(info->node_index, 1);
  EXPECT_EQ(info->byte_begin, static_cast<int64_t>(first.size()) + 4);
  EXPECT_EQ(info->input_name, "x:3");
}

// Each import counts bytes from the start of its own file, after nodes made by hand and other imports too.
TEST(ImportTest, PlacesOfALaterImportAreThoseOfItsFile) {
  Graph graph(NewOpRegistry());
  ASSERT_OK(graph.AddNode({"hand", "NoOp", {}, {}, {}, ""}));
  const std::string first = GraphDefBytes({PlaceholderNode("x"), UnaryNode("y", "Relu", {"x"})});
  const std::string second = GraphDefBytes({PlaceholderNode("a"), UnaryNode("b", "Relu", {"a"})});
  ASSERT_OK(ImportInto(graph, GraphSource::Copy(first), Options()));
  ASSERT_OK(ImportInto(graph, GraphSource::Copy(second), Options()));
  const auto place = [&](const char* name) {
    return *ErrorInfoOf(graph.Locate(graph.Find(name), Error(ErrorCode::kNoKernel)));
  };
  EXPECT_EQ(place("hand").byte_begin, -1);
  for (const char* name : {"x", "a"}) {
    EXPECT_EQ(place(name).node_index, 0);
    EXPECT_EQ(place(name).byte_begin, 2);
  }
  for (const auto& [name, bytes] : {std::pair("y", &first), std::pair("b", &second)}) {
    const ErrorInfo at = place(name);
    EXPECT_EQ(at.node_index, 1);
    const std::string node = bytes->substr(at.byte_begin, at.byte_end - at.byte_begin);
    EXPECT_EQ(node, UnaryNode(name, "Relu", {name == std::string("y") ? "x" : "a"}).str());
  }
}

TEST(ImportTest, RepeatedControlInputsCountOnce) {
  std::vector<std::string> inputs;
  std::vector<MessageBytes> nodes;
  for (int i = 0; i < 300; ++i) {
    const std::string name = "c" + std::to_string(i % 100);
    inputs.push_back("^" + name);
    if (i < 100) nodes.push_back(NodeDefBytes(name, "NoOp"));
  }
  nodes.push_back(NodeDefBytes("all", "NoOp", inputs));
  nodes.push_back(NodeDefBytes("two", "NoOp", {"^c1", "^c1", "^c2"}));
  ASSERT_OK_AND_ASSIGN(const Graph graph, Import(GraphDefBytes(nodes)));
  EXPECT_EQ(graph.controls(graph.Find("all")).size(), 100u);
  EXPECT_EQ(graph.controls(graph.Find("two")).size(), 2u);
}

// Names of inputs are looked up ahead of their nodes, over the ends of nodes' lists and of repetitions in them.
TEST(ImportTest, EveryInputLeadsToTheNodeItNames) {
  std::vector<MessageBytes> nodes;
  const auto name_of = [](int i) { return "n" + std::to_string(i); };
  for (int i = 0; i < 200; ++i) {
    std::vector<std::string> inputs;
    for (int k = 0; k < i % 40; ++k) inputs.push_back("^" + name_of(i - 1 - k / 2));
    nodes.push_back(NodeDefBytes(name_of(i), "NoOp", inputs));
  }
  ASSERT_OK_AND_ASSIGN(const Graph graph, Import(GraphDefBytes(nodes)));
  for (int i = 0; i < 200; ++i) {
    std::vector<std::string> names;
    for (const Output& control : graph.controls(graph.Find(name_of(i)))) names.emplace_back(graph.name(control.node));
    std::vector<std::string> wanted;
    for (int k = 0; k < i % 40; k += 2) wanted.push_back(name_of(i - 1 - k / 2));
    EXPECT_EQ(names, wanted) << i;
  }
}

// From the ninth control input on, marks by node id find repetitions: unresolved names have no id (ASan sees the
// write).
TEST(ImportTest, ManyUnknownControlInputsAreErrors) {
  for (const int num_known : {0, 1, 7, 8, 9, 20}) {
    for (const int num_unknown : {1, 2, 8, 9, 20}) {
      std::vector<MessageBytes> nodes;
      std::vector<std::string> inputs;
      for (int i = 0; i < num_known; ++i) {
        nodes.push_back(NodeDefBytes("a" + std::to_string(i), "NoOp"));
        inputs.push_back("^a" + std::to_string(i));
      }
      for (int i = 0; i < num_unknown; ++i) {
        inputs.insert(inputs.begin() + (i % 2 == 0 ? 0 : static_cast<int>(inputs.size())), "^x" + std::to_string(i));
      }
      nodes.push_back(NodeDefBytes("b", "NoOp", inputs));
      const absl::Status status = Import(GraphDefBytes(nodes)).status();
      EXPECT_THAT(status, IsError(ErrorCode::kInputUnknown, "'b'")) << num_known << " " << num_unknown;
    }
  }
}

TEST(ImportTest, UnknownAttrsAreCarriedAlong) {
  const std::string bytes = GraphDefBytes({NodeDefBytes(
      "x", "Placeholder", {}, {{"dtype", TypeAttr(kFloat)}, {"_hint", IntAttr(3)}, {"odd", IntAttr(4)}})});
  ASSERT_OK_AND_ASSIGN(const Graph graph, Import(bytes));
  EXPECT_EQ(*graph.GetInt(graph.Find("x"), "odd"), 4);
  ASSERT_OK_AND_ASSIGN(const Graph again, Import(ExportGraph(graph)));
  std::string why;
  EXPECT_TRUE(GraphsEqual(graph, again, &why)) << why;
}

TEST(ImportTest, UnknownFieldsSurviveExport) {
  std::string node = NodeDefBytes("x", "NoOp").str();
  MessageBytes debug;
  debug.Sub(6, MessageBytes().Bytes(1, "debug")).Int(99, 7);
  MessageBytes graph_bytes;
  graph_bytes.Bytes(1, node + debug.str()).Sub(5, MessageBytes().Bytes(1, "stacks"));
  ASSERT_OK_AND_ASSIGN(const Graph graph, Import(graph_bytes.str()));
  const std::string exported = ExportGraph(graph);
  EXPECT_NE(exported.find(debug.str()), std::string::npos);
  EXPECT_NE(exported.find("stacks"), std::string::npos);
}

TEST(ImportTest, LoopsThroughNextIterationAreNoCycles) {
  const auto loop = [](const char* back_op) {
    return GraphDefBytes({PlaceholderNode("x"),
                          NodeDefBytes("m", "Merge", {"x", "n"}, {{"T", TypeAttr(kFloat)}, {"N", IntAttr(2)}}),
                          UnaryNode("n", back_op, {"m"})});
  };
  EXPECT_OK(Import(loop("NextIteration")));
  const absl::Status status = Import(loop("Relu")).status();
  EXPECT_THAT(status, IsError(ErrorCode::kCycle, "m -> n -> m"));
}

TEST(ImportTest, VersionsAreChecked) {
  const auto with = [](const MessageBytes& versions) {
    MessageBytes graph;
    graph.Sub(1, NodeDefBytes("x", "NoOp")).Sub(4, versions);
    return graph.str();
  };
  EXPECT_OK(Import(with(MessageBytes().Int(1, 99999))));
  EXPECT_THAT(Import(with(MessageBytes().Int(2, 99999))), IsError(ErrorCode::kFileVersion, "99999"));
  EXPECT_THAT(Import(with(MessageBytes().Packed(3, {1, kGraphVersion}))), IsError(ErrorCode::kFileBadVersion));
}

TEST(ImportTest, DeprecatedOpsDependOnTheProducer) {
  const auto at = [](int64_t producer) {
    MessageBytes graph;
    graph.Sub(1, PlaceholderNode("x")).Sub(1, UnaryNode("c", "BatchCholesky", {"x"}));
    return graph.Sub(4, MessageBytes().Int(1, producer)).str();
  };
  EXPECT_OK(Import(at(12)));
  EXPECT_THAT(Import(at(13)), IsError(ErrorCode::kOpDeprecated, "'c'"));
}

TEST(ImportTest, LimitsAreNamed) {
  ImportOptions options = Options();
  options.limits.max_nodes = 1;
  const auto info = ErrorInfoOf(Import(GraphDefBytes({PlaceholderNode("x"), PlaceholderNode("y")}), options).status());
  ASSERT_TRUE(info.has_value());
  EXPECT_EQ(info->limit, "max_nodes");
  options = Options();
  options.limits.max_file_bytes = 10;
  EXPECT_THAT(Import(GraphDefBytes({PlaceholderNode("x")}), options), IsError(ErrorCode::kLimitFileSize));
}

// Importing into a graph that has nodes already.
class ImportIntoTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_OK_AND_ASSIGN(graph_, Import(GraphDefBytes({PlaceholderNode("x"), NodeDefBytes("c", "NoOp")})));
  }
  absl::StatusOr<ImportResult> Into(const std::vector<MessageBytes>& nodes) {
    return ImportInto(graph_, GraphSource::Copy(GraphDefBytes(nodes)), options_);
  }
  std::string InputOf(absl::string_view node) { return graph_.OutputName(graph_.all_inputs(graph_.Find(node))[0]); }

  ImportOptions options_ = Options();
  Graph graph_{options_.ops};
};

TEST_F(ImportIntoTest, PrefixGoesInFrontOfNamesAndInputs) {
  options_.prefix = "p";
  ASSERT_OK(Into({PlaceholderNode("x"), UnaryNode("y", "Relu", {"x"})}));
  EXPECT_EQ(InputOf("p/y"), "p/x");
}

TEST_F(ImportIntoTest, ColocationGroupsFollowTheNames) {
  using Groups = std::vector<std::string>;
  const auto node = [](const char* name, const Groups& groups) {
    MessageBytes list;
    for (const std::string& group : groups) list.Bytes(2, group);
    return NodeDefBytes(name, "NoOp", {}, {{"_class", MessageBytes().Sub(1, list)}});
  };
  const auto groups_of = [&](const char* name) {
    Groups groups;
    const absl::StatusOr<AttrView> value = graph_.GetAttr(graph_.Find(name), "_class");
    const absl::StatusOr<std::vector<absl::string_view>> list = value->AsStringList();
    for (const absl::string_view group : *list) groups.emplace_back(group);
    return groups;
  };
  // `b` refers to `later`, which comes after it.
  const std::vector<MessageBytes> nodes = {node("a", {"loc:@a"}), node("b", {"loc:@a", "other", "loc:@later"}),
                                           node("later", {})};
  ASSERT_OK(Into(nodes));
  EXPECT_EQ(groups_of("b"), (Groups{"loc:@a", "other", "loc:@later"}));
  for (const char* prefix : {"p", "q"}) {
    options_.prefix = prefix;
    ASSERT_OK(Into(nodes));
  }
  EXPECT_EQ(groups_of("p/b"), (Groups{"loc:@p/a", "other", "loc:@p/later"}));
  EXPECT_EQ(groups_of("q/a"), (Groups{"loc:@q/a"}));
  options_.prefix = "";
  options_.uniquify_names = true;
  ASSERT_OK(Into(nodes));
  EXPECT_EQ(groups_of("b_1"), (Groups{"loc:@a_1", "other", "loc:@later_1"}));
}

TEST_F(ImportIntoTest, TakenNamesAreErrorsUnlessUniquified) {
  EXPECT_THAT(Into({PlaceholderNode("x")}), IsError(ErrorCode::kNodeDuplicate, "'x'"));
  options_.uniquify_names = true;
  ASSERT_OK(Into({PlaceholderNode("x"), UnaryNode("y", "Relu", {"x"})}));
  EXPECT_EQ(InputOf("y"), "x_1");
}

TEST_F(ImportIntoTest, UniquifiedPrefixIsFree) {
  options_.prefix = "x";
  options_.uniquify_prefix = true;
  ASSERT_OK(Into({PlaceholderNode("in")}));
  EXPECT_TRUE(graph_.Contains(graph_.Find("x_1/in")));
}

TEST_F(ImportIntoTest, InputMapLeadsToNodesOfTheGraph) {
  options_.input_map = {{"a:0", "x"}, {"^k", "^c"}, {"unused", "x"}};
  ASSERT_OK_AND_ASSIGN(const ImportResult result, Into({UnaryNode("y", "Relu", {"a", "^k"})}));
  EXPECT_EQ(InputOf("y"), "x");
  EXPECT_EQ(graph_.OutputName(graph_.controls(graph_.Find("y"))[0]), "^c");
  EXPECT_EQ(result.missing_unused_inputs, std::vector<std::string>{"unused"});
}

TEST_F(ImportIntoTest, MappedInputsMustExistAndFit) {
  options_.input_map = {{"a", "nix"}};
  EXPECT_THAT(Into({UnaryNode("y", "Relu", {"a"})}), IsError(ErrorCode::kInputUnknown));
  options_.input_map = {{"a", "x"}};
  EXPECT_THAT(Into({UnaryNode("y", "Relu", {"a"}, kHalf)}), IsError(ErrorCode::kInputType, "'y'"));
  options_.input_map = {{"a", "^x"}};
  EXPECT_THAT(Into({UnaryNode("y", "Relu", {"a"})}), IsError(ErrorCode::kInputSyntax));
}

TEST_F(ImportIntoTest, FullyMappedNodesCanBeSkipped) {
  options_.input_map = {{"a", "x"}};
  options_.skip_mapped_nodes = true;
  ASSERT_OK(Into({PlaceholderNode("a"), UnaryNode("y", "Relu", {"a"})}));
  EXPECT_FALSE(graph_.Contains(graph_.Find("a")));
  EXPECT_EQ(InputOf("y"), "x");
}

TEST_F(ImportIntoTest, ReturnsEndpointsAndNodes) {
  options_.return_tensors = {"y"};
  options_.return_nodes = {"y"};
  options_.prefix = "p";
  ASSERT_OK_AND_ASSIGN(const ImportResult result, Into({PlaceholderNode("a"), UnaryNode("y", "Relu", {"a"})}));
  EXPECT_EQ(graph_.OutputName(result.return_tensors.at(0)), "p/y");
  EXPECT_EQ(graph_.name(result.return_nodes.at(0)), "p/y");
  options_.prefix = "q";
  options_.return_tensors = {"nix"};
  EXPECT_THAT(Into({PlaceholderNode("a")}), IsError(ErrorCode::kInputUnknown, "nix"));
  EXPECT_FALSE(graph_.Contains(graph_.Find("q/a")));
}

TEST_F(ImportIntoTest, RootsWaitForControlDependencies) {
  options_.control_dependencies = {"c"};
  ASSERT_OK(Into({PlaceholderNode("a"), UnaryNode("y", "Relu", {"a"})}));
  EXPECT_EQ(InputOf("a"), "^c");
  EXPECT_TRUE(graph_.controls(graph_.Find("y")).empty());
}

TEST_F(ImportIntoTest, FailureLeavesTheGraphAsItWas) {
  const std::string before = ExportGraph(graph_);
  EXPECT_THAT(Into({PlaceholderNode("a"), UnaryNode("y", "Relu", {"x"})}), IsError(ErrorCode::kInputUnknown, "'y'"));
  EXPECT_EQ(ExportGraph(graph_), before);
  ASSERT_OK(Into({PlaceholderNode("a"), UnaryNode("y", "Relu", {"a"})}));
}

TEST_F(ImportIntoTest, VersionsMergeToTheOlderProducer) {
  graph_.versions().producer = 24;
  MessageBytes graph;
  graph.Sub(1, NodeDefBytes("n", "NoOp")).Sub(4, MessageBytes().Int(1, 21).Int(2, 5).Packed(3, {7}));
  ASSERT_OK(ImportInto(graph_, GraphSource::Copy(graph.str()), options_));
  EXPECT_EQ(graph_.versions().producer, 21);
  EXPECT_EQ(graph_.versions().min_consumer, 5);
  EXPECT_EQ(graph_.versions().bad_consumers, std::vector<int32_t>{7});
}

}  // namespace
}  // namespace sluice

// The graph that is drawn: bodies in the place of calls, and what no signature needs in a scope of its own.

#include "tools/cli/draw/drawn_graph.h"

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/testing/status_matchers.h"

namespace sluice {
namespace {

using ::testing::Contains;
using ::testing::UnorderedElementsAre;

LoadedGraph Load(const std::string& text) {
  absl::StatusOr<LoadedGraph> model = LoadGraphBytes(text, nullptr, "model.pbtxt", LoadOptions());
  EXPECT_OK(model);
  return *std::move(model);
}

std::vector<std::string> NamesOf(const Graph& graph) {
  std::vector<std::string> names;
  for (const NodeId id : graph.Nodes()) names.emplace_back(graph.name(id));
  return names;
}

constexpr char kType[] = R"(attr { key: "T" value { type: DT_FLOAT } })";

std::string Node(absl::string_view name, absl::string_view op, absl::string_view rest) {
  return absl::StrCat("node { name: '", name, "' op: '", op, "' ", rest, "}\n");
}

// Named "fn", with a body of one Relu called `node`.
std::string ReluFunction(absl::string_view fn, absl::string_view node) {
  return absl::StrCat("function { signature { name: '", fn, "' input_arg { name: 'a' type: DT_FLOAT } ",
                      "output_arg { name: 'r' type: DT_FLOAT } } node_def { name: '", node, "' op: 'Relu' input: 'a' ",
                      kType, "} ret { key: 'r' value: '", node, ":activations:0' } }\n");
}

std::string Call(absl::string_view name, absl::string_view input, absl::string_view fn) {
  return Node(name, "PartitionedCall",
              absl::StrCat("input: '", input, "' attr { key: 'f' value { func { name: '", fn, "' } } }",
                           "attr { key: 'Tin' value { list { type: DT_FLOAT } } }",
                           "attr { key: 'Tout' value { list { type: DT_FLOAT } } }"));
}

std::string Input(absl::string_view name) {
  return Node(name, "Placeholder", "attr { key: 'dtype' value { type: DT_FLOAT } }");
}

// Of one graph, with a signature that gives `output`.
std::string MetaGraph(absl::string_view graph, absl::string_view output) {
  return absl::StrCat("graph_def { versions { producer: 1882 }\n", graph, "}\nsignature_def { key: 'serve' value { ",
                      "outputs { key: 'y' value { name: '", output, ":0' dtype: DT_FLOAT } } } }\n");
}

TEST(DrawnGraphTest, WhatNoSignatureNeedsStandsInAScopeOfItsOwn) {
  const std::string nodes = absl::StrCat(Input("x"), Call("StatefulPartitionedCall", "x", "f"), Input("saver_filename"),
                                         Call("StatefulPartitionedCall_1", "saver_filename", "f"), "library {",
                                         ReluFunction("f", "net/relu"), "}");
  const DrawnGraph drawn = ExpandForDrawing(Load(MetaGraph(nodes, "StatefulPartitionedCall")));
  EXPECT_THAT(NamesOf(drawn.graph), UnorderedElementsAre("x", "serve/net/relu", "_not_in_a_signature/saver_filename",
                                                         "_not_in_a_signature/StatefulPartitionedCall_1"));
}

// Exports of Keras have the same network under two names, each in a function that does nothing but call it.
TEST(DrawnGraphTest, ASignatureThatComputesTheSameStaysClosed) {
  const auto wrapper = [](absl::string_view fn, absl::string_view callee) {
    return absl::StrCat(
        "function { signature { name: '", fn, "' input_arg { name: 'a' type: DT_FLOAT } ",
        "output_arg { name: 'r' type: DT_FLOAT } } node_def { name: 'PartitionedCall' op: 'PartitionedCall' ",
        "input: 'a' attr { key: 'f' value { func { name: '", callee, "' } } } ",
        "attr { key: 'Tin' value { list { type: DT_FLOAT } } } ",
        "attr { key: 'Tout' value { list { type: DT_FLOAT } } } } ",
        "ret { key: 'r' value: 'PartitionedCall:output:0' } }\n");
  };
  std::string nodes, signatures;
  for (const char* key : {"serve", "serving_default", "other"}) {
    absl::StrAppend(&nodes, Input(absl::StrCat(key, "_x")),
                    Call(absl::StrCat("call_", key), absl::StrCat(key, "_x"), absl::StrCat("wrap_", key)));
    absl::StrAppend(&signatures, "signature_def { key: '", key, "' value { outputs { key: 'y' value { name: 'call_",
                    key, ":0' dtype: DT_FLOAT } } } }\n");
  }
  const std::string library = absl::StrCat("library {", ReluFunction("net", "net/relu"),
                                           ReluFunction("net2", "net/relu"), wrapper("wrap_serve", "net"),
                                           wrapper("wrap_serving_default", "net"), wrapper("wrap_other", "net2"), "}");
  const DrawnGraph drawn = ExpandForDrawing(Load(absl::StrCat("graph_def {\n", nodes, library, "}\n", signatures)));
  EXPECT_THAT(NamesOf(drawn.graph), Contains("serving_default/net/relu"));
  EXPECT_THAT(NamesOf(drawn.graph), Contains("serve/net/relu"));
  EXPECT_THAT(drawn.closed, UnorderedElementsAre("(save, restore, init)", "(not in a signature)", "(unused)", "serve"));
}

// Bodies read their weights where they begin, some of them for nothing.
TEST(DrawnGraphTest, ReadsThatNobodyUsesAreLeftOut) {
  const std::string function =
      "function { signature { name: 'f' is_stateful: true input_arg { name: 'v' type: DT_RESOURCE } "
      "output_arg { name: 'r' type: DT_FLOAT } output_arg { name: 'w' type: DT_FLOAT } } "
      "node_def { name: 'given' op: 'ReadVariableOp' input: 'v' attr { key: 'dtype' value { type: DT_FLOAT } } } "
      "node_def { name: 'used' op: 'ReadVariableOp' input: 'v' attr { key: 'dtype' value { type: DT_FLOAT } } } "
      "node_def { name: 'unused' op: 'ReadVariableOp' input: 'v' attr { key: 'dtype' value { type: DT_FLOAT } } } "
      "node_def { name: 'Relu' op: 'Relu' input: 'used:value:0' attr { key: 'T' value { type: DT_FLOAT } } } "
      "ret { key: 'r' value: 'Relu:activations:0' } ret { key: 'w' value: 'given:value:0' } }";
  const std::string nodes = absl::StrCat(
      Node("v", "VarHandleOp",
           "attr { key: 'dtype' value { type: DT_FLOAT } } attr { key: 'shape' value { shape { } } }"),
      Node("call", "StatefulPartitionedCall",
           "input: 'v' attr { key: 'f' value { func { name: 'f' } } } attr { key: 'Tin' value { list { type: "
           "DT_RESOURCE } } } attr { key: 'Tout' value { list { type: [DT_FLOAT, DT_FLOAT] } } }"),
      "library {", function, "}");
  const DrawnGraph drawn = ExpandForDrawing(Load(MetaGraph(nodes, "call")));
  EXPECT_THAT(NamesOf(drawn.graph), UnorderedElementsAre("v", "serve/given", "serve/used", "serve/Relu"));
}

TEST(DrawnGraphTest, SaversOfAGraphWithoutSignatureStandInAScopeOfTheirOwn) {
  const std::string file = Node("save/Const", "Const",
                                "attr { key: 'dtype' value { type: DT_STRING } } attr { key: 'value' value { tensor { "
                                "dtype: DT_STRING tensor_shape { } string_val: 'model' } } }");
  const std::string save = Node("save/Merge", "MergeV2Checkpoints", "input: 'save/Const' input: 'save/Const'");
  const std::string graph = absl::StrCat(Input("x"), Node("y", "Relu", absl::StrCat("input: 'x' ", kType)), file, save);
  const DrawnGraph drawn = ExpandForDrawing(Load(graph));
  EXPECT_THAT(NamesOf(drawn.graph), UnorderedElementsAre("x", "y", "_savers/save/Const", "_savers/save/Merge"));
  EXPECT_TRUE(IsPlumbing("_savers/save/Merge"));
  EXPECT_FALSE(IsPlumbing("_savers"));
  EXPECT_FALSE(IsPlumbing("_saversx/a"));
}

// As TensorFlow freezes graphs of TensorFlow 2: calls are inlined, and leave a forwarder for each argument and result.
TEST(DrawnGraphTest, WhatTensorFlowsInlinerLeavesIsLeftOut) {
  const auto identity = [](absl::string_view name, absl::string_view inputs) {
    return Node(name, "Identity", absl::StrCat(inputs, kType));
  };
  const std::string graph = absl::StrCat(
      Input("x"), Input("unused_control_flow_input"), identity("Func/call/input/_0", "input: 'x' "),
      Node("call/Relu", "Relu", absl::StrCat("input: 'Func/call/input/_0' ", kType)),
      Node("call/NoOp", "NoOp", "input: '^call/Relu'"),
      identity("call/Identity", "input: 'call/Relu' input: '^call/NoOp' "),
      identity("Func/call/output/_1", "input: 'call/Identity' "),
      Node("Func/call/output_control_node/_2", "NoOp", "input: '^call/Relu'"),
      Node("NoOp", "NoOp", "input: '^Func/call/output_control_node/_2'"),
      identity("Identity", "input: 'Func/call/output/_1' input: '^NoOp' "), identity("Func/input/mine", "input: 'x' "));
  const DrawnGraph drawn = ExpandForDrawing(Load(graph));
  EXPECT_THAT(NamesOf(drawn.graph), UnorderedElementsAre("x", "call/Relu", "call/Identity", "Identity",
                                                         "Func/input/mine", "_unused/unused_control_flow_input"));
  const NodeId relu = drawn.graph.Find("call/Relu");
  EXPECT_EQ(drawn.graph.inputs(relu)[0].node, drawn.graph.Find("x"));
  EXPECT_TRUE(drawn.graph.controls(drawn.graph.Find("Identity")).empty());
}

// Graphs that cannot run are drawn, too.
TEST(DrawnGraphTest, GraphsThatAreNotSoundAreDrawnAsFarAsTheyAreKnown) {
  LoadOptions options;
  options.keep_unsound = true;
  const auto drawn = [&options](const std::string& text) {
    absl::StatusOr<LoadedGraph> model = LoadGraphBytes(text, nullptr, "model.pbtxt", options);
    EXPECT_OK(model);
    EXPECT_FALSE(model->unsound.ok() && model->deferred.ok()) << "the case is about what is wrong";
    return NamesOf(ExpandForDrawing(*model).graph);
  };
  EXPECT_THAT(drawn(Input("x") + Node("call", "PartitionedCall", "input: 'x'")), Contains("x"));
  EXPECT_THAT(drawn(Input("x") + Node("if", "If", "")), Contains("if"));
  EXPECT_THAT(drawn(Input("x") + Node("y", "Identity", kType)), Contains("y"));
  const std::string forwarder = Node("Func/f/input/_0", "Identity", kType);
  EXPECT_THAT(drawn(forwarder + Node("y", "Relu", absl::StrCat("input: 'Func/f/input/_0' ", kType))), Contains("y"));
}

TEST(DrawnGraphTest, NodesWithoutEdgesAreNotUnusedWhereThereAreNoOthers) {
  EXPECT_THAT(NamesOf(ExpandForDrawing(Load(Input("x") + Input("y"))).graph), UnorderedElementsAre("x", "y"));
}

TEST(DrawnGraphTest, ShownNamesAreForPeople) {
  EXPECT_EQ(ShownName("_savers"), "(save, restore, init)");
  EXPECT_EQ(ShownName("_not_in_a_signature/a/b"), "(not in a signature)/a/b");
  EXPECT_EQ(ShownName("a/_savers"), "a/_savers");
}

// A Case, If or While called "net/flow" whose branches are `num` Relus that name themselves as `body` says.
DrawnGraph DrawnBranches(absl::string_view op, absl::string_view body, int num) {
  std::string functions, names;
  for (int i = 0; i < num; ++i) {
    absl::StrAppend(&functions, ReluFunction(absl::StrCat("f", i), body));
    absl::StrAppend(&names, "func { name: 'f", i, "' } ");
  }
  const std::string index = Node("i", "Placeholder", "attr { key: 'dtype' value { type: DT_INT32 } }");
  const std::string flow = Node("net/flow", op,
                                absl::StrCat("input: 'i' input: 'x' attr { key: 'branches' value { list { ", names,
                                             "} } } attr { key: 'Tin' value { list { type: DT_FLOAT } } } ",
                                             "attr { key: 'Tout' value { list { type: DT_FLOAT } } }"));
  return ExpandForDrawing(Load(absl::StrCat(index, Input("x"), flow, "library {", functions, "}")));
}

TEST(DrawnGraphTest, BranchesOfACaseStandBesideIt) {
  const DrawnGraph drawn = DrawnBranches("Case", "relu", 3);
  EXPECT_THAT(NamesOf(drawn.graph), UnorderedElementsAre("i", "x", "net/flow", "net/flow/branch_0/relu",
                                                         "net/flow/branch_1/relu", "net/flow/branch_2/relu"));
}

TEST(DrawnGraphTest, BodiesThatRepeatTheNameOfTheirCallLoseIt) {
  for (const char* body : {"flow/relu", "net/flow/relu"}) {
    EXPECT_THAT(NamesOf(DrawnBranches("Case", body, 1).graph), Contains("net/flow/branch_0/relu")) << body;
  }
  EXPECT_THAT(NamesOf(DrawnBranches("Case", "flows/relu", 1).graph), Contains("net/flow/branch_0/flows/relu"));
}

}  // namespace
}  // namespace sluice

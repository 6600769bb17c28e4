// The two kinds of drawing as documents: complete, escaped, without references to the outside.

#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "graph/ir/builder.h"
#include "graph/ops/op_table.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "tests/testing/status_matchers.h"
#include "tools/cli/draw/gradient_scope.h"
#include "tools/cli/draw/html_drawing.h"
#include "tools/cli/draw/json_text.h"
#include "tools/cli/draw/op_family.h"
#include "tools/cli/draw/svg_drawing.h"

namespace sluice {
namespace {

Graph SampleGraph() {
  GraphBuilder builder(NewOpRegistry());
  const Output x = builder.Placeholder("x", DType::kFloat);
  const Output a = builder.Op("Relu", "net/block/a", {x});
  builder.Op("Relu", "net/b", {a});
  absl::StatusOr<Graph> graph = builder.Build();
  EXPECT_OK(graph);
  return *std::move(graph);
}

std::string NoText(NodeId) { return ""; }

TEST(DrawSvgTest, NamesAllNodesAndScopes) {
  SvgOptions options;
  options.title = "a<b>.pb";
  const std::string svg = DrawSvg(SampleGraph(), options, [](NodeId) { return std::string("float32 [?,10]"); });
  for (const char* part : {">x<", ">net<", ">block<", "Relu float32 [?,10]", "a&lt;b&gt;.pb", "</svg>"}) {
    EXPECT_TRUE(absl::StrContains(svg, part)) << part;
  }
  EXPECT_FALSE(absl::StrContains(svg, "href"));
}

// The object that the page calls DATA.
nlohmann::json DataOf(const std::string& page) {
  const size_t begin = page.find("const DATA = ") + 13;
  const size_t end = page.find(";\n//", begin);
  return nlohmann::json::parse(page.substr(begin, end - begin));
}

TEST(DrawHtmlTest, HoldsEverythingAndReachesOutForNothing) {
  const std::string page = DrawHtml(SampleGraph(), {}, NoText);
  EXPECT_TRUE(absl::StrContains(page, "</html>"));
  EXPECT_FALSE(absl::StrContains(page, "src="));
  EXPECT_FALSE(absl::StrContains(page, "href="));
  EXPECT_FALSE(absl::StrContains(page, "https://"));
  const nlohmann::json data = DataOf(page);
  EXPECT_EQ(data["boxes"]["label"].size(), data["boxes"]["kind"].size());
  EXPECT_EQ(data["boxes"]["count"][0], 3);
  EXPECT_EQ(data["inputs"].size(), 2u);
}

TEST(DrawHtmlTest, EveryScopeHasALayoutOfItsOwn) {
  const nlohmann::json data = DataOf(DrawHtml(SampleGraph(), {}, NoText));
  size_t scopes = 0;
  for (const auto& kind : data["boxes"]["kind"]) scopes += kind != 2;
  EXPECT_EQ(data["scopes"].size(), scopes);
  for (const auto& scope : data["scopes"]) EXPECT_EQ(scope["items"].size(), scope["pins"].size());
}

TEST(DrawHtmlTest, AttrsCannotEndTheScript) {
  GraphBuilder builder(NewOpRegistry());
  builder.Op("VarHandleOp", "v", {},
             {{"dtype", DType::kFloat}, {"shape", PartialShape()}, {"shared_name", "</script><b>"}});
  absl::StatusOr<Graph> graph = builder.Build();
  ASSERT_OK(graph);
  const std::string page = DrawHtml(*graph, {}, NoText);
  EXPECT_FALSE(absl::StrContains(page, "</script><b>"));
  EXPECT_TRUE(absl::StrContains(page, "\\u003c/script>"));
}

// x -> layer/y, which a weight and a bias are folded into, -> (save, restore, init)/z.
Graph GraphWithWeights() {
  GraphBuilder builder(NewOpRegistry());
  const Output x = builder.Placeholder("x", DType::kFloat, PartialShape::Of({-1, 4}));
  const Output v = builder.Op("VarHandleOp", "v", {}, {{"dtype", DType::kFloat}, {"shape", PartialShape::Of({4, 2})}});
  const Output w = builder.Op("ReadVariableOp", "layer/w", {v}, {{"dtype", DType::kFloat}});
  const Output y = builder.Op("MatMul", "layer/y", {x, w});
  builder.Op("BiasAdd", "layer/z", {y, builder.Const("layer/z/bias", Tensor::Vector<float>({1, 2}))});
  builder.Op("VarIsInitializedOp", "_savers/save/z", {v});
  builder.Op("Relu", "also", {builder.Op("ReadVariableOp", "also/w", {v}, {{"dtype", DType::kFloat}})});
  absl::StatusOr<Graph> graph = builder.Build();
  EXPECT_OK(graph);
  return *std::move(graph);
}

TEST(DrawSvgTest, WeightsStandInTheNodesThatUseThem) {
  const std::string svg = DrawSvg(GraphWithWeights(), {}, [](NodeId) { return std::string("float32 [2]"); });
  EXPECT_TRUE(absl::StrContains(svg, ">b [4,2]</text>")) << svg;
  EXPECT_TRUE(absl::StrContains(svg, ">bias [2]</text>")) << svg;
  EXPECT_TRUE(absl::StrContains(svg, "constant layer/z/bias")) << svg;
  EXPECT_FALSE(absl::StrContains(svg, "constant v")) << svg;
}

TEST(DrawHtmlTest, FoldedNodesCanBeFound) {
  HtmlOptions options;
  options.closed = {"(save, restore, init)"};
  const nlohmann::json data = DataOf(DrawHtml(GraphWithWeights(), options, NoText));
  std::vector<std::string> found;
  for (const auto& [box, inside] : data["inside"].items()) {
    for (const int number : inside) {
      found.push_back(absl::StrCat(std::string(data["boxes"]["label"][std::stoul(box)]), ": ",
                                   std::string(data["folded"][number][0])));
    }
  }
  EXPECT_THAT(found,
              ::testing::UnorderedElementsAre("y: v", "y: layer/w", "z: layer/z/bias", "also: v", "also: also/w"));
  EXPECT_EQ(data["folded"].size(), 4) << "the variable once";
  for (const auto& [box, inputs] : data["inputs"].items()) {
    const std::string label = data["boxes"]["label"][std::stoul(box)];
    const size_t slot = label == "y" ? 1 : 0;
    if (label == "z" && inputs.size() == 2) continue;
    EXPECT_EQ(inputs[slot][0] < 0, label != "x") << label << ": a folded node, never another box that it stands in";
  }
  for (const auto& folded : data["folded"]) {
    const std::string name = folded[0], text = data["texts"][size_t{folded[1]}];
    EXPECT_EQ(text == "of v float32 [4,2]", name == "layer/w" || name == "also/w") << name << ": " << text;
  }
  ASSERT_EQ(data["closed"].size(), 1);
  EXPECT_EQ(data["boxes"]["label"][size_t{data["closed"][0]}], "(save, restore, init)/save");
}

// A forward node, and what `sluice grad` and tf.gradients call gradients of it.
Graph GraphWithGradients() {
  GraphBuilder builder(NewOpRegistry());
  const Output x = builder.Placeholder("x", DType::kFloat);
  const Output y = builder.Op("Relu", "y", {x});
  builder.Op("ReluGrad", "gradients/y_grad/ReluGrad", {y, x});
  builder.Op("Identity", "gradients_1/0", {y});
  absl::StatusOr<Graph> graph = builder.Build();
  EXPECT_OK(graph);
  return *std::move(graph);
}

TEST(DrawSvgTest, GradientsStandApart) {
  const std::string svg = DrawSvg(GraphWithGradients(), {}, NoText);
  EXPECT_TRUE(absl::StrContains(svg, "class=\"og\"")) << "their scope";
  EXPECT_TRUE(absl::StrContains(svg, "<rect class=\"g\"")) << "their boxes";
  EXPECT_TRUE(absl::StrContains(svg, ">gradients</text>")) << "the legend";
  EXPECT_TRUE(absl::StrContains(svg, ">forward</text>"));
  const std::string without = DrawSvg(SampleGraph(), {}, NoText);
  EXPECT_FALSE(absl::StrContains(without, "<rect class=\"g\""));
  EXPECT_FALSE(absl::StrContains(without, ">forward</text>"));
}

TEST(DrawHtmlTest, GradientsAreMarked) {
  const nlohmann::json boxes = DataOf(DrawHtml(GraphWithGradients(), {}, NoText)).at("boxes");
  ASSERT_EQ(boxes.at("gradient").size(), boxes.at("label").size());
  for (size_t i = 0; i < boxes.at("label").size(); ++i) {
    const std::string label = boxes.at("label")[i];
    const bool is_forward = label.empty() || label == "x" || label == "y";
    EXPECT_EQ(boxes.at("gradient")[i], is_forward ? 0 : 1) << label;
  }
}

TEST(GradientScopeTest, IsKnownByItsName) {
  for (const char* name : {"gradients/x", "gradients_12/a/b", "train/gradients/mul_grad/Mul", "gradient_tape/m/Relu"}) {
    EXPECT_TRUE(IsInGradientScope(name)) << name;
  }
  for (const char* name : {"gradients", "x", "gradientsum/x", "gradients_/x", "gradients_a/x", "a/gradients"}) {
    EXPECT_FALSE(IsInGradientScope(name)) << name;
  }
}

TEST(JsonTextTest, AnythingBecomesValidJson) {
  for (const std::string& text : {std::string("a\"b\\c\n"), std::string("\0\x01\x7f", 3), std::string("\xff\xc3("),
                                  std::string("\xed\xa0\x80"), std::string("é…𝄞"), std::string("<&>")}) {
    std::string json;
    AppendJsonText(text, &json);
    EXPECT_TRUE(nlohmann::json::accept(json)) << json;
    EXPECT_FALSE(absl::StrContains(json, "<"));
  }
}

TEST(OpFamilyTest, KnowsTheUsualOps) {
  EXPECT_EQ(OpFamilyOf("Placeholder"), OpFamily::kInput);
  EXPECT_EQ(OpFamilyOf("Const"), OpFamily::kConstant);
  EXPECT_EQ(OpFamilyOf("VarHandleOp"), OpFamily::kState);
  EXPECT_EQ(OpFamilyOf("NextIteration"), OpFamily::kControl);
  EXPECT_EQ(OpFamilyOf("StatefulPartitionedCall"), OpFamily::kCall);
  EXPECT_EQ(OpFamilyOf("AddV2"), OpFamily::kMath);
  EXPECT_EQ(OpFamilyOf("Conv2D"), OpFamily::kNetwork);
  EXPECT_EQ(OpFamilyOf("ConcatV2"), OpFamily::kArray);
  EXPECT_EQ(OpFamilyOf("MyOwnOp"), OpFamily::kOther);
}

}  // namespace
}  // namespace sluice

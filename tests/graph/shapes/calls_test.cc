// Shapes through calls of functions: bodies are walked, as far as a bound allows.

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/time/time.h"
#include "graph/base/cancellation.h"
#include "graph/base/stop_poll.h"
#include "graph/ops/op_table.h"
#include "graph/shapes/added_shape_functions.h"
#include "graph/shapes/inference.h"
#include "gtest/gtest.h"
#include "tests/graph/shapes/shape_case.h"
#include "tests/testing/status_matchers.h"

namespace sluice {
namespace {

// Bodies made by hand, by name.
class HandMadeBodies : public FunctionBodies {
 public:
  const Graph* Find(const Graph& /*caller*/, const FuncView& function) override {
    ++lookups;
    const auto it = bodies.find(std::string(function.name));
    return it == bodies.end() ? nullptr : &it->second;
  }
  std::map<std::string, Graph> bodies;
  int lookups = 0;
};

class CallsTest : public testing::Test {
 protected:
  CallsTest() { options_.bodies = &bodies_; }

  // A function of one float argument that applies `op`, with the constant `second` (if any) as second input.
  void AddBody(const std::string& name, const std::string& op, const std::string& second = "",
               GraphBuilder::Attrs attrs = {}) {
    GraphBuilder body(NewOpRegistry());
    std::vector<Output> inputs = {body.Op("_Arg", "x", {}, {{"T", DType::kFloat}, {"index", 0}})};
    if (!second.empty()) inputs.push_back(AddInput(body, second));
    body.Op("_Retval", "r", {body.Op(op, "y", inputs, std::move(attrs))}, {{"T", DType::kFloat}, {"index", 0}});
    absl::StatusOr<Graph> graph = body.Build();
    ASSERT_TRUE(graph.ok()) << graph.status();
    bodies_.bodies.emplace(name, *std::move(graph));
  }
  static GraphBuilder::Attrs CallAttrs(const std::string& function) {
    const std::vector<DType> types = {DType::kFloat};
    return {{"Tin", types}, {"Tout", types}, {"f", AttrValue::Func(function)}};
  }
  std::string ShapeOf(Output output) {
    EXPECT_TRUE(builder_.status().ok()) << builder_.status();
    const absl::StatusOr<ShapeMap> map = InferShapes(builder_.graph(), options_);
    if (!map.ok()) return std::string(map.status().message());
    EXPECT_TRUE(map->IsAssumed(output.node));
    EXPECT_TRUE(map->problems().empty());
    return map->shape(output).ToString();
  }
  Output In(absl::string_view text) { return AddInput(builder_, text); }

  GraphBuilder builder_{NewOpRegistry()};
  HandMadeBodies bodies_;
  InferenceOptions options_;
};

TEST_F(CallsTest, ACallGivesWhatItsBodyGives) {
  AddBody("f", "ExpandDims", "i=0");
  EXPECT_EQ(ShapeOf(builder_.Op("PartitionedCall", "", {In("[2,3]")}, CallAttrs("f"))), "[1,2,3]");
  EXPECT_EQ(ShapeOf(builder_.Op("StatefulPartitionedCall", "", {In("[?]")}, CallAttrs("f"))), "[1,?]");
}

TEST_F(CallsTest, AContradictionInABodyIsNotReported) {
  AddBody("f", "AddV2", "={1,2,3}");
  EXPECT_EQ(ShapeOf(builder_.Op("PartitionedCall", "", {In("[2]")}, CallAttrs("f"))), "?");
}

TEST_F(CallsTest, BranchesAreJoined) {
  AddBody("then", "AddV2", "={{1,2},{3,4}}");
  AddBody("else", "Relu");
  const std::vector<DType> types = {DType::kFloat};
  const Output result = builder_.Op("StatelessIf", "", {In("b[]"), In("[1,2]")},
                                    {{"Tcond", DType::kBool},
                                     {"Tin", types},
                                     {"Tout", types},
                                     {"then_branch", AttrValue::Func("then")},
                                     {"else_branch", AttrValue::Func("else")}});
  EXPECT_EQ(ShapeOf(result), "[?,2]");
}

TEST_F(CallsTest, LoopsKeepWhatTheirBodyKeeps) {
  const auto loop = [this](const std::string& body, const std::string& input) {
    return builder_.Op(
        "StatelessWhile", "", {In(input)},
        {{"T", std::vector<DType>{DType::kFloat}}, {"cond", AttrValue::Func("c")}, {"body", AttrValue::Func(body)}});
  };
  AddBody("keeps", "Tanh");
  AddBody("grows", "Tile", "i={2,1}");
  EXPECT_EQ(ShapeOf(loop("keeps", "[2,3]")), "[2,3]");
  EXPECT_EQ(ShapeOf(loop("grows", "[2,3]")), "[?,3]");
}

TEST_F(CallsTest, WithoutBodiesTheStatedShapesCount) {
  options_.bodies = nullptr;
  GraphBuilder::Attrs attrs = CallAttrs("f");
  EXPECT_EQ(ShapeOf(builder_.Op("PartitionedCall", "", {In("[2]")}, attrs)), "?");
  attrs.push_back({"_output_shapes", std::vector<PartialShape>{PartialShape::Of({7})}});
  EXPECT_EQ(ShapeOf(builder_.Op("PartitionedCall", "", {In("[2]")}, attrs)), "[7]");
}

TEST_F(CallsTest, RecursionAndManyCallsEnd) {
  const std::vector<DType> types = {DType::kFloat};
  AddBody("self", "PartitionedCall", "", CallAttrs("self"));
  EXPECT_EQ(ShapeOf(builder_.Op("PartitionedCall", "", {In("[2]")}, CallAttrs("self"))), "?");
  // 2^40 calls when expanded: each function calls the next one twice.
  for (int i = 0; i < 40; ++i) {
    GraphBuilder body(NewOpRegistry());
    Output x = body.Op("_Arg", "x", {}, {{"T", DType::kFloat}, {"index", 0}});
    const GraphBuilder::Attrs next = CallAttrs("twice" + std::to_string(i + 1));
    for (int k = 0; k < 2; ++k) x = body.Op("PartitionedCall", "", {x}, next);
    body.Op("_Retval", "r", {x}, {{"T", DType::kFloat}, {"index", 0}});
    bodies_.bodies.emplace("twice" + std::to_string(i), *body.Build());
  }
  EXPECT_EQ(ShapeOf(builder_.Op("PartitionedCall", "", {In("[2]")}, CallAttrs("twice0"))), "?");
  EXPECT_LT(bodies_.lookups, 2000);
}

// A body that was not walked to its end gives nothing, and the answer is not what all bodies say: an error.
TEST_F(CallsTest, WhatStopsInABodyStopsTheInference) {
  const std::shared_ptr<OpRegistry> ops = NewOpRegistry();
  CancellationManager manager;
  ASSERT_OK(AddShapeFunction(ops, "Fact", [&manager](InferenceContext&) {
    manager.StartCancelWithStatus(absl::AbortedError("enough"));
    return absl::OkStatus();
  }));
  GraphBuilder body(ops);
  Output x = body.Op("_Arg", "x", {}, {{"T", DType::kFloat}, {"index", 0}});
  const Output fact = body.Op("Fact", "fact", {});
  for (int i = 0; i < 200; ++i) {
    x = body.Op("Relu", "", {x});
    if (i == 0) body.AddControl(x, fact);
  }
  body.Op("_Retval", "r", {x}, {{"T", DType::kFloat}, {"index", 0}});
  ASSERT_OK_AND_ASSIGN(Graph graph, body.Build());
  bodies_.bodies.emplace("f", std::move(graph));
  StopPoll stop(absl::InfiniteFuture(), &manager);
  options_.stop = &stop;
  builder_.Op("PartitionedCall", "", {In("[2]")}, CallAttrs("f"));
  EXPECT_THAT(InferShapes(builder_.graph(), options_), StatusIs(absl::StatusCode::kAborted, "enough"));
}

}  // namespace
}  // namespace sluice

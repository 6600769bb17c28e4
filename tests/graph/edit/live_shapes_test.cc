// Shapes that follow the changes of a graph: what is inferred again, how often, and that it is what InferShapes finds.

#include "graph/edit/live_shapes.h"

#include <cstdint>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "graph/edit/graph_editor.h"
#include "graph/ir/graph.h"
#include "graph/ops/op_table.h"
#include "graph/shapes/added_shape_functions.h"
#include "graph/shapes/inference.h"
#include "graph/shapes/shape_map.h"
#include "graph/value/tensor.h"
#include "gtest/gtest.h"
#include "tests/testing/status_matchers.h"

namespace sluice {
namespace {

// Shapes, contents, handles, marks and problems are those that a new inference finds.
void ExpectAsInferredAnew(GraphEditor& edit) {
  const Graph& graph = edit.graph();
  ASSERT_OK_AND_ASSIGN(const ShapeMap* const live, edit.Shapes());
  ASSERT_OK_AND_ASSIGN(const ShapeMap anew, InferShapes(graph));
  for (const NodeId id : graph.Nodes()) {
    EXPECT_EQ(live->IsAssumed(id), anew.IsAssumed(id)) << graph.name(id);
    EXPECT_EQ(live->IsConditional(id), anew.IsConditional(id)) << graph.name(id);
    for (int32_t i = 0; i < graph.num_outputs(id); ++i) {
      const Output output{id, i};
      EXPECT_EQ(live->shape(output).ToString(), anew.shape(output).ToString()) << graph.OutputName(output);
      EXPECT_EQ(live->handle(output) == nullptr, anew.handle(output) == nullptr) << graph.OutputName(output);
      if (live->handle(output) != nullptr && anew.handle(output) != nullptr) {
        EXPECT_EQ(*live->handle(output), *anew.handle(output)) << graph.OutputName(output);
      }
      // Elements of constants are read when asked for.
      if (graph.Is(id, "Const")) continue;
      ASSERT_EQ(live->value(output) == nullptr, anew.value(output) == nullptr) << graph.OutputName(output);
      if (live->value(output) == nullptr) continue;
      EXPECT_EQ(live->value(output)->elements, anew.value(output)->elements) << graph.OutputName(output);
    }
  }
  EXPECT_EQ(live->problems().size(), anew.problems().size());
}

class LiveShapesTest : public testing::Test {
 protected:
  LiveShapesTest() : graph_(NewOpRegistry()), edit_(graph_) {}

  Output Placeholder(const std::string& name, const PartialShape& shape) {
    return edit_.Add("Placeholder", name, {}, {{"dtype", DType::kFloat}, {"shape", shape}});
  }
  std::string ShapeOf(const Output& output) {
    const absl::StatusOr<const ShapeMap*> shapes = edit_.Shapes();
    return shapes.ok() ? (*shapes)->shape(output).ToString() : std::string(shapes.status().message());
  }
  // How many nodes are inferred until shapes are known again.
  int64_t Inferred() {
    const int64_t before = edit_.num_inferred();
    EXPECT_OK(edit_.Shapes());
    return edit_.num_inferred() - before;
  }
  Output Chain(Output x, int length) {
    for (int i = 0; i < length; ++i) x = edit_.Add("Relu", "", {x});
    return x;
  }

  Graph graph_;
  GraphEditor edit_;
};

TEST_F(LiveShapesTest, NothingIsInferredBeforeSomebodyAsks) {
  Chain(Placeholder("x", PartialShape::Of({2})), 100);
  EXPECT_EQ(edit_.num_inferred(), 0);
  EXPECT_EQ(Inferred(), 101);
  EXPECT_EQ(Inferred(), 0);
}

TEST_F(LiveShapesTest, AddedNodesAreInferredAlone) {
  const Output end = Chain(Placeholder("x", PartialShape::Of({2, -1})), 1000);
  EXPECT_EQ(Inferred(), 1001);
  const Output product = edit_.Add("MatMul", "product", {end, end}, {{"transpose_b", true}});
  EXPECT_EQ(ShapeOf(product), "[2,2]");
  EXPECT_EQ(edit_.num_inferred(), 1002);
  for (int i = 0; i < 50; ++i) {
    EXPECT_EQ(ShapeOf(edit_.Add("Sum", "", {product, edit_.Add("Shape", "", {end})})), "[]");
  }
  EXPECT_EQ(edit_.num_inferred(), 1102);
}

TEST_F(LiveShapesTest, AChangeGoesAsFarAsItChangesWhatIsKnown) {
  const Output x = Placeholder("x", PartialShape::Of({2, 3})), y = Placeholder("y", PartialShape::Of({4, 3}));
  const Output first = edit_.Add("Relu", "first", {x});
  const Output sum = edit_.Add(
      "Sum", "sum",
      {first, edit_.Add("Const", "axis", {}, {{"dtype", DType::kInt32}, {"value", Tensor::Scalar<int32_t>(0)}})});
  const Output end = Chain(sum, 1000);
  ASSERT_OK(edit_.status());
  EXPECT_EQ(ShapeOf(end), "[3]");
  EXPECT_EQ(edit_.num_inferred(), 1005);
  ASSERT_OK(edit_.SetInput(first.node, 0, y));
  EXPECT_EQ(Inferred(), 2) << "Relu and Sum: what the chain takes has not changed";
  EXPECT_EQ(ShapeOf(first), "[4,3]");
  ASSERT_OK(edit_.SetAttr(sum.node, "keep_dims", true));
  EXPECT_EQ(Inferred(), 1001);
  EXPECT_EQ(ShapeOf(end), "[1,3]");
  ExpectAsInferredAnew(edit_);
}

TEST_F(LiveShapesTest, WhatIsPutBetweenIsFoundInOrder) {
  // Each node has the one before it and the first one as inputs: a walk in a wrong order would go through them often.
  const Output x = Placeholder("x", PartialShape::Of({2, 3}));
  Output end = x;
  for (int i = 0; i < 200; ++i) end = edit_.Add("AddV2", "", {end, x});
  EXPECT_EQ(ShapeOf(end), "[2,3]");
  const Output wide =
      edit_.Add("ExpandDims", "wide",
                {x, edit_.Add("Const", "axis", {}, {{"dtype", DType::kInt32}, {"value", Tensor::Scalar<int32_t>(0)}})});
  ASSERT_OK(edit_.ReplaceUses(x, wide));
  ASSERT_OK(edit_.status());
  const int64_t before = edit_.num_inferred();
  EXPECT_EQ(ShapeOf(end), "[1,2,3]");
  EXPECT_EQ(edit_.num_inferred() - before, 202) << "each once: its place, too, is between";
  ExpectAsInferredAnew(edit_);
}

TEST_F(LiveShapesTest, EditedConstantsAreReadAgain) {
  const Output x = Placeholder("x", PartialShape::Of({2, 3}));
  const auto perm = [](int32_t a, int32_t b) { return Tensor::Of<int32_t>(Shape::Of({2}), {a, b}); };
  const Output order = edit_.Add("Const", "order", {}, {{"dtype", DType::kInt32}, {"value", perm(0, 1)}});
  const Output turned = edit_.Add("Transpose", "turned", {x, order});
  EXPECT_EQ(ShapeOf(turned), "[2,3]");
  ASSERT_OK(edit_.SetAttr(order.node, "value", perm(1, 0)));
  EXPECT_EQ(ShapeOf(turned), "[3,2]");
  ExpectAsInferredAnew(edit_);
}

TEST_F(LiveShapesTest, ProblemsComeAndGo) {
  const Output x = Placeholder("x", PartialShape::Of({2, 3})), y = Placeholder("y", PartialShape::Of({4, 5}));
  const Output bad = edit_.Add("MatMul", "bad", {x, y});
  ASSERT_OK_AND_ASSIGN(const ShapeMap* shapes, edit_.Shapes());
  ASSERT_EQ(shapes->problems().size(), 1u);
  EXPECT_THAT(shapes->FirstCertainProblem(), IsError(ErrorCode::kShapeMismatch, "bad"));
  const Output worse = edit_.Add("MatMul", "worse", {x, y});
  ASSERT_OK_AND_ASSIGN(shapes, edit_.Shapes());
  EXPECT_EQ(shapes->problems().size(), 2u);
  ASSERT_OK(edit_.SetInput(bad.node, 1, x));
  ASSERT_OK(edit_.Remove(worse.node));
  ASSERT_OK(edit_.SetAttr(bad.node, "transpose_b", true));
  ASSERT_OK_AND_ASSIGN(shapes, edit_.Shapes());
  EXPECT_TRUE(shapes->problems().empty());
  EXPECT_EQ(ShapeOf(bad), "[2,2]");
}

TEST_F(LiveShapesTest, LoopsBeginAnew) {
  const Output x = Placeholder("x", PartialShape::Of({2, 3})), y = Placeholder("y", PartialShape::Of({7, 3}));
  const Output before = Chain(x, 500);
  const Output enter = edit_.Add("Enter", "enter", {before}, {{"frame_name", "f"}});
  const Output merge = edit_.Add("Merge", "merge", {enter, Output{}}, {{"T", DType::kFloat}, {"N", 2}});
  ASSERT_OK(edit_.status());
  const Output p = edit_.Add("Placeholder", "p", {}, {{"dtype", DType::kBool}, {"shape", PartialShape::Scalar()}});
  const Output turn = edit_.Add("Switch", "turn", {merge, edit_.Add("LoopCond", "", {p})});
  const Output body = edit_.Add("Relu", "body", {GraphEditor::Nth(turn, 1)});
  const Output next = edit_.Add("NextIteration", "next", {body});
  ASSERT_OK(edit_.SetInput(merge.node, 1, next));
  const Output exit = edit_.Add("Exit", "exit", {turn});
  EXPECT_EQ(ShapeOf(exit), "[2,3]");
  // What enters is another, then what comes back is, then neither.
  ASSERT_OK(edit_.SetInput(enter.node, 0, y));
  EXPECT_EQ(Inferred(), 6) << "Enter, and once what depends on the Merge";
  EXPECT_EQ(ShapeOf(exit), "[7,3]");
  const Output axis = edit_.Add("Const", "axis", {}, {{"dtype", DType::kInt32}, {"value", Tensor::Scalar<int32_t>(0)}});
  const Output grown = edit_.Add("ConcatV2", "grown", {body, body, axis});
  ASSERT_OK(edit_.status());
  ASSERT_OK(edit_.SetInput(next.node, 0, grown));
  EXPECT_EQ(ShapeOf(exit), "[?,3]");
  ExpectAsInferredAnew(edit_);
  ASSERT_OK(edit_.SetInput(next.node, 0, body));
  EXPECT_EQ(ShapeOf(exit), "[7,3]");
  ExpectAsInferredAnew(edit_);
}

TEST_F(LiveShapesTest, WhatFollowsALoopIsInferredInOrderAndOnce) {
  const Output x = Placeholder("x", PartialShape::Of({2, 3})), y = Placeholder("y", PartialShape::Of({7, 3}));
  const Output enter = edit_.Add("Enter", "enter", {Chain(x, 50)}, {{"frame_name", "f"}});
  const Output merge = edit_.Add("Merge", "merge", {enter, Output{}}, {{"T", DType::kFloat}, {"N", 2}});
  const Output p = edit_.Add("Placeholder", "p", {}, {{"dtype", DType::kBool}, {"shape", PartialShape::Scalar()}});
  const Output turn = edit_.Add("Switch", "turn", {merge, edit_.Add("LoopCond", "", {p})});
  ASSERT_OK(
      edit_.SetInput(merge.node, 1, edit_.Add("NextIteration", "next", {edit_.Add("Relu", "", {edit_.Nth(turn, 1)})})));
  const Output exit = edit_.Add("Exit", "exit", {turn});
  const Output axis = edit_.Add("Const", "axis", {}, {{"dtype", DType::kInt32}, {"value", Tensor::Scalar<int32_t>(1)}});
  // Takes what is near and what comes far behind it.
  const Output joined = edit_.Add("ConcatV2", "joined", {exit, Chain(exit, 3), exit, axis});
  ASSERT_OK(edit_.status());
  EXPECT_EQ(ShapeOf(joined), "[2,9]");
  ASSERT_OK(edit_.SetInput(enter.node, 0, y));
  EXPECT_EQ(Inferred(), 10) << "Enter, and once each: four nodes of the loop, Exit, three of the chain, ConcatV2";
  EXPECT_EQ(ShapeOf(joined), "[7,9]");
  ExpectAsInferredAnew(edit_);
}

TEST_F(LiveShapesTest, AnAttrMayChangeTheNumberOfOutputs) {
  const Output x = Placeholder("x", PartialShape::Of({6, 3}));
  const Output axis = edit_.Add("Const", "axis", {}, {{"dtype", DType::kInt32}, {"value", Tensor::Scalar<int32_t>(0)}});
  const Output parts = edit_.Add("Split", "parts", {axis, x}, {{"num_split", 2}});
  const Output part = edit_.Add("Relu", "part", {parts});
  EXPECT_EQ(ShapeOf(part), "[3,3]");
  ASSERT_OK(edit_.SetAttr(parts.node, "num_split", 3));
  EXPECT_EQ(ShapeOf(part), "[2,3]");
  EXPECT_EQ(ShapeOf(edit_.Nth(parts, 2)), "[2,3]");
  ExpectAsInferredAnew(edit_);
}

TEST_F(LiveShapesTest, ALoopThatWasWidenedIsFoundNarrowAgain) {
  const Output x = Placeholder("x", PartialShape::Of({2}));
  const Output enter = edit_.Add("Enter", "enter", {x}, {{"frame_name", "f"}});
  const Output merge = edit_.Add("Merge", "merge", {enter, Output{}}, {{"T", DType::kFloat}});
  const Output p = edit_.Add("Placeholder", "p", {}, {{"dtype", DType::kBool}, {"shape", PartialShape::Scalar()}});
  const Output turn = edit_.Add("Switch", "turn", {merge, edit_.Add("LoopCond", "", {p})});
  const Output body = edit_.Add("Relu", "body", {GraphEditor::Nth(turn, 1)});
  const Output axis = edit_.Add("Const", "axis", {}, {{"dtype", DType::kInt32}, {"value", Tensor::Scalar<int32_t>(0)}});
  const Output next = edit_.Add("NextIteration", "next", {edit_.Add("ExpandDims", "wider", {body, axis})});
  ASSERT_OK(edit_.SetInput(merge.node, 1, next));
  const Output exit = edit_.Add("Exit", "exit", {turn});
  ASSERT_OK(edit_.status());
  EXPECT_EQ(ShapeOf(exit), "?");
  // What comes back is unknown as before, but only because the Merge is.
  ASSERT_OK(edit_.SetInput(next.node, 0, body));
  EXPECT_EQ(ShapeOf(exit), "[2]");
  ExpectAsInferredAnew(edit_);
}

TEST_F(LiveShapesTest, AMergeThatEndsNoLoopIsOneOfBranches) {
  const Output x = Placeholder("x", PartialShape::Of({2})), y = Placeholder("y", PartialShape::Of({3}));
  const Output merge = edit_.Add("Merge", "merge", {edit_.Add("Enter", "enter", {x}, {{"frame_name", "f"}}), Output{}},
                                 {{"T", DType::kFloat}});
  const Output next = edit_.Add("NextIteration", "next", {edit_.Add("Enter", "other", {y}, {{"frame_name", "f"}})});
  ASSERT_OK(edit_.SetInput(merge.node, 1, next));
  ASSERT_OK(edit_.status());
  EXPECT_EQ(ShapeOf(merge), "[?]");
  ASSERT_OK(edit_.SetInput(merge.node, 1, Output(edit_.graph().inputs(merge.node)[0])));
  EXPECT_EQ(ShapeOf(merge), "[2]");
  ExpectAsInferredAnew(edit_);
}

TEST_F(LiveShapesTest, ManyChangesAreOneInference) {
  const Output x = Placeholder("x", PartialShape::Of({2})), y = Placeholder("y", PartialShape::Of({3}));
  const Output end = Chain(x, 3);
  EXPECT_EQ(Inferred(), 5);
  const NodeId first = edit_.UsesOf(x)[0].node;
  for (int i = 0; i < 1001; ++i) ASSERT_OK(edit_.SetInput(first, 0, i % 2 == 0 ? y : x));
  EXPECT_EQ(Inferred(), 5) << "of so many changes no list is kept";
  EXPECT_EQ(ShapeOf(end), "[3]");
}

TEST_F(LiveShapesTest, ACycleIsAnErrorUntilItIsGone) {
  const Output x = Placeholder("x", PartialShape::Of({2}));
  const Output a = edit_.Add("Relu", "a", {x});
  const Output b = edit_.Add("Relu", "b", {a});
  EXPECT_EQ(ShapeOf(b), "[2]");
  ASSERT_OK(edit_.SetInput(a.node, 0, b));
  ASSERT_OK(edit_.SetInput(b.node, 0, edit_.Add("AddV2", "sum", {a, x})));
  EXPECT_THAT(edit_.Shapes(), IsError(ErrorCode::kCycle));
  ASSERT_OK(edit_.SetInput(a.node, 0, x));
  EXPECT_EQ(ShapeOf(b), "[2]");
  ExpectAsInferredAnew(edit_);
}

TEST_F(LiveShapesTest, FunctionsOfHostsAreCalled) {
  const std::shared_ptr<OpRegistry> ops = NewOpRegistry();
  // An op of TensorFlow's that has no function of its own.
  ASSERT_FALSE(HasShapeFunction(ops.get(), "Fact"));
  int calls = 0;
  ASSERT_OK(AddShapeFunction(ops, "Fact", [&calls](InferenceContext& c) {
    ++calls;
    c.SetVector(0, 3);
    return absl::OkStatus();
  }));
  Graph graph(ops);
  GraphEditor edit(graph);
  const Output fact = edit.Add("Fact", "fact", {});
  const Output same = edit.Add("Identity", "same", {fact});
  ASSERT_OK_AND_ASSIGN(const ShapeMap* shapes, edit.Shapes());
  EXPECT_EQ(shapes->shape(same).ToString(), "[3]");
  EXPECT_EQ(calls, 1);
  edit.Add("Identity", "more", {fact});
  ASSERT_OK_AND_ASSIGN(shapes, edit.Shapes());
  EXPECT_EQ(calls, 1);
}

TEST_F(LiveShapesTest, OptionsMayChange) {
  const Output x = Placeholder("x", PartialShape());
  const Output y = edit_.Add("Relu", "y", {x});
  EXPECT_EQ(ShapeOf(y), "?");
  InferenceOptions options;
  options.fed = {{x, PartialShape::Of({5, -1})}};
  edit_.SetInference(options);
  EXPECT_EQ(ShapeOf(y), "[5,?]");
  ASSERT_OK_AND_ASSIGN(const ShapeMap* shapes, edit_.Shapes());
  EXPECT_TRUE(shapes->HaveSameShape(x, y));
}

TEST_F(LiveShapesTest, RandomEditsEndWhereANewInferenceDoes) {
  std::mt19937 random(7);
  const auto pick = [&](size_t size) { return static_cast<size_t>(random() % size); };
  std::vector<Output> values;
  for (const int64_t rows : {int64_t{-1}, int64_t{2}, int64_t{3}}) {
    values.push_back(Placeholder("", PartialShape::Of({rows, 3})));
  }
  std::vector<NodeId> binary;
  int asked = 0;
  for (int step = 0; step < 600; ++step) {
    const size_t what = pick(6);
    if (what < 3 || binary.empty()) {
      const Output a = values[pick(values.size())], b = values[pick(values.size())];
      values.push_back(what == 0 ? edit_.Add("Relu", "", {a}) : edit_.Add("AddV2", "", {a, b}));
      if (what != 0) binary.push_back(values.back().node);
    } else if (what == 3) {
      // An earlier node, so that no cycle comes up.
      const NodeId id = binary[pick(binary.size())];
      const Output source = values[pick(values.size())];
      if (source.node < id) {
        ASSERT_OK(edit_.SetInput(id, static_cast<int32_t>(pick(2)), source));
      }
    } else if (what == 4) {
      ASSERT_OK(edit_.SetAttr(values[pick(3)].node, "shape", PartialShape::Of({static_cast<int64_t>(pick(4)) - 1, 3})));
    } else if (!edit_.IsUsed(values.back().node) && values.size() > 3) {
      if (!binary.empty() && binary.back() == values.back().node) binary.pop_back();
      ASSERT_OK(edit_.Remove(values.back().node));
      values.pop_back();
    }
    ASSERT_OK(edit_.status());
    if (step % 7 == 0) {
      ExpectAsInferredAnew(edit_);
      ++asked;
    }
    if (HasFailure()) return;
  }
  EXPECT_OK(edit_.Validate());
  EXPECT_GT(asked, 80);
}

}  // namespace
}  // namespace sluice

// The walk over a whole graph: loops, conditions, variables, feeds, hints, hostile and large graphs.

#include "graph/shapes/inference.h"

#include <cstdint>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "graph/base/cancellation.h"
#include "graph/base/stop_poll.h"
#include "graph/ops/op_table.h"
#include "gtest/gtest.h"
#include "tests/graph/shapes/shape_case.h"
#include "tests/testing/status_matchers.h"

namespace sluice {
namespace {

class InferenceTest : public testing::Test {
 protected:
  Output In(absl::string_view text) { return AddInput(builder_, text); }
  Output Op(absl::string_view op, std::vector<Output> inputs, GraphBuilder::Attrs attrs = {}) {
    return builder_.Op(op, "", std::move(inputs), std::move(attrs));
  }
  ShapeMap Infer(const InferenceOptions& options = {}) {
    EXPECT_TRUE(builder_.status().ok()) << builder_.status();
    absl::StatusOr<ShapeMap> map = InferShapes(builder_.graph(), options);
    EXPECT_TRUE(map.ok()) << map.status();
    return map.ok() ? *std::move(map) : ShapeMap(builder_.graph());
  }
  // Enters `value` into frame "f" and gives the Merge whose back edge is still open.
  Output EnterLoop(Output value) {
    const Output enter = Op("Enter", {value}, {{"frame_name", "f"}});
    return Op("Merge", {enter, Output{}}, {{"T", builder_.graph().output_type(enter.node, 0)}});
  }
  // Closes the loop variable `merge` with `next` and gives what leaves the loop from its Switch.
  Output LeaveLoop(Output merge, Output next, Output both) {
    builder_.SetInput(merge, 1, Op("NextIteration", {next}));
    return Op("Exit", {both});
  }

  GraphBuilder builder_{NewOpRegistry()};
};

TEST_F(InferenceTest, LoopVariablesThatKeepTheirShapeAreKnown) {
  const Output merge = EnterLoop(In("[2,3]"));
  const Output condition = Op("LoopCond", {In("b[]")});
  const Output both = Op("Switch", {merge, condition});
  const Output exit = LeaveLoop(merge, Op("Tanh", {GraphBuilder::Nth(both, 1)}), both);
  const ShapeMap map = Infer();
  EXPECT_EQ(map.shape(exit).ToString(), "[2,3]");
  EXPECT_EQ(map.shape(GraphBuilder::Nth(merge, 1)).ToString(), "[]");
  EXPECT_TRUE(map.IsConditional(exit.node));
  EXPECT_FALSE(map.IsConditional(merge.node));
}

TEST_F(InferenceTest, DimensionsThatGrowInALoopAreUnknown) {
  const Output merge = EnterLoop(In("[2,3]"));
  const Output condition = Op("LoopCond", {In("b[]")});
  const Output both = Op("Switch", {merge, condition});
  const Output body = GraphBuilder::Nth(both, 1);
  const Output exit = LeaveLoop(merge, Op("ConcatV2", {body, body, In("i=0")}), both);
  EXPECT_EQ(Infer().shape(exit).ToString(), "[?,3]");
}

TEST_F(InferenceTest, LoopVariablesThatChangeRankAreUnknown) {
  const Output merge = EnterLoop(In("[2]"));
  const Output condition = Op("LoopCond", {In("b[]")});
  const Output both = Op("Switch", {merge, condition});
  const Output exit = LeaveLoop(merge, Op("ExpandDims", {GraphBuilder::Nth(both, 1), In("i=0")}), both);
  EXPECT_EQ(Infer().shape(exit).ToString(), "?");
}

TEST_F(InferenceTest, VariablesThatRotateSettle) {
  const Output a = EnterLoop(In("[2]")), b = EnterLoop(In("[2]")), c = EnterLoop(In("[3]"));
  const Output condition = Op("LoopCond", {In("b[]")});
  const Output sa = Op("Switch", {a, condition}), sb = Op("Switch", {b, condition}), sc = Op("Switch", {c, condition});
  const Output ea = LeaveLoop(a, GraphBuilder::Nth(sb, 1), sa);
  const Output eb = LeaveLoop(b, GraphBuilder::Nth(sc, 1), sb);
  LeaveLoop(c, GraphBuilder::Nth(sa, 1), sc);
  const ShapeMap map = Infer();
  EXPECT_EQ(map.shape(ea).ToString(), "[?]");
  EXPECT_EQ(map.shape(eb).ToString(), "[?]");
}

TEST_F(InferenceTest, AContradictionBehindASwitchIsNotCertain) {
  const Output both = Op("Switch", {In("[2]"), In("b[]")});
  Op("AddV2", {both, In("[3]")});
  const ShapeMap map = Infer();
  ASSERT_EQ(map.problems().size(), 1u);
  EXPECT_FALSE(map.problems()[0].certain);
  EXPECT_THAT(map.FirstCertainProblem(), IsOk());
}

TEST_F(InferenceTest, AContradictionElsewhereIsCertainAndNamesTheNode) {
  builder_.Op("MatMul", "net/out", {builder_.Placeholder("x", DType::kFloat, PartialShape::Of({2, 3})), In("[4,5]")});
  const ShapeMap map = Infer();
  EXPECT_THAT(map.FirstCertainProblem(), IsError(ErrorCode::kShapeMismatch));
  EXPECT_THAT(map.FirstCertainProblem(), StatusIs(absl::StatusCode::kInvalidArgument, "MatMul 'net/out'"));
}

TEST_F(InferenceTest, StopsWhenItIsTold) {
  Output last = In("[2]");
  for (int i = 0; i < 1000; ++i) last = Op("Neg", {last});
  CancellationManager manager;
  StopPoll stop(absl::InfiniteFuture(), &manager);
  InferenceOptions options;
  options.stop = &stop;
  EXPECT_EQ(Infer(options).shape(last).ToString(), "[2]");
  manager.StartCancelWithStatus(absl::AbortedError("enough"));
  EXPECT_THAT(InferShapes(builder_.graph(), options), StatusIs(absl::StatusCode::kAborted, "enough"));
}

TEST_F(InferenceTest, VariablesGiveTheirDeclaredShapeAsAnAssumption) {
  const Output handle = Op("VarHandleOp", {}, {{"dtype", DType::kFloat}, {"shape", PartialShape::Of({2, 3})}});
  const Output read = Op("ReadVariableOp", {Op("Identity", {handle})}, {{"dtype", DType::kFloat}});
  Op("AddV2", {read, In("[5]")});
  const ShapeMap map = Infer();
  EXPECT_EQ(map.shape(read).ToString(), "[2,3]");
  EXPECT_TRUE(map.IsAssumed(read.node));
  ASSERT_EQ(map.problems().size(), 1u);
  EXPECT_FALSE(map.problems()[0].certain);
}

TEST_F(InferenceTest, QueuesAndListsGiveTheirElements) {
  const Output queue = Op("FIFOQueueV2", {},
                          {{"component_types", std::vector<DType>{DType::kFloat}},
                           {"shapes", std::vector<PartialShape>{PartialShape::Of({2})}}});
  const Output many =
      Op("QueueDequeueManyV2", {queue, In("i=5")}, {{"component_types", std::vector<DType>{DType::kFloat}}});
  const Output list = Op("TensorListReserve", {In("i={3,-1}"), In("i=4")}, {{"element_dtype", DType::kFloat}});
  const Output item = Op("TensorListGetItem", {list, In("i=0"), In("i=-1")}, {{"element_dtype", DType::kFloat}});
  const ShapeMap map = Infer();
  EXPECT_EQ(map.shape(many).ToString(), "[5,2]");
  EXPECT_EQ(map.shape(item).ToString(), "[3,?]");
}

TEST_F(InferenceTest, HandlesKnowTheTypesOfWhatTheyReferTo) {
  const Output variable = Op("VarHandleOp", {}, {{"dtype", DType::kFloat}, {"shape", PartialShape::Of({2})}});
  const Output both = Op("Switch", {Op("Identity", {variable}), In("b[]")});
  Op("ReadVariableOp", {both}, {{"dtype", DType::kFloat}});
  const Output wrong = Op("ReadVariableOp", {both}, {{"dtype", DType::kDouble}});
  const std::vector<DType> types = {DType::kFloat, DType::kInt32};
  const Output queue = Op("FIFOQueueV2", {}, {{"component_types", types}});
  Op("QueueDequeueV2", {queue}, {{"component_types", types}});
  Op("QueueDequeueV2", {queue}, {{"component_types", std::vector<DType>{DType::kFloat, DType::kFloat}}});
  const Output list = Op("TensorListReserve", {In("i={3}"), In("i=4")}, {{"element_dtype", DType::kFloat}});
  const Output zero = Op("ZerosLike", {list});
  Op("TensorListGetItem", {zero, In("i=0"), In("i=-1")}, {{"element_dtype", DType::kInt32}});
  const ShapeMap map = Infer();
  ASSERT_NE(map.handle(both), nullptr);
  EXPECT_EQ((*map.handle(both))[0].dtype, DType::kFloat);
  EXPECT_EQ((*map.handle(both))[0].shape.ToString(), "[2]");
  ASSERT_NE(map.handle(queue), nullptr);
  ASSERT_EQ(map.handle(queue)->size(), 2u);
  EXPECT_EQ((*map.handle(queue))[1].dtype, DType::kInt32);
  EXPECT_EQ((*map.handle(queue))[1].shape.ToString(), "?");
  ASSERT_NE(map.handle(zero), nullptr);
  EXPECT_EQ((*map.handle(zero))[0].dtype, DType::kFloat);
  ASSERT_EQ(map.problems().size(), 3u);
  for (const ShapeProblem& problem : map.problems()) {
    EXPECT_THAT(problem.status, IsError(ErrorCode::kAttrValue));
    EXPECT_FALSE(problem.certain) << "a resource may be another's by then";
  }
  EXPECT_EQ(map.shape(wrong).ToString(), "?");
}

TEST_F(InferenceTest, FeedsTakeTheShapeThatIsFed) {
  const Output wrong = Op("MatMul", {In("[2,3]"), In("[4,5]")});
  const Output sum = Op("AddV2", {wrong, In("[7]")});
  InferenceOptions options;
  options.fed = {{wrong, PartialShape::Of({6, 7})}};
  const ShapeMap map = Infer(options);
  EXPECT_EQ(map.shape(sum).ToString(), "[6,7]");
  EXPECT_THAT(map.FirstCertainProblem(), IsOk());
}

TEST_F(InferenceTest, AConstantThatIsFedIsNotWhatItsAttrSays) {
  const Output wanted = In("i={7,1}"), paddings = In("i={{1,1}}");
  const Output turned = Op("Reshape", {In("[2,3]"), wanted});
  const Output padded = Op("Pad", {In("[4]"), paddings});
  EXPECT_EQ(Infer().problems().size(), 1u);
  InferenceOptions options;
  options.fed = {{wanted, PartialShape::Of({2})}, {paddings, PartialShape::Of({1, 2})}};
  const ShapeMap map = Infer(options);
  EXPECT_TRUE(map.problems().empty());
  EXPECT_EQ(map.shape(turned).ToString(), "[?,?]");
  EXPECT_EQ(map.shape(padded).ToString(), "[?]");
  EXPECT_EQ(map.value(wanted), nullptr);
}

TEST_F(InferenceTest, HintsFillWhatIsUnknownAndAreNeverAnError) {
  const std::vector<PartialShape> hint = {PartialShape::Of({4})};
  const Output hashed = Op("SdcaFprint", {In("s[2]")}, {{"_output_shapes", hint}});  // Has no shape function.
  const Output relu = Op("Relu", {In("[3]")}, {{"_output_shapes", hint}});
  const ShapeMap map = Infer();
  EXPECT_EQ(map.shape(hashed).ToString(), "[4]");
  EXPECT_TRUE(map.IsAssumed(hashed.node));
  EXPECT_EQ(map.shape(relu).ToString(), "[3]");
  EXPECT_TRUE(map.problems().empty());
}

TEST_F(InferenceTest, OldFilesCannotTellAScalarPlaceholderFromAnUnknownShape) {
  const Output x = In("[]");
  EXPECT_EQ(Infer().shape(x).ToString(), "[]");
  builder_.graph().versions().producer = 20;
  EXPECT_EQ(Infer().shape(x).ToString(), "?");
}

TEST_F(InferenceTest, LongChainsAreWalkedWithoutRecursion) {
  Output x = In("[2,3]");
  for (int i = 0; i < 300'000; ++i) x = builder_.Op("Relu", "n" + std::to_string(i), {x});
  const ShapeMap map = Infer();
  EXPECT_EQ(map.shape(x).ToString(), "[2,3]");
}

TEST_F(InferenceTest, ThousandsOfOutputsPerNodeTakeBoundedMemory) {
  std::vector<Output> last;
  for (int i = 0; i < 200; ++i) last.push_back(Op("Unpack", {In("[60000,2]")}, {{"num", 60'000}}));
  const ShapeMap map = Infer();
  EXPECT_EQ(map.shape(GraphBuilder::Nth(last.front(), 59'999)).ToString(), "[2]");
  EXPECT_EQ(map.shape(GraphBuilder::Nth(last.back(), 59'999)).ToString(), "?");
}

TEST_F(InferenceTest, LongChainsOfValuesTakeBoundedMemory) {
  Output x = In("i={" + std::string("1") + "}");
  x = Op("Tile", {x, In("i={256}")});
  x = Op("Fill", {In("i={256}"), In("i=1")});
  for (int i = 0; i < 100'000; ++i) x = builder_.Op("Identity", "n" + std::to_string(i), {x});
  const ShapeMap map = Infer();
  EXPECT_EQ(map.shape(x).ToString(), "[256]");
}

}  // namespace
}  // namespace sluice

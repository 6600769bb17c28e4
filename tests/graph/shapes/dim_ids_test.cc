// Ids of unknown sizes: which dimensions are known to be equal, and which must not be.

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "graph/ops/op_table.h"
#include "graph/shapes/dims.h"
#include "graph/shapes/inference.h"
#include "gtest/gtest.h"
#include "tests/graph/shapes/shape_case.h"

namespace sluice {
namespace {

// Bodies made by hand, by name.
class Bodies : public FunctionBodies {
 public:
  const Graph* Find(const Graph& /*caller*/, const FuncView& function) override {
    const auto it = bodies.find(std::string(function.name));
    return it == bodies.end() ? nullptr : &it->second;
  }
  std::map<std::string, Graph> bodies;
};

class DimIdsTest : public testing::Test {
 protected:
  DimIdsTest() { options_.bodies = &bodies_; }

  Output In(absl::string_view text) { return AddInput(builder_, text); }
  Output Op(absl::string_view op, std::vector<Output> inputs, GraphBuilder::Attrs attrs = {}) {
    return builder_.Op(op, "", std::move(inputs), std::move(attrs));
  }
  Output Element(Output vector, int index) {
    const auto text = [](int value) { return "i={" + std::to_string(value) + "}"; };
    return Op("StridedSlice", {vector, In(text(index)), In(text(index + 1)), In("i={1}")}, {{"shrink_axis_mask", 1}});
  }
  ShapeMap Infer() {
    EXPECT_TRUE(builder_.status().ok()) << builder_.status();
    absl::StatusOr<ShapeMap> map = InferShapes(builder_.graph(), options_);
    EXPECT_TRUE(map.ok()) << map.status();
    if (!map.ok()) return ShapeMap(builder_.graph());
    for (const ShapeProblem& problem : map->problems()) ADD_FAILURE() << problem.status;
    return *std::move(map);
  }
  // "0.1=1.0 ..." for all dimensions of `a` and `b` that are the same size.
  std::string SameSizes(Output a, Output b) {
    const ShapeMap map = Infer();
    std::string same;
    for (int i = 0; i < map.shape(a).rank(); ++i) {
      for (int k = 0; k < map.shape(b).rank(); ++k) {
        if (map.HaveSameSize(a, i, b, k)) same += std::to_string(i) + "=" + std::to_string(k) + " ";
      }
    }
    return same;
  }
  void AddBody(const std::string& name, int num_args, const std::string& op, int num_results,
               GraphBuilder::Attrs attrs = {}) {
    GraphBuilder body(NewOpRegistry());
    std::vector<Output> inputs;
    for (int i = 0; i < num_args; ++i) {
      inputs.push_back(body.Op("_Arg", "x" + std::to_string(i), {}, {{"T", DType::kFloat}, {"index", i}}));
    }
    const Output made = body.Op(op, "y", inputs, std::move(attrs));
    for (int i = 0; i < num_results; ++i) {
      body.Op("_Retval", "r" + std::to_string(i), {made}, {{"T", DType::kFloat}, {"index", i}});
    }
    absl::StatusOr<Graph> graph = body.Build();
    ASSERT_TRUE(graph.ok()) << graph.status();
    bodies_.bodies.emplace(name, *std::move(graph));
  }
  static GraphBuilder::Attrs CallAttrs(const std::string& function, size_t args, size_t results) {
    return {{"Tin", std::vector<DType>(args, DType::kFloat)},
            {"Tout", std::vector<DType>(results, DType::kFloat)},
            {"f", AttrValue::Func(function)}};
  }

  GraphBuilder builder_{NewOpRegistry()};
  Bodies bodies_;
  InferenceOptions options_;
};

TEST_F(DimIdsTest, EveryUnknownSizeIsItsOwn) {
  const Output x = In("[?,?]"), y = In("[?,?]");
  EXPECT_EQ(SameSizes(x, x), "0=0 1=1 ");
  EXPECT_EQ(SameSizes(x, y), "");
  EXPECT_EQ(SameSizes(In("[3,?]"), In("[?,3]")), "0=1 ");
  const ShapeMap map = Infer();
  EXPECT_TRUE(map.HaveSameShape(x, x));
  EXPECT_FALSE(map.HaveSameShape(x, y));
  EXPECT_FALSE(map.HaveSameSize(x, 2, x, 2));
  EXPECT_EQ(map.shape(x), map.shape(y)) << "equality looks at what is known";
}

TEST_F(DimIdsTest, FunctionsHandThemOn) {
  const Output x = In("[?,?,8]");
  EXPECT_EQ(SameSizes(x, Op("Tanh", {Op("Relu", {x})})), "0=0 1=1 2=2 ");
  EXPECT_EQ(SameSizes(x, Op("Transpose", {x, In("i={1,2,0}")})), "0=2 1=0 2=1 ");
  EXPECT_EQ(SameSizes(x, Op("Sum", {x, In("i={1}")})), "0=0 2=1 ");
  EXPECT_EQ(SameSizes(x, Op("ConcatV2", {x, x, In("i=1")})), "0=0 2=2 ");
  EXPECT_EQ(SameSizes(x, Op("Pad", {x, In("i={{0,0},{0,0},{1,1}}")})), "0=0 1=1 ");
  EXPECT_EQ(SameSizes(x, Op("Tile", {x, In("i={1,2,1}")})), "0=0 2=2 ");
  EXPECT_EQ(SameSizes(x, Op("Slice", {x, In("i={0,1,0}"), In("i={-1,-1,4}")})), "0=0 ");
  const Output rows = Op("StridedSlice", {x, In("i={0,0}"), In("i={0,2}"), In("i={1,1}")}, {{"end_mask", 1}});
  EXPECT_EQ(SameSizes(x, rows), "0=0 2=2 ");
  EXPECT_EQ(SameSizes(In("[?,4]"), Op("MatMul", {In("[?,4]"), In("[4,?]")})), "");
  const Output a = In("[?,4]"), b = In("[4,?]");
  EXPECT_EQ(SameSizes(a, Op("MatMul", {a, b})), "0=0 ");
  EXPECT_EQ(SameSizes(b, Op("MatMul", {a, b})), "1=1 ");
}

TEST_F(DimIdsTest, WhatBroadcastsIsTheSameOnlyWhereBothSidesAre) {
  const Output x = In("[?,4]"), y = In("[?,4]");
  EXPECT_EQ(SameSizes(x, Op("AddV2", {x, Op("Relu", {x})})), "0=0 1=1 ");
  EXPECT_EQ(SameSizes(x, Op("AddV2", {x, In("[1,4]")})), "0=0 1=1 ");
  EXPECT_EQ(SameSizes(x, Op("AddV2", {In("[4]"), x})), "0=0 1=1 ");
  const Output sum = Op("AddV2", {x, y});  // Either may have one row.
  EXPECT_EQ(SameSizes(x, sum), "1=1 ");
  EXPECT_EQ(SameSizes(y, sum), "1=1 ");
  // A sum of equal shapes says so of its result, and not of its operands, which others use without it.
  const Output all = Op("AddN", {x, y});
  EXPECT_EQ(SameSizes(x, all), "0=0 1=1 ");
  EXPECT_EQ(SameSizes(x, y), "1=1 ");
}

TEST_F(DimIdsTest, ShapesComeBackFromTensors) {
  const Output x = In("[?,?,8]");
  const Output shape = Op("Shape", {x});
  const Output again = Op("Pack", {Element(shape, 0), Element(shape, 1), In("i=8")});
  EXPECT_EQ(SameSizes(x, Op("Fill", {again, In("=0")})), "0=0 1=1 2=2 ");
  const Output turned = Op("ConcatV2", {Op("GatherV2", {shape, In("i={2,0}"), In("i=0")}), In("i={7}"), In("i=0")});
  EXPECT_EQ(SameSizes(x, Op("Fill", {turned, In("=0")})), "0=1 2=0 ");
  const Output wide = Op("Cast", {shape}, {{"DstT", DType::kInt64}});
  EXPECT_EQ(SameSizes(x, Op("BroadcastTo", {In("[8]"), wide}, {{"Tidx", DType::kInt64}})), "0=0 1=1 2=2 ");
  EXPECT_EQ(SameSizes(x, Op("Fill", {Op("Mul", {shape, In("i={1,2,1}")}), In("=0")})), "0=0 2=2 ");
  EXPECT_EQ(SameSizes(x, Op("Fill", {Op("BroadcastArgs", {shape, In("i={8}")}), In("=0")})), "0=0 1=1 2=2 ");
  EXPECT_EQ(SameSizes(x, Op("Range", {In("i=0"), Element(shape, 0), In("i=1")})), "0=0 ");
  EXPECT_EQ(SameSizes(x, Op("Range", {In("i=0"), Element(shape, 0), In("i=2")})), "");
  EXPECT_EQ(SameSizes(x, Op("OneHot", {In("i[3]"), Element(shape, 1), In("=1"), In("=0")})), "1=1 ");
}

TEST_F(DimIdsTest, WhatIsHalvedIsAnotherSize) {
  const Output x = In("[?,?]");
  const Output length = Op("Pack", {Element(Op("Shape", {x}), 1)});
  EXPECT_EQ(SameSizes(x, Op("RFFT", {x, length})), "0=0 ") << "half of the second size, and one";
  const Output back = Op("IRFFT", {Op("Cast", {x}, {{"DstT", DType::kComplex64}}), length});
  EXPECT_EQ(SameSizes(x, back), "0=0 1=1 ");
}

TEST_F(DimIdsTest, ReshapesFindWhatIsLeftOver) {
  const Output x = In("[?,4,5]");
  const Output flat = Op("Reshape", {x, In("i={-1,20}")});
  EXPECT_EQ(SameSizes(x, flat), "0=0 ");
  EXPECT_EQ(SameSizes(x, Op("Reshape", {flat, In("i={-1,4,5}")})), "0=0 1=1 2=2 ");
  EXPECT_EQ(SameSizes(x, Op("Reshape", {x, In("i={-1,10}")})), "") << "twice as many rows";
  const Output rest = Op("Reshape", {x, Op("Pack", {Element(Op("Shape", {x}), 0), In("i=-1")})});
  EXPECT_EQ(Infer().shape(rest).ToString(), "[?,20]");
  EXPECT_EQ(SameSizes(x, rest), "0=0 ");
  // Of two unknown sizes that may both be 0, the one left over is not the other one.
  const Output two = In("[?,?]");
  const Output second = Element(Op("Shape", {two}), 1);
  EXPECT_EQ(SameSizes(two, Op("Reshape", {two, Op("Pack", {In("i=-1"), second})})), "1=1 ");
  EXPECT_EQ(SameSizes(two, Op("Reshape", {two, In("i={-1}")})), "");
}

TEST_F(DimIdsTest, BranchesAndLoopsKeepWhatAllOfThemKeep) {
  const Output x = In("[?,2]"), y = In("[?,2]");
  const Output both = Op("Switch", {x, In("b[]")});
  const Output other = Op("Switch", {y, In("b[]")});
  const Output same = Op("Merge", {Op("Relu", {both}), Op("Tanh", {GraphBuilder::Nth(both, 1)})});
  const Output differs = Op("Merge", {both, GraphBuilder::Nth(other, 1)});
  EXPECT_EQ(SameSizes(x, same), "0=0 1=1 ");
  EXPECT_EQ(SameSizes(x, differs), "1=1 ");
  EXPECT_EQ(SameSizes(differs, Op("Relu", {differs})), "0=0 1=1 ");

  const auto loop = [&](bool grows) {
    const Output enter = Op("Enter", {x}, {{"frame_name", grows ? "g" : "f"}});
    const Output merge = Op("Merge", {enter, Output{}}, {{"T", DType::kFloat}});
    const Output condition = Op("LoopCond", {In("b[]")});
    const Output turn = Op("Switch", {merge, condition});
    const Output body = GraphBuilder::Nth(turn, 1);
    const Output next = grows ? Op("ConcatV2", {body, body, In("i=0")}) : Op("Relu", {body});
    builder_.SetInput(merge, 1, Op("NextIteration", {next}));
    return Op("Exit", {turn});
  };
  EXPECT_EQ(SameSizes(x, loop(false)), "0=0 1=1 ");
  const Output grown = loop(true);
  EXPECT_EQ(SameSizes(x, grown), "1=1 ");
  EXPECT_EQ(Infer().shape(grown).ToString(), "[?,2]");
}

TEST_F(DimIdsTest, VariablesMayChangeBetweenTwoReads) {
  const PartialShape rows = PartialShape::Of({-1, 2});
  const Output handle = Op("VarHandleOp", {}, {{"dtype", DType::kFloat}, {"shape", rows}});
  const Output a = Op("ReadVariableOp", {handle}, {{"dtype", DType::kFloat}});
  const Output b = Op("ReadVariableOp", {handle}, {{"dtype", DType::kFloat}});
  EXPECT_EQ(SameSizes(a, b), "1=1 ");
  EXPECT_EQ(SameSizes(a, Op("Relu", {a})), "0=0 1=1 ");
  const Output ref = Op("VariableV2", {}, {{"dtype", DType::kFloat}, {"shape", rows}});
  EXPECT_EQ(SameSizes(Op("Relu", {ref}), Op("Relu", {ref})), "1=1 ");
  EXPECT_EQ(SameSizes(ref, ref), "1=1 ");
}

TEST_F(DimIdsTest, CallsHandOnWhatTheirArgumentsHaveAndNothingOfTheInside) {
  AddBody("relu", 1, "Relu", 1);
  AddBody("sum", 2, "AddV2", 2);
  const Output x = In("[?,3]"), y = In("[?,3]");
  EXPECT_EQ(SameSizes(x, Op("PartitionedCall", {x}, CallAttrs("relu", 1, 1))), "0=0 1=1 ");
  const Output first = Op("PartitionedCall", {x, y}, CallAttrs("sum", 2, 2));
  const Output second = Op("PartitionedCall", {x, y}, CallAttrs("sum", 2, 2));
  EXPECT_EQ(SameSizes(first, GraphBuilder::Nth(first, 1)), "0=0 1=1 ") << "one value, returned twice";
  EXPECT_EQ(SameSizes(first, second), "1=1 ") << "what the body makes is another in each call";
  EXPECT_EQ(SameSizes(x, first), "1=1 ");
}

TEST(DimsTest, ArithmeticKeepsIdsWhereNothingChanges) {
  const int64_t x = kFirstDimId - 7, y = kFirstDimId - 8;
  EXPECT_EQ(AddDims(x, 0), x);
  EXPECT_EQ(AddDims(0, x), x);
  EXPECT_EQ(AddDims(x, 1), kUnknownDim);
  EXPECT_EQ(AddDims(-5, 0), kUnknownDim);
  EXPECT_EQ(MulDims(1, x), x);
  EXPECT_EQ(MulDims(x, 0), 0);
  EXPECT_EQ(MulDims(x, 2), kUnknownDim);
  EXPECT_EQ(SubDims(x, 0), x);
  EXPECT_EQ(SubDims(x, y), kUnknownDim);
  EXPECT_EQ(DivDims(x, 1), x);
  EXPECT_EQ(MinDims(x, x), x);
  EXPECT_EQ(MinDims(x, y), kUnknownDim);
  EXPECT_EQ(EitherDim(x, 4), 4);
  EXPECT_EQ(EitherDim(kUnknownDim, x), x);
  EXPECT_EQ(EitherDim(x, kUnknownDim), x);
  EXPECT_FALSE(IsSameDim(kUnknownDim, kUnknownDim));
  EXPECT_FALSE(IsSameDim(-5, -5));
  EXPECT_TRUE(IsSameDim(x, x));
  bool differ = false;
  EXPECT_EQ(BroadcastDim(x, y, &differ), kUnknownDim);
  EXPECT_EQ(BroadcastDim(x, x, &differ), x);
  EXPECT_EQ(BroadcastDim(x, 1, &differ), x);
  EXPECT_EQ(BroadcastDim(5, x, &differ), 5);
  EXPECT_FALSE(differ);
}

}  // namespace
}  // namespace sluice

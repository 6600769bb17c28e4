// Contents of small integer tensors are followed through the chains by which programs compute shapes.

#include <cstdint>
#include <string>
#include <vector>

#include "graph/ops/op_table.h"
#include "graph/shapes/inference.h"
#include "gtest/gtest.h"
#include "tests/graph/shapes/shape_case.h"

namespace sluice {
namespace {

// A graph under construction whose outputs' shapes are asked for at the end.
class ValuesTest : public testing::Test {
 protected:
  Output In(absl::string_view text) { return AddInput(builder_, text); }
  Output Op(absl::string_view op, std::vector<Output> inputs, GraphBuilder::Attrs attrs = {}) {
    return builder_.Op(op, "", std::move(inputs), std::move(attrs));
  }
  // A tensor of the shape that `sizes` holds: what is known of the contents shows in it.
  Output Shaped(Output sizes) { return Op("Fill", {sizes, In("=0")}); }
  std::string ShapeOf(Output output) {
    EXPECT_TRUE(builder_.status().ok()) << builder_.status();
    const absl::StatusOr<ShapeMap> map = InferShapes(builder_.graph());
    if (!map.ok()) return std::string(map.status().message());
    if (!map->problems().empty()) return std::string(map->problems()[0].status.message());
    return map->shape(output).ToString();
  }
  // Elements [begin, end) of a vector.
  Output Range(Output vector, int begin, int end) {
    return Op("StridedSlice", {vector, In(Text(begin)), In(Text(end)), In("i={1}")});
  }
  Output Element(Output vector, int index) {
    return Op("StridedSlice", {vector, In(Text(index)), In(Text(index + 1)), In("i={1}")}, {{"shrink_axis_mask", 1}});
  }
  static std::string Text(int value) { return "i={" + std::to_string(value) + "}"; }

  GraphBuilder builder_{NewOpRegistry()};
};

TEST_F(ValuesTest, FlattenByShapeArithmetic) {
  const Output x = In("[?,4,5]");
  const Output shape = Op("Shape", {x});
  const Output rest = Op("Mul", {Element(shape, 1), Element(shape, 2)});
  const Output target = Op("Pack", {Element(shape, 0), rest});
  EXPECT_EQ(ShapeOf(Op("Reshape", {x, target})), "[?,20]");
}

TEST_F(ValuesTest, ConcatKeepsTheKnownElements) {
  const Output head = Range(Op("Shape", {In("[?,4,5]")}), 0, 2);
  EXPECT_EQ(ShapeOf(Shaped(Op("ConcatV2", {head, In("i={7}"), In("i[1]"), In("i=0")}))), "[?,4,7,?]");
}

TEST_F(ValuesTest, GatherProdAndCasts) {
  const Output shape = Op("Cast", {Op("Shape", {In("[2,3,4]")})}, {{"DstT", DType::kInt64}});
  const Output picked = Op("GatherV2", {shape, In("i={2,0}"), In("i=0")});
  const Output product = Op("Prod", {picked, In("i={0}")});
  EXPECT_EQ(ShapeOf(Shaped(Op("Pack", {product, product}))), "[8,8]");
}

TEST_F(ValuesTest, SizesOfKnownShapes) {
  const Output known = Op("Size", {In("[2,3]")}), vector = Op("Size", {In("[5]")}), none = Op("Size", {In("[]")});
  EXPECT_EQ(ShapeOf(Shaped(Op("Pack", {known, vector, none}))), "[6,5,1]");
  EXPECT_EQ(ShapeOf(Shaped(Op("Pack", {Op("Size", {In("[2,?]")}), Op("Size", {In("?")})}))), "[?,?]");
}

TEST_F(ValuesTest, ReversedAndSteppedSlices) {
  const Output shape = Op("Shape", {In("[2,3,4]")});
  const Output reversed = Op("StridedSlice", {shape, In("i={-1}"), In("i={-4}"), In("i={-1}")});
  EXPECT_EQ(ShapeOf(Shaped(reversed)), "[4,3,2]");
  EXPECT_EQ(ShapeOf(Shaped(Op("Unpack", {reversed}, {{"num", 3}}))), "[4]");
}

TEST_F(ValuesTest, SwitchAndEnterHandContentsOnButMergeDoesNot) {
  const Output size = In("i={6}");
  const Output both = Op("Switch", {size, In("b[]")});
  EXPECT_EQ(ShapeOf(Shaped(both)), "[6]");
  const Output merged = Op("Merge", {both, GraphBuilder::Nth(both, 1)});
  EXPECT_EQ(ShapeOf(Shaped(merged)), "[?]");
}

TEST_F(ValuesTest, WhatAnInt32CannotHoldIsUnknown) {
  const Output big = Op("Mul", {In("i={2000000000}"), In("i={2}")});
  EXPECT_EQ(ShapeOf(Shaped(big)), "[?]");
  const Output sum = Op("AddV2", {In("l={9223372036854775807}"), In("l={1}")});
  EXPECT_EQ(ShapeOf(Shaped(sum)), "[?]");
  const Output quotient = Op("FloorDiv", {In("i={7}"), In("i={0}")});
  EXPECT_EQ(ShapeOf(Shaped(quotient)), "[?]");
}

TEST_F(ValuesTest, ShapeVectorsBroadcast) {
  const Output a = Op("Shape", {In("[2,1,4]")});
  const Output b = Op("Shape", {In("[3,?]")});
  EXPECT_EQ(ShapeOf(Shaped(Op("BroadcastArgs", {a, b}))), "[2,3,4]");
}

TEST_F(ValuesTest, RangesAndFillsHaveContents) {
  const Output axes = Op("Range", {In("i=0"), Op("Rank", {In("[2,3,4]")}), In("i=2")});
  EXPECT_EQ(ShapeOf(Op("Sum", {In("[2,3,4]"), axes})), "[3]");
  EXPECT_EQ(ShapeOf(Shaped(Op("Fill", {In("i={2}"), In("i=5")}))), "[5,5]");
}

}  // namespace
}  // namespace sluice

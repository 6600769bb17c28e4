// Shapes of elementwise ops, tensors made from nothing, and what all families share.

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "graph/shapes/shape_functions.h"
#include "gtest/gtest.h"
#include "tests/graph/shapes/shape_case.h"

namespace sluice {
namespace {

TEST(ElementwiseShapesTest, UnaryOpsKeepTheShape) {
  ExpectShapes({
      {"Relu", {"[2,?]"}, {}, "[2,?]"},
      {"Exp", {"?"}, {}, "?"},
      {"Cast", {"i[3]"}, {{"DstT", DType::kFloat}}, "[3]"},
      {"Softmax", {"[4,5]"}, {}, "[4,5]"},
      {"Softmax", {"[]"}, {}, "error rank 0"},
  });
}

TEST(ElementwiseShapesTest, BinaryOpsBroadcast) {
  ExpectShapes({
      {"AddV2", {"[2,1,4]", "[3,1]"}, {}, "[2,3,4]"},
      {"AddV2", {"[?,3]", "[1]"}, {}, "[?,3]"},
      {"AddV2", {"[?]", "[5]"}, {}, "[5]"},
      {"AddV2", {"[?]", "[?]"}, {}, "[?]"},
      {"AddV2", {"?", "[5]"}, {}, "?"},
      {"AddV2", {"[0]", "[1]"}, {}, "[0]"},
      {"Mul", {"[2,3]", "[2,4]"}, {}, "error input 1 'Placeholder_1' shapes [2,3] and [2,4] do not broadcast"},
      {"SelectV2", {"b[2,1]", "[3]", "[]"}, {}, "[2,3]"},
  });
}

TEST(ElementwiseShapesTest, EqualityMayAnswerAScalarForShapesThatDoNotBroadcast) {
  ExpectShapes({
      {"Equal", {"[2]", "[3]"}, {}, "error do not broadcast"},
      {"Equal", {"[2]", "[3]"}, {{"incompatible_shape_error", false}}, "[]"},
      {"Equal", {"[2]", "[?]"}, {{"incompatible_shape_error", false}}, "?"},
      {"Equal", {"[2]", "[1]"}, {{"incompatible_shape_error", false}}, "[2]"},
  });
}

TEST(ElementwiseShapesTest, SelectTakesAScalarAVectorOfRowsOrTheSameShapeAsCondition) {
  ExpectShapes({
      {"Select", {"b[]", "[2,3]", "[2,3]"}, {}, "[2,3]"},
      {"Select", {"b[2]", "[2,?]", "[?,3]"}, {}, "[2,3]"},
      {"Select", {"b[2,3]", "[2,3]", "[2,3]"}, {}, "[2,3]"},
      {"Select", {"b[3]", "[2,3]", "[2,3]"}, {}, "error condition"},
      {"Select", {"b[]", "[2]", "[3]"}, {}, "error input 2"},
  });
}

TEST(ElementwiseShapesTest, SumsNeedOneShape) {
  ExpectShapes({
      {"AddN", {"[2,?]", "[?,3]", "?"}, {}, "[2,3]"},
      {"AddN", {"[2]", "[3]"}, {}, "error input 1"},
      {"ReluGrad", {"[2,?]", "[2,3]"}, {}, "[2,3]"},
      {"TanhGrad", {"?", "[2,3]"}, {}, "[2,3]"},
  });
}

TEST(ElementwiseShapesTest, BitcastMovesBitsIntoTheLastDimension) {
  ExpectShapes({
      {"Bitcast", {"l[3]"}, {{"type", DType::kInt32}}, "[3,2]"},
      {"Bitcast", {"i[3,2]"}, {{"type", DType::kInt64}}, "[3]"},
      {"Bitcast", {"i[3,3]"}, {{"type", DType::kInt64}}, "error last dimension"},
      {"Bitcast", {"i[]"}, {{"type", DType::kFloat}}, "[]"},
  });
}

TEST(CreationShapesTest, ShapesComeFromAttrsAndContents) {
  ExpectShapes({
      {"Fill", {"i={2,3}", "=1"}, {}, "[2,3]"},
      {"Fill", {"i[2]", "=1"}, {}, "[?,?]"},
      {"Fill", {"i={2,-3}", "=1"}, {}, "error negative"},
      {"Range", {"i=3", "i=18", "i=5"}, {}, "[3]"},
      {"Range", {"i=5", "i=0", "i=-2"}, {}, "[3]"},
      {"Range", {"=0", "=1", "=0"}, {}, "[?]"},
      {"Range", {"=0", "=7", "=2"}, {}, "[4]"},
      {"Range", {"i[]", "i=18", "i=5"}, {}, "[?]"},
      {"LinSpace", {"=0", "=1", "i=9"}, {}, "[9]"},
      {"RandomUniform", {"i={4,?}"}, {{"dtype", DType::kFloat}}, "error negative"},
      {"TruncatedNormal", {"l={4,5}"}, {{"dtype", DType::kFloat}}, "[4,5]"},
      {"Multinomial", {"[3,9]", "i=7"}, {}, "[3,7]"},
  });
}

TEST(ShapeFamiliesTest, NoOpStandsInTwoFamilies) {
  std::set<std::string> ops;
  for (const absl::Span<const ShapeRow> family : ShapeFamilies()) {
    for (const ShapeRow& row : family) {
      EXPECT_TRUE(ops.insert(std::string(row.op)).second) << row.op;
      EXPECT_EQ(FindShapeFunction(row.op), row.function) << row.op;
    }
  }
  EXPECT_GT(ops.size(), 600u);
}

TEST(ShapeFamiliesTest, OpsWithoutARowAreUnknownAndNeverRefused) {
  EXPECT_EQ(FindShapeFunction("NoSuchOp"), nullptr);
  ExpectShapes({{"ParseTensor", {"s[]"}, {{"out_type", DType::kFloat}}, "?"}});
}

}  // namespace
}  // namespace sluice

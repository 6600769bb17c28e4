// Shapes of linear algebra, images, strings, sparse and quantized ops, recurrent cells and collections.

#include <cstdint>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "tests/graph/shapes/shape_case.h"

namespace sluice {
namespace {

TEST(LinalgShapesTest, TheLastTwoDimensionsAreMatrices) {
  ExpectShapes({
      {"Cholesky", {"[5,3,3]"}, {}, "[5,3,3]"},
      {"Cholesky", {"[3,4]"}, {}, "error not square"},
      {"MatrixDeterminant", {"[5,3,3]"}, {}, "[5]"},
      {"SelfAdjointEigV2", {"[5,3,3]"}, {}, "[5,3] [5,3,3]"},
      {"Qr", {"[5,3]"}, {}, "[5,3] [3,3]"},
      {"Qr", {"[5,3]"}, {{"full_matrices", true}}, "[5,5] [5,3]"},
      {"Svd", {"[5,3]"}, {{"compute_uv", false}}, "[3] [0] [0]"},
      {"MatrixSolve", {"[3,3]", "[3,2]"}, {}, "[3,2]"},
      {"MatrixDiag", {"[2,3]"}, {}, "[2,3,3]"},
      {"MatrixDiagPart", {"[2,3,4]"}, {}, "[2,3]"},
      {"MatrixDiagV3", {"[2,3]", "i=1", "i=-1", "i=-1", "=0"}, {}, "[2,4,4]"},
      {"MatrixDiagPartV3", {"[5,4]", "i={-1,2}", "=0"}, {}, "[4,4]"},
      {"RFFT", {"[2,8]", "i={6}"}, {}, "[2,4]"},
  });
}

TEST(ImageShapesTest, SizesComeFromInputsAndAttrs) {
  ExpectShapes({
      {"ResizeBilinear", {"[2,8,8,3]", "i={4,5}"}, {}, "[2,4,5,3]"},
      {"ResizeBilinear", {"[2,8,8,3]", "i[2]"}, {}, "[2,?,?,3]"},
      {"ResizeBilinear", {"[8,8,3]", "i={4,5}"}, {}, "error rank 3"},
      {"ResizeBilinear", {"?", "i[2]"}, {{"align_corners", true}, {"half_pixel_centers", true}}, "error attr"},
      {"DecodeJpeg", {"s[]"}, {{"channels", 3}}, "[?,?,3]"},
      {"DecodePng", {"s[]"}, {}, "[?,?,?]"},
      {"CropAndResize", {"[1,9,9,3]", "[7,4]", "i[7]", "i={2,3}"}, {}, "[7,2,3,3]"},
      {"NonMaxSuppressionV3", {"[9,4]", "[9]", "i=3", "=0", "=0"}, {}, "[?]"},
  });
}

TEST(StringShapesTest, OperandsAreScalarsOrOfOneShape) {
  ExpectShapes({
      {"StringJoin", {"s[2]", "s[]"}, {}, "[2]"},
      {"StringJoin", {"s[2]", "s[3]"}, {}, "error input 1"},
      {"StringSplitV2", {"s[2]", "s[]"}, {}, "[?,2] [?] [2]"},
      {"AsString", {"[2]"}, {{"fill", "%n"}}, "error attr 'fill'"},
      {"DecodeRaw", {"s[2]"}, {{"out_type", DType::kFloat}}, "[2,?]"},
      {"StringToHashBucketFast", {"s[2]"}, {{"num_buckets", 9}}, "[2]"},
  });
}

TEST(SparseShapesTest, RanksAreKnownEntriesAreNot) {
  ExpectShapes({
      {"SparseToDense", {"l[3,2]", "l={4,5}", "[3]", "=0"}, {}, "[4,5]"},
      {"SparseTensorDenseMatMul", {"l[3,2]", "[3]", "l={4,5}", "[5,6]"}, {}, "[4,6]"},
      {"SparseTensorDenseMatMul", {"l[3,2]", "[3]", "l={4,5}", "[4,6]"}, {}, "error inner dimensions"},
      {"SparseReshape", {"l[3,2]", "l={4,5}", "l[3]"}, {}, "[3,3] [3]"},
      {"SparseFillEmptyRows", {"l[3,2]", "[3]", "l={4,5}", "=0"}, {}, "[?,2] [?] [4] [3]"},
  });
}

TEST(QuantizedShapesTest, RangesFollowTheTensor) {
  ExpectShapes({
      {"QuantizeV2", {"[2,3]", "=0", "=1"}, {{"T", DType::kQUInt8}}, "[2,3] [] []"},
      {"LSTMBlockCell",
       {"[2,3]", "[2,5]", "[2,5]", "?", "?", "?", "?", "?"},
       {},
       "[2,5] [2,5] [2,5] [2,5] [2,5] [2,5] [2,5]"},
  });
}

TEST(CollectionShapesTest, QueuesStateWhatTheyHold) {
  const std::vector<DType> types = {DType::kFloat};
  const std::vector<PartialShape> two = {PartialShape::Of({2}), PartialShape::Of({3})};
  ExpectShapes({
      {"FIFOQueueV2", {}, {{"component_types", types}, {"shapes", two}}, "error found 2 shapes for 1 components"},
      {"FIFOQueueV2", {}, {{"component_types", types}}, "[]"},
      {"TensorArrayV3", {"i=3"}, {{"dtype", DType::kFloat}}, "? []"},
  });
}

}  // namespace
}  // namespace sluice

// Shapes of linear algebra, images, strings, sparse and quantized ops, recurrent cells and collections.

#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "graph/ir/builder.h"
#include "graph/ops/op_table.h"
#include "graph/shapes/inference.h"
#include "gtest/gtest.h"
#include "tests/graph/shapes/shape_case.h"
#include "tests/testing/status_matchers.h"

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
      {"StringJoin", {"s[2]", "s?"}, {}, "[2]"},
      {"StringJoin", {"s[]", "s?"}, {}, "?"},
      {"StringSplitV2", {"s[2]", "s[]"}, {}, "[?,2] [?] [2]"},
      {"AsString", {"[2]"}, {{"fill", "%n"}}, "error attr 'fill'"},
      {"AsString", {"[2]"}, {{"fill", "0"}, {"width", 8}}, "[2]"},
      {"DecodeRaw", {"s[2]"}, {{"out_type", DType::kFloat}}, "[2,?]"},
      {"StringToHashBucketFast", {"s[2]"}, {{"num_buckets", 9}}, "[2]"},
      {"EncodeProto",
       {"i[4,2]", "[4,9]", "[4,1]"},
       {{"field_names", std::vector<std::string>{"a", "b"}}, {"message_type", "M"}},
       "[4]"},
  });
}

TEST(SparseShapesTest, RanksAreKnownEntriesAreNot) {
  ExpectShapes({
      {"SparseToDense", {"l[3,2]", "l={4,5}", "[3]", "=0"}, {}, "[4,5]"},
      {"SparseTensorDenseMatMul", {"l[3,2]", "[3]", "l={4,5}", "[5,6]"}, {}, "[4,6]"},
      {"SparseTensorDenseMatMul", {"l[3,2]", "[3]", "l={4,5}", "[4,6]"}, {}, "error inner dimensions"},
      {"SparseReshape", {"l[3,2]", "l={4,5}", "l[3]"}, {}, "[3,3] [3]"},
      {"SparseFillEmptyRows", {"l[3,2]", "[3]", "l={4,5}", "=0"}, {}, "[?,2] [?] [4] [3]"},
      {"SerializeSparse", {"l[3,2]", "[3]", "l={4,5}"}, {}, "[3]"},
      {"SerializeSparse", {"l[3]", "[3]", "l={4,5}"}, {}, "error rank 2"},
      {"SerializeManySparse", {"l[3,2]", "[3]", "l={4,5}"}, {}, "[4,3]"},
      {"DeserializeSparse", {"s[4,3]"}, {{"dtype", DType::kFloat}}, "[?,?] [?] [?]"},
      {"DeserializeSparse", {"s[4,2]"}, {{"dtype", DType::kFloat}}, "error last axis"},
      {"DeserializeManySparse", {"s[3]"}, {{"dtype", DType::kFloat}}, "error rank 2"},
      {"AddManySparseToTensorsMap", {"l[3,2]", "[3]", "l={4,5}"}, {}, "[4]"},
  });
}

TEST(RaggedShapesTest, VariantsStandForRows) {
  ExpectShapes({
      {"RaggedTensorToVariant", {"l[4]", "[9,2]"}, {{"RAGGED_RANK", 1}, {"batched_input", true}}, "[3]"},
      {"RaggedTensorToVariant", {"l[4]", "[9,2]"}, {{"RAGGED_RANK", 1}, {"batched_input", false}}, "[]"},
      {"RaggedTensorToVariant", {"l[4]", "[]"}, {{"RAGGED_RANK", 1}, {"batched_input", false}}, "error rank"},
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
      {"PriorityQueueV2", {}, {{"component_types", types}, {"shapes", two}}, "error found 2 shapes for 1 components"},
      {"PriorityQueue", {}, {{"component_types", types}, {"shapes", std::vector<PartialShape>{PartialShape()}}}, "[2]"},
      {"TensorArrayV3", {"i=3"}, {{"dtype", DType::kFloat}}, "? []"},
      {"Stack", {}, {{"elem_type", DType::kFloat}}, "[2]"},
      {"Barrier", {}, {{"component_types", types}}, "[2]"},
      {"ConditionalAccumulator", {}, {{"dtype", DType::kFloat}, {"shape", PartialShape::Of({2})}}, "[2]"},
      {"SparseConditionalAccumulator", {}, {{"dtype", DType::kFloat}, {"shape", PartialShape::Of({2})}}, "[2]"},
      {"ResourceConditionalAccumulator", {}, {{"dtype", DType::kFloat}, {"shape", PartialShape::Of({2})}}, "[]"},
      {"MapIncompleteSize", {}, {{"dtypes", types}}, "[]"},
      {"OrderedMapIncompleteSize", {}, {{"dtypes", types}}, "[]"},
      {"MapSize", {}, {{"dtypes", types}}, "[]"},
  });
}

// What comes out of a queue has the shapes that it states, with those taken together in front.
TEST(CollectionShapesTest, ElementsHaveTheShapesOfTheirQueue) {
  GraphBuilder b(NewOpRegistry());
  const GraphBuilder::Attrs types = {{"component_types", std::vector<DType>{DType::kInt64, DType::kFloat}}};
  const Output q = b.Op("PriorityQueueV2", "q", {},
                        {{"component_types", std::vector<DType>{DType::kFloat}},
                         {"shapes", std::vector<PartialShape>{PartialShape::Of({2})}}});
  const Output three = b.Const("three", Tensor::Scalar(3));
  const Output one = b.Op("QueueDequeueV2", "one", {q}, types);
  const Output many = b.Op("QueueDequeueManyV2", "many", {q, three}, types);
  const Output some = b.Op("QueueDequeueUpToV2", "some", {q, three}, types);
  ASSERT_OK(b.status());
  ASSERT_OK_AND_ASSIGN(const ShapeMap shapes, InferShapes(b.graph()));
  const auto both = [&](const Output& node) {
    return absl::StrCat(shapes.shape(node).ToString(), " ", shapes.shape(GraphBuilder::Nth(node, 1)).ToString());
  };
  EXPECT_EQ(both(one), "[] [2]");
  EXPECT_EQ(both(many), "[3] [3,2]");
  EXPECT_EQ(both(some), "[?] [?,2]");
}

}  // namespace
}  // namespace sluice

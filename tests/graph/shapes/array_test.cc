// Shapes of ops that reshape, cut, join and pick.

#include <cstdint>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "tests/graph/shapes/shape_case.h"

namespace sluice {
namespace {

using Ints = std::vector<int64_t>;

TEST(ReshapeShapesTest, TheMinusOneFollowsFromTheRest) {
  ExpectShapes({
      {"Reshape", {"[2,6]", "i={3,-1}"}, {}, "[3,4]"},
      {"Reshape", {"[?,6]", "i={3,-1}"}, {}, "[3,?]"},
      {"Reshape", {"[0,3]", "i={-1,0}"}, {}, "[3,0]"},
      {"Reshape", {"[6]", "i={4,2}"}, {}, "error another number of elements"},
      {"Reshape", {"[7]", "i={2,-1}"}, {}, "error another number of elements"},
      {"Reshape", {"[6]", "i={-1,-1}"}, {}, "error only one size may be -1"},
      {"Reshape", {"[6]", "i={-2,3}"}, {}, "error negative"},
      {"Reshape", {"[6]", "i[2]"}, {}, "[?,?]"},
      {"Reshape", {"[1,1]", "i={}"}, {}, "[]"},
      {"Reshape", {"[4611686018427387904]", "l={2,-1}"}, {}, "[2,2305843009213693952]"},
  });
}

TEST(ReshapeShapesTest, DimensionsComeAndGo) {
  ExpectShapes({
      {"ExpandDims", {"[2,3]", "i=-1"}, {}, "[2,3,1]"},
      {"ExpandDims", {"[2,3]", "i=4"}, {}, "error axis 4 is out of range"},
      {"ExpandDims", {"[2,3]", "i[]"}, {}, "[?,?,?]"},
      {"Squeeze", {"[1,3,1]"}, {}, "[3]"},
      {"Squeeze", {"[1,?,1]"}, {}, "?"},
      {"Squeeze", {"[1,?,1]"}, {{"squeeze_dims", Ints{1, -1}}}, "[1]"},
      {"Squeeze", {"[1,3]"}, {{"squeeze_dims", Ints{1}}}, "error cannot be squeezed"},
      {"Transpose", {"[2,3,4]", "i={2,0,1}"}, {}, "[4,2,3]"},
      {"Transpose", {"?", "i={1,0}"}, {}, "[?,?]"},
      {"Transpose", {"?", "i[3]"}, {}, "[?,?,?]"},
      {"Transpose", {"?", "i[?]"}, {}, "?"},
      {"Transpose", {"?", "i[255]"}, {}, "?"},  // More than a shape may have.
      {"Transpose", {"[2,3]", "i={0,0}"}, {}, "error not a permutation"},
      {"Transpose", {"[2,3]", "i={0,-1}"}, {}, "error not a permutation"},
      {"Transpose", {"[2,3]", "i[3]"}, {}, "error rank 3"},
      {"BroadcastTo", {"[3,1]", "i={2,3,4}"}, {}, "[2,3,4]"},
      {"BroadcastTo", {"[3,2]", "i={3,4}"}, {}, "error does not broadcast"},
      {"EnsureShape", {"[2,?]"}, {{"shape", PartialShape::Of({-1, 3})}}, "[2,3]"},
      {"EnsureShape", {"[2,4]"}, {{"shape", PartialShape::Of({-1, 3})}}, "error ensured shape"},
      {"Shape", {"[2,?]"}, {}, "[2]"},
      {"ShapeN", {"[2,?]", "?"}, {}, "[2] [?]"},
  });
}

TEST(JoinShapesTest, PackAndConcatNeedEqualSides) {
  ExpectShapes({
      {"Pack", {"[2,?]", "[?,3]"}, {{"axis", 1}}, "[2,2,3]"},
      {"Pack", {"[2]", "[3]"}, {}, "error input 1"},
      {"Pack", {"[2]", "[2]"}, {{"axis", 3}}, "error axis 3"},
      {"ConcatV2", {"[2,3]", "[?,3]", "[4,?]", "i=0"}, {}, "[?,3]"},
      {"ConcatV2", {"[2,3]", "[2,4]", "i=-1"}, {}, "[2,7]"},
      {"ConcatV2", {"[2,3]", "[3,2]", "i=0"}, {}, "error dimension 1"},
      {"ConcatV2", {"[2,3]", "[2]", "i=0"}, {}, "error rank 2"},
      {"ConcatV2", {"[2,3]", "[2,4]", "i[]"}, {}, "[?,?]"},
      {"ConcatV2", {"[4611686018427387904]", "[4611686018427387904]", "i=0"}, {}, "[?]"},
      {"Concat", {"i=1", "[2,3]", "[2,4]"}, {}, "[2,7]"},
  });
}

TEST(JoinShapesTest, SplitAndUnpackNeedWholeParts) {
  ExpectShapes({
      {"Split", {"i=1", "[2,6]"}, {{"num_split", 3}}, "[2,2] [2,2] [2,2]"},
      {"Split", {"i=1", "[2,5]"}, {{"num_split", 3}}, "error equal parts"},
      {"Split", {"i=2", "[2,5]"}, {{"num_split", 1}}, "error axis 2"},
      {"SplitV", {"[2,6]", "i={1,-1}", "i=1"}, {{"num_split", 2}}, "[2,1] [2,5]"},
      {"SplitV", {"[2,6]", "i={1,4}", "i=1"}, {{"num_split", 2}}, "error add up to 5"},
      {"Unpack", {"[2,3]"}, {{"num", 2}}, "[3] [3]"},
      {"Unpack", {"[2,3]"}, {{"num", 2}, {"axis", -1}}, "error attr num"},
      {"Tile", {"[2,?]", "i={3,2}"}, {}, "[6,?]"},
      {"Tile", {"[2,3]", "i={3}"}, {}, "error rank 1"},
      {"Tile", {"[2305843009213693952]", "i={8}"}, {}, "[?]"},
      {"Pad", {"[2,?]", "i={{1,1},{0,2}}"}, {}, "[4,?]"},
      {"Pad", {"[2,3]", "i[3,2]"}, {}, "error paddings"},
      {"Pad", {"[2]", "i={{-1,1}}"}, {}, "error negative"},
  });
}

TEST(SliceShapesTest, MasksChooseWhatIsTaken) {
  ExpectShapes({
      {"StridedSlice", {"[10]", "i={2}", "i={9}", "i={3}"}, {}, "[3]"},
      {"StridedSlice", {"[10]", "i={-1}", "i={-11}", "i={-1}"}, {}, "[10]"},
      {"StridedSlice", {"[10]", "i={2}", "i={9}", "i={3}"}, {{"begin_mask", 1}, {"end_mask", 1}}, "[4]"},
      {"StridedSlice", {"[2,3,4]", "i={0,1}", "i={0,2}", "i={1,1}"}, {{"ellipsis_mask", 1}}, "[2,3,1]"},
      {"StridedSlice",
       {"[5,6]", "i={1,0}", "i={2,0}", "i={1,1}"},
       {{"shrink_axis_mask", 1}, {"new_axis_mask", 2}},
       "[1,6]"},
      {"StridedSlice", {"[5,6]", "i[1]", "i[1]", "i={1}"}, {}, "[?,6]"},
      {"StridedSlice", {"?", "i={0}", "i={1}", "i={1}"}, {}, "?"},
  });
}

TEST(SliceShapesTest, WhatDoesNotExistIsRefused) {
  ExpectShapes({
      {"StridedSlice", {"[5]", "i={7}", "i={8}", "i={1}"}, {{"shrink_axis_mask", 1}}, "error index 7 is outside"},
      {"StridedSlice", {"[5]", "i={1}", "i={2}", "i={0}"}, {}, "error stride 0 is 0"},
      {"StridedSlice", {"[5]", "i={1,1}", "i={2,2}", "i={1,1}"}, {}, "error rank 2"},
      {"StridedSlice", {"?", "i[2]", "i[2]", "i[2]"}, {{"ellipsis_mask", 3}}, "error more than one ellipsis"},
      {"Slice", {"[5,6]", "i={1,2}", "i={2,-1}"}, {}, "[2,4]"},
      {"Slice", {"[5,6]", "i={1,2}", "i={2,5}"}, {}, "error do not exist"},
      {"Slice", {"[5,6]", "i={1}", "i={2}"}, {}, "error rank 1"},
      {"ReverseSequence", {"[5,6]", "l[5]"}, {{"seq_dim", 7}}, "error rank above 7"},
  });
}

TEST(GatherShapesTest, IndicesTakeThePlaceOfAnAxis) {
  ExpectShapes({
      {"Gather", {"[5,6]", "i[2,3]"}, {}, "[2,3,6]"},
      {"Gather", {"[]", "i[2,3]"}, {}, "error rank 0"},
      {"GatherV2", {"[5,6,7]", "i[2]", "i=1"}, {}, "[5,2,7]"},
      {"GatherV2", {"[5,6,7]", "i[5,2]", "i=2"}, {{"batch_dims", 1}}, "[5,6,2]"},
      {"GatherV2", {"[5,6]", "i[2]", "i=2"}, {}, "error axis 2"},
      {"GatherNd", {"[5,6,7]", "i[4,2]"}, {}, "[4,7]"},
      {"GatherNd", {"[5,6]", "i[4,3]"}, {}, "error 3 coordinates"},
      {"OneHot", {"i[2,3]", "i=9", "=1", "=0"}, {}, "[2,3,9]"},
      {"OneHot", {"i[2,3]", "i=9", "=1", "=0"}, {{"axis", 0}}, "[9,2,3]"},
      {"OneHot", {"i[2,3]", "i=9", "=1", "=0"}, {{"axis", 5}}, "error axis 5"},
      {"TopKV2", {"[3,9]", "i=4"}, {}, "[3,4] [3,4]"},
      {"TopKV2", {"[3,9]", "i=10"}, {}, "error fewer than k"},
      {"Where", {"b[3,4]"}, {}, "[?,2]"},
      {"DynamicStitch", {"i={0,4}", "i={1,2}", "[2,7]", "[2,?]"}, {{"N", 2}}, "[5,7]"},
      {"DynamicPartition", {"[6,3]", "i[6]"}, {{"num_partitions", 2}}, "[?,3] [?,3]"},
      {"Unique", {"[9]"}, {}, "[?] [9]"},
      {"ScatterNd", {"i[3,1]", "[3,4]", "i={8,4}"}, {}, "[8,4]"},
  });
}

TEST(BlockShapesTest, BlocksMoveBetweenSpaceAndBatchOrDepth) {
  ExpectShapes({
      {"SpaceToDepth", {"[1,4,6,3]"}, {{"block_size", 2}}, "[1,2,3,12]"},
      {"SpaceToDepth", {"[1,5,6,3]"}, {{"block_size", 2}}, "error block size"},
      {"DepthToSpace", {"[1,2,3,12]"}, {{"block_size", 2}}, "[1,4,6,3]"},
      {"DepthToSpace", {"[1,2,3,6]"}, {{"block_size", 2}}, "error block size"},
      {"SpaceToBatchND", {"[2,5,4]", "i={3}", "i={{0,1}}"}, {}, "[6,2,4]"},
      {"BatchToSpaceND", {"[6,2,4]", "i={3}", "i={{0,1}}"}, {}, "[2,5,4]"},
      {"BatchToSpaceND", {"[6,2,4]", "i={0}", "i={{0,1}}"}, {}, "[?,?,4]"},
  });
}

}  // namespace
}  // namespace sluice

// Shapes of products, convolutions, pooling, normalisation, losses and reductions.

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "tests/graph/shapes/shape_case.h"

namespace sluice {
namespace {

using Ints = std::vector<int64_t>;

TEST(MatMulShapesTest, InnerDimensionsMustBeEqual) {
  ExpectShapes({
      {"MatMul", {"[2,3]", "[3,?]"}, {}, "[2,?]"},
      {"MatMul", {"[3,2]", "[4,3]"}, {{"transpose_a", true}, {"transpose_b", true}}, "[2,4]"},
      {"MatMul", {"[2,3]", "[2,3]"}, {}, "error found inner dimensions 3 and 2"},
      {"MatMul", {"[2]", "[2]"}, {}, "error rank 1"},
      {"MatMul", {"?", "?"}, {}, "[?,?]"},
      {"BatchMatMulV2", {"[5,1,2,3]", "[4,3,6]"}, {}, "[5,4,2,6]"},
      {"BatchMatMulV2", {"[5,2,3]", "[4,3,6]"}, {}, "error batch dimensions"},
      {"BatchMatMul", {"[1,2,3]", "[4,3,6]"}, {}, "error batch dimensions"},
      {"BatchMatMulV2", {"[2,3]", "[6,3]"}, {{"adj_y", true}}, "[2,6]"},
  });
}

TEST(EinsumShapesTest, LabelsStandForSizes) {
  const auto with = [](const char* equation) { return GraphBuilder::Attrs{{"equation", equation}}; };
  ExpectShapes({
      {"Einsum", {"[2,3]", "[3,4]"}, with("ij,jk->ik"), "[2,4]"},
      {"Einsum", {"[5,2,3]", "[3,?]"}, with("...ij,jk->...ik"), "[5,2,?]"},
      {"Einsum", {"[2,3]", "[4,5]"}, with("ij,jk->ik"), "error label j stands for 3 and 4"},
      {"Einsum", {"[2,3]", "[3]"}, with("ij,jk->ik"), "error rank 2"},
      {"Einsum", {"[2,3]"}, with("ij,jk->ik"), "error found 2 operands for 1 inputs"},
      {"Einsum", {"[2,3]"}, with(""), "error exactly one"},
      {"Einsum", {"?"}, with("ii->i"), "[?]"},
  });
}

TEST(ConvolutionShapesTest, WindowsSlide) {
  const auto attrs = [](const char* padding, Ints strides) {
    return GraphBuilder::Attrs{{"padding", padding}, {"strides", strides}};
  };
  ExpectShapes({
      {"Conv2D", {"[8,5,6,3]", "[3,3,3,16]"}, attrs("SAME", {1, 2, 2, 1}), "[8,3,3,16]"},
      {"Conv2D", {"[?,5,6,3]", "[3,3,3,16]"}, attrs("VALID", {1, 1, 1, 1}), "[?,3,4,16]"},
      {"Conv2D", {"[1,5,5,4]", "[3,3,2,16]"}, attrs("VALID", {1, 1, 1, 1}), "[1,3,3,16]"},
      {"Conv2D", {"[1,5,5,3]", "[3,3,2,16]"}, attrs("VALID", {1, 1, 1, 1}), "error filter for 2 channels"},
      {"Conv2D", {"[1,5,5]", "[3,3,2,16]"}, attrs("VALID", {1, 1, 1, 1}), "error rank 3"},
      {"Conv2D", {"?", "?"}, attrs("VALID", {1, 0, 1, 1}), "error attr 'strides'"},
      {"Conv2D", {"?", "?"}, attrs("VALID", {1, 1, 1}), "error attr 'strides'"},
      {"Conv2D", {"?", "?"}, attrs("VALID", {2, 1, 1, 1}), "error SLC2506"},
      {"DepthwiseConv2dNative", {"[1,5,5,3]", "[3,3,3,2]"}, attrs("SAME", {1, 1, 1, 1}), "[1,5,5,6]"},
      {"DepthwiseConv2dNative", {"?", "?"}, attrs("SAME", {1, 1, 2, 1}), "error rows and columns"},
      {"Conv3D", {"[1,5,5,5,3]", "[3,3,3,3,2]"}, attrs("SAME", {1, 2, 2, 2, 1}), "[1,3,3,3,2]"},
  });
}

TEST(ConvolutionShapesTest, AWindowALittleTooLargeGivesNothingAsInTheKernels) {
  const auto attrs = [](int64_t stride) {
    return GraphBuilder::Attrs{{"padding", "VALID"}, {"strides", Ints{1, stride, stride, 1}}};
  };
  ExpectShapes({
      {"Conv2D", {"[1,2,2,1]", "[3,3,1,1]"}, attrs(1), "[1,0,0,1]"},
      {"Conv2D", {"[1,2,2,1]", "[4,4,1,1]"}, attrs(1), "error does not fit"},
      {"Conv2D", {"[1,2,2,1]", "[6,6,1,1]"}, attrs(3), "[1,0,0,1]"},
  });
}

TEST(ConvolutionShapesTest, ExplicitPaddingsAreCounted) {
  const Ints ones = {1, 1, 1, 1};
  ExpectShapes({
      {"Conv2D",
       {"[1,5,5,1]", "[3,3,1,1]"},
       {{"padding", "EXPLICIT"}, {"strides", ones}, {"explicit_paddings", Ints{0, 0, 1, 2, 0, 1, 0, 0}}},
       "[1,6,4,1]"},
      {"Conv2D",
       {"?", "?"},
       {{"padding", "EXPLICIT"}, {"strides", ones}, {"explicit_paddings", Ints{0, 0, 1}}},
       "error attr 'explicit_paddings'"},
      {"Conv2D",
       {"[1,9,9,1]", "[3,3,1,1]"},
       {{"padding", "VALID"}, {"strides", ones}, {"dilations", Ints{1, 2, 2, 1}}},
       "[1,5,5,1]"},
      {"Conv2D",
       {"[1,4,9,9]", "[3,3,4,8]"},
       {{"padding", "SAME"}, {"strides", ones}, {"data_format", "NCHW"}},
       "[1,8,9,9]"},
  });
}

TEST(PoolingShapesTest, WindowsSlide) {
  const auto attrs = [](Ints window, Ints strides) {
    return GraphBuilder::Attrs{{"padding", "VALID"}, {"ksize", window}, {"strides", strides}};
  };
  ExpectShapes({
      {"MaxPool", {"[2,6,7,3]"}, attrs({1, 2, 2, 1}, {1, 2, 2, 1}), "[2,3,3,3]"},
      {"AvgPool", {"[2,2,7,3]"}, attrs({1, 3, 3, 1}, {1, 1, 1, 1}), "[2,0,5,3]"},
      {"AvgPool", {"[2,1,7,3]"}, attrs({1, 3, 3, 1}, {1, 1, 1, 1}), "error does not fit"},
      {"MaxPool", {"?"}, attrs({1, -1, -1, 1}, {1, 1, 1, 1}), "error attr 'ksize'"},
      {"MaxPool", {"?"}, attrs({1, 2, 2, 1}, {1, 0, 0, 1}), "error attr 'strides'"},
      {"MaxPoolGrad", {"[2,6,7,3]", "[2,3,3,3]", "[2,3,3,3]"}, attrs({1, 2, 2, 1}, {1, 2, 2, 1}), "[2,6,7,3]"},
      {"AvgPoolGrad", {"i={2,6,7,3}", "?"}, attrs({1, 2, 2, 1}, {1, 2, 2, 1}), "[2,6,7,3]"},
  });
}

TEST(GradientShapesTest, SizesComeFromContents) {
  const GraphBuilder::Attrs attrs = {{"padding", "SAME"}, {"strides", Ints{1, 1, 1, 1}}};
  ExpectShapes({
      {"Conv2DBackpropInput", {"i={8,5,6,3}", "[3,3,3,16]", "?"}, attrs, "[8,5,6,3]"},
      {"Conv2DBackpropInput", {"i={5,6}", "[3,3,3,16]", "?"}, attrs, "[?,?,?,?]"},
      {"Conv2DBackpropFilter", {"[8,5,6,3]", "i={3,3,3,16}", "?"}, attrs, "[3,3,3,16]"},
      {"BiasAddGrad", {"[8,5,6,3]"}, {}, "[3]"},
      {"StridedSliceGrad", {"i={4,5}", "i[1]", "i[1]", "i[1]", "[2,5]"}, {}, "[4,5]"},
  });
}

TEST(NormalizationShapesTest, ChannelsMustAgree) {
  ExpectShapes({
      {"BiasAdd", {"[8,5,6,3]", "[3]"}, {}, "[8,5,6,3]"},
      {"BiasAdd", {"[8,5,6,3]", "[4]"}, {}, "error input 1"},
      {"BiasAdd", {"[3]", "[3]"}, {}, "error rank 1"},
      {"FusedBatchNormV3", {"[8,5,6,3]", "[3]", "[3]", "[0]", "[0]"}, {}, "[8,5,6,3] [3] [3] [3] [3] ?"},
      {"_FusedBatchNormEx", {"[8,5,6,3]", "[3]", "[3]", "[0]", "[0]"}, {}, "[8,5,6,3] [3] [3] [3] [3] ?"},
      {"FusedBatchNormV3", {"[8,5,6,3]", "[4]", "[3]", "[0]", "[0]"}, {}, "error 3 channels"},
      {"SoftmaxCrossEntropyWithLogits", {"[?,9]", "[8,1]"}, {}, "[8] [8,9]"},
      {"SparseSoftmaxCrossEntropyWithLogits", {"[?,9]", "l[8]"}, {}, "[8] [8,9]"},
      {"SparseSoftmaxCrossEntropyWithLogits", {"[7,9]", "l[8]"}, {}, "error input 1"},
      {"L2Loss", {"[2,3]"}, {}, "[]"},
  });
}

TEST(ReductionShapesTest, AxesGoAway) {
  ExpectShapes({
      {"Sum", {"[2,3,4]", "i={0,-1}"}, {}, "[3]"},
      {"Mean", {"[2,3,4]", "i=1"}, {{"keep_dims", true}}, "[2,1,4]"},
      {"Max", {"[2,3]", "i={0,0}"}, {}, "error given twice"},
      {"Max", {"[2,3]", "i={2}"}, {}, "error axis 2"},
      {"Min", {"[2,3,4]", "i[2]"}, {}, "[?]"},
      {"Min", {"[2,3,4]", "i[?]"}, {}, "?"},
      {"All", {"b[2,3]", "i[?]"}, {{"keep_dims", true}}, "[?,?]"},
      {"ArgMax", {"[2,3,4]", "i=1"}, {}, "[2,4]"},
      {"ArgMax", {"[2,3]", "i=2"}, {}, "error axis 2"},
      {"SegmentSum", {"[6,3]", "i[6]"}, {}, "[?,3]"},
      {"SegmentSum", {"[6,3]", "i[5]"}, {}, "error input 1"},
      {"UnsortedSegmentSum", {"[2,3,4]", "i[2,3]", "i=7"}, {}, "[7,4]"},
      {"UnsortedSegmentSum", {"[2,3,4]", "i[3]", "i=7"}, {}, "error does not begin"},
  });
}

TEST(HostileAttrsTest, ExtremeSizesNeitherCrashNorMakeUpShapes) {
  const int64_t max = std::numeric_limits<int64_t>::max();
  const Ints ones = {1, 1, 1, 1};
  ExpectShapes({
      {"Conv2D", {"[1,9,9,1]", "[3,3,1,1]"}, {{"padding", "SAME"}, {"strides", Ints{1, max, max, 1}}}, "[1,1,1,1]"},
      {"Conv2D",
       {"[1,9,9,1]", "[3,3,1,1]"},
       {{"padding", "VALID"}, {"strides", ones}, {"dilations", Ints{1, max, max, 1}}},
       "[1,?,?,1]"},
      {"Conv2D",
       {"[1,9,9,1]", "[3,3,1,1]"},
       {{"padding", "EXPLICIT"}, {"strides", ones}, {"explicit_paddings", Ints{0, 0, max, max, 1, 1, 0, 0}}},
       "[1,?,9,1]"},
      {"MaxPool", {"[1,9,9,1]"}, {{"padding", "VALID"}, {"strides", ones}, {"ksize", Ints{1, max, 1, 1}}}, "error fit"},
      {"SpaceToDepth", {"[1,0,0,3]"}, {{"block_size", int64_t{1} << 40}}, "[1,0,0,?]"},
      {"GatherV2", {"[5,6]", "i[2]", "i=1"}, {{"batch_dims", -max}}, "?"},
      {"ReverseSequence", {"[5,6]", "l[5]"}, {{"seq_dim", max}}, "error rank"},
      {"OneHot", {"i[2]", "i=9", "=1", "=0"}, {{"axis", max}}, "error axis"},
      {"Squeeze", {"[1]"}, {{"squeeze_dims", Ints{-max - 1}}}, "error axis"},
  });
}

}  // namespace
}  // namespace sluice

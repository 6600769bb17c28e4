// Shapes from shapes, and arithmetic on dimensions.

#include <cstdint>
#include <limits>

#include "graph/shapes/dims.h"
#include "graph/shapes/inference_context.h"
#include "gtest/gtest.h"

namespace sluice {
namespace {

constexpr int64_t kMax = std::numeric_limits<int64_t>::max();

TEST(DimsTest, WhatOverflowsIsUnknown) {
  EXPECT_EQ(AddDims(kMax, 1), kUnknownDim);
  EXPECT_EQ(MulDims(kMax, 2), kUnknownDim);
  EXPECT_EQ(SubDims(1, 2), kUnknownDim);
  EXPECT_EQ(DivDims(7, 2), kUnknownDim);
  EXPECT_EQ(DivDims(7, 0), kUnknownDim);
}

TEST(DimsTest, UnknownMeetsKnown) {
  EXPECT_EQ(AddDims(kUnknownDim, 1), kUnknownDim);
  EXPECT_EQ(MulDims(kUnknownDim, 0), 0);
  EXPECT_EQ(EitherDim(kUnknownDim, 3), 3);
  EXPECT_FALSE(DimsDiffer(kUnknownDim, 3));
  EXPECT_TRUE(DimsDiffer(2, 3));
}

TEST(ShapeAlgebraTest, JoinForgetsWhatDiffers) {
  EXPECT_EQ(JoinShapes(PartialShape::Of({2, 3}), PartialShape::Of({2, 4})).ToString(), "[2,?]");
  EXPECT_EQ(JoinShapes(PartialShape::Of({2, 3}), PartialShape::Of({2})).ToString(), "?");
  EXPECT_EQ(JoinShapes(PartialShape(), PartialShape::Of({2})).ToString(), "?");
}

TEST(ShapeAlgebraTest, BroadcastOfUnknownDimensions) {
  bool differ = false;
  EXPECT_EQ(BroadcastShapes(PartialShape::Of({-1, 1}), PartialShape::Of({5, -1}), &differ).ToString(), "[5,?]");
  EXPECT_FALSE(differ);
  BroadcastShapes(PartialShape::Of({2}), PartialShape::Of({3}), &differ);
  EXPECT_TRUE(differ);
}

TEST(ShapeAlgebraTest, SizesThatMakeNoShapeLeaveTheRank) {
  EXPECT_EQ(ShapeOf({kMax, kMax}).ToString(), "[?,?]");
  EXPECT_EQ(ShapeOf(Dims(300, 1)).ToString(), "?");
  EXPECT_EQ(ConcatShapes(PartialShape::OfRank(200), PartialShape::OfRank(200)).ToString(), "?");
}

TEST(ShapeAlgebraTest, SubShapeStaysInside) {
  const PartialShape shape = PartialShape::Of({2, 3, 4});
  EXPECT_EQ(SubShape(shape, 1).ToString(), "[3,4]");
  EXPECT_EQ(SubShape(shape, 0, 1).ToString(), "[2]");
  EXPECT_EQ(SubShape(shape, 3).ToString(), "[]");
  EXPECT_EQ(SubShape(PartialShape(), 1).ToString(), "?");
}

}  // namespace
}  // namespace sluice

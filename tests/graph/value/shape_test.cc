#include "graph/value/shape.h"

#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "tests/testing/status_matchers.h"

namespace sluice {
namespace {

TEST(ShapeTest, CountsElements) {
  EXPECT_EQ(Shape().num_elements(), 1);
  EXPECT_TRUE(Shape().IsScalar());
  EXPECT_EQ(Shape::Of({2, 3}).num_elements(), 6);
  EXPECT_EQ(Shape::Of({2, 0, 3}).num_elements(), 0);
  EXPECT_EQ(Shape::Of({2, 3}).ToString(), "[2,3]");
  EXPECT_EQ(Shape().ToString(), "[]");
}

TEST(ShapeTest, LongShapesAreCopiedAndMoved) {
  const Shape shape = Shape::Of({1, 2, 3, 4, 5, 6});
  Shape copy = shape;
  EXPECT_EQ(copy, shape);
  copy = Shape::Of({7});
  copy = shape;
  Shape moved = std::move(copy);
  EXPECT_EQ(moved, shape);
  EXPECT_TRUE(copy.IsScalar());  // NOLINT: what a moved-from shape is, is said in the header.
  moved = Shape::Of({1, 1, 1, 1, 9});
  EXPECT_EQ(moved.dim(4), 9);
  Shape& self = moved;
  moved = self;
  EXPECT_EQ(moved.num_elements(), 9);
}

TEST(ShapeTest, RefusesImpossibleSizes) {
  EXPECT_THAT(Shape::Make({2, -5}), StatusIs(absl::StatusCode::kInvalidArgument, "size -5 in dimension 1"));
  const int64_t big = int64_t{1} << 31;
  EXPECT_THAT(Shape::Make({big, big, big}), IsError(ErrorCode::kShapeValue));
  EXPECT_THAT(Shape::Make({0, int64_t{1} << 62, int64_t{1} << 62}), IsError(ErrorCode::kShapeValue));
  EXPECT_OK(Shape::Make({0, int64_t{1} << 62}));
  EXPECT_THAT(Shape::Make({int64_t{1} << 62, 2}), IsError(ErrorCode::kShapeValue));
  EXPECT_OK(Shape::Make(std::vector<int64_t>(254, 1)));
  EXPECT_THAT(Shape::Make(std::vector<int64_t>(255, 1)), IsError(ErrorCode::kShapeRank, "255"));
}

TEST(PartialShapeTest, SaysWhatIsUnknown) {
  EXPECT_EQ(PartialShape().ToString(), "?");
  EXPECT_EQ(PartialShape::Of({2, -1}).ToString(), "[2,?]");
  EXPECT_EQ(PartialShape().rank(), -1);
  EXPECT_EQ(PartialShape::Scalar().rank(), 0);
  EXPECT_EQ(PartialShape::Of({2, -1}).num_elements(), -1);
  EXPECT_EQ(PartialShape::Of({2, 4}).num_elements(), 8);
  EXPECT_TRUE(PartialShape::Scalar().IsFullyDefined());
  EXPECT_FALSE(PartialShape().IsFullyDefined());
  EXPECT_EQ(PartialShape::Of({2, 4}).ToShape(), Shape::Of({2, 4}));
}

TEST(PartialShapeTest, MergesWhatBothKnow) {
  ASSERT_OK_AND_ASSIGN(const PartialShape merged, PartialShape::Of({2, -1}).MergeWith(PartialShape::Of({-1, 3})));
  EXPECT_EQ(merged, PartialShape::Of({2, 3}));
  ASSERT_OK_AND_ASSIGN(const PartialShape same, PartialShape().MergeWith(PartialShape::Of({-1})));
  EXPECT_EQ(same, PartialShape::Of({-1}));
  EXPECT_THAT(PartialShape::Of({2}).MergeWith(PartialShape::Of({3})), IsError(ErrorCode::kShapeMismatch));
  EXPECT_THAT(PartialShape::Of({2}).MergeWith(PartialShape::Of({2, 2})), IsError(ErrorCode::kShapeMismatch));
}

TEST(PartialShapeTest, IsCompatibleWithTheShapesThatFit) {
  EXPECT_TRUE(PartialShape().IsCompatibleWith(Shape::Of({5})));
  EXPECT_TRUE(PartialShape::Of({-1, 2}).IsCompatibleWith(Shape::Of({5, 2})));
  EXPECT_FALSE(PartialShape::Of({-1, 2}).IsCompatibleWith(Shape::Of({5, 3})));
  EXPECT_FALSE(PartialShape::Of({-1}).IsCompatibleWith(Shape()));
}

TEST(PartialShapeTest, IdsTellUnknownSizesApart) {
  const int64_t x = kFirstDimId, y = kFirstDimId - 1;
  EXPECT_THAT(PartialShape::Make({x}), IsError(ErrorCode::kShapeValue)) << "files have none";
  EXPECT_THAT(PartialShape::MakeWithIds({kLastDimId - 1}), IsError(ErrorCode::kShapeValue));
  EXPECT_THAT(PartialShape::MakeWithIds({kFirstDimId + 1}), IsError(ErrorCode::kShapeValue));
  ASSERT_OK_AND_ASSIGN(const PartialShape a, PartialShape::MakeWithIds({x, 2}));
  ASSERT_OK_AND_ASSIGN(const PartialShape b, PartialShape::MakeWithIds({y, 2}));
  EXPECT_EQ(a.ToString(), "[?,2]");
  EXPECT_EQ(a, b);
  EXPECT_EQ(a, PartialShape::Of({-1, 2}));
  EXPECT_NE(a, PartialShape::Of({-1, 3}));
  EXPECT_NE(a, PartialShape::Of({-1}));
  EXPECT_FALSE(a.IsIdenticalTo(b));
  EXPECT_TRUE(a.WithoutIds().IsIdenticalTo(PartialShape::Of({-1, 2})));
  EXPECT_FALSE(a.IsFullyDefined());
  EXPECT_EQ(a.num_elements(), -1);
  EXPECT_TRUE(a.IsCompatibleWith(b));
  EXPECT_TRUE(a.IsCompatibleWith(Shape::Of({5, 2})));
  ASSERT_OK_AND_ASSIGN(const PartialShape with_unknown, PartialShape::OfRank(2).MergeWith(a));
  EXPECT_TRUE(with_unknown.IsIdenticalTo(a));
  ASSERT_OK_AND_ASSIGN(const PartialShape with_known, a.MergeWith(PartialShape::Of({7, -1})));
  EXPECT_TRUE(with_known.IsIdenticalTo(PartialShape::Of({7, 2})));
  ASSERT_OK_AND_ASSIGN(const PartialShape first, a.MergeWith(b));
  EXPECT_TRUE(first.IsIdenticalTo(a));
}

TEST(PartialShapeTest, RefusesImpossibleSizes) {
  EXPECT_THAT(PartialShape::Make({-2}), IsError(ErrorCode::kShapeValue));
  EXPECT_THAT(PartialShape::Make({-1, int64_t{1} << 62, 4}), IsError(ErrorCode::kShapeValue));
  EXPECT_THAT(PartialShape::Make(std::vector<int64_t>(300, -1)), IsError(ErrorCode::kShapeRank));
}

}  // namespace
}  // namespace sluice

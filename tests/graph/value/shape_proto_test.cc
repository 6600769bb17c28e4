#include "graph/value/shape_proto.h"

#include <string>
#include <vector>

#include "absl/strings/escaping.h"
#include "graph/wire/wire_writer.h"
#include "gtest/gtest.h"
#include "tests/testing/status_matchers.h"

namespace sluice {
namespace {

TEST(ShapeProtoTest, SurvivesTheRoundTrip) {
  for (const PartialShape& shape : {PartialShape(), PartialShape::Scalar(), PartialShape::Of({2, -1, 0, 1 << 20})}) {
    ASSERT_OK_AND_ASSIGN(const PartialShape again, DecodeShapeProto(EncodeShapeProto(shape)));
    EXPECT_EQ(again, shape);
  }
}

TEST(ShapeProtoTest, NamesOfDimensionsAndUnknownFieldsAreSkipped) {
  // dim { size: 3 name: "batch" }, field 9, dim {} (size 0).
  ASSERT_OK_AND_ASSIGN(const PartialShape shape, DecodeShapeProto(absl::HexStringToBytes("1209080312056261746368480512"
                                                                                         "00")));
  EXPECT_EQ(shape, PartialShape::Of({3, 0}));
}

TEST(ShapeProtoTest, ImpossibleShapesAreRefused) {
  std::string minus_two;
  WireWriter writer(&minus_two);
  const size_t mark = writer.BeginMessage(2);
  writer.Int(1, -2);
  writer.EndMessage(mark);
  EXPECT_THAT(DecodeShapeProto(minus_two), IsError(ErrorCode::kShapeValue));
  EXPECT_THAT(DecodeShapeProto(absl::HexStringToBytes("120208031801")), IsError(ErrorCode::kTensorShape));
  EXPECT_THAT(DecodeShapeProto(absl::HexStringToBytes("120408")), IsError(ErrorCode::kFileTruncated));
  std::string long_shape;
  for (int i = 0; i < 255; ++i) long_shape += EncodeShapeProto(PartialShape::Of({1}));
  EXPECT_THAT(DecodeShapeProto(long_shape), IsError(ErrorCode::kTensorShape, "254"));
}

TEST(ShapeProtoTest, IdsOfSizesAreNotWritten) {
  ASSERT_OK_AND_ASSIGN(const PartialShape shape, PartialShape::MakeWithIds({kFirstDimId - 3, 2}));
  EXPECT_EQ(EncodeShapeProto(shape), EncodeShapeProto(PartialShape::Of({-1, 2})));
}

}  // namespace
}  // namespace sluice

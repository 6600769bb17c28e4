#include "graph/ir/attr_literal.h"

#include <limits>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "tests/testing/graph_bytes.h"
#include "tests/testing/status_matchers.h"

namespace sluice {
namespace {

using graph_bytes::MessageBytes;

void ExpectLiteral(AttrType type, absl::string_view text, const MessageBytes& expected) {
  const absl::StatusOr<std::string> bytes = EncodeAttrLiteral(type, text);
  ASSERT_THAT(bytes, IsOk()) << text;
  EXPECT_EQ(*bytes, expected.str()) << text;
}

MessageBytes List(const MessageBytes& inside) { return MessageBytes().Sub(1, inside); }
MessageBytes Dims(const std::vector<int64_t>& sizes) {
  MessageBytes shape;
  for (const int64_t size : sizes) shape.Sub(2, size == 0 ? MessageBytes() : MessageBytes().Int(1, size));
  return shape;
}

TEST(AttrLiteralTest, ScalarsAreEncodedWithTheirOwnField) {
  ExpectLiteral(AttrType::kString, "'SAME'", MessageBytes().Bytes(2, "SAME"));
  ExpectLiteral(AttrType::kString, "\"it's\\n\\001\"", MessageBytes().Bytes(2, "it's\n\x01"));
  ExpectLiteral(AttrType::kString, "''", MessageBytes().Bytes(2, ""));
  ExpectLiteral(AttrType::kInt, "-3", MessageBytes().Int(3, -3));
  ExpectLiteral(AttrType::kFloat, " 1e-04 ", MessageBytes().Float(4, 1e-4f));
  ExpectLiteral(AttrType::kFloat, "-inf", MessageBytes().Float(4, -std::numeric_limits<float>::infinity()));
  ExpectLiteral(AttrType::kBool, "false", MessageBytes().Int(5, 0));
  ExpectLiteral(AttrType::kType, "DT_INT64", MessageBytes().Int(6, 9));
  ExpectLiteral(AttrType::kType, "bfloat16", MessageBytes().Int(6, 14));
}

TEST(AttrLiteralTest, ShapesAreReadInBothNotations) {
  ExpectLiteral(AttrType::kShape, "[2,?,0]", MessageBytes().Sub(7, Dims({2, -1, 0})));
  ExpectLiteral(AttrType::kShape, "[]", MessageBytes().Sub(7, MessageBytes()));
  ExpectLiteral(AttrType::kShape, "?", MessageBytes().Sub(7, MessageBytes().Int(3, 1)));
  ExpectLiteral(AttrType::kShape, "{}", MessageBytes().Sub(7, MessageBytes()));
  ExpectLiteral(AttrType::kShape, "{ unknown_rank: true }", MessageBytes().Sub(7, MessageBytes().Int(3, 1)));
  ExpectLiteral(AttrType::kShape, "{ dim { size: 2 } dim { size: -1 } }", MessageBytes().Sub(7, Dims({2, -1})));
}

TEST(AttrLiteralTest, ListsPackNumbersAndRepeatTheRest) {
  ExpectLiteral(AttrType::kListInt, "[1, -1]", List(MessageBytes().Packed(3, {1, -1})));
  ExpectLiteral(AttrType::kListBool, "[true]", List(MessageBytes().Packed(5, {1})));
  ExpectLiteral(AttrType::kListType, "[float,DT_INT32]", List(MessageBytes().Packed(6, {1, 3})));
  ExpectLiteral(AttrType::kListInt, "[]", List(MessageBytes()));
  ExpectLiteral(AttrType::kListString, "['a,b', \"]\"]", List(MessageBytes().Bytes(2, "a,b").Bytes(2, "]")));
  ExpectLiteral(AttrType::kListShape, "[[], [1,2]]", List(MessageBytes().Sub(7, Dims({})).Sub(7, Dims({1, 2}))));
  ExpectLiteral(AttrType::kListFloat, "[1.0]", List(MessageBytes().Bytes(4, std::string("\0\0\x80\x3f", 4))));
}

TEST(AttrLiteralTest, HexIsTakenAsItIs) {
  ExpectLiteral(AttrType::kTensor, "hex:420208Ff", MessageBytes().Raw("\x42\x02\x08\xff"));
  EXPECT_THAT(EncodeAttrLiteral(AttrType::kTensor, "hex:4"), IsError(ErrorCode::kOpSchema));
  EXPECT_THAT(EncodeAttrLiteral(AttrType::kTensor, "hex:zz"), IsError(ErrorCode::kOpSchema));
}

TEST(AttrLiteralTest, WhatIsNoLiteralIsRefused) {
  const struct {
    AttrType type;
    const char* text;
  } cases[] = {{AttrType::kString, "SAME"},
               {AttrType::kString, "'SAME"},
               {AttrType::kString, "'\\q'"},
               {AttrType::kInt, "1.5"},
               {AttrType::kInt, ""},
               {AttrType::kFloat, "one"},
               {AttrType::kBool, "True"},
               {AttrType::kType, "DT_WHATEVER"},
               {AttrType::kShape, "2,3"},
               {AttrType::kShape, "[x]"},
               {AttrType::kShape, "{ dim { } }"},
               {AttrType::kListInt, "1,2"},
               {AttrType::kListInt, "[1,]"},
               {AttrType::kListInt, "[1,,2]"},
               {AttrType::kTensor, "5"},
               {AttrType::kFunc, "f"}};
  for (const auto& c : cases) {
    EXPECT_THAT(EncodeAttrLiteral(c.type, c.text), IsError(ErrorCode::kOpSchema)) << c.text;
  }
}

}  // namespace
}  // namespace sluice

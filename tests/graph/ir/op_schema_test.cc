#include "graph/ir/op_schema.h"

#include <string>

#include "gmock/gmock.h"
#include "graph/ir/op_schema_builder.h"
#include "gtest/gtest.h"
#include "tests/testing/graph_bytes.h"
#include "tests/testing/status_matchers.h"

namespace sluice {
namespace {

using graph_bytes::MessageBytes;
using testing::ElementsAre;

// An OpDef "F" of one input argument `arg` and one attr `attr`.
std::string OpDefWith(const MessageBytes& arg, const MessageBytes& attr) {
  return MessageBytes().Bytes(1, "F").Sub(2, arg).Sub(4, attr).str();
}

MessageBytes ArgBytes(uint32_t attr_field, absl::string_view attr) {
  return MessageBytes().Bytes(1, "x").Bytes(attr_field, attr);
}

MessageBytes AttrSpecBytes(absl::string_view name, absl::string_view type) {
  return MessageBytes().Bytes(1, name).Bytes(2, type);
}

TEST(OpSchemaTest, AttrTypesHaveTheNamesThatOpDefsUse) {
  for (int i = 1; i <= 25; ++i) {
    if (i > 9 && i < 17) continue;
    const AttrType type = static_cast<AttrType>(i);
    EXPECT_EQ(ParseAttrType(AttrTypeName(type)), type) << AttrTypeName(type);
  }
  EXPECT_EQ(AttrTypeName(AttrType::kListShape), "list(shape)");
  EXPECT_EQ(ParseAttrType("list(int"), AttrType::kInvalid);
  EXPECT_EQ(ParseAttrType("invalid"), AttrType::kInvalid);
  EXPECT_EQ(ParseAttrType(""), AttrType::kInvalid);
}

TEST(OpSchemaTest, AnOpDefIsReadWithAllItsParts) {
  const std::string bytes =
      MessageBytes()
          .Bytes(1, "Queue")
          .Sub(2, MessageBytes().Bytes(1, "handle").Int(3, 7).Int(16, 1).Bytes(2, "a description"))
          .Sub(3, MessageBytes().Bytes(1, "out").Bytes(4, "T").Bytes(5, "N"))
          .Sub(4, AttrSpecBytes("T", "type").Sub(7, MessageBytes().Sub(1, MessageBytes().Packed(6, {1, 3}))))
          .Sub(4, AttrSpecBytes("N", "int").Sub(3, MessageBytes().Int(3, 2)).Int(5, 1).Int(6, 1))
          .Sub(8, MessageBytes().Int(1, 26).Bytes(2, "gone"))
          .Int(17, 1)
          .Bytes(20, "done")
          .Int(99, 5)
          .str();
  ASSERT_OK_AND_ASSIGN(const OpSchema schema, ParseOpDef(bytes));
  EXPECT_EQ(schema.inputs[0].dtype, DType::kString);
  EXPECT_TRUE(schema.inputs[0].is_ref);
  EXPECT_EQ(schema.outputs[0].type_attr, "T");
  EXPECT_TRUE(schema.outputs[0].is_list());
  EXPECT_THAT(schema.FindAttr("T")->allowed_types, ElementsAre(DType::kFloat, DType::kInt32));
  EXPECT_TRUE(schema.FindAttr("N")->has_default);
  EXPECT_EQ(schema.FindAttr("N")->minimum, 1);
  EXPECT_EQ(schema.FindAttr("M"), nullptr);
  EXPECT_EQ(schema.deprecated_at, 26);
  EXPECT_TRUE(schema.is_stateful);
  EXPECT_FALSE(schema.is_aggregate);
  EXPECT_THAT(schema.control_outputs, ElementsAre("done"));
}

TEST(OpSchemaTest, EncodingAndParsingGiveTheSchemaBack) {
  ASSERT_OK_AND_ASSIGN(const OpSchema schema, OpSchemaBuilder("Op")
                                                  .Input("a: Ref(T)")
                                                  .Input("b: N * T")
                                                  .Output("c: L")
                                                  .Attr("T: {float, int32} = DT_FLOAT")
                                                  .Attr("N: int >= -2")
                                                  .Attr("L: list(type) >= 1")
                                                  .Attr("p: {'A', 'B'} = 'B'")
                                                  .ControlOutput("done")
                                                  .Commutative()
                                                  .Deprecated(7, "old")
                                                  .Build());
  const std::string bytes = EncodeOpDef(schema);
  ASSERT_OK_AND_ASSIGN(const OpSchema again, ParseOpDef(bytes));
  EXPECT_EQ(EncodeOpDef(again), bytes);
  EXPECT_EQ(again.FindAttr("N")->minimum, -2);
  EXPECT_THAT(again.FindAttr("p")->allowed_strings, ElementsAre("A", "B"));
  EXPECT_EQ(again.outputs[0].type_list_attr, "L");
}

TEST(OpSchemaTest, ArgumentsMustUseDeclaredAttrsAsWhatTheyAre) {
  const MessageBytes type = AttrSpecBytes("T", "type");
  EXPECT_OK(ParseOpDef(OpDefWith(ArgBytes(4, "T"), type)));
  EXPECT_THAT(ParseOpDef(OpDefWith(ArgBytes(4, "U"), type)), IsError(ErrorCode::kOpSchema, "'U'"));
  EXPECT_THAT(ParseOpDef(OpDefWith(ArgBytes(6, "T"), type)), IsError(ErrorCode::kOpSchema, "list(type)"));
  EXPECT_THAT(ParseOpDef(OpDefWith(ArgBytes(4, "T").Bytes(5, "T"), type)), IsError(ErrorCode::kOpSchema, "int"));
  EXPECT_THAT(ParseOpDef(OpDefWith(ArgBytes(4, "T").Int(3, 1), type)), IsError(ErrorCode::kOpSchema, "more than one"));
  EXPECT_THAT(ParseOpDef(OpDefWith(MessageBytes().Bytes(1, "x"), type)), IsError(ErrorCode::kOpSchema, "no type"));
  EXPECT_THAT(ParseOpDef(OpDefWith(MessageBytes().Bytes(1, "x").Int(3, 9999), type)), IsError(ErrorCode::kOpSchema));
  EXPECT_THAT(ParseOpDef(OpDefWith(MessageBytes().Int(3, 1), type)), IsError(ErrorCode::kOpSchema, "no name"));
}

TEST(OpSchemaTest, AttrsMustBeNamedOnceAndHaveATypeAndAFittingDefault) {
  const MessageBytes arg = MessageBytes().Bytes(1, "x").Int(3, 1);
  EXPECT_THAT(ParseOpDef(OpDefWith(arg, AttrSpecBytes("", "int"))), IsError(ErrorCode::kOpSchema, "no name"));
  EXPECT_THAT(ParseOpDef(OpDefWith(arg, AttrSpecBytes("a", "integer"))), IsError(ErrorCode::kOpSchema, "'a'"));
  EXPECT_THAT(ParseOpDef(OpDefWith(arg, AttrSpecBytes("a", "int").Sub(3, graph_bytes::StringAttr("x")))),
              IsError(ErrorCode::kOpSchema, "default"));
  EXPECT_THAT(ParseOpDef(OpDefWith(arg, AttrSpecBytes("a", "list(int)").Sub(3, graph_bytes::TypeListAttr({1})))),
              IsError(ErrorCode::kOpSchema, "default"));
  EXPECT_OK(ParseOpDef(OpDefWith(arg, AttrSpecBytes("a", "list(int)").Sub(3, graph_bytes::EmptyListAttr()))));
  EXPECT_OK(ParseOpDef(OpDefWith(arg, AttrSpecBytes("a", "func").Sub(3, graph_bytes::FuncAttr("g")))));
  const std::string twice =
      MessageBytes().Bytes(1, "F").Sub(4, AttrSpecBytes("a", "int")).Sub(4, AttrSpecBytes("a", "int")).str();
  EXPECT_THAT(ParseOpDef(twice), IsError(ErrorCode::kOpSchema, "twice"));
  EXPECT_THAT(ParseOpDef(""), IsError(ErrorCode::kOpSchema, "no name"));
}

TEST(OpSchemaTest, DamagedBytesAreRefusedAtEveryLength) {
  const std::string bytes = OpDefWith(ArgBytes(4, "T"), AttrSpecBytes("T", "type").Sub(3, graph_bytes::TypeAttr(1)));
  for (size_t size = 0; size < bytes.size(); ++size) {
    const auto parsed = ParseOpDef(absl::string_view(bytes).substr(0, size));
    if (!parsed.ok()) {
      EXPECT_THAT(parsed, StatusIs(absl::StatusCode::kInvalidArgument)) << size;
    }
  }
  EXPECT_THAT(ParseOpDef(absl::string_view(bytes).substr(0, bytes.size() - 1), 100),
              IsError(ErrorCode::kFileTruncated));
}

}  // namespace
}  // namespace sluice

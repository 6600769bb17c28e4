#include "graph/ir/op_schema_builder.h"

#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/testing/status_matchers.h"

namespace sluice {
namespace {

using testing::ElementsAre;

absl::StatusOr<OpSchema> WithInput(absl::string_view spec) {
  return OpSchemaBuilder("Op").Input(spec).Attr("T: type").Attr("N: int").Attr("L: list(type)").Build();
}

absl::StatusOr<AttrSpec> WithAttr(absl::string_view spec) {
  absl::StatusOr<OpSchema> schema = OpSchemaBuilder("Op").Attr(spec).Build();
  if (!schema.ok()) return schema.status();
  return schema->attrs[0];
}

TEST(OpSchemaBuilderTest, ArgumentsTakeTypesFromDtypesAttrsNumbersAndLists) {
  ASSERT_OK_AND_ASSIGN(OpSchema plain, WithInput("x: float"));
  EXPECT_EQ(plain.inputs[0].dtype, DType::kFloat);
  ASSERT_OK_AND_ASSIGN(OpSchema typed, WithInput("x:T"));
  EXPECT_EQ(typed.inputs[0].type_attr, "T");
  ASSERT_OK_AND_ASSIGN(OpSchema counted, WithInput(" x : N * string "));
  EXPECT_EQ(counted.inputs[0].number_attr, "N");
  EXPECT_EQ(counted.inputs[0].dtype, DType::kString);
  ASSERT_OK_AND_ASSIGN(OpSchema listed, WithInput("x: L"));
  EXPECT_EQ(listed.inputs[0].type_list_attr, "L");
  EXPECT_EQ(listed.inputs[0].type_attr, "");
  ASSERT_OK_AND_ASSIGN(OpSchema counted_ref, WithInput("x: Ref(N * T)"));
  EXPECT_TRUE(counted_ref.inputs[0].is_ref);
  EXPECT_EQ(counted_ref.inputs[0].number_attr, "N");
}

TEST(OpSchemaBuilderTest, MalformedArgumentsAreRefused) {
  for (const char* spec : {"", "x", "x:", ": T", "x: Ref(T", "x: N *", "x: T T", "x: M * T", "x: U", "x: *T"}) {
    EXPECT_THAT(WithInput(spec), IsError(ErrorCode::kOpSchema)) << spec;
  }
}

TEST(OpSchemaBuilderTest, AttrsTakeSetsMinimaAndDefaults) {
  ASSERT_OK_AND_ASSIGN(const AttrSpec types, WithAttr("T: {float, int32} = DT_FLOAT"));
  EXPECT_EQ(types.type, AttrType::kType);
  EXPECT_THAT(types.allowed_types, ElementsAre(DType::kFloat, DType::kInt32));
  EXPECT_EQ(types.default_value, std::string("\x30\x01", 2));
  ASSERT_OK_AND_ASSIGN(const AttrSpec words, WithAttr("p: {'SAME', \"VALID\"}='SAME'"));
  EXPECT_EQ(words.type, AttrType::kString);
  EXPECT_THAT(words.allowed_strings, ElementsAre("SAME", "VALID"));
  ASSERT_OK_AND_ASSIGN(const AttrSpec both, WithAttr("n: int>=1=10"));
  EXPECT_TRUE(both.has_minimum && both.has_default);
  EXPECT_EQ(both.minimum, 1);
  ASSERT_OK_AND_ASSIGN(const AttrSpec list, WithAttr("l: list({int64, string}) >= 2"));
  EXPECT_EQ(list.type, AttrType::kListType);
  EXPECT_EQ(list.allowed_types.size(), 2u);
  EXPECT_EQ(list.minimum, 2);
  EXPECT_FALSE(list.has_default);
}

TEST(OpSchemaBuilderTest, NamedSetsStandForTheirTypes) {
  ASSERT_OK_AND_ASSIGN(const AttrSpec numbers, WithAttr("T: numbertype"));
  EXPECT_EQ(numbers.allowed_types.size(), 19u);
  ASSERT_OK_AND_ASSIGN(const AttrSpec real, WithAttr("T: realnumbertype = DT_HALF"));
  EXPECT_EQ(real.allowed_types.size(), 12u);
  ASSERT_OK_AND_ASSIGN(const AttrSpec quantized, WithAttr("T: list(quantizedtype)"));
  EXPECT_EQ(quantized.allowed_types.size(), 5u);
  EXPECT_EQ(quantized.type, AttrType::kListType);
}

TEST(OpSchemaBuilderTest, MalformedAttrsAreRefused) {
  for (const char* spec : {"", "T", "T: typ", "T: {float", "T: {float, 'a'}", "T: {flot}", "T: list(int", "n: int >= x",
                           "n: int = x", "n: int 5", "b: bool = 1", "T: type = DT_NONE", "T: {}", "s: string = SAME"}) {
    EXPECT_THAT(WithAttr(spec), IsError(ErrorCode::kOpSchema)) << spec;
  }
}

TEST(OpSchemaBuilderTest, TheFirstMistakeIsReported) {
  EXPECT_THAT(OpSchemaBuilder("Op").Attr("a: nonsense").Input("x: ???").Build(),
              IsError(ErrorCode::kOpSchema, "nonsense"));
  EXPECT_THAT(OpSchemaBuilder("").Build(), IsError(ErrorCode::kOpSchema, "no name"));
}

TEST(OpSchemaBuilderTest, FlagsAndDeprecationAreKept) {
  ASSERT_OK_AND_ASSIGN(const OpSchema schema, OpSchemaBuilder("Op")
                                                  .Stateful()
                                                  .Aggregate()
                                                  .AllowsUninitializedInput()
                                                  .DistributedCommunication()
                                                  .Deprecated(3, "use Other")
                                                  .Build());
  EXPECT_TRUE(schema.is_stateful && schema.is_aggregate && schema.allows_uninitialized_input);
  EXPECT_TRUE(schema.is_distributed_communication);
  EXPECT_FALSE(schema.is_commutative);
  EXPECT_EQ(schema.deprecated_at, 3);
  EXPECT_EQ(schema.deprecation_text, "use Other");
}

}  // namespace
}  // namespace sluice

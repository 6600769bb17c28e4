#include "graph/functions/attr_binding.h"

#include <string>
#include <vector>

#include "graph/ops/op_table.h"
#include "gtest/gtest.h"
#include "tests/testing/function_defs.h"
#include "tests/testing/status_matchers.h"

namespace sluice {
namespace {

BoundAttrs Bound() { return {{"T", DType::kFloat}, {"N", 3}, {"f", AttrValue::Func("G")}}; }

TEST(SubstitutePlaceholdersTest, ValueItselfIsReplaced) {
  ASSERT_OK_AND_ASSIGN(const AttrValue value, SubstitutePlaceholders(AttrValue::Placeholder("N").view(), Bound()));
  EXPECT_EQ(*value.view().AsInt(), 3);
}

TEST(SubstitutePlaceholdersTest, OtherValuesStay) {
  for (const AttrValue& value : {AttrValue(7), AttrValue("T"), AttrValue(std::vector<std::string>{"$T"}),
                                 AttrValue(Tensor::Scalar(1.0f)), AttrValue()}) {
    ASSERT_OK_AND_ASSIGN(const AttrValue same, SubstitutePlaceholders(value.view(), Bound()));
    EXPECT_EQ(same.bytes(), value.bytes());
    EXPECT_FALSE(HasPlaceholder(value.view()));
  }
}

TEST(SubstitutePlaceholdersTest, NestedFunctionsAreReachedAtAnyDepth) {
  AttrValue value = AttrValue::Placeholder("T");
  for (int i = 0; i < 30; ++i) value = AttrValue::Func("F", {{"a", value}, {"k", 1}});
  EXPECT_TRUE(HasPlaceholder(value.view()));
  ASSERT_OK_AND_ASSIGN(value, SubstitutePlaceholders(value.view(), Bound()));
  EXPECT_FALSE(HasPlaceholder(value.view()));
  AttrView at = value.view();
  for (int i = 0; i < 30; ++i) {
    ASSERT_OK_AND_ASSIGN(const FuncView function, at.AsFunc());
    ASSERT_EQ(function.attrs.size(), 2u);
    at = function.attrs[0].value;
  }
  EXPECT_EQ(*at.AsType(), DType::kFloat);
}

TEST(SubstitutePlaceholdersTest, UnboundOneIsNamed) {
  EXPECT_THAT(SubstitutePlaceholders(AttrValue::Func("F", {{"a", AttrValue::Placeholder("U")}}).view(), Bound()),
              IsError(ErrorCode::kAttrUnbound, "'U'"));
}

TEST(CanonicalizeTest, NamesAttrsInOrder) {
  EXPECT_EQ(Canonicalize("Foo", {}), "Foo[]");
  EXPECT_EQ(Canonicalize("MatMul", {{"transpose_a", true}, {"T", DType::kFloat}, {"N", 2}}),
            "MatMul[N=2,T=float32,transpose_a=true]");
}

TEST(CanonicalizeTest, DifferentTensorsGiveDifferentKeys) {
  EXPECT_NE(Canonicalize("F", {{"v", Tensor::Scalar(1.0f)}}), Canonicalize("F", {{"v", Tensor::Scalar(2.0f)}}));
  EXPECT_NE(Canonicalize("F", {{"v", "a,b=\"c"}}), Canonicalize("F", {{"b", "c"}, {"v", "a"}}));
}

class BindFunctionTest : public testing::Test {
 protected:
  BindFunctionTest() {
    FunctionText("Poly")
        .Arg("x: N * T")
        .Result("y: T", "x:0")
        .Attr("N: int >= 1 = 2")
        .Attr("T: {float, int32}")
        .AddTo(graph_);
  }
  absl::StatusOr<BoundFunction> Bind(const FunctionText::Attrs& attrs) {
    std::vector<NamedAttr> views;
    for (const auto& attr : attrs) views.push_back(NamedAttr{attr.first, attr.second.view()});
    return BindFunction(graph_.library(), "Poly", views);
  }

  Graph graph_{NewOpRegistry()};
};

TEST_F(BindFunctionTest, DefaultsFillIn) {
  ASSERT_OK_AND_ASSIGN(const BoundFunction bound, Bind({{"T", DType::kInt32}}));
  EXPECT_EQ(bound.signature.inputs, (std::vector<DType>{DType::kInt32, DType::kInt32}));
  EXPECT_EQ(Canonicalize(bound.name(), bound.attrs), "Poly[N=2,T=int32]");
}

TEST_F(BindFunctionTest, CallOverridesDefaults) {
  ASSERT_OK_AND_ASSIGN(const BoundFunction bound, Bind({{"T", DType::kFloat}, {"N", 5}, {"_hidden", 1}, {"extra", 2}}));
  EXPECT_EQ(bound.signature.inputs.size(), 5u);
  EXPECT_EQ(bound.attrs.count("_hidden"), 0u);
  EXPECT_EQ(bound.attrs.count("extra"), 1u);
}

TEST_F(BindFunctionTest, MissingAttrIsNamed) {
  EXPECT_THAT(Bind({}), IsError(ErrorCode::kAttrUnbound, "attr 'T' is needed by function 'Poly'"));
}

TEST_F(BindFunctionTest, ValuesMustSuitTheSignature) {
  EXPECT_THAT(Bind({{"T", DType::kString}}), IsError(ErrorCode::kAttrValue, "'T'"));
  EXPECT_THAT(Bind({{"T", DType::kFloat}, {"N", 0}}), IsError(ErrorCode::kAttrValue, "'N'"));
  EXPECT_THAT(Bind({{"T", 1}}), IsError(ErrorCode::kAttrKind, "'T'"));
}

}  // namespace
}  // namespace sluice

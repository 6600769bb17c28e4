#include "graph/ir/attr.h"

#include <limits>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "tests/testing/graph_bytes.h"
#include "tests/testing/status_matchers.h"

namespace sluice {
namespace {

using namespace graph_bytes;  // NOLINT: a vocabulary made for tests.

TEST(AttrTest, ScalarsComeBack) {
  EXPECT_EQ(*AttrValue(int64_t{-5}).view().AsInt(), -5);
  EXPECT_EQ(*AttrValue(2.5f).view().AsFloat(), 2.5f);
  EXPECT_EQ(*AttrValue(true).view().AsBool(), true);
  EXPECT_EQ(*AttrValue("SAME").view().AsString(), "SAME");
  EXPECT_EQ(*AttrValue(DType::kBFloat16).view().AsType(), DType::kBFloat16);
  EXPECT_EQ(AttrValue(PartialShape::Of({2, -1})).view().AsShape()->ToString(), "[2,?]");
  EXPECT_EQ(*AttrValue::Placeholder("T").view().AsPlaceholder(), "T");
}

TEST(AttrTest, ListsComeBack) {
  EXPECT_EQ(*AttrValue(std::vector<int64_t>{1, -2}).view().AsIntList(), (std::vector<int64_t>{1, -2}));
  EXPECT_EQ(*AttrValue(std::vector<float>{1, 2.5f}).view().AsFloatList(), (std::vector<float>{1, 2.5f}));
  EXPECT_EQ(*AttrValue(std::vector<bool>{true, false}).view().AsBoolList(), (std::vector<bool>{true, false}));
  EXPECT_EQ(*AttrValue(std::vector<DType>{DType::kFloat, DType::kInt64}).view().AsTypeList(),
            (std::vector<DType>{DType::kFloat, DType::kInt64}));
  EXPECT_EQ(AttrValue(std::vector<std::string>{"a", ""}).view().AsStringList()->size(), 2u);
  EXPECT_EQ(AttrValue(std::vector<PartialShape>{PartialShape()}).view().AsShapeList()->size(), 1u);
}

TEST(AttrTest, EmptyListReadsAsAListOfAnyKind) {
  const AttrValue empty = AttrValue::EmptyList();
  EXPECT_TRUE(empty.view().AsIntList()->empty());
  EXPECT_TRUE(empty.view().AsStringList()->empty());
  EXPECT_TRUE(empty.view().AsTypeList()->empty());
}

TEST(AttrTest, WrongKindSaysWhatItIs) {
  EXPECT_THAT(AttrValue(1).view().AsFloat(), IsError(ErrorCode::kAttrKind, "int"));
  EXPECT_THAT(AttrValue(std::vector<float>{1}).view().AsIntList(), IsError(ErrorCode::kAttrKind, "list(int)"));
  EXPECT_THAT(AttrView().AsInt(), IsError(ErrorCode::kAttrKind, "nothing"));
  EXPECT_THAT(AttrView("\xff\xff").AsInt(), IsError(ErrorCode::kAttrKind));
}

TEST(AttrTest, FunctionsCarryTheirAttrs) {
  const AttrValue func = AttrValue::Func("f", {{"T", DType::kFloat}, {"N", 3}});
  ASSERT_OK_AND_ASSIGN(const FuncView view, func.view().AsFunc());
  EXPECT_EQ(view.name, "f");
  ASSERT_EQ(view.attrs.size(), 2u);
  EXPECT_EQ(*view.attrs[1].value.AsInt(), 3);
  EXPECT_EQ(func.view().ToString(), "f[N=3, T=float32]");
}

TEST(AttrTest, EqualLooksAtValuesNotAtEncodings) {
  EXPECT_TRUE(AttrView::Equal(AttrValue(1).view(), AttrValue(int64_t{1}).view()));
  EXPECT_FALSE(AttrView::Equal(AttrValue(1).view(), AttrValue(true).view()));
  const AttrValue ab = AttrValue::Func("f", {{"a", 1}, {"b", 2}}), ba = AttrValue::Func("f", {{"b", 2}, {"a", 1}});
  EXPECT_TRUE(AttrView::Equal(ab.view(), ba.view()));
  const AttrValue nan(std::numeric_limits<float>::quiet_NaN());
  EXPECT_TRUE(AttrView::Equal(nan.view(), nan.view()));
  EXPECT_FALSE(AttrView::Equal(AttrValue(0.0f).view(), AttrValue(-0.0f).view()));
}

TEST(AttrTest, EqualLooksIntoListsOfTensors) {
  const MessageBytes spelt = MessageBytes().Int(1, 3).Sub(2, MessageBytes()).Int(7, 5);
  const MessageBytes packed = MessageBytes().Int(1, 3).Sub(2, MessageBytes()).Bytes(4, std::string("\5\0\0\0", 4));
  const MessageBytes other = MessageBytes().Int(1, 3).Sub(2, MessageBytes()).Int(7, 6);
  const auto list = [](const MessageBytes& tensor) {
    return MessageBytes().Sub(1, MessageBytes().Sub(8, tensor)).str();
  };
  EXPECT_TRUE(AttrView::Equal(AttrView(list(spelt)), AttrView(list(packed))));
  EXPECT_FALSE(AttrView::Equal(AttrView(list(spelt)), AttrView(list(other))));
}

TEST(AttrTest, DepthOfNestingIsMeasuredWithoutRecursion) {
  AttrValue value(1);
  for (int i = 0; i < 2000; ++i) value = AttrValue::Func("f", {{"a", value}});
  EXPECT_FALSE(value.view().NestsWithin(100));
  EXPECT_TRUE(AttrValue::Func("f", {{"a", 1}}).view().NestsWithin(100));
}

}  // namespace
}  // namespace sluice

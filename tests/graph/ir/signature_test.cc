#include "graph/ir/signature.h"

#include "graph/ir/op_schema_builder.h"
#include "gtest/gtest.h"
#include "tests/testing/status_matchers.h"

namespace sluice {
namespace {

class SignatureCacheTest : public ::testing::Test {
 protected:
  SignatureCacheTest() : op_(*OpSchemaBuilder("Many").Input("x: N * bool").Output("y: bool").Attr("N: int").Build()) {}

  // The signature of an op with `n` inputs.
  absl::StatusOr<const Signature*> Get(int64_t n) {
    const AttrValue value(n);
    const auto find = [&](absl::string_view, AttrView* found) {
      *found = value.view();
      return true;
    };
    return cache_.Get(op_, find, /*max_args=*/int64_t{1} << 30);
  }

  const OpSchema op_;
  SignatureCache cache_;
};

TEST_F(SignatureCacheTest, EqualAttrsHaveOneSignature) {
  ASSERT_OK_AND_ASSIGN(const Signature* const three, Get(3));
  EXPECT_EQ(three->inputs.size(), 3u);
  EXPECT_EQ(three->outputs.size(), 1u);
  ASSERT_OK_AND_ASSIGN(const Signature* const again, Get(3));
  EXPECT_EQ(again, three);
  ASSERT_OK_AND_ASSIGN(const Signature* const four, Get(4));
  EXPECT_NE(four, three);
}

TEST_F(SignatureCacheTest, WhatIsRefusedTakesNoRoom) {
  constexpr int64_t kHalf = int64_t{1} << 25;
  ASSERT_OK(Get(kHalf));
  for (int i = 1; i < 4; ++i) EXPECT_THAT(Get(kHalf + i), IsError(ErrorCode::kLimitInputs)) << i;
  EXPECT_OK(Get(3));
  EXPECT_OK(Get(kHalf / 2));
}

TEST(CheckAttrTest, AttrsThatNestTooDeeplyAreRefused) {
  AttrValue deep = AttrValue::Func("f", {{"a", 1}});
  for (int i = 0; i < 200; ++i) deep = AttrValue::Func("f", {{"a", deep}});
  AttrSpec spec;
  spec.name = "f";
  spec.type = AttrType::kFunc;
  EXPECT_OK(CheckAttr(spec, AttrValue::Func("f", {{"a", 1}}).view(), LoadLimits()));
  EXPECT_THAT(CheckAttr(spec, deep.view(), LoadLimits()), IsError(ErrorCode::kLimitDepth, "nests"));
  LoadLimits limits;
  limits.max_nesting = 1000;
  EXPECT_OK(CheckAttr(spec, deep.view(), limits));
}

}  // namespace
}  // namespace sluice

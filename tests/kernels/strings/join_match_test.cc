// StringJoin, StaticRegexFullMatch.

#include <string>
#include <utility>
#include <vector>

#include "graph/value/tstring.h"
#include "gtest/gtest.h"
#include "tests/testing/kernel_runner.h"
#include "tests/testing/status_matchers.h"

namespace sluice {
namespace {

using Texts = std::vector<std::string>;

absl::StatusOr<Tensor> Join(std::vector<Tensor> inputs) {
  return KernelRunner("StringJoin")
      .Attr("separator", "-")
      .Attr("N", static_cast<int64_t>(inputs.size()))
      .Run1(std::move(inputs));
}

Texts Values(const absl::StatusOr<Tensor>& tensor) {
  if (!tensor.ok()) return {tensor.status().ToString()};
  Texts texts;
  for (const TString& text : tensor->flat<TString>()) texts.emplace_back(text.view());
  return texts;
}

TEST(StringJoinTest, ElementsAreJoinedAndScalarsGoWithAll) {
  const Tensor ab = Tensor::Strings({"a", "b"}), de = Tensor::Strings({"d", "e"}), c = Tensor::String("c");
  EXPECT_EQ(Values(Join({ab, c, de})), (Texts{"a-c-d", "b-c-e"}));
  EXPECT_EQ(Values(Join({c})), Texts{"c"});
  EXPECT_EQ(Join({c})->rank(), 0);
  EXPECT_EQ(Values(Join({Tensor::Make(DType::kString, Shape::Of({0})).value(), c})), Texts{});
  EXPECT_EQ(Join({c, Tensor::Make(DType::kString, Shape::Of({1, 1})).value()})->shape(), Shape::Of({1, 1}));
  EXPECT_THAT(Join({ab, Tensor::Strings({"c"})}), StatusIs(absl::StatusCode::kInvalidArgument));
  const std::string longer(1000, 'x');
  EXPECT_EQ(Values(Join({Tensor::String(longer), Tensor::String("")})), Texts{longer + "-"});
}

// A scalar is in each result: a megabyte of it would be 4 GiB here.
TEST(StringJoinTest, TextsThatGrowTooLongAreNotMade) {
  const Tensor many = Tensor::Make(DType::kString, Shape::Of({4096})).value();
  EXPECT_THAT(Join({many, Tensor::String(std::string(1 << 20, 'x'))}), IsError(ErrorCode::kOutOfMemory));
}

TEST(StaticRegexFullMatchTest, PatternsOfSaversAreMatched) {
  const auto match = [](const std::string& pattern, const std::string& text) {
    return KernelRunner("StaticRegexFullMatch").Attr("pattern", pattern).Run1({Tensor::String(text)});
  };
  const std::vector<std::pair<std::string, bool>> cases = {
      {"s3://a", true},   {"s3://", true},      {"s3:/a", false},       {"as3://x", false},
      {"s3://\n", false}, {"s3://\xff", false}, {"s3://\xc3\xa4", true}};
  for (const auto& [text, answer] : cases) {
    ASSERT_OK_AND_ASSIGN(const Tensor matched, match("^s3://.*", text));
    EXPECT_EQ(matched.flat<bool>()[0], answer) << text;
  }
  EXPECT_TRUE(match("a\\.b", "a.b")->flat<bool>()[0]);
  EXPECT_FALSE(match("a\\.b", "a.bc")->flat<bool>()[0]);
  EXPECT_TRUE(match("^plain$", "plain")->flat<bool>()[0]);
}

}  // namespace
}  // namespace sluice

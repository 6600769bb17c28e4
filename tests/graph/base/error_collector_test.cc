#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "graph/base/error.h"
#include "gtest/gtest.h"

namespace sluice {
namespace {

absl::Status AtNode(const std::string& name, int64_t index) {
  return Error(ErrorCode::kOpUnknown).Node(name, "Nope").At(index, index * 10, index * 10 + 9);
}

std::vector<std::string> NodesOf(const absl::Status& status) {
  std::vector<std::string> names;
  for (const absl::Status& error : AllErrors(status)) names.push_back(ErrorInfoOf(error)->node);
  return names;
}

TEST(ErrorCollectorTest, WithoutErrorsItIsOk) {
  ErrorCollector errors;
  errors.Add(absl::OkStatus());
  EXPECT_TRUE(errors.empty());
  EXPECT_TRUE(errors.Finish().ok());
}

TEST(ErrorCollectorTest, ASingleErrorIsReturnedAsItIs) {
  ErrorCollector errors;
  errors.Add(AtNode("a", 1));
  const absl::Status status = errors.Finish();
  EXPECT_EQ(status, AtNode("a", 1));
  EXPECT_EQ(AllErrors(status).size(), 1u);
}

TEST(ErrorCollectorTest, FileErrorsComeFirstThenNodesByIndexThenFunctionBodies) {
  ErrorCollector errors;
  errors.Add(WithFunction(AtNode("in_body", 0), "F"));
  errors.Add(AtNode("late", 9));
  errors.Add(AtNode("early", 2));
  errors.Add(Error(ErrorCode::kFileVersion));
  errors.Add(AtNode("early too", 2));
  const absl::Status status = errors.Finish();
  EXPECT_EQ(NodesOf(status), (std::vector<std::string>{"", "early", "early too", "late", "in_body"}));
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(ErrorInfoOf(status)->code, ErrorCode::kFileVersion);
}

TEST(ErrorCollectorTest, KeepsFiftyAndCountsTheRest) {
  ErrorCollector errors;
  for (int i = 0; i < 60; ++i) errors.Add(AtNode("n" + std::to_string(i), i));
  EXPECT_TRUE(errors.full());
  EXPECT_EQ(errors.total(), 60u);
  const absl::Status status = errors.Finish();
  EXPECT_EQ(AllErrors(status).size(), 50u);
  EXPECT_TRUE(absl::EndsWith(status.message(), "(1 of 60 errors)")) << status.message();
  EXPECT_TRUE(absl::EndsWith(FormatError(status), "60 errors: 50 SLC2003; 10 more not shown"));
}

TEST(ErrorCollectorTest, FactsAddedToTheWholeReachEveryError) {
  ErrorCollector errors;
  for (int i = 0; i < 3; ++i) errors.Add(AtNode("n", i));
  const absl::Status status = WithFile(errors.Finish(), "graph.pb");
  EXPECT_TRUE(absl::EndsWith(status.message(), "(1 of 3 errors)"));
  ASSERT_EQ(AllErrors(status).size(), 3u);
  for (const absl::Status& error : AllErrors(status)) EXPECT_EQ(ErrorInfoOf(error)->file, "graph.pb");
  EXPECT_EQ(ErrorInfoOf(status)->file, "graph.pb");
}

TEST(ErrorCollectorTest, ListsAreJoinedNotNested) {
  ErrorCollector body(/*max_errors=*/2);
  for (int i = 0; i < 3; ++i) body.Add(AtNode("b", i));
  ErrorCollector errors;
  errors.Add(body.Finish());
  errors.Add(AtNode("a", 0));
  EXPECT_EQ(errors.total(), 4u);
  EXPECT_EQ(AllErrors(errors.Finish()).size(), 3u);
}

TEST(ErrorCollectorTest, ForeignErrorsAreKept) {
  ErrorCollector errors;
  errors.Add(AtNode("a", 0));
  errors.Add(absl::UnknownError("from elsewhere"));
  const absl::Status status = errors.Finish();
  EXPECT_EQ(status.code(), absl::StatusCode::kUnknown);
  EXPECT_EQ(AllErrors(status)[0], absl::UnknownError("from elsewhere")) << "facts are not made up";
}

}  // namespace
}  // namespace sluice

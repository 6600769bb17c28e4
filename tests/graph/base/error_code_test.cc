#include "graph/base/error_code.h"

#include <fstream>
#include <regex>
#include <set>
#include <sstream>
#include <string>

#include "gtest/gtest.h"

namespace sluice {
namespace {

// The numbers in the enum, read from the header: the compiler cannot list them.
std::set<int32_t> NumbersInHeader() {
  std::ifstream file("graph/base/error_code.h");
  std::stringstream text;
  text << file.rdbuf();
  const std::string header = text.str();
  const std::regex entry(R"(\n  k\w+ = (\d+),)");
  std::set<int32_t> numbers;
  for (std::sregex_iterator it(header.begin(), header.end(), entry), end; it != end; ++it) {
    numbers.insert(std::stoi((*it)[1]));
  }
  return numbers;
}

TEST(ErrorCodeTest, EveryCodeOfTheEnumHasExactlyOneRow) {
  const std::set<int32_t> numbers = NumbersInHeader();
  EXPECT_GT(numbers.size(), 80u);
  for (const int32_t number : numbers) EXPECT_NE(FindErrorCode(number), nullptr) << number;
  EXPECT_EQ(AllErrorCodes().size(), numbers.size());
}

TEST(ErrorCodeTest, RowsAscend) {
  int32_t last = 0;
  for (const ErrorCodeRow& row : AllErrorCodes()) {
    EXPECT_GT(static_cast<int32_t>(row.code), last);
    last = static_cast<int32_t>(row.code);
  }
}

TEST(ErrorCodeTest, EveryRowIsFilledIn) {
  for (const ErrorCodeRow& row : AllErrorCodes()) {
    SCOPED_TRACE(static_cast<int32_t>(row.code));
    EXPECT_NE(row.canonical, absl::StatusCode::kOk);
    for (const absl::string_view text : {row.title, row.cause, row.fix}) {
      ASSERT_GT(text.size(), 10u);
      EXPECT_TRUE(text.back() == '.' || text.back() == ')') << text;
    }
    EXPECT_FALSE(row.example.empty());
    EXPECT_LT(row.title.size(), 90u);
  }
}

TEST(ErrorCodeTest, ExamplesCarryTheirOwnCode) {
  for (const ErrorCodeRow& row : AllErrorCodes()) {
    if (row.example.substr(0, 3) != "SLC") continue;
    EXPECT_EQ(row.example.substr(3, 4), std::to_string(static_cast<int32_t>(row.code)));
  }
}

TEST(ErrorCodeTest, UnknownNumbersHaveNoRow) {
  for (const int32_t number : {-1, 0, 999, 1000, 5000, 9999, 1 << 30}) EXPECT_EQ(FindErrorCode(number), nullptr);
}

// TensorFlow's answers, pinned by the conformance cases.
TEST(ErrorCodeTest, CanonicalCodesAreTensorFlows) {
  const auto canonical = [](ErrorCode code) { return FindErrorCode(static_cast<int32_t>(code))->canonical; };
  for (const ErrorCode code : {ErrorCode::kOpUnknown, ErrorCode::kAttrMissing, ErrorCode::kAttrUnbound,
                               ErrorCode::kFunctionMissing, ErrorCode::kTargetUnknown}) {
    EXPECT_EQ(canonical(code), absl::StatusCode::kNotFound);
  }
  for (const ErrorCode code : {ErrorCode::kFileVersion, ErrorCode::kFunctionUnknown, ErrorCode::kFeedUnknown,
                               ErrorCode::kAttrRequired, ErrorCode::kTensorTooLarge, ErrorCode::kLimitDepth}) {
    EXPECT_EQ(canonical(code), absl::StatusCode::kInvalidArgument);
  }
  for (const ErrorCode code : {ErrorCode::kFetchSlot, ErrorCode::kFetchNoOutput, ErrorCode::kCheckpointShort}) {
    EXPECT_EQ(canonical(code), absl::StatusCode::kOutOfRange);
  }
}

}  // namespace
}  // namespace sluice

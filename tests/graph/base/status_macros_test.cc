#include "graph/base/status_macros.h"

#include <memory>
#include <string>

#include "gtest/gtest.h"

namespace sluice {
namespace {

absl::Status Failure() { return absl::NotFoundError("nothing here"); }
absl::StatusOr<std::unique_ptr<int>> MakeInt(int value) { return std::make_unique<int>(value); }

absl::Status ReturnsErrorOf(const absl::Status& status, int* calls) {
  const auto evaluate = [&] {
    ++*calls;
    return status;
  };
  SLUICE_RETURN_IF_ERROR(evaluate());
  return absl::OkStatus();
}

absl::StatusOr<int> Doubles(const absl::StatusOr<int>& input) {
  SLUICE_ASSIGN_OR_RETURN(const int value, input);
  return value * 2;
}

TEST(StatusMacrosTest, ReturnIfErrorHandsOnTheErrorAndEvaluatesOnce) {
  int calls = 0;
  EXPECT_EQ(ReturnsErrorOf(Failure(), &calls), Failure());
  EXPECT_EQ(ReturnsErrorOf(absl::OkStatus(), &calls), absl::OkStatus());
  EXPECT_EQ(calls, 2);
}

TEST(StatusMacrosTest, AssignOrReturnTakesTheValueOrHandsOnTheError) {
  EXPECT_EQ(*Doubles(21), 42);
  EXPECT_EQ(Doubles(Failure()).status(), Failure());
}

TEST(StatusMacrosTest, AssignOrReturnMovesAndAssignsToWhatExists) {
  std::unique_ptr<int> kept;
  const auto run = [&]() -> absl::Status {
    SLUICE_ASSIGN_OR_RETURN(kept, MakeInt(7));
    SLUICE_ASSIGN_OR_RETURN(const auto second, MakeInt(8));
    EXPECT_EQ(*second, 8);
    return absl::OkStatus();
  };
  ASSERT_TRUE(run().ok());
  EXPECT_EQ(*kept, 7);
}

TEST(StatusMacrosTest, AssignOrReturnTakesExpressionsWithCommas) {
  const auto run = []() -> absl::StatusOr<std::string> {
    SLUICE_ASSIGN_OR_RETURN(std::string text, absl::StatusOr<std::string>(std::string(3, 'x')));
    return text;
  };
  EXPECT_EQ(*run(), "xxx");
}

}  // namespace
}  // namespace sluice

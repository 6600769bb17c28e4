#ifndef SLUICE_TESTS_TESTING_STATUS_MATCHERS_H_
#define SLUICE_TESTS_TESTING_STATUS_MATCHERS_H_

// Matchers for statuses, and for StatusOr where only the status matters.
//
//   EXPECT_THAT(graph.Validate(), IsOk());
//   EXPECT_THAT(Shape::Make({-1}), StatusIs(absl::StatusCode::kInvalidArgument, "size -1"));
//   EXPECT_THAT(Import(bytes), IsError(ErrorCode::kInputSlot));
//   ASSERT_OK_AND_ASSIGN(Tensor tensor, Tensor::Make(DType::kFloat, shape));

#include <optional>
#include <ostream>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "graph/base/error.h"
#include "gtest/gtest.h"

namespace sluice {
namespace testing_internal {

inline const absl::Status& StatusOf(const absl::Status& status) { return status; }
template <typename T>
const absl::Status& StatusOf(const absl::StatusOr<T>& value) {
  return value.status();
}

// The number of the error that `status` carries, or 0.
inline int ErrorCodeOf(const absl::Status& status) {
  const std::optional<ErrorInfo> info = ErrorInfoOf(status);
  return info.has_value() ? static_cast<int>(info->code) : 0;
}

}  // namespace testing_internal

// OK.
MATCHER(IsOk, "is OK") {
  const absl::Status& status = testing_internal::StatusOf(arg);
  *result_listener << "whose status is " << status.ToString();
  return status.ok();
}

// This canonical code, and a message that holds `text` (empty: any).
MATCHER_P2(StatusIs, code, text,
           absl::StrCat(negation ? "is not " : "is ", absl::StatusCodeToString(code), " with '", text, "'")) {
  const absl::Status& status = testing_internal::StatusOf(arg);
  *result_listener << "whose status is " << status.ToString();
  return status.code() == code && absl::StrContains(status.message(), text);
}
MATCHER_P(StatusIs, code, absl::StrCat(negation ? "is not " : "is ", absl::StatusCodeToString(code))) {
  const absl::Status& status = testing_internal::StatusOf(arg);
  *result_listener << "whose status is " << status.ToString();
  return status.code() == code;
}

// An error of Sluice's with this number, and a message that holds `text` (empty: any).
MATCHER_P2(IsError, code, text,
           absl::StrCat(negation ? "is not " : "is ", "error ", static_cast<int>(code), " with '", text, "'")) {
  const absl::Status& status = testing_internal::StatusOf(arg);
  *result_listener << "whose status is " << status.ToString();
  return testing_internal::ErrorCodeOf(status) == static_cast<int>(code) && absl::StrContains(status.message(), text);
}
MATCHER_P(IsError, code, absl::StrCat(negation ? "is not " : "is ", "error ", static_cast<int>(code))) {
  const absl::Status& status = testing_internal::StatusOf(arg);
  *result_listener << "whose status is " << status.ToString();
  return testing_internal::ErrorCodeOf(status) == static_cast<int>(code);
}

}  // namespace sluice

#define EXPECT_OK(expression) EXPECT_THAT(expression, ::sluice::IsOk())
#define ASSERT_OK(expression) ASSERT_THAT(expression, ::sluice::IsOk())

// Moves the value of a StatusOr into `declaration`, or fails the test.
#define ASSERT_OK_AND_ASSIGN(declaration, expression) SLUICE_ASSERT_OK_AND_ASSIGN_1(declaration, expression, __LINE__)
// Two steps, so that the line is a number by the time it is pasted to a name.
#define SLUICE_ASSERT_OK_AND_ASSIGN_1(declaration, expression, line) \
  SLUICE_ASSERT_OK_AND_ASSIGN_2(declaration, expression, line)
#define SLUICE_ASSERT_OK_AND_ASSIGN_2(declaration, expression, line) \
  auto status_or_##line = (expression);                              \
  ASSERT_THAT(status_or_##line, ::sluice::IsOk());                   \
  declaration = *std::move(status_or_##line)

#endif  // SLUICE_TESTS_TESTING_STATUS_MATCHERS_H_

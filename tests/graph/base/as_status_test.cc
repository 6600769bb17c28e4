#include "graph/base/as_status.h"

#include <new>
#include <stdexcept>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "graph/base/error.h"
#include "gtest/gtest.h"
#include "tests/testing/status_matchers.h"

namespace sluice {
namespace {

TEST(AsStatusTest, HandsResultsOn) {
  EXPECT_OK(AsStatus([] { return absl::OkStatus(); }));
  const absl::Status status = AsStatus([] { return absl::NotFoundError("gone"); });
  EXPECT_EQ(status, absl::NotFoundError("gone"));
  const absl::StatusOr<std::string> text = AsStatus([]() -> absl::StatusOr<std::string> { return "x"; });
  ASSERT_TRUE(text.ok());
  EXPECT_EQ(*text, "x");
}

TEST(AsStatusTest, MemoryThatIsNotThere) {
  EXPECT_THAT(AsStatus([]() -> absl::Status { throw std::bad_alloc(); }), IsError(ErrorCode::kOutOfMemory, "memory"));
  const absl::StatusOr<int> too_long = AsStatus([]() -> absl::StatusOr<int> {
    std::vector<int> numbers;
    numbers.reserve(numbers.max_size() + 1);
    return 1;
  });
  EXPECT_THAT(too_long.status(), IsError(ErrorCode::kOutOfMemory, "more elements"));
}

TEST(AsStatusTest, FailedChecksGiveTextAndPlace) {
  const absl::Status status = AsStatus([]() -> absl::Status {
    SLUICE_CHECK_EQ(1 + 1, 3) << "counted badly";
    return absl::OkStatus();
  });
  EXPECT_THAT(status, IsError(ErrorCode::kInternal, "Check failed: 1 + 1 == 3 (2 vs. 3) counted badly"));
  EXPECT_THAT(status, IsError(ErrorCode::kInternal, "as_status_test.cc:"));
}

TEST(AsStatusTest, OtherExceptions) {
  EXPECT_THAT(AsStatus([]() -> absl::Status { throw std::runtime_error("odd"); }),
              IsError(ErrorCode::kInternal, "exception: odd"));
  EXPECT_THAT(AsStatus([]() -> absl::Status { throw 3; }), IsError(ErrorCode::kInternal, "unknown type"));
  absl::Status status;
  try {
    throw std::runtime_error("of a kernel");
  } catch (...) {
    status = StatusOfCaught(ErrorCode::kKernelException);
  }
  EXPECT_THAT(status, IsError(ErrorCode::kKernelException, "exception: of a kernel"));
}

TEST(AsStatusTest, ScopesNestAndEndWithTheCall) {
  const absl::Status status = AsStatus([]() -> absl::Status {
    const absl::Status inner = AsStatus([]() -> absl::Status {
      SLUICE_CHECK(false) << "inner";
      return absl::OkStatus();
    });
    EXPECT_THAT(inner, IsError(ErrorCode::kInternal, "inner"));
    SLUICE_CHECK(false) << "outer";
    return absl::OkStatus();
  });
  EXPECT_THAT(status, IsError(ErrorCode::kInternal, "outer"));
  EXPECT_DEATH(SLUICE_CHECK(false) << "outside", "Check failed: false outside");
}

TEST(AsStatusTest, ACheckWhileTheStackUnwindsEndsTheProgramWithItsText) {
  struct Checker {
    ~Checker() { SLUICE_CHECK(false) << "in a destructor"; }
  };
  const auto throw_over_checker = [] {
    return AsStatus([]() -> absl::Status {
      const Checker checker;
      throw std::runtime_error("first");
    });
  };
  EXPECT_DEATH(throw_over_checker().IgnoreError(), "in a destructor");
}

}  // namespace
}  // namespace sluice

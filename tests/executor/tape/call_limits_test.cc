#include "executor/tape/call_limits.h"

#include <pthread.h>

#include <cstddef>

#include "absl/status/status.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "graph/base/cancellation.h"
#include "graph/base/error.h"
#include "gtest/gtest.h"
#include "tests/testing/status_matchers.h"

namespace sluice {
namespace {

constexpr absl::Duration kLong = absl::Minutes(1);

// In this order: once the process has a thread that looks at the clock, it stays.
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__) && !defined(SLUICE_TSAN)
TEST(CallLimitsTest, ADeadlineThatNobodyCanWatchEndsTheCallsAtOnce) {
  // Threads with stacks of more than the address space: the system gives none.
  pthread_attr_t usual, huge;
  ASSERT_EQ(pthread_getattr_default_np(&usual), 0);
  ASSERT_EQ(pthread_attr_init(&huge), 0);
  ASSERT_EQ(pthread_attr_setstacksize(&huge, size_t{1} << 47), 0);
  ASSERT_EQ(pthread_setattr_default_np(&huge), 0);
  {
    const CallLimitsScope limits(nullptr, absl::Now() + absl::Hours(1));
    ASSERT_NE(CallLimitsScope::Current(), nullptr);
    EXPECT_TRUE(CallLimitsScope::Current()->IsCancelled());
    EXPECT_THAT(CallLimitsScope::Current()->status(), IsError(ErrorCode::kOutOfMemory, "no thread"));
  }
  EXPECT_EQ(CallLimitsScope::Current(), nullptr);
  ASSERT_EQ(pthread_setattr_default_np(&usual), 0);
}
#endif

TEST(CallLimitsTest, ADeadlineEndsTheCalls) {
  const CallLimitsScope limits(nullptr, absl::Now() + absl::Milliseconds(10));
  const absl::Time end = absl::Now() + kLong;
  while (!CallLimitsScope::Current()->IsCancelled() && absl::Now() < end) absl::SleepFor(absl::Milliseconds(1));
  EXPECT_THAT(CallLimitsScope::Current()->status(), IsError(ErrorCode::kDeadline));
}

TEST(CallLimitsTest, InnerScopesObeyTheOuter) {
  CancellationManager cancellation;
  const CallLimitsScope outer(&cancellation);
  {
    const CallLimitsScope inner(nullptr, absl::Now() + absl::Hours(1));
    EXPECT_FALSE(CallLimitsScope::Current()->IsCancelled());
    cancellation.StartCancelWithStatus(absl::AbortedError("enough"));
    EXPECT_TRUE(CallLimitsScope::Current()->IsCancelled());
  }
  EXPECT_EQ(CallLimitsScope::Current()->status(), absl::AbortedError("enough"));
}

}  // namespace
}  // namespace sluice

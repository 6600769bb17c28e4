#include "graph/base/stop_poll.h"

#include "absl/time/clock.h"
#include "graph/base/cancellation.h"
#include "gtest/gtest.h"
#include "tests/testing/status_matchers.h"

namespace sluice {
namespace {

TEST(StopPollTest, WithoutDeadlineAndManagerNothingStops) {
  StopPoll stop(absl::InfiniteFuture(), nullptr);
  for (int i = 0; i < 1000; ++i) ASSERT_OK(stop.Poll());
  EXPECT_OK(PollStop(nullptr));
}

TEST(StopPollTest, ADeadlineInThePastStopsAtTheFirstPoll) {
  for (const absl::Time deadline : {absl::InfinitePast(), absl::UnixEpoch(), absl::Now() - absl::Milliseconds(1)}) {
    StopPoll stop(deadline, nullptr);
    EXPECT_THAT(PollStop(&stop), IsError(ErrorCode::kDeadline));
  }
}

TEST(StopPollTest, ADeadlineThatPassesStopsWithinAFewPolls) {
  StopPoll stop(absl::Now() + absl::Milliseconds(20), nullptr);
  ASSERT_OK(stop.Poll());
  absl::SleepFor(absl::Milliseconds(25));
  int polls = 0;
  while (stop.Poll().ok()) ASSERT_LT(++polls, 100);
  EXPECT_THAT(stop.Look(), IsError(ErrorCode::kDeadline));
}

TEST(StopPollTest, ACancellationStopsWithItsCause) {
  CancellationManager manager;
  StopPoll stop(absl::InfiniteFuture(), &manager);
  ASSERT_OK(stop.Poll());
  manager.StartCancelWithStatus(absl::AbortedError("enough"));
  int polls = 0;
  while (stop.Poll().ok()) ASSERT_LT(++polls, 100);
  for (int i = 0; i < 3; ++i) EXPECT_THAT(stop.Poll(), StatusIs(absl::StatusCode::kAborted, "enough"));
  EXPECT_THAT(PollStop(&stop, 0), StatusIs(absl::StatusCode::kAborted, "enough"));
}

}  // namespace
}  // namespace sluice

#include "executor/run_status.h"

#include <thread>
#include <vector>

#include "absl/time/clock.h"
#include "graph/base/error.h"
#include "gtest/gtest.h"
#include "rendezvous/local_rendezvous.h"
#include "tests/testing/status_matchers.h"

namespace sluice {
namespace {

constexpr RendezvousKey kKey{EdgeNumber(0)};

TEST(RunStatusTest, BeginsWell) {
  RunStatus status(nullptr, nullptr, absl::InfiniteFuture());
  EXPECT_OK(status.status());
  EXPECT_FALSE(status.MustStop());
  EXPECT_FALSE(status.has_deadline());
  status.CheckDeadline();
  EXPECT_FALSE(status.MustStop());
}

TEST(RunStatusTest, TheFirstErrorIsKeptWhateverComesLater) {
  for (const absl::Status& later : {absl::InternalError("later"), absl::CancelledError("later")}) {
    CancellationManager cancellation;
    const auto rendezvous = MakeCounted<LocalRendezvous>();
    RunStatus status(rendezvous.get(), &cancellation, absl::InfinitePast());
    status.Record(absl::AbortedError("first"));
    status.Record(later);
    status.CheckDeadline();
    EXPECT_TRUE(status.MustStop());
    EXPECT_THAT(status.status(), StatusIs(absl::StatusCode::kAborted, "first"));
    EXPECT_THAT(cancellation.status(), StatusIs(absl::StatusCode::kAborted, "first"));
    EXPECT_THAT(rendezvous->Send(kKey, {}, {}), StatusIs(absl::StatusCode::kAborted, "first"));
  }
}

TEST(RunStatusTest, OfManyThreadsOneIsFirstAndAllSeeTheSame) {
  for (int round = 0; round < 50; ++round) {
    CancellationManager cancellation;
    const auto rendezvous = MakeCounted<LocalRendezvous>();
    RunStatus status(rendezvous.get(), &cancellation, absl::InfiniteFuture());
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t) {
      threads.emplace_back([&status, t] { status.Record(absl::InternalError(std::to_string(t))); });
    }
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(status.status(), cancellation.status());
    EXPECT_EQ(status.status(), rendezvous->Send(kKey, {}, {}));
  }
}

TEST(RunStatusTest, ACancellationIsRecordedWithItsCause) {
  CancellationManager cancellation;
  RunStatus status(nullptr, &cancellation, absl::InfiniteFuture());
  EXPECT_FALSE(status.MustStop());
  cancellation.StartCancelWithStatus(absl::DataLossError("cause"));
  EXPECT_OK(status.status()) << "not before it is asked for";
  EXPECT_TRUE(status.MustStop());
  EXPECT_THAT(status.status(), StatusIs(absl::StatusCode::kDataLoss, "cause"));
}

TEST(RunStatusTest, AnErrorThatSaysCancelledGivesWayToTheCause) {
  CancellationManager cancellation;
  RunStatus status(nullptr, &cancellation, absl::InfiniteFuture());
  cancellation.StartCancelWithStatus(absl::DataLossError("cause"));
  status.Record(absl::CancelledError("a receive was given up"));
  EXPECT_THAT(status.status(), StatusIs(absl::StatusCode::kDataLoss, "cause"));

  RunStatus without_manager(nullptr, nullptr, absl::InfiniteFuture());
  without_manager.Record(absl::CancelledError("by a kernel"));
  EXPECT_THAT(without_manager.status(), StatusIs(absl::StatusCode::kCancelled, "by a kernel"));
}

TEST(RunStatusTest, ADeadlineCountsOnceItHasPassed) {
  RunStatus early(nullptr, nullptr, absl::Now() + absl::Hours(1));
  EXPECT_TRUE(early.has_deadline());
  early.CheckDeadline();
  EXPECT_OK(early.status());
  RunStatus late(nullptr, nullptr, absl::Now());
  EXPECT_FALSE(late.MustStop()) << "a look at the clock is asked for";
  late.CheckDeadline();
  EXPECT_TRUE(late.MustStop());
  EXPECT_THAT(late.status(), IsError(ErrorCode::kDeadline));
}

// Its first act fails: the second one is done all the same.
TEST(RunStatusTest, ARendezvousThatThrowsDoesNotKeepTheRunFromBeingCancelled) {
  class Throws : public Rendezvous {
   public:
    absl::Status Send(const RendezvousKey&, const TransferArgs&, RendezvousValue) override { return {}; }
    void RecvAsync(const RendezvousKey&, const TransferArgs&, CancellationManager*, RecvDone) override {}
    void StartAbort(const absl::Status&) override {
      ++calls;
      throw std::bad_alloc();
    }
    int calls = 0;
  };
  const auto rendezvous = MakeCounted<Throws>();
  CancellationManager cancellation;
  RunStatus status(rendezvous.get(), &cancellation, absl::InfiniteFuture());
  status.Record(absl::InternalError("first"));
  EXPECT_EQ(rendezvous->calls, 2) << "it is tried once more";
  EXPECT_THAT(status.status(), StatusIs(absl::StatusCode::kInternal, "first"));
  EXPECT_THAT(cancellation.status(), StatusIs(absl::StatusCode::kInternal, "first"));
}

}  // namespace
}  // namespace sluice

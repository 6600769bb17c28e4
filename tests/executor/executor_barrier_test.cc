#include "executor/executor_barrier.h"

#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "graph/base/error.h"
#include "gtest/gtest.h"
#include "rendezvous/local_rendezvous.h"
#include "tests/testing/log_capture.h"
#include "tests/testing/status_matchers.h"

namespace sluice {
namespace {

// The outcome of a barrier whose Dones are called with `parts`, in order.
absl::Status Join(const std::vector<absl::Status>& parts, Rendezvous* rendezvous = nullptr) {
  absl::Status outcome = absl::UnknownError("not over");
  ExecutorBarrier& barrier =
      ExecutorBarrier::Create(parts.size(), rendezvous, [&](absl::Status status) { outcome = std::move(status); });
  std::vector<Executor::Done> dones;
  for (size_t i = 0; i < parts.size(); ++i) dones.push_back(barrier.Get());
  for (size_t i = 0; i < parts.size(); ++i) {
    EXPECT_THAT(outcome, StatusIs(absl::StatusCode::kUnknown)) << "not before the last";
    dones[i](parts[i]);
  }
  return outcome;
}

absl::Status Derived() {
  ErrorInfo info;
  info.code = ErrorCode::kOutOfMemory;
  info.text = "derived";
  info.derived = true;
  return MakeError(info);
}

TEST(ExecutorBarrierTest, IsOkWhenAllAre) {
  EXPECT_OK(Join({absl::OkStatus()}));
  EXPECT_OK(Join({absl::OkStatus(), absl::OkStatus(), absl::OkStatus()}));
}

TEST(ExecutorBarrierTest, OfTwoCausesTheFirstIsKept) {
  EXPECT_THAT(Join({absl::InternalError("first"), absl::DataLossError("second")}),
              StatusIs(absl::StatusCode::kInternal, "first"));
  EXPECT_THAT(Join({absl::OkStatus(), absl::DataLossError("first"), absl::InternalError("second"), absl::OkStatus()}),
              StatusIs(absl::StatusCode::kDataLoss, "first"));
}

TEST(ExecutorBarrierTest, ACauseWinsOverConsequencesWhateverTheirOrder) {
  const absl::Status cause = absl::InternalError("cause");
  for (const absl::Status& consequence : {absl::CancelledError("x"), absl::AbortedError("x"), Derived()}) {
    EXPECT_THAT(Join({consequence, cause}), StatusIs(absl::StatusCode::kInternal, "cause"));
    EXPECT_THAT(Join({cause, consequence}), StatusIs(absl::StatusCode::kInternal, "cause"));
    EXPECT_THAT(Join({consequence, cause, absl::DataLossError("later")}),
                StatusIs(absl::StatusCode::kInternal, "cause"));
  }
}

TEST(ExecutorBarrierTest, OfConsequencesAloneTheFirstIsKept) {
  EXPECT_THAT(Join({absl::CancelledError("first"), absl::AbortedError("second"), Derived()}),
              StatusIs(absl::StatusCode::kCancelled, "first"));
}

TEST(ExecutorBarrierTest, TheFirstErrorAbortsAtOnce) {
  const auto rendezvous = MakeCounted<LocalRendezvous>();
  bool is_over = false;
  ExecutorBarrier& barrier = ExecutorBarrier::Create(2, rendezvous.get(), [&](const absl::Status&) { is_over = true; });
  Executor::Done first = barrier.Get(), second = barrier.Get();
  first(absl::DataLossError("first"));
  EXPECT_FALSE(is_over);
  EXPECT_THAT(rendezvous->Send(RendezvousKey{EdgeNumber(0)}, {}, {}), StatusIs(absl::StatusCode::kDataLoss, "first"));
  second(absl::InternalError("second"));
  EXPECT_TRUE(is_over);
  EXPECT_THAT(rendezvous->Send(RendezvousKey{EdgeNumber(0)}, {}, {}), StatusIs(absl::StatusCode::kDataLoss, "first"));
}

TEST(ExecutorBarrierTest, ADoneThatIsDroppedCountsAsAnError) {
  absl::Status outcome;
  ExecutorBarrier& barrier = ExecutorBarrier::Create(2, nullptr, [&](absl::Status status) { outcome = status; });
  {
    Executor::Done called = barrier.Get();
    const Executor::Done dropped = barrier.Get();
    called(absl::OkStatus());
    EXPECT_OK(outcome);
  }
  EXPECT_THAT(outcome, IsError(ErrorCode::kRunCancelled, "dropped"));
}

TEST(ExecutorBarrierTest, WhatItsDoneThrowsIsLogged) {
  const LogCapture log;
  ExecutorBarrier& barrier =
      ExecutorBarrier::Create(1, nullptr, [](const absl::Status&) { throw std::runtime_error("bad host"); });
  barrier.Get()(absl::OkStatus());
  ASSERT_EQ(log.lines().size(), 1u);
  EXPECT_NE(log.lines()[0].find("bad host"), std::string::npos);
}

TEST(ExecutorBarrierTest, ThreadsMayCallAtTheSameTime) {
  for (int round = 0; round < 100; ++round) {
    int calls = 0;
    absl::Status outcome;
    ExecutorBarrier& barrier = ExecutorBarrier::Create(4, nullptr, [&](absl::Status status) {
      ++calls;
      outcome = std::move(status);
    });
    std::vector<std::thread> threads;
    for (int i = 0; i < 4; ++i) {
      threads.emplace_back([done = barrier.Get(), i]() mutable {
        done(i == 2 ? absl::InternalError("cause") : absl::CancelledError("derived"));
      });
    }
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(calls, 1);
    EXPECT_THAT(outcome, StatusIs(absl::StatusCode::kInternal, "cause"));
  }
}

}  // namespace
}  // namespace sluice

#include "executor/stall_watch.h"

#include <new>
#include <string>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "graph/ir/builder.h"
#include "graph/ops/op_table.h"
#include "gtest/gtest.h"
#include "tests/testing/counting_new.h"
#include "tests/testing/executor_harness.h"
#include "tests/testing/log_capture.h"
#include "tests/testing/status_matchers.h"

namespace sluice {
namespace {

using ::absl::StrContains;

constexpr absl::Duration kSoon = absl::Milliseconds(10);

// A kernel that takes until `go`, and hands its input on.
class WaitingKernel final : public Kernel {
 public:
  explicit WaitingKernel(Notification& go) : go_(go) {}
  absl::Status Compute(KernelContext& context) const override {
    go_.WaitForNotification();
    context.SetOutput(0, context.TakeInput(0));
    return absl::OkStatus();
  }

 private:
  Notification& go_;
};

// Keeps the log, and waits for its first line with a text.
class AwaitedLine {
 public:
  explicit AwaitedLine(std::string text = "") : text_(std::move(text)) {}

  bool Wait() { return seen_.WaitForNotificationWithTimeout(absl::Minutes(1)); }
  const LogCapture& log() const { return log_; }

 private:
  const std::string text_;
  Notification seen_;
  const LogCapture log_{[this](const std::string& line) {
    if (StrContains(line, text_) && !seen_.HasBeenNotified()) seen_.Notify();
  }};
};

class StallWatchTest : public testing::Test {
 protected:
  Output Recv(const std::string& name) {
    GraphBuilder::Attrs attrs = ExecutorHarness::TransferAttrs(name);
    attrs.emplace_back("tensor_type", DType::kFloat);
    return b_.Op("_Recv", "recv_" + name, {}, attrs);
  }
  void Build() {
    ASSERT_OK_AND_ASSIGN(graph_, b_.Build());
    ASSERT_OK(harness_.Build(graph_));
  }
  StallWatch::Options Watched() { return {kSoon, graph_, &harness_.rendezvous()}; }
  absl::Status Run(StallWatch& watch, absl::Time deadline = absl::InfiniteFuture()) {
    Executor::Args args = harness_.args();
    args.observer = &watch;
    args.deadline = deadline;
    return watch.Explain(harness_.executor().Run(args));
  }

  GraphBuilder b_{NewOpRegistry()};
  Graph graph_{nullptr};
  ExecutorHarness harness_;
};

TEST_F(StallWatchTest, ARunningNodeIsNamedWithItsOpAndHowLong) {
  Notification go;
  ASSERT_OK(harness_.registry().Add(
      OwnedKernelRow("Neg", [&](const KernelConstruction&) { return std::make_unique<WaitingKernel>(go); })));
  b_.Op("Neg", "slow", {b_.Const("c", Tensor::Scalar(1.0f))});
  Build();
  std::string report;
  const LogCapture log([&](const std::string& line) {
    if (!report.empty() || !StrContains(line, "'slow'")) return;
    report = line;
    go.Notify();
  });
  StallWatch watch(Watched());
  EXPECT_OK(Run(watch));
  EXPECT_TRUE(StrContains(report, "no progress for ")) << report;
  EXPECT_TRUE(StrContains(report, "1 node runs: Neg 'slow' for ")) << report;
}

TEST_F(StallWatchTest, AKeyWithoutASendAndOneWithoutAReceiveAreNamed) {
  Recv("x");
  Build();
  ASSERT_OK(harness_.Send("y", Tensor::Scalar(1.0f)));
  std::string report;
  const LogCapture log([&](const std::string& line) {
    if (!report.empty() || !StrContains(line, "'recv_x'")) return;
    report = line;
    EXPECT_OK(harness_.Send("x", Tensor::Scalar(1.0f)));
  });
  StallWatch watch(Watched());
  EXPECT_OK(Run(watch));
  EXPECT_TRUE(StrContains(report, "_Recv 'recv_x' for ")) << report;
  EXPECT_TRUE(StrContains(report, "receives wait, nothing was sent: 'x' from /job:localhost")) << report;
  EXPECT_TRUE(StrContains(report, "sent, but not received: 'y' from ")) << report;
  ASSERT_OK(harness_.Recv("y"));
}

TEST_F(StallWatchTest, TheDeadlineOfARunThatHangsSaysWhatItHangsOn) {
  Recv("x");
  Build();
  const LogCapture log;
  StallWatch watch(Watched());
  const absl::Status status = Run(watch, absl::Now() + absl::Seconds(1));
  EXPECT_THAT(status, IsError(ErrorCode::kStalled, "recv_x"));
  EXPECT_THAT(status, StatusIs(absl::StatusCode::kDeadlineExceeded, "deadline"));
  EXPECT_FALSE(log.lines().empty());
}

TEST_F(StallWatchTest, ManyNodesAreCounted) {
  for (int i = 0; i < 20; ++i) b_.Const(absl::StrCat("c", i), Tensor::Scalar(1.0f));
  Build();
  Notification reported;
  std::string report;
  const LogCapture log([&](const std::string& line) {
    if (!report.empty() || !StrContains(line, "20 nodes")) return;
    report = line;
    reported.Notify();
  });
  StallWatch watch(Watched());
  for (int i = 0; i < 20; ++i) watch.OnStart(NodeId(i), NodeObserver::NowNs());
  reported.WaitForNotification();
  EXPECT_TRUE(StrContains(report, "20 nodes run: Const 'c0'")) << report;
  EXPECT_TRUE(StrContains(report, " and 12 more")) << report;
}

TEST_F(StallWatchTest, WhatMovesAgainDoesNotHang) {
  b_.Const("c", Tensor::Scalar(1.0f));
  Build();
  AwaitedLine report;
  StallWatch::Options options = Watched();
  StallWatch watch(options);
  ASSERT_TRUE(report.Wait());
  watch.Pause();
  EXPECT_TRUE(StrContains(watch.report(), "no node runs")) << watch.report();
  const absl::Status late = Error(ErrorCode::kDeadline).Text("too late");
  EXPECT_THAT(watch.Explain(late), IsError(ErrorCode::kStalled, "no node runs"));
  EXPECT_OK(watch.Explain(absl::OkStatus()));
  EXPECT_THAT(watch.Explain(absl::InternalError("x")), StatusIs(absl::StatusCode::kInternal));
  watch.OnFailure(NodeId(0), 5);  // The run is given up: still what it hung on.
  EXPECT_NE(watch.report(), "");
  watch.OnStart(NodeId(0), NodeObserver::NowNs());
  EXPECT_EQ(watch.report(), "");
  EXPECT_THAT(watch.Explain(late), IsError(ErrorCode::kDeadline));
}

TEST_F(StallWatchTest, AnIdleWatchSaysNothing) {
  b_.Const("c", Tensor::Scalar(1.0f));
  Build();
  AwaitedLine report;
  StallWatch watch(Watched(), /*is_idle=*/true);
  absl::SleepFor(5 * kSoon);
  EXPECT_TRUE(report.log().lines().empty());
  for (int i = 0; i < 50; ++i) {
    watch.Resume();
    watch.Resume();
    watch.Pause();
    watch.Pause();
  }
  watch.Resume();
  ASSERT_TRUE(report.Wait());
  EXPECT_FALSE(report.log().lines().empty());
}

#ifdef SLUICE_COUNTS_NEW
TEST_F(StallWatchTest, AResumeWithoutMemoryChangesNothing) {
  b_.Const("c", Tensor::Scalar(1.0f));
  Build();
  AwaitedLine report("no progress");
  StallWatch watch(Watched(), /*is_idle=*/true);
  bool has_thrown = false;
  FailNewCall(1);
  try {
    watch.Resume();
  } catch (const std::bad_alloc&) {
    has_thrown = true;
  }
  FailNewCall(0);
  EXPECT_TRUE(has_thrown);
  watch.Resume();
  EXPECT_TRUE(report.Wait());
}

TEST_F(StallWatchTest, AnErrorStandsWhereThereIsNoMemoryToExplainIt) {
  b_.Const("c", Tensor::Scalar(1.0f));
  Build();
  AwaitedLine report;
  StallWatch watch(Watched());
  ASSERT_TRUE(report.Wait());
  watch.Pause();
  const absl::Status late = Error(ErrorCode::kDeadline).Text("too late");
  FailNewCall(1, /*and_later=*/true);
  const absl::Status explained = watch.Explain(late);
  FailNewCall(0);
  EXPECT_THAT(explained, IsError(ErrorCode::kDeadline, "too late"));
  EXPECT_THAT(watch.Explain(late), IsError(ErrorCode::kStalled));
}

TEST_F(StallWatchTest, ALookWithoutMemoryIsNotTheLast) {
  b_.Const("c", Tensor::Scalar(1.0f));
  Build();
  AwaitedLine report("no progress");
  StallWatch watch(Watched(), /*is_idle=*/true);
  watch.Resume();
  FailNewCall(1, /*and_later=*/true);
  while (!HasFailedNewCall()) absl::SleepFor(absl::Milliseconds(1));
  absl::SleepFor(kSoon);
  FailNewCall(0);
  watch.OnFailure(NodeId(0), 1);
  EXPECT_TRUE(report.Wait());
}
#endif

TEST_F(StallWatchTest, AnotherObserverHearsEverything) {
  Recv("x");
  Build();
  struct Counts : NodeObserver {
    void OnStart(NodeId, int64_t) override { ++started; }
    void OnFailure(NodeId, int64_t) override { ++failed; }
    void OnNode(NodeId, int64_t, int64_t, const KernelContext&) override { ++ended; }
    int started = 0, failed = 0, ended = 0;
  } counts;
  StallWatch::Options options = Watched();
  options.timeout = absl::Hours(1);
  options.next = &counts;
  StallWatch watch(options);
  ASSERT_OK(harness_.Send("x", Tensor::Scalar(1.0f)));
  EXPECT_OK(Run(watch));
  harness_.rendezvous().StartAbort(absl::AbortedError("gone"));
  EXPECT_FALSE(Run(watch).ok());
  EXPECT_EQ(counts.started, 2);
  EXPECT_EQ(counts.ended, 1);
  EXPECT_EQ(counts.failed, 1);
}

}  // namespace
}  // namespace sluice

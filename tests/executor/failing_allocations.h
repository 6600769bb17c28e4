#ifndef SLUICE_TESTS_EXECUTOR_FAILING_ALLOCATIONS_H_
#define SLUICE_TESTS_EXECUTOR_FAILING_ALLOCATIONS_H_

// Runs each of whose allocations fails once.

#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <memory>
#include <thread>
#include <utility>

#include "absl/status/status.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "executor/executor.h"
#include "executor/session/session.h"
#include "graph/base/as_status.h"
#include "graph/base/mutex.h"
#include "graph/ir/builder.h"
#include "graph/ops/op_table.h"
#include "gtest/gtest.h"
#include "tests/testing/counting_new.h"
#include "tests/testing/status_matchers.h"

namespace sluice {

// Ends the program when a test hangs: the run that hangs cannot be given up.
class Watchdog {
 public:
  Watchdog() : thread_([this] { Watch(); }) {}
  ~Watchdog() {
    over_.Notify();
    thread_.join();
  }
  void SetFailing(int64_t n, bool and_later) {
    n_ = n;
    and_later_ = and_later;
    ++changes_;
  }

 private:
  void Watch() {
    int64_t seen = -1;
    while (!over_.WaitForNotificationWithTimeout(absl::Seconds(60))) {
      if (changes_ == seen) {
        std::fprintf(stderr, "a run hangs whose allocation %d fails (and all later ones: %d)\n",
                     static_cast<int>(n_.load()), and_later_.load());
        std::abort();
      }
      seen = changes_;
    }
  }
  std::atomic<int64_t> n_{0}, changes_{0};
  std::atomic<int> and_later_{0};
  Notification over_;
  std::thread thread_;
};

inline bool IsShortOfMemory(const absl::Status& status) {
  return status.code() == absl::StatusCode::kResourceExhausted;
}

// `run` answers OK when all that it sees is right.
using Run = std::function<absl::Status()>;

// Has each allocation of `run` fail, as far as it comes. `prepare` comes before each and may allocate.
inline void FailEachAllocation(
    const Run& run, const Run& prepare = [] { return absl::OkStatus(); }) {
  for (int i = 0; i < 2; ++i) {
    ASSERT_OK(prepare());
    ASSERT_OK(run());
  }
#ifdef SLUICE_COUNTS_NEW
  Watchdog watchdog;
  for (const bool and_later : {false, true}) {
    int64_t num_failed = 0;
    // With several threads, runs differ a little in what they allocate: several in a row must pass.
    int num_passed = 0;
    for (int64_t n = 1; num_passed < 5; ++n) {
      watchdog.SetFailing(n, and_later);
      ASSERT_OK(prepare());
      FailNewCall(n, and_later);
      const absl::Status status = AsStatus(run);
      const bool has_failed = HasFailedNewCall();
      FailNewCall(0);
      ASSERT_TRUE(status.ok() || (has_failed && IsShortOfMemory(status)))
          << "allocation " << n << (and_later ? " and all later ones" : "") << ": " << status;
      num_failed += !status.ok();
      num_passed = has_failed ? 0 : num_passed + 1;
      ASSERT_OK(prepare());
      const absl::Status next = run();
      ASSERT_TRUE(next.ok()) << "after allocation " << n << (and_later ? " and all later ones" : "") << ": " << next;
    }
    EXPECT_GT(num_failed, 0);
  }
#endif
}

inline absl::Status Expect(bool holds, const char* what) {
  return holds ? absl::OkStatus() : absl::InternalError(what);
}

// The outcome of RunAsync; the watchdog sees to runs that hang.
inline absl::Status RunToDone(const Executor& executor, const Executor::Args& args) {
  struct Outcome {
    Notification over;
    absl::Status status;
  } outcome;
  try {
    executor.RunAsync(args, [&outcome](absl::Status status) {
      outcome.status = std::move(status);
      outcome.over.Notify();
    });
  } catch (...) {
    return absl::InternalError("RunAsync has thrown");
  }
  outcome.over.WaitForNotification();
  return outcome.status;
}

// Memory that is live when a test begins is when it ends, but for what is made once in a process. One object lost by
// each run that fails would be more.
class LeakCheck {
 public:
  ~LeakCheck() { EXPECT_LT(LiveNewBytes() - live_bytes_, 8 << 10); }

 private:
  static void WarmUp() {
    GraphBuilder b(NewOpRegistry());
    b.Op("Neg", "y", {b.Placeholder("x", DType::kFloat)});
    for (const Driver driver : {Driver::kSerial, Driver::kDataflow}) {
      SessionOptions options;
      options.driver = driver;
      ASSERT_OK_AND_ASSIGN(const std::unique_ptr<Session> session, Session::Create(options, b.graph()));
      CallOptions call;
      call.deadline = absl::Now() + absl::Hours(1);
      EXPECT_OK(session->Run({{"x", Tensor::Scalar(1.0f)}}, {"y"}, {}, call));
    }
  }
  static int64_t LiveBytesAfterWarmUp() {
    static const bool is_warm = (WarmUp(), true);
    static_cast<void>(is_warm);
    return LiveNewBytes();
  }

  const int64_t live_bytes_ = LiveBytesAfterWarmUp();
};

}  // namespace sluice

#endif  // SLUICE_TESTS_EXECUTOR_FAILING_ALLOCATIONS_H_

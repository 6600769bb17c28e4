// Runs that wait on a thread which has other work on its hands: inside of a `done` or of a kernel, or with runs of
// others that it has set free. They return at their deadline or cancellation, and do no work of other runs.

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "executor/threads/service_threads.h"
#include "graph/base/cancellation.h"
#include "graph/base/error.h"
#include "graph/base/mutex.h"
#include "kernels/families/register_all.h"
#include "tests/executor/session/session_fixture.h"
#include "tests/testing/function_kernel.h"

namespace sluice {
namespace {

constexpr absl::Duration kLong = absl::Minutes(1);
constexpr absl::Duration kSoon = absl::Milliseconds(30);

// Threads that hang cannot be joined, and what they use cannot be freed.
void MustCome(const Notification& event, const std::string& what) {
  if (event.WaitForNotificationWithTimeout(kLong)) return;
  std::fprintf(stderr, "hangs: %s\n", what.c_str());
  std::abort();
}

class NestedWaitsTest : public SessionFixture {
 protected:
  NestedWaitsTest() {
    RegisterAllKernels(registry_);
    const GraphBuilder::Attrs types = {{"component_types", std::vector<DType>{DType::kInt32}}};
    GraphBuilder::Attrs queue = types;
    queue.emplace_back("shapes", std::vector<PartialShape>{PartialShape::Scalar()});
    const Output q = b_.Op("FIFOQueueV2", "q", {}, queue);
    b_.Op("QueueDequeueV2", "get", {q}, types);
    b_.Op("QueueCloseV2", "close", {q});
    // Nothing comes here.
    const Output empty = b_.Op("FIFOQueueV2", "empty", {}, queue);
    b_.Op("QueueDequeueV2", "never", {empty}, types);
    b_.Const("one", Int(1));
    b_.Op("Neg", "hook", {b_.Placeholder("x", DType::kInt32, PartialShape::Scalar())});
  }

  void OpenWith(Driver driver, int num_threads) {
    SessionOptions options;
    options.kernels = &registry_;
    options.driver = driver;
    options.num_threads = num_threads;
    Open(options);
  }
  // The kernel of "hook" calls `function`.
  void Hook(std::function<void()> function) {
    const auto kernel = [function = std::move(function)](KernelContext& context) {
      function();
      context.SetOutput(0, context.TakeInput(0));
      return absl::OkStatus();
    };
    ASSERT_OK(registry_.Add(OwnedKernelRow("Neg", MakeFunction(kernel, CostHint::kHeavy))));
  }
  // Waits for what never comes, until its deadline or its cancellation.
  absl::Status WaitInVain(bool is_cancelled) {
    CallOptions options;
    CancellationManager cancellation;
    if (!is_cancelled) {
      options.deadline = absl::Now() + kSoon;
      return session_->Run({}, {"never"}, {}, options).status();
    }
    options.cancellation = &cancellation;
    std::thread canceller([&] {
      absl::SleepFor(kSoon);
      cancellation.StartCancel();
    });
    const absl::Status status = session_->Run({}, {"never"}, {}, options).status();
    canceller.join();
    return status;
  }

  KernelRegistry registry_;
};

TEST_F(NestedWaitsTest, ARunInsideOfADoneComesBack) {
  for (const Driver driver : {Driver::kAuto, Driver::kDataflow}) {
    for (const int num_threads : {1, 2, 4}) {
      OpenWith(driver, num_threads);
      for (const bool is_cancelled : {false, true}) {
        Notification over;
        absl::Status status;
        std::thread host([&] {
          session_->RunAsync({}, {"one"}, {}, {}, [&](const absl::StatusOr<std::vector<Tensor>>&) {
            status = WaitInVain(is_cancelled);
            over.Notify();
          });
        });
        MustCome(over, absl::StrCat("in a done, threads ", num_threads, ", driver ", static_cast<int>(driver)));
        host.join();
        EXPECT_THAT(status, IsError(is_cancelled ? ErrorCode::kRunCancelled : ErrorCode::kDeadline));
      }
    }
  }
}

TEST_F(NestedWaitsTest, ARunInsideOfAKernelComesBack) {
  bool is_cancelled = false;
  absl::Status status;
  Hook([&] { status = WaitInVain(is_cancelled); });
  for (const Driver driver : {Driver::kAuto, Driver::kDataflow}) {
    for (const int num_threads : {1, 2, 4}) {
      OpenWith(driver, num_threads);
      for (const bool cancels : {false, true}) {
        is_cancelled = cancels;
        Notification over;
        std::thread host([&] {
          EXPECT_OK(session_->Run({{"x", Int(1)}}, {"hook"}, {}));
          over.Notify();
        });
        MustCome(over, absl::StrCat("in a kernel, threads ", num_threads, ", driver ", static_cast<int>(driver)));
        host.join();
        EXPECT_THAT(status, IsError(is_cancelled ? ErrorCode::kRunCancelled : ErrorCode::kDeadline));
      }
    }
  }
}

// At its deadline the waiting thread makes other runs ready too; it must not work on them.
TEST_F(NestedWaitsTest, ARunWorksForNoOthersThatItSetsFree) {
  constexpr int kSteps = 200;
  for (const Driver driver : {Driver::kAuto, Driver::kDataflow}) {
    for (const int num_threads : {1, 2}) {
      OpenWith(driver, num_threads);
      const std::thread::id caller = std::this_thread::get_id();
      std::atomic<bool> is_waiting{false};
      std::atomic<int> ended{0}, on_caller{0};
      Notification all_over;
      for (int i = 0; i < kSteps; ++i) {
        session_->RunAsync({}, {"get"}, {}, {}, [&](const absl::StatusOr<std::vector<Tensor>>& values) {
          EXPECT_EQ(values.status().code(), absl::StatusCode::kOutOfRange);
          if (is_waiting && std::this_thread::get_id() == caller) ++on_caller;
          if (++ended == kSteps) all_over.Notify();
        });
      }
      EXPECT_EQ(ended, 0);
      is_waiting = true;
      EXPECT_OK(session_->Run({}, {}, {"close"}));
      is_waiting = false;
      MustCome(all_over, "steps whose queue was closed");
      EXPECT_EQ(on_caller, 0) << "threads " << num_threads << ", driver " << static_cast<int>(driver);
    }
  }
}

// The caller holds a lock that the others' `done` wants: it would wait for itself.
TEST_F(NestedWaitsTest, ACallersLockMayBeWantedByOthersWithoutThreads) {
  constexpr int kSteps = 20;
  OpenWith(Driver::kAuto, 1);
  Mutex mu;
  int ended = 0;  // Under mu.
  Notification all_over, returned;
  for (int i = 0; i < kSteps; ++i) {
    session_->RunAsync({}, {"get"}, {}, {}, [&](const absl::StatusOr<std::vector<Tensor>>&) {
      bool is_last = false;
      {
        MutexLock lock(&mu);
        is_last = ++ended == kSteps;
      }
      if (is_last) all_over.Notify();  // The lock ends with the test.
    });
  }
  std::thread host([&] {
    MutexLock lock(&mu);
    EXPECT_OK(session_->Run({}, {}, {"close"}));
    returned.Notify();
  });
  MustCome(returned, "a Run that sets free what wants its caller's lock");
  host.join();
  MustCome(all_over, "steps whose queue was closed");
}

// ---- Ten thousand deadlines at once ----

TEST_F(NestedWaitsTest, DeadlinesThatPassTogetherTakeFewThreads) {
  constexpr int kSteps = 10'000;
  for (const Driver driver : {Driver::kAuto, Driver::kDataflow}) {
    OpenWith(driver, 1);
    CallOptions options;
    options.deadline = absl::Now() + absl::Milliseconds(driver == Driver::kAuto ? 300 : 600);
    std::atomic<int> ended{0}, others{0};
    Notification all_over;
    for (int i = 0; i < kSteps; ++i) {
      session_->RunAsync({}, {"never"}, {}, options, [&](const absl::StatusOr<std::vector<Tensor>>& values) {
        if (values.status().code() != absl::StatusCode::kDeadlineExceeded) ++others;
        if (ended.load() % 50 == 0) absl::SleepFor(absl::Milliseconds(2));  // Some take long.
        if (++ended == kSteps) all_over.Notify();
      });
    }
    MustCome(all_over, "steps with one deadline");
    EXPECT_EQ(others, 0);
  }
  const ServiceThreads& threads = ServiceThreads::Global();
  // A few more where the machine is so busy that nothing happens for a long time.
  EXPECT_LE(threads.most_threads(), threads.max_running() + 1 + 8);
}

}  // namespace
}  // namespace sluice

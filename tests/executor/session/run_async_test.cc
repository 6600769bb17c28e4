// Calls without a waiting thread: Callable::RunAsync and Session::RunAsync.

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <iterator>
#include <optional>
#include <string>
#include <thread>

#include "absl/time/clock.h"
#include "graph/base/mutex.h"
#include "kernels/families/register_all.h"
#include "kernels/kernel.h"
#include "tests/executor/session/session_fixture.h"
#include "tests/testing/counting_new.h"

namespace sluice {
namespace {

constexpr absl::string_view kDevice = "/job:localhost/replica:0/task:0/device:CPU:0";

int64_t NumThreads() {
  using Entries = std::filesystem::directory_iterator;
  return std::distance(Entries("/proc/self/task"), Entries());
}

// Keeps the calls of its kernels until a test lets them go on. Thread-safe.
class Gate {
 public:
  // Gives its input, when it is let through.
  class WaitKernel final : public AsyncKernel {
   public:
    explicit WaitKernel(Gate& gate) : gate_(gate) {}
    void ComputeAsync(KernelContext& context, Done done) const override {
      MutexLock lock(&gate_.mu_);
      gate_.calls_.push_back({&context, std::move(done)});
    }

   private:
    Gate& gate_;
  };

  size_t num_waiting() {
    MutexLock lock(&mu_);
    return calls_.size();
  }
  void Open() {
    std::vector<Call> calls;
    {
      MutexLock lock(&mu_);
      calls.swap(calls_);
    }
    for (Call& call : calls) {
      call.context->SetOutput(0, call.context->input(0));
      std::move(call.done)(absl::OkStatus());
    }
  }

 private:
  struct Call {
    KernelContext* context;
    AsyncKernel::Done done;
  };
  Mutex mu_;
  std::vector<Call> calls_ ABSL_GUARDED_BY(mu_);
};

class RunAsyncTest : public SessionFixture {
 protected:
  // One call, with what it lends.
  struct Call {
    Tensor in[1], out[1];
    absl::Status status;
    Notification over;
  };

  RunAsyncTest() { RegisterAllKernels(registry_); }

  void OpenWith(Driver driver, int num_threads = 2) {
    SessionOptions options;
    options.kernels = &registry_;
    options.driver = driver;
    options.num_threads = num_threads;
    Open(options);
  }
  // "waits" gives x + 1 when the gate opens.
  void AddGate() {
    ASSERT_OK(registry_.Add(OwnedKernelRow(
        "Neg", [this](const KernelConstruction&) { return std::make_unique<Gate::WaitKernel>(gate_); })));
    const Output x = b_.Placeholder("x", DType::kInt32, PartialShape::Scalar());
    b_.Op("Neg", "waits", {b_.Op("AddV2", "", {x, b_.Const("one", Int(1))})});
  }
  void AddRecv() {
    b_.Op("_Recv", "never", {},
          {{"tensor_name", "edge"},
           {"send_device", std::string(kDevice)},
           {"send_device_incarnation", int64_t{1}},
           {"recv_device", std::string(kDevice)},
           {"tensor_type", DType::kInt32}});
  }
  std::shared_ptr<const Callable> Prepare(FeedFetchSpec spec) {
    absl::StatusOr<std::shared_ptr<const Callable>> made = session_->Prepare(spec);
    EXPECT_OK(made);
    return made.ok() ? *made : nullptr;
  }
  static void Begin(const Callable& f, Call& call, const CallOptions& options = {}) {
    f.RunAsync(f.feeds().empty() ? absl::Span<Tensor>() : absl::MakeSpan(call.in), absl::MakeSpan(call.out), options,
               [&call](absl::Status status) {
                 call.status = std::move(status);
                 call.over.Notify();
               });
  }

  KernelRegistry registry_;
  Gate gate_;
};

TEST_F(RunAsyncTest, GivesWhatRunGives) {
  AddSimpleGraph();
  for (const Driver driver : {Driver::kAuto, Driver::kSerial, Driver::kDataflow}) {
    OpenWith(driver);
    const auto f = Prepare({{"x"}, {"z"}, {}, {}});
    for (int32_t x = 0; x < 200; ++x) {
      Call call;
      call.in[0] = Int(x);
      Begin(*f, call);
      call.over.WaitForNotification();
      ASSERT_OK(call.status);
      EXPECT_EQ(*call.out[0].AsScalar<int32_t>(), (x + 1) * (x + 1));
    }
  }
}

TEST_F(RunAsyncTest, MisuseIsToldToDone) {
  AddSimpleGraph();
  OpenWith(Driver::kAuto);
  const auto f = Prepare({{"x"}, {"z"}, {}, {}});
  Call wrong_type, wrong_pool, cancelled, closed;
  wrong_type.in[0] = Tensor::Scalar(1.0f);
  Begin(*f, wrong_type);
  EXPECT_THAT(wrong_type.status, IsError(ErrorCode::kFeedType));
  CallOptions options;
  options.pool = 7;
  wrong_pool.in[0] = Int(1);
  Begin(*f, wrong_pool, options);
  EXPECT_THAT(wrong_pool.status, IsError(ErrorCode::kWrongUse));
  CancellationManager cancellation;
  cancellation.StartCancel();
  options = CallOptions();
  options.cancellation = &cancellation;
  cancelled.in[0] = Int(1);
  Begin(*f, cancelled, options);
  EXPECT_THAT(cancelled.status, IsError(ErrorCode::kRunCancelled));
  session_.reset();
  closed.in[0] = Int(1);
  Begin(*f, closed);
  EXPECT_THAT(closed.status, IsError(ErrorCode::kSessionClosed));
}

TEST_F(RunAsyncTest, ErrorsOfNodesLeaveTheSessionAsItIs) {
  const Output x = b_.Placeholder("x", DType::kInt32, PartialShape::Scalar());
  b_.Op("FloorDiv", "quotient", {b_.Const("ten", Int(10)), x});
  for (const Driver driver : {Driver::kAuto, Driver::kDataflow}) {
    OpenWith(driver);
    const auto f = Prepare({{"x"}, {"quotient"}, {}, {}});
    for (int i = 0; i < 3; ++i) {
      Call bad, good;
      bad.in[0] = Int(0);
      Begin(*f, bad);
      bad.over.WaitForNotification();
      EXPECT_THAT(bad.status, StatusIs(absl::StatusCode::kInvalidArgument, "quotient"));
      good.in[0] = Int(5);
      Begin(*f, good);
      good.over.WaitForNotification();
      ASSERT_OK(good.status);
      EXPECT_EQ(*good.out[0].AsScalar<int32_t>(), 2);
    }
  }
}

TEST_F(RunAsyncTest, AWaitEndsAtItsDeadlineOrItsCancellation) {
  AddRecv();
  for (const int threads : {1, 2}) {
    OpenWith(Driver::kAuto, threads);
    const auto f = Prepare({{}, {"never"}, {}, {}});
    Call late, cancelled;
    CallOptions with_deadline, with_cancellation;
    with_deadline.deadline = absl::Now() + absl::Milliseconds(20);
    CancellationManager cancellation;
    with_cancellation.cancellation = &cancellation;
    Begin(*f, late, with_deadline);
    Begin(*f, cancelled, with_cancellation);
    late.over.WaitForNotification();
    EXPECT_THAT(late.status, IsError(ErrorCode::kDeadline));
    EXPECT_FALSE(cancelled.over.HasBeenNotified());
    cancellation.StartCancelWithStatus(absl::UnavailableError("no more"));
    cancelled.over.WaitForNotification();
    EXPECT_THAT(cancelled.status, StatusIs(absl::StatusCode::kUnavailable, "no more"));
  }
}

TEST_F(RunAsyncTest, TheEndOfTheSessionEndsItsStepsAndTheCallableLivesUntilThen) {
  AddRecv();
  OpenWith(Driver::kAuto);
  auto f = Prepare({{}, {"never"}, {}, {}});
  const std::weak_ptr<const Callable> alive = f;
  Call call;
  Begin(*f, call);
  f.reset();
  EXPECT_FALSE(alive.expired());
  session_.reset();
  call.over.WaitForNotification();
  EXPECT_THAT(call.status, IsError(ErrorCode::kSessionClosed));
  for (int i = 0; i < 1000 && !alive.expired(); ++i) absl::SleepFor(absl::Milliseconds(1));
  EXPECT_TRUE(alive.expired());
}

TEST_F(RunAsyncTest, DoneMayFreeWhatTheCallWasGiven) {
  AddGate();
  OpenWith(Driver::kAuto);
  const auto f = Prepare({{"x"}, {"waits"}, {}, {}});
  struct Lent {
    CancellationManager cancellation;
    Tensor in[1] = {Tensor::Scalar<int32_t>(3)}, out[1];
  };
  auto lent = std::make_unique<Lent>();
  CallOptions options;
  options.cancellation = &lent->cancellation;
  Notification over;
  int32_t value = 0;
  f->RunAsync(absl::MakeSpan(lent->in), absl::MakeSpan(lent->out), options, [&](const absl::Status& status) {
    EXPECT_OK(status);
    value = *lent->out[0].AsScalar<int32_t>();
    lent.reset();
    over.Notify();
  });
  EXPECT_EQ(gate_.num_waiting(), 1u);
  gate_.Open();
  over.WaitForNotification();
  EXPECT_EQ(value, 4);
}

// Also without a graph that waits: they run one after the other on the stack of the first, or later.
TEST_F(RunAsyncTest, ChainsOfCallsDoNotGrowTheStack) {
  AddSimpleGraph();
  OpenWith(Driver::kAuto, 1);
  const auto f = Prepare({{"x"}, {"z"}, {}, {}});
  Tensor in[1], out[1];
  int left = 50'000;
  const char* const top = static_cast<const char*>(__builtin_frame_address(0));
  int64_t deepest = 0;
  std::function<void()> begin = [&] {
    deepest = std::max<int64_t>(deepest, top - static_cast<const char*>(__builtin_frame_address(0)));
    in[0] = Int(1);
    f->RunAsync(absl::MakeSpan(in), absl::MakeSpan(out), {}, [&](const absl::Status& status) {
      EXPECT_OK(status);
      if (--left > 0) begin();
    });
  };
  begin();
  EXPECT_EQ(left, 0);
  EXPECT_LT(deepest, 512 << 10);
}

// Neither do calls that end before they begin: a client that tries again and again in its `done`.
TEST_F(RunAsyncTest, ChainsOfCallsThatCannotBeginDoNotGrowTheStack) {
  AddSimpleGraph();
  OpenWith(Driver::kAuto, 1);
  const auto f = Prepare({{"x"}, {"z"}, {}, {}});
  CallOptions no_pool;
  no_pool.pool = 7;
  for (const bool is_closed : {false, true}) {
    if (is_closed) {
      ASSERT_OK(session_->Close());
    }
    for (const bool by_name : {false, true}) {
      Tensor in[1], out[1];
      int left = 50'000;
      const char* const top = static_cast<const char*>(__builtin_frame_address(0));
      int64_t deepest = 0;
      std::function<void()> begin = [&] {
        deepest = std::max<int64_t>(deepest, top - static_cast<const char*>(__builtin_frame_address(0)));
        const auto next = [&](const absl::Status& status) {
          EXPECT_THAT(status, IsError(is_closed ? ErrorCode::kSessionClosed : ErrorCode::kWrongUse));
          if (--left > 0) begin();
        };
        in[0] = Int(1);
        if (by_name) {
          session_->RunAsync({{"x", Int(1)}}, {"z"}, {}, no_pool,
                             [next](const auto& values) { next(values.status()); });
        } else {
          f->RunAsync(absl::MakeSpan(in), absl::MakeSpan(out), no_pool, next);
        }
      };
      begin();
      EXPECT_EQ(left, 0);
      EXPECT_LT(deepest, 512 << 10);
    }
  }
}

TEST_F(RunAsyncTest, DoneMayFreeTheSessionInsideOfItsClose) {
  AddRecv();
  for (const int threads : {1, 2}) {
    OpenWith(Driver::kAuto, threads);
    auto f = Prepare({{}, {"never"}, {}, {}});
    Tensor out[1];
    absl::Status outcome;
    Notification over;
    f->RunAsync({}, absl::MakeSpan(out), {}, [&](absl::Status status) {
      outcome = std::move(status);
      session_.reset();
      over.Notify();
    });
    f.reset();  // The step has the last of it.
    Session* const session = session_.get();
    ASSERT_OK(session->Close());
    over.WaitForNotification();
    EXPECT_THAT(outcome, IsError(ErrorCode::kSessionClosed));
  }
}

TEST_F(RunAsyncTest, TenThousandStepsThatWaitHoldNoThread) {
  constexpr size_t kSteps = 10'000, kWarmUp = 64;
  AddGate();
  OpenWith(Driver::kAuto, 2);
  const auto f = Prepare({{"x"}, {"waits"}, {}, {}});
  std::vector<Tensor> in(kSteps), out(kSteps);
  std::atomic<size_t> ended{0}, failed{0};
  Notification all_over;
  const int64_t threads_before = NumThreads();
  int64_t bytes_before = 0;
  for (size_t i = 0; i < kSteps; ++i) {
    if (i == kWarmUp) bytes_before = LiveNewBytes();
    in[i] = Int(static_cast<int32_t>(i));
    f->RunAsync(absl::MakeSpan(in).subspan(i, 1), absl::MakeSpan(out).subspan(i, 1), {}, [&](const absl::Status& s) {
      if (!s.ok()) ++failed;
      if (++ended == kSteps) all_over.Notify();
    });
  }
  for (int i = 0; i < 10'000 && gate_.num_waiting() < kSteps; ++i) absl::SleepFor(absl::Milliseconds(1));
  EXPECT_EQ(gate_.num_waiting(), kSteps);
  EXPECT_EQ(ended, 0u);
  const int64_t bytes = (LiveNewBytes() - bytes_before) / static_cast<int64_t>(kSteps - kWarmUp);
  RecordProperty("bytes", std::to_string(bytes));
  EXPECT_LE(bytes, 2048 + 2 * 64) << "the input and the output of the call are alive";
  EXPECT_LE(NumThreads(), threads_before + 2) << "the pool's, at most";
  gate_.Open();
  all_over.WaitForNotification();
  EXPECT_EQ(failed, 0u);
  for (size_t i = 0; i < kSteps; ++i) ASSERT_EQ(*out[i].AsScalar<int32_t>(), static_cast<int32_t>(i + 1));
}

TEST_F(RunAsyncTest, TenThousandReceivesHoldNoThreadAndEndTogether) {
  constexpr size_t kSteps = 10'000;
  AddRecv();
  OpenWith(Driver::kAuto, 2);
  const auto f = Prepare({{}, {"never"}, {}, {}});
  std::vector<Tensor> out(kSteps);
  std::atomic<size_t> ended{0}, others{0};
  Notification all_over;
  const int64_t threads_before = NumThreads();
  int64_t bytes_before = 0;
  for (size_t i = 0; i < kSteps; ++i) {
    if (i == 64) bytes_before = LiveNewBytes();
    f->RunAsync({}, absl::MakeSpan(out).subspan(i, 1), {}, [&](const absl::Status& status) {
      if (status.code() != absl::StatusCode::kCancelled) ++others;
      if (++ended == kSteps) all_over.Notify();
    });
  }
  EXPECT_EQ(ended, 0u);
  const int64_t bytes = (LiveNewBytes() - bytes_before) / static_cast<int64_t>(kSteps - 64);
  RecordProperty("bytes", std::to_string(bytes));
  // 1,987 by the sizes of what such a step holds, in blocks of malloc's: AsyncStep 232, its `done` 24, WaitingRun 632,
  // Scheduler 296, StepRecord's memory 104 (with the place of the value), LocalRendezvous 40 and its table 408, the
  // receive's callback 56, what is registered with two managers 88 each, and 19 that all steps share.
  EXPECT_LE(bytes, 2048);
  EXPECT_LE(NumThreads(), threads_before + 2);
  ASSERT_OK(session_->Close());
  all_over.WaitForNotification();
  EXPECT_EQ(others, 0u);
}

TEST_F(RunAsyncTest, StepsByNameThatWaitHoldLittleMore) {
  constexpr size_t kSteps = 2'000;
  AddRecv();
  OpenWith(Driver::kAuto, 2);
  std::atomic<size_t> ended{0}, others{0};
  Notification all_over;
  int64_t bytes_before = 0;
  for (size_t i = 0; i < kSteps; ++i) {
    if (i == 64) bytes_before = LiveNewBytes();
    session_->RunAsync({}, {"never"}, {}, {}, [&](const absl::StatusOr<std::vector<Tensor>>& values) {
      if (values.status().code() != absl::StatusCode::kCancelled) ++others;
      if (++ended == kSteps) all_over.Notify();
    });
  }
  const int64_t bytes = (LiveNewBytes() - bytes_before) / static_cast<int64_t>(kSteps - 64);
  RecordProperty("bytes", std::to_string(bytes));
  EXPECT_LE(bytes, 2048 + 2 * 64) << "the value has a place in the step, and one among the results";
  EXPECT_EQ(ended, 0u);
  ASSERT_OK(session_->Close());
  all_over.WaitForNotification();
  EXPECT_EQ(others, 0u);
}

// A step that has ended when the call returns needs no more memory than Run does, also with threads.
TEST_F(RunAsyncTest, ACallThatDoesNotWaitAllocatesNothing) {
  AddSimpleGraph();
  for (const int threads : {1, 2}) {
    OpenWith(Driver::kAuto, threads);
    const auto f = Prepare({{"x"}, {"z"}, {}, {}});
    Tensor in[1], out[1];
    const std::thread::id here = std::this_thread::get_id();
    // The first runs of a graph are timed where there are threads.
    int64_t calls_of_run = 0;
    for (int i = 0; i < 20; ++i) {
      in[0] = Int(i);
      const int64_t before = NewCalls();
      ASSERT_OK(f->Run(absl::MakeSpan(in), absl::MakeSpan(out)));
      calls_of_run = NewCalls() - before;
    }
    for (int32_t i = 0; i < 20; ++i) {
      in[0] = Int(i);
      bool is_over = false;
      std::thread::id there;
      const int64_t before = NewCalls();
      f->RunAsync(absl::MakeSpan(in), absl::MakeSpan(out), {}, [&](const absl::Status& status) {
        is_over = status.ok();
        there = std::this_thread::get_id();
      });
      EXPECT_LE(NewCalls() - before, calls_of_run);  // The closure of this test needs none.
      ASSERT_TRUE(is_over);
      EXPECT_EQ(there, here);
      EXPECT_EQ(*out[0].AsScalar<int32_t>(), (i + 1) * (i + 1));
    }
  }
}

// The last reference to the callable goes inside of its own call.
TEST_F(RunAsyncTest, ACallableMayGoInsideOfItsOnlyCall) {
  AddSimpleGraph();
  OpenWith(Driver::kAuto, 1);
  auto f = Prepare({{"x"}, {"z"}, {}, {}});
  const std::weak_ptr<const Callable> alive = f;
  Tensor in[1] = {Int(4)}, out[1];
  absl::Status outcome = absl::UnknownError("not over");
  const Callable& callable = *f;
  callable.RunAsync(absl::MakeSpan(in), absl::MakeSpan(out), {}, [&](absl::Status status) {
    outcome = std::move(status);
    f.reset();
    session_.reset();
    EXPECT_TRUE(alive.expired()) << "nothing of the call keeps it";
  });
  ASSERT_OK(outcome);
  EXPECT_EQ(*out[0].AsScalar<int32_t>(), 25);
}

TEST_F(RunAsyncTest, SessionsRunByName) {
  AddSimpleGraph();
  OpenWith(Driver::kAuto);
  std::optional<absl::StatusOr<std::vector<Tensor>>> values;
  session_->RunAsync({{"x", Int(2)}}, {"z", "y"}, {}, {}, [&](absl::StatusOr<std::vector<Tensor>> v) { values = v; });
  ASSERT_TRUE(values.has_value()) << "a graph that does not wait is over when the call returns";
  ASSERT_OK(*values);
  EXPECT_EQ(*(**values)[0].AsScalar<int32_t>(), 9);
  EXPECT_EQ(*(**values)[1].AsScalar<int32_t>(), 3);
  session_->RunAsync({}, {"nobody"}, {}, {}, [&](absl::StatusOr<std::vector<Tensor>> v) { values = v; });
  EXPECT_FALSE(values->ok());
  EXPECT_EQ(session_->num_runs(), 2);
  EXPECT_EQ(session_->num_errors(), 1);
  EXPECT_EQ(session_->num_prepared(), 1u);
}

TEST_F(RunAsyncTest, ASessionMayGoWhileItsStepsByNameWait) {
  AddGate();
  AddRecv();
  OpenWith(Driver::kAuto);
  absl::Status waits, never;
  std::atomic<int> left{2};
  Notification over;
  const auto into = [&](absl::Status* status) {
    return [&over, &left, status](const absl::StatusOr<std::vector<Tensor>>& values) {
      *status = values.status();
      if (--left == 0) over.Notify();
    };
  };
  session_->RunAsync({{"x", Int(2)}}, {"waits"}, {}, {}, into(&waits));
  session_->RunAsync({}, {"never"}, {}, {}, into(&never));
  session_.reset();
  gate_.Open();  // Kernels that do not listen to cancellation end when they end.
  over.WaitForNotification();
  EXPECT_THAT(waits, IsError(ErrorCode::kSessionClosed));
  EXPECT_THAT(never, IsError(ErrorCode::kSessionClosed));
}

}  // namespace
}  // namespace sluice

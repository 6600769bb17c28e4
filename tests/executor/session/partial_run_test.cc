#include "executor/session/partial_run.h"

#include <functional>
#include <thread>

#include "absl/strings/match.h"
#include "absl/time/clock.h"
#include "executor/threads/thread_pool.h"
#include "graph/base/mutex.h"
#include "tests/executor/session/session_fixture.h"
#include "tests/testing/log_capture.h"

namespace sluice {
namespace {

// first = a + b, second = first * c.
class PartialRunTest : public SessionFixture {
 protected:
  void SetUp() override {
    const Output a = b_.Placeholder("a", DType::kInt32), b = b_.Placeholder("b", DType::kInt32);
    const Output c = b_.Placeholder("c", DType::kInt32);
    const Output first = b_.Op("AddV2", "first", {a, b});
    b_.Op("Mul", "second", {first, c});
    b_.Op("FloorDiv", "quotient", {first, c});
    b_.Op("Switch", "ports", {first, b_.Placeholder("p", DType::kBool)});
    Open();
  }
  std::string Begin(FeedFetchSpec spec) {
    absl::StatusOr<std::string> handle = session_->PRunSetup(spec);
    EXPECT_OK(handle);
    return handle.ok() ? *handle : "";
  }
  void ExpectStep(const std::string& handle, const NamedTensors& feeds, const std::string& fetch, int32_t expected) {
    ASSERT_OK_AND_ASSIGN(const std::vector<Tensor> values, session_->PRun(handle, feeds, {fetch}));
    EXPECT_EQ(*values[0].AsScalar<int32_t>(), expected);
  }
};

TEST_F(PartialRunTest, IsFedAndFetchedPieceByPiece) {
  const std::string handle = Begin({{"a", "b", "c"}, {"first", "second"}, {}, {}});
  ExpectStep(handle, {{"a", Int(1)}, {"b", Int(2)}}, "first", 3);
  EXPECT_EQ(session_->num_partial_runs(), 1u);
  ExpectStep(handle, {{"c", Int(5)}}, "second:0", 15);
  EXPECT_EQ(session_->num_partial_runs(), 0u);
  EXPECT_THAT(session_->PRun(handle, {}, {"first"}), IsError(ErrorCode::kPartialRun));
}

TEST_F(PartialRunTest, AFetchUnderTwoNamesIsOneFetch) {
  const std::string handle = Begin({{"a", "b"}, {"first"}, {}, {}});
  const NamedTensors feeds = {{"a", Int(1)}, {"b", Int(2)}};
  EXPECT_THAT(session_->PRun(handle, feeds, {"first", "first:0"}), IsError(ErrorCode::kPartialRun, "twice"));
  EXPECT_THAT(session_->PRun(handle, feeds, {"first", "first"}), IsError(ErrorCode::kPartialRun, "twice"));
  ExpectStep(handle, feeds, "first", 3);
}

TEST_F(PartialRunTest, AFetchedVariableIsACopyThatLaterStepsLeaveAlone) {
  const Tensor ones = Tensor::Vector<int32_t>(std::vector<int32_t>(1000, 1));
  const Output v = b_.Op("VariableV2", "v", {}, {{"dtype", DType::kInt32}, {"shape", Shape::Of({1000})}});
  b_.Op("Assign", "start", {v, b_.Const("ones", ones)});
  b_.Op("AssignAdd", "more", {v, b_.Const("more_ones", ones)});
  b_.Op("Identity", "now", {v});
  Open();
  ASSERT_OK(session_->Run({}, {}, {"start"}));
  const std::string handle = Begin({{}, {"now"}, {}, {}});
  ASSERT_OK_AND_ASSIGN(const std::vector<Tensor> values, session_->PRun(handle, {}, {"now"}));
  ASSERT_OK(session_->Run({}, {}, {"more"}));
  EXPECT_EQ(values[0].flat<int32_t>()[999], 1);
}

TEST_F(PartialRunTest, RunsAtTheSameTimeAreApart) {
  const std::string one = Begin({{"a", "b", "c"}, {"first", "second"}, {}, {}});
  const std::string other = Begin({{"a", "b", "c"}, {"first", "second"}, {}, {}});
  ExpectStep(one, {{"a", Int(1)}, {"b", Int(2)}}, "first", 3);
  ExpectStep(other, {{"a", Int(10)}, {"b", Int(20)}}, "first", 30);
  ExpectStep(one, {{"c", Int(2)}}, "second", 6);
  ExpectStep(other, {{"c", Int(2)}}, "second", 60);
}

TEST_F(PartialRunTest, AFetchThatNeedsAnotherFeedIsRefusedAtOnce) {
  const std::string handle = Begin({{"a", "b", "c"}, {"first", "second"}, {}, {}});
  for (int i = 0; i < 2; ++i) {
    EXPECT_THAT(session_->PRun(handle, {{"a", Int(1)}}, {"first"}), IsError(ErrorCode::kPartialRun, "b:0"));
  }
  // Nothing has happened.
  ExpectStep(handle, {{"a", Int(1)}, {"b", Int(2)}, {"c", Int(3)}}, "second", 9);
  ExpectStep(handle, {}, "first", 3);
}

TEST_F(PartialRunTest, EverythingMayBeUsedOnce) {
  const std::string handle = Begin({{"a", "b", "c"}, {"first", "second"}, {}, {}});
  ExpectStep(handle, {{"a", Int(1)}, {"b", Int(2)}}, "first", 3);
  EXPECT_THAT(session_->PRun(handle, {{"a", Int(1)}}, {}), IsError(ErrorCode::kPartialRun, "given before"));
  EXPECT_THAT(session_->PRun(handle, {}, {"first"}), IsError(ErrorCode::kPartialRun, "taken before"));
  EXPECT_THAT(session_->PRun(handle, {{"p", Tensor::Scalar(true)}}, {}), IsError(ErrorCode::kPartialRun, "not set up"));
  EXPECT_THAT(session_->PRun(handle, {{"c", Int(1)}, {"c:0", Int(1)}}, {}), IsError(ErrorCode::kPartialRun, "twice"));
  EXPECT_THAT(session_->PRun(handle, {{"c", Tensor::Scalar(1.0f)}}, {}), IsError(ErrorCode::kFeedType, "c"));
  EXPECT_THAT(session_->PRun("nothing", {}, {}), IsError(ErrorCode::kPartialRun));
}

TEST_F(PartialRunTest, MisuseLeavesItAsItWas) {
  const std::string handle = Begin({{"a", "b", "c"}, {"first", "second"}, {}, {}});
  const Tensor wrong = Tensor::Scalar(1.0f);
  // The first feed alone would be right each time.
  EXPECT_THAT(session_->PRun(handle, {{"a", Int(1)}, {"nobody", Int(2)}}, {}), IsError(ErrorCode::kPartialRun));
  EXPECT_THAT(session_->PRun(handle, {{"a", Int(1)}, {"a:0", Int(2)}}, {}), IsError(ErrorCode::kPartialRun, "twice"));
  EXPECT_THAT(session_->PRun(handle, {{"a", Int(1)}, {"b", wrong}}, {}), IsError(ErrorCode::kFeedType));
  EXPECT_THAT(session_->PRun(handle, {{"a", Int(1)}}, {"nobody"}), IsError(ErrorCode::kPartialRun));
  EXPECT_THAT(session_->PRun(handle, {{"a", Int(1)}}, {"first"}), IsError(ErrorCode::kPartialRun, "b:0"));
  EXPECT_THAT(session_->PRun(handle, {{"a", Int(1)}, {"b", Int(2)}}, {"first", "first:0"}),
              IsError(ErrorCode::kPartialRun, "twice"));
  EXPECT_EQ(session_->num_partial_runs(), 1u);
  ExpectStep(handle, {{"a", Int(1)}, {"b", Int(2)}}, "first", 3);
  EXPECT_THAT(session_->PRun(handle, {{"c", Int(9)}, {"a", Int(1)}}, {}), IsError(ErrorCode::kPartialRun, "before"));
  ExpectStep(handle, {{"c", Int(5)}}, "second", 15);
}

TEST_F(PartialRunTest, SeveralOutputsOfOneNodeAreFedApart) {
  const Output ports{b_.graph().Find("ports"), 0};
  b_.Op("Sub", "difference", {GraphBuilder::Nth(ports, 1), ports});
  Open();
  const std::string handle = Begin({{"ports:0", "ports:1"}, {"difference"}, {}, {}});
  ASSERT_OK(session_->PRun(handle, {{"ports:1", Int(7)}}, {}));
  ExpectStep(handle, {{"ports", Int(2)}}, "difference", 5);
}

// A receive without a send.
class WaitingPartialRunTest : public PartialRunTest {
 protected:
  void SetUp() override {
    const std::string device = "/job:localhost/replica:0/task:0/device:CPU:0";
    b_.Op("AddV2", "waits",
          {b_.Placeholder("x", DType::kInt32), b_.Op("_Recv", "r", {},
                                                     {{"tensor_name", "edge"},
                                                      {"send_device", device},
                                                      {"send_device_incarnation", int64_t{1}},
                                                      {"recv_device", device},
                                                      {"tensor_type", DType::kInt32}})});
    SessionOptions options;
    options.pools = {{2, ""}};
    Open(options);
    handle_ = Begin({{"x"}, {"waits"}, {}, {}});
  }
  absl::Status Run(const CallOptions& call) {
    return session_->PRun(handle_, {{"x", Int(1)}}, {"waits"}, call).status();
  }

  std::string handle_;
};

TEST_F(WaitingPartialRunTest, ADeadlineEndsIt) {
  CallOptions call;
  call.deadline = absl::Now() + absl::Milliseconds(20);
  EXPECT_THAT(Run(call), IsError(ErrorCode::kDeadline));
  EXPECT_EQ(session_->num_partial_runs(), 0u);
}

TEST_F(WaitingPartialRunTest, ACallersCancellationEndsItWithItsCause) {
  CancellationManager cancellation;
  CallOptions call;
  call.cancellation = &cancellation;
  std::thread canceller([&] {
    absl::SleepFor(absl::Milliseconds(5));
    cancellation.StartCancelWithStatus(absl::UnavailableError("the client has gone"));
  });
  EXPECT_THAT(Run(call), StatusIs(absl::StatusCode::kUnavailable, "the client has gone"));
  canceller.join();
  EXPECT_EQ(session_->num_partial_runs(), 0u);
}

TEST_F(WaitingPartialRunTest, ACallThatIsCancelledBeforeItBeginsDoesNothing) {
  CancellationManager cancellation;
  cancellation.StartCancel();
  CallOptions call;
  call.cancellation = &cancellation;
  EXPECT_THAT(Run(call), StatusIs(absl::StatusCode::kCancelled));
  EXPECT_EQ(session_->num_partial_runs(), 1u);
}

TEST_F(WaitingPartialRunTest, OptionsOfTheSetupHoldForTheWholeStep) {
  CancellationManager cancellation;
  CallOptions setup;
  setup.cancellation = &cancellation;
  setup.deadline = absl::Now() + absl::Hours(1);
  setup.stall_timeout = absl::Milliseconds(5);
  setup.pool = 1;
  ASSERT_OK_AND_ASSIGN(handle_, session_->PRunSetup({{"x"}, {"waits"}, {}, {}}, setup));
  // Between calls nothing waits, and nothing is reported; in a call the report ends it.
  const LogCapture log([&](const std::string& line) {
    EXPECT_TRUE(absl::StrContains(line, "'edge'")) << line;
    cancellation.StartCancel();
  });
  absl::SleepFor(absl::Milliseconds(20));
  EXPECT_TRUE(log.lines().empty());
  EXPECT_THAT(Run({}), StatusIs(absl::StatusCode::kCancelled));
  EXPECT_FALSE(log.lines().empty());
}

TEST_F(WaitingPartialRunTest, ClosingTheSessionEndsIt) {
  absl::Status status;
  std::thread runner([&] { status = Run({}); });
  absl::SleepFor(absl::Milliseconds(10));
  ASSERT_OK(session_->Close());
  runner.join();
  EXPECT_THAT(status, IsError(ErrorCode::kSessionClosed));
}

TEST_F(WaitingPartialRunTest, OnesThatHaveFailedBetweenCallsDoNotCountAgainstTheLimit) {
  SessionOptions options;
  options.max_partial_runs = 2;
  Open(options);
  const FeedFetchSpec spec = {{"x"}, {"waits"}, {}, {}};
  CancellationManager cancellation;
  CallOptions setup;
  setup.cancellation = &cancellation;
  ASSERT_OK(session_->PRunSetup(spec));
  ASSERT_OK_AND_ASSIGN(handle_, session_->PRunSetup(spec, setup));
  EXPECT_THAT(session_->PRunSetup(spec), IsError(ErrorCode::kLimitRuns));
  EXPECT_EQ(session_->num_partial_runs(), 2u);
  cancellation.StartCancel();
  // Its work may stop a little later.
  absl::StatusOr<std::string> next = session_->PRunSetup(spec);
  const absl::Time end = absl::Now() + absl::Minutes(1);
  while (!next.ok() && absl::Now() < end) next = session_->PRunSetup(spec);
  ASSERT_OK(next);
  EXPECT_EQ(session_->num_partial_runs(), 2u);
  EXPECT_THAT(Run({}), IsError(ErrorCode::kPartialRun, "or it is over"));
  EXPECT_THAT(session_->PRunSetup(spec), IsError(ErrorCode::kLimitRuns));
}

TEST_F(PartialRunTest, TensorsAreKeptUnderHandles) {
  b_.Op("GetSessionHandle", "keep", {Output{b_.graph().Find("first"), 0}}, {{"T", DType::kInt32}});
  b_.Op("GetSessionTensor", "kept", {b_.Placeholder("handle", DType::kString)}, {{"dtype", DType::kInt32}});
  Open();
  const std::string handle = Begin({{"a", "b", "c"}, {"keep", "second"}, {}, {}});
  ASSERT_OK_AND_ASSIGN(const std::vector<Tensor> kept,
                       session_->PRun(handle, {{"a", Int(1)}, {"b", Int(2)}}, {"keep"}));
  // It is there at once, and when the step has ended.
  ExpectFetch("kept", 3, {{"handle", kept[0]}});
  ExpectStep(handle, {{"c", Int(5)}}, "second", 15);
  ExpectFetch("kept", 3, {{"handle", kept[0]}});
}

TEST_F(PartialRunTest, AFailingNodeEndsIt) {
  const std::string handle = Begin({{"a", "b", "c"}, {"first", "quotient"}, {}, {}});
  ExpectStep(handle, {{"a", Int(1)}, {"b", Int(2)}}, "first", 3);
  EXPECT_THAT(session_->PRun(handle, {{"c", Int(0)}}, {"quotient"}),
              StatusIs(absl::StatusCode::kInvalidArgument, "quotient"));
  EXPECT_EQ(session_->num_partial_runs(), 0u);
}

TEST_F(PartialRunTest, ADeadFetchEndsIt) {
  const std::string handle = Begin({{"a", "b", "p"}, {"ports:1"}, {}, {}});
  EXPECT_THAT(session_->PRun(handle, {{"a", Int(1)}, {"b", Int(2)}, {"p", Tensor::Scalar(false)}}, {"ports:1"}),
              IsError(ErrorCode::kFetchDead, "ports:1"));
  EXPECT_EQ(session_->num_partial_runs(), 0u);
}

TEST_F(PartialRunTest, MayBeAbandoned) {
  const std::string handle = Begin({{"a", "b", "c"}, {"first", "second"}, {}, {}});
  ExpectStep(handle, {{"a", Int(1)}, {"b", Int(2)}}, "first", 3);
  ASSERT_OK(session_->Close());
  EXPECT_EQ(session_->num_partial_runs(), 0u);
  EXPECT_THAT(session_->PRun(handle, {{"c", Int(1)}}, {"second"}), IsError(ErrorCode::kSessionClosed));
  EXPECT_THAT(session_->PRunSetup({{"a"}, {"first"}, {}, {}}), IsError(ErrorCode::kSessionClosed));
}

// ---- Inside of the `done` of a step ----

constexpr absl::Duration kLong = absl::Minutes(1);

class PartialRunInDoneTest : public PartialRunTest, public testing::WithParamInterface<Driver> {
 protected:
  void OpenWith(int num_threads) {
    SessionOptions options;
    options.driver = GetParam();
    options.num_threads = num_threads;
    Open(options);
  }
  // Runs a step on this thread, or on the one thread that a pool of two has, and `act` in its `done`. False: it hangs.
  bool ActInDone(std::function<void()> act) {
    absl::StatusOr<std::shared_ptr<const Callable>> f = session_->Prepare({{"a", "b"}, {"first"}, {}, {}});
    EXPECT_OK(f);
    Tensor in[] = {Int(1), Int(2)}, out[1];
    Notification over;
    const auto begin = [&] {
      (*f)->RunAsync(absl::MakeSpan(in), absl::MakeSpan(out), {}, [&](const absl::Status& status) {
        EXPECT_OK(status);
        act();
        over.Notify();
      });
    };
    ThreadPool* const pool = session_->core().pool();
    pool != nullptr ? pool->Schedule(begin) : begin();
    return over.WaitForNotificationWithTimeout(kLong);
  }
};

TEST_P(PartialRunInDoneTest, ItIsFedAndFetched) {
  for (const int num_threads : {1, 2, 4}) {
    OpenWith(num_threads);
    const std::string handle = Begin({{"a", "b", "c"}, {"first", "second"}, {}, {}});
    ASSERT_TRUE(ActInDone([&] {
      ExpectStep(handle, {{"a", Int(1)}, {"b", Int(2)}}, "first", 3);
      ExpectStep(handle, {{"c", Int(5)}}, "second", 15);
    }));
    EXPECT_EQ(session_->num_partial_runs(), 0u);
  }
}

TEST_P(PartialRunInDoneTest, AnErrorEndsIt) {
  for (const int num_threads : {1, 2, 4}) {
    OpenWith(num_threads);
    const std::string handle = Begin({{"a", "b", "c"}, {"quotient"}, {}, {}});
    ASSERT_TRUE(ActInDone([&] {
      EXPECT_THAT(session_->PRun(handle, {{"a", Int(1)}, {"b", Int(2)}, {"c", Int(0)}}, {"quotient"}),
                  StatusIs(absl::StatusCode::kInvalidArgument, "quotient"));
    }));
  }
}

TEST_P(PartialRunInDoneTest, TheSessionGoesWhileOneIsOpen) {
  for (const int num_threads : {1, 2, 4}) {
    OpenWith(num_threads);
    Begin({{"a", "b", "c"}, {"first", "second"}, {}, {}});
    ASSERT_TRUE(ActInDone([&] { session_.reset(); }));
  }
}

INSTANTIATE_TEST_SUITE_P(Drivers, PartialRunInDoneTest, testing::Values(Driver::kSerial, Driver::kDataflow));

TEST_F(PartialRunTest, UnfinishedRunsAreLimited) {
  SessionOptions options;
  options.max_partial_runs = 3;
  Open(options);
  const FeedFetchSpec spec = {{"a", "b"}, {"first"}, {}, {}};
  std::vector<std::string> handles;
  for (int i = 0; i < 3; ++i) handles.push_back(Begin(spec));
  EXPECT_THAT(session_->PRunSetup(spec), IsError(ErrorCode::kLimitRuns, "too many partial runs"));
  EXPECT_EQ(session_->num_partial_runs(), 3u);
  ExpectStep(handles[1], {{"a", Int(1)}, {"b", Int(2)}}, "first", 3);
  handles.push_back(Begin(spec));
  EXPECT_THAT(session_->PRunSetup(spec), IsError(ErrorCode::kLimitRuns));
  ExpectStep(handles[3], {{"a", Int(2)}, {"b", Int(2)}}, "first", 4);
}

}  // namespace
}  // namespace sluice

// Runs of sessions that hang: what is said of them, and how they end.

#include "absl/strings/match.h"
#include "absl/time/clock.h"
#include "graph/base/mutex.h"
#include "tests/executor/session/session_fixture.h"
#include "tests/testing/log_capture.h"

namespace sluice {
namespace {

using ::absl::StrContains;

constexpr absl::string_view kFirst = "/job:localhost/replica:0/task:0/device:CPU:0";
constexpr absl::string_view kSecond = "/job:localhost/replica:0/task:0/device:CPU:1";

class HangingRunsTest : public SessionFixture {
 protected:
  static GraphBuilder::Attrs Transfer(absl::string_view name) {
    return {{"tensor_name", std::string(name)},
            {"send_device", std::string(kFirst)},
            {"send_device_incarnation", int64_t{1}},
            {"recv_device", std::string(kFirst)}};
  }
  Output Recv(absl::string_view name) {
    GraphBuilder::Attrs attrs = Transfer(name);
    attrs.emplace_back("tensor_type", DType::kInt32);
    return b_.Op("_Recv", absl::StrCat("recv_", name), {}, attrs);
  }
  static CallOptions Until(absl::Duration time) {
    CallOptions call;
    call.deadline = absl::Now() + time;
    return call;
  }
};

TEST_F(HangingRunsTest, SendsAndReceivesOfOneGraphMeet) {
  const Output x = b_.Placeholder("x", DType::kInt32);
  b_.Op("_Send", "send", {x}, Transfer("edge"));
  b_.Op("Neg", "y", {Recv("edge")});
  for (const Driver driver : {Driver::kAuto, Driver::kDataflow}) {
    SessionOptions options;
    options.driver = driver;
    Open(options);
    for (int32_t i = 0; i < 3; ++i) {
      ASSERT_OK_AND_ASSIGN(const std::vector<Tensor> y, session_->Run({{"x", Int(i)}}, {"y"}, {"send"}));
      EXPECT_EQ(*y[0].AsScalar<int32_t>(), -i);
    }
  }
}

TEST_F(HangingRunsTest, ABlockedReceiveEndsWithTheDeadlineOfTheCallOrTheSession) {
  Recv("edge");
  SessionOptions options;
  options.operation_timeout = absl::Milliseconds(20);
  Open(options);
  EXPECT_THAT(Fetch("recv_edge"), IsError(ErrorCode::kDeadline));
  EXPECT_THAT(Fetch("recv_edge", {}, Until(absl::Milliseconds(10))), IsError(ErrorCode::kDeadline));
}

TEST_F(HangingRunsTest, CallablesHaveTheSessionsTimeoutAndStepsThatAreSetUpHaveNot) {
  Recv("edge");
  b_.Op("Neg", "y", {b_.Placeholder("x", DType::kInt32)});
  SessionOptions options;
  options.operation_timeout = absl::Milliseconds(20);
  Open(options);
  ASSERT_OK_AND_ASSIGN(const std::shared_ptr<const Callable> f, session_->Prepare({{}, {"recv_edge"}, {}, {}}));
  Tensor out[1];
  EXPECT_THAT(f->Run({}, absl::MakeSpan(out)), IsError(ErrorCode::kDeadline));
  absl::Status outcome;
  Notification over;
  f->RunAsync({}, absl::MakeSpan(out), {}, [&](absl::Status status) {
    outcome = std::move(status);
    over.Notify();
  });
  over.WaitForNotification();
  EXPECT_THAT(outcome, IsError(ErrorCode::kDeadline));
  ASSERT_OK_AND_ASSIGN(const std::string handle, session_->PRunSetup({{"x"}, {"y"}, {}, {}}));
  absl::SleepFor(2 * options.operation_timeout);
  CallOptions call = Until(absl::Minutes(1));
  ASSERT_OK_AND_ASSIGN(const std::vector<Tensor> y, session_->PRun(handle, {{"x", Int(3)}}, {"y"}, call));
  EXPECT_EQ(*y[0].AsScalar<int32_t>(), -3);
}

TEST_F(HangingRunsTest, AStallTimeoutBelowZeroIsRefused) {
  AddSimpleGraph();
  Open();
  ASSERT_OK_AND_ASSIGN(const std::shared_ptr<const Callable> f, session_->Prepare({{"x"}, {"z"}, {}, {}}));
  for (const absl::Duration timeout : {-absl::Nanoseconds(1), -absl::InfiniteDuration()}) {
    CallOptions call;
    call.stall_timeout = timeout;
    EXPECT_THAT(Fetch("z", {{"x", Int(3)}}, call), IsError(ErrorCode::kWrongUse, "stall_timeout"));
    Tensor in[] = {Int(3)}, out[1];
    EXPECT_THAT(f->Run(in, absl::MakeSpan(out), call), IsError(ErrorCode::kWrongUse, "stall_timeout"));
    EXPECT_THAT(session_->PRunSetup({{"x"}, {"z"}, {}, {}}, call), IsError(ErrorCode::kWrongUse, "stall_timeout"));
    SessionOptions options;
    options.stall_timeout = timeout;
    EXPECT_THAT(Session::Create(options, b_.graph()), IsError(ErrorCode::kWrongUse, "stall_timeout"));
  }
  SessionOptions options;
  options.stall_timeout = absl::ZeroDuration();
  EXPECT_THAT(Session::Create(options, b_.graph()), IsError(ErrorCode::kWrongUse, "more than zero"));
  ExpectFetch("z", 16, {{"x", Int(3)}});
}

TEST_F(HangingRunsTest, AReceiveWithoutASendIsNamedWhenTheDeadlineComes) {
  Recv("edge");
  SessionOptions options;
  options.stall_timeout = absl::Milliseconds(10);
  Open(options);
  const LogCapture log;
  const absl::Status status = Fetch("recv_edge", {}, Until(absl::Seconds(1))).status();
  EXPECT_THAT(status, IsError(ErrorCode::kStalled, "_Recv 'recv_edge'"));
  EXPECT_THAT(status, StatusIs(absl::StatusCode::kDeadlineExceeded, "nothing was sent: 'edge'"));
  ASSERT_FALSE(log.lines().empty());
  EXPECT_TRUE(StrContains(log.lines().back(), "'edge'")) << log.lines().back();
}

TEST_F(HangingRunsTest, AKeyBetweenTwoDevicesIsNamed) {
  b_.WithDevice(kSecond);
  const Output far = b_.Op("Neg", "far", {Recv("edge")});
  b_.WithDevice(kFirst);
  b_.Op("Neg", "near", {far});
  SessionOptions options;
  options.num_cpu_devices = 2;
  options.cut_by_device = true;
  Open(options);
  const LogCapture log;
  CallOptions call = Until(absl::Seconds(1));
  call.stall_timeout = absl::Milliseconds(10);
  const absl::Status status = Fetch("near", {}, call).status();
  EXPECT_THAT(status, IsError(ErrorCode::kStalled, "'edge'"));
  EXPECT_TRUE(StrContains(status.message(), "device:CPU:1 to ")) << status;
}

TEST_F(HangingRunsTest, ACallMaySwitchTheWatchOff) {
  Recv("edge");
  SessionOptions options;
  options.stall_timeout = absl::Milliseconds(1);
  Open(options);
  const LogCapture log;
  CallOptions call = Until(absl::Milliseconds(50));
  call.stall_timeout = absl::InfiniteDuration();
  EXPECT_THAT(Fetch("recv_edge", {}, call), IsError(ErrorCode::kDeadline));
  EXPECT_TRUE(log.lines().empty());
}

TEST_F(HangingRunsTest, WatchedRunsAnswerAsOthers) {
  AddSimpleGraph();
  for (const Driver driver : {Driver::kSerial, Driver::kDataflow}) {
    SessionOptions options;
    options.driver = driver;
    options.stall_timeout = absl::Hours(1);
    Open(options);
    for (int32_t i = 0; i < 10; ++i) ExpectFetch("z", (i + 1) * (i + 1), {{"x", Int(i)}});
  }
}

}  // namespace
}  // namespace sluice

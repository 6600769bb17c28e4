#include "executor/session/session.h"

#include <thread>

#include "absl/time/clock.h"
#include "graph/value/resource_handle.h"
#include "kernels/device/cpu_device.h"
#include "tests/executor/session/session_fixture.h"

namespace sluice {
namespace {

class SessionTest : public SessionFixture {};

TEST_F(SessionTest, ARunFeedsFetchesAndCounts) {
  AddSimpleGraph();
  Open();
  ExpectFetch("z", 16, {{"x", Int(3)}});
  ExpectFetch("z:0", 25, {{"x:0", Int(4)}});
  EXPECT_FALSE(session_->Run({}, {"z"}, {}).ok());
  EXPECT_EQ(session_->num_runs(), 3);
  EXPECT_EQ(session_->num_errors(), 1);
}

TEST_F(SessionTest, FeedsAndFetchesMayComeInAnyOrder) {
  const Output a = b_.Placeholder("a", DType::kInt32), c = b_.Placeholder("c", DType::kInt32);
  b_.Op("Sub", "d", {a, c});
  b_.Op("Mul", "e", {a, c});
  Open();
  const NamedTensors one = {{"a", Int(7)}, {"c", Int(2)}}, other = {{"c", Int(2)}, {"a", Int(7)}};
  for (const NamedTensors& feeds : {one, other}) {
    ASSERT_OK_AND_ASSIGN(const std::vector<Tensor> de, session_->Run(feeds, {"d", "e"}, {}));
    ASSERT_OK_AND_ASSIGN(const std::vector<Tensor> ed, session_->Run(feeds, {"e", "d"}, {}));
    EXPECT_EQ(*de[0].AsScalar<int32_t>(), 5);
    EXPECT_EQ(*de[1].AsScalar<int32_t>(), 14);
    EXPECT_EQ(*ed[0].AsScalar<int32_t>(), 14);
    EXPECT_EQ(*ed[1].AsScalar<int32_t>(), 5);
  }
}

TEST_F(SessionTest, ATensorFedTwiceIsRefused) {
  AddSimpleGraph();
  Open();
  EXPECT_THAT(Fetch("z", {{"x", Int(1)}, {"x", Int(2)}}), IsError(ErrorCode::kFeedTwice));
  EXPECT_THAT(Fetch("z", {{"x", Int(1)}, {"x:0", Int(2)}}), IsError(ErrorCode::kFeedTwice));
  EXPECT_THAT(Fetch("x", {{"x", Int(1)}}), IsError(ErrorCode::kFedAndFetched));
}

TEST_F(SessionTest, ATensorMayBeFetchedTwice) {
  AddSimpleGraph();
  Open();
  ASSERT_OK_AND_ASSIGN(const std::vector<Tensor> values, session_->Run({{"x", Int(3)}}, {"z", "y", "z", "z:0"}, {}));
  ASSERT_EQ(values.size(), 4u);
  for (const size_t i : {0, 2, 3}) EXPECT_EQ(*values[i].AsScalar<int32_t>(), 16);
  EXPECT_EQ(*values[1].AsScalar<int32_t>(), 4);
}

TEST_F(SessionTest, AFeedCutsWhatIsBehindIt) {
  AddSimpleGraph();
  Open();
  ExpectFetch("z", 81, {{"y", Int(9)}});
}

TEST_F(SessionTest, WrongFeedsAndNamesAreNamed) {
  AddSimpleGraph();
  Open();
  EXPECT_THAT(Fetch("z", {{"x", Tensor::Scalar(1.0f)}}), IsError(ErrorCode::kFeedType, "x"));
  EXPECT_THAT(Fetch("z", {{"x", Tensor::Vector<int32_t>({1, 2})}}), IsError(ErrorCode::kFeedShape, "x"));
  EXPECT_THAT(Fetch("z", {}), StatusIs(absl::StatusCode::kInvalidArgument, "x"));
  EXPECT_THAT(Fetch("nobody"), IsError(ErrorCode::kFetchUnknown, "nobody"));
  EXPECT_THAT(session_->Run({}, {}, {"nobody"}), StatusIs(absl::StatusCode::kNotFound, "nobody"));
  EXPECT_THAT(session_->Run({}, {}, {}), IsError(ErrorCode::kNothingToRun));
}

TEST_F(SessionTest, VariablesKeepTheirStateFromRunToRun) {
  AddCounter();
  Open();
  EXPECT_THAT(Fetch("count"), StatusIs(absl::StatusCode::kFailedPrecondition));
  ASSERT_OK(session_->Run({}, {}, {"start"}));
  for (int32_t i = 1; i < 5; ++i) ExpectFetch("count", i);
  session_->Reset({});
  EXPECT_THAT(Fetch("count"), StatusIs(absl::StatusCode::kFailedPrecondition));
}

TEST_F(SessionTest, AFetchedVariableDoesNotChangeLater) {
  const Output v = b_.Op("VariableV2", "v", {}, {{"dtype", DType::kInt32}, {"shape", Shape::Of({100})}});
  const Tensor ones = Tensor::Vector<int32_t>(std::vector<int32_t>(100, 1));
  const Output all = b_.Const("ones", ones);
  b_.Op("Assign", "start", {v, all});
  b_.Op("AssignAdd", "add", {v, all});
  Open();
  ASSERT_OK(session_->Run({}, {}, {"start"}));
  ASSERT_OK_AND_ASSIGN(const Tensor first, Fetch("add"));
  ASSERT_OK_AND_ASSIGN(const Tensor second, Fetch("add"));
  EXPECT_EQ(first.flat<int32_t>()[50], 2);
  EXPECT_EQ(second.flat<int32_t>()[50], 3);
}

TEST_F(SessionTest, ReplaceKeepsOldCallablesAndVariables) {
  AddSimpleGraph();
  AddCounter();
  Open();
  ASSERT_OK(session_->Run({}, {}, {"start"}));
  ExpectFetch("count", 1);
  ASSERT_OK_AND_ASSIGN(const std::shared_ptr<const Callable> old, session_->Prepare({{"x"}, {"z"}, {}, {}}));
  b_.Op("Neg", "w", {Output{b_.graph().Find("z"), 0}});
  EXPECT_THAT(Fetch("w", {{"x", Int(1)}}), IsError(ErrorCode::kFetchUnknown));
  ASSERT_OK(session_->Replace(b_.graph()));
  ExpectFetch("w", -4, {{"x", Int(1)}});
  ExpectFetch("count", 2);
  Tensor in[] = {Int(2)}, out[1];
  ASSERT_OK(old->Run(in, absl::MakeSpan(out)));
  EXPECT_EQ(*out[0].AsScalar<int32_t>(), 9);
}

TEST_F(SessionTest, TheLeastRecentlyUsedSignatureIsForgotten) {
  AddSimpleGraph();
  SessionOptions options;
  options.max_prepared = 2;
  Open(options);
  ExpectFetch("y", 2, {{"x", Int(1)}});
  ExpectFetch("z", 4, {{"x", Int(1)}});
  EXPECT_EQ(session_->num_prepared(), 2u);
  ExpectFetch("y", 2, {{"x", Int(1)}});
  ExpectFetch("one", 1);
  EXPECT_EQ(session_->num_prepared(), 2u);
  for (int i = 0; i < 100; ++i) ExpectFetch(i % 2 == 0 ? "y" : "z", i % 2 == 0 ? 2 : 4, {{"x", Int(1)}});
  EXPECT_EQ(session_->num_prepared(), 2u);
}

TEST_F(SessionTest, ADeadFetchIsAnError) {
  const Output p = b_.Placeholder("p", DType::kBool), x = b_.Const("c", Int(1));
  b_.Op("Switch", "s", {x, p});
  Open();
  EXPECT_THAT(Fetch("s:1", {{"p", Tensor::Scalar(false)}}), IsError(ErrorCode::kFetchDead, "s:1"));
  ExpectFetch("s:1", 1, {{"p", Tensor::Scalar(true)}});
}

TEST_F(SessionTest, ClosingEndsARunUnderWay) {
  for (const Driver driver : {Driver::kSerial, Driver::kDataflow}) {
    b_ = GraphBuilder(NewOpRegistry());
    AddEndlessLoop();
    SessionOptions options;
    options.driver = driver;
    Open(options);
    absl::Status status;
    CancellationManager unused;  // One of the caller's own does not keep the session's from ending the run.
    CallOptions call;
    call.cancellation = &unused;
    std::thread runner([&] { status = Fetch("endless", {}, call).status(); });
    absl::SleepFor(absl::Milliseconds(30));
    const absl::Time start = absl::Now();
    ASSERT_OK(session_->Close());
    runner.join();
    EXPECT_LT(absl::Now() - start, absl::Milliseconds(500));
    EXPECT_THAT(status, StatusIs(absl::StatusCode::kCancelled));
    EXPECT_THAT(Fetch("zero"), IsError(ErrorCode::kSessionClosed));
    EXPECT_OK(session_->Close());
  }
}

TEST_F(SessionTest, ACallersCancellationEndsItsRunOnly) {
  AddEndlessLoop();
  Open();
  CancellationManager cancellation;
  CallOptions call;
  call.cancellation = &cancellation;
  absl::Status status;
  std::thread runner([&] { status = Fetch("endless", {}, call).status(); });
  absl::SleepFor(absl::Milliseconds(20));
  cancellation.StartCancel();
  runner.join();
  EXPECT_THAT(status, StatusIs(absl::StatusCode::kCancelled));
  EXPECT_THAT(Fetch("zero", {}, call), StatusIs(absl::StatusCode::kCancelled));
  ExpectFetch("zero", 0);
}

TEST_F(SessionTest, ATimeoutStopsTheWorkBeforeItReturns) {
  for (const Driver driver : {Driver::kSerial, Driver::kDataflow}) {
    b_ = GraphBuilder(NewOpRegistry());
    AddEndlessLoop();
    SessionOptions options;
    options.driver = driver;
    options.operation_timeout = absl::Milliseconds(40);
    Open(options);
    const absl::Time start = absl::Now();
    EXPECT_THAT(Fetch("endless"), StatusIs(absl::StatusCode::kDeadlineExceeded));
    EXPECT_LT(absl::Now() - start, absl::Milliseconds(500));
    CallOptions call;
    call.deadline = absl::Now() + absl::Milliseconds(10);
    EXPECT_THAT(Fetch("endless", {}, call), StatusIs(absl::StatusCode::kDeadlineExceeded));
    ExpectFetch("zero", 0);
  }
}

TEST_F(SessionTest, SessionsMayShareDevicesAndAPool) {
  AddCounter();
  ThreadPoolOptions pool_options;
  pool_options.num_threads = 2;
  ThreadPool pool(pool_options);
  SessionOptions options;
  options.pool = &pool;
  options.devices = std::make_shared<std::vector<std::unique_ptr<Device>>>(MakeCpuDevices(1, kLocalTask, nullptr));
  Open(options);
  ASSERT_OK_AND_ASSIGN(const std::unique_ptr<Session> other, Session::Create(options, b_.graph()));
  ASSERT_OK(session_->Run({}, {}, {"start"}));
  ExpectFetch("count", 1);
  ASSERT_OK_AND_ASSIGN(const std::vector<Tensor> seen, other->Run({}, {"count"}, {}));
  EXPECT_EQ(*seen[0].AsScalar<int32_t>(), 2);
}

TEST_F(SessionTest, ASessionWithOneThreadRunsOnTheCallersThread) {
  AddSimpleGraph();
  for (const Driver driver : {Driver::kAuto, Driver::kSerial, Driver::kDataflow}) {
    SessionOptions options;
    options.num_threads = 1;
    options.driver = driver;
    Open(options);
    EXPECT_EQ(session_->core().pool(), nullptr);
    struct Watch : NodeObserver {
      void OnNode(NodeId, int64_t, int64_t, const KernelContext&) override {
        strangers += std::this_thread::get_id() != caller ? 1 : 0;
        ++calls;
      }
      std::thread::id caller = std::this_thread::get_id();
      int strangers = 0, calls = 0;
    } watch;
    CallOptions call;
    call.observer = &watch;
    ASSERT_OK(Fetch("z", {{"x", Int(3)}}, call));
    EXPECT_EQ(watch.strangers, 0);
    EXPECT_GE(watch.calls, 2);
  }
}

TEST_F(SessionTest, TensorsAreKeptUnderHandlesBetweenRuns) {
  AddSimpleGraph();
  const Output z{b_.graph().Find("z"), 0};
  b_.Op("GetSessionHandle", "keep", {z}, {{"T", DType::kInt32}});
  const Output handle = b_.Placeholder("handle", DType::kString);
  b_.Op("GetSessionTensor", "kept", {handle}, {{"dtype", DType::kInt32}});
  b_.Op("DeleteSessionTensor", "delete", {handle});
  Open();
  ASSERT_OK_AND_ASSIGN(const Tensor kept, Fetch("keep", {{"x", Int(3)}}));
  ASSERT_EQ(kept.dtype(), DType::kString);
  ExpectFetch("kept", 16, {{"handle", kept}});
  ASSERT_OK(session_->Run({{"handle", kept}}, {}, {"delete"}));
  EXPECT_FALSE(Fetch("kept", {{"handle", kept}}).ok());
}

// As TensorFlow's session has it: what GetSessionHandleV2 gave is fed in the place of the tensor.
TEST_F(SessionTest, AKeptTensorIsFedByItsHandle) {
  AddSimpleGraph();
  b_.Op("GetSessionHandleV2", "keep", {Output{b_.graph().Find("z"), 0}}, {{"T", DType::kInt32}});
  b_.Op("DeleteSessionTensor", "delete", {b_.Placeholder("handle", DType::kString)});
  Open();
  ASSERT_OK_AND_ASSIGN(const Tensor kept, Fetch("keep", {{"x", Int(3)}}));
  ASSERT_EQ(kept.dtype(), DType::kResource);
  ASSERT_OK_AND_ASSIGN(const Tensor direct, Fetch("z", {{"x", Int(16)}}));
  ExpectFetch("z", direct.flat<int32_t>()[0], {{"x", kept}});
  ASSERT_OK_AND_ASSIGN(const std::string step, session_->PRunSetup({{"x"}, {"z"}, {}, {}}));
  ASSERT_OK_AND_ASSIGN(const std::vector<Tensor> values, session_->PRun(step, {{"x", kept}}, {"z"}));
  EXPECT_EQ(values[0].ToString(), direct.ToString());
  const Tensor name = Tensor::String(kept.flat<ResourceHandle>()[0].data().name);
  ASSERT_OK(session_->Run({{"handle", name}}, {}, {"delete"}));
  EXPECT_THAT(Fetch("z", {{"x", kept}}), IsError(ErrorCode::kTensorHandle));
}

}  // namespace
}  // namespace sluice

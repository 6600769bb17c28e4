// How sessions are set up: names, pools, executors by name, what a finalised session still does.

#include <atomic>
#include <functional>
#include <set>
#include <stdexcept>
#include <thread>

#include "absl/time/clock.h"
#include "executor/compiled/executor_kinds.h"
#include "executor/executor.h"
#include "executor/session/shared_pools.h"
#include "executor/trace/node_outputs.h"
#include "graph/base/mutex.h"
#include "kernels/families/register_all.h"
#include "tests/executor/session/session_fixture.h"
#include "tests/testing/function_kernel.h"
#include "tests/testing/log_capture.h"

namespace sluice {
namespace {

class SessionSetupTest : public SessionFixture {
 protected:
  static SessionOptions Named(const std::string& name, int64_t version) {
    SessionOptions options;
    options.num_threads = 1;
    options.metadata = {name, version};
    return options;
  }
  absl::StatusOr<std::unique_ptr<Session>> Make(const SessionOptions& options) {
    return Session::Create(options, b_.graph());
  }
};

TEST_F(SessionSetupTest, NoTwoOpenSessionsHaveTheSameNameAndVersion) {
  AddSimpleGraph();
  ASSERT_OK_AND_ASSIGN(std::unique_ptr<Session> first, Make(Named("model", 1)));
  EXPECT_THAT(Make(Named("model", 1)).status(), IsError(ErrorCode::kWrongUse, "'model' of version 1"));
  EXPECT_OK(Make(Named("model", 2)));
  EXPECT_OK(Make(Named("other", 1)));
  EXPECT_EQ(first->core().options().metadata.name, "model");
  ASSERT_OK(first->Close());
  ASSERT_OK_AND_ASSIGN(const std::unique_ptr<Session> second, Make(Named("model", 1)));
  first.reset();
  EXPECT_THAT(Make(Named("model", 1)).status(), IsError(ErrorCode::kWrongUse)) << "the second has it still";
}

TEST_F(SessionSetupTest, SessionsWithoutANameAreAsManyAsOneLikes) {
  AddSimpleGraph();
  ASSERT_OK_AND_ASSIGN(const std::unique_ptr<Session> first, Make(Named("", 0)));
  EXPECT_OK(Make(Named("", 0)));
  EXPECT_THAT(Make(Named("model", -1)).status(), IsError(ErrorCode::kWrongUse, "negative"));
}

TEST_F(SessionSetupTest, ASessionThatCouldNotBeMadeHoldsNoName) {
  AddSimpleGraph();
  SessionOptions options = Named("model", 7);
  options.executor = "NO_SUCH_EXECUTOR";
  EXPECT_FALSE(Make(options).ok());
  EXPECT_OK(Make(Named("model", 7)));
}

TEST_F(SessionSetupTest, TooFewOrTooManyDevicesAreRefused) {
  for (const int count : {-1, 0, 1 << 30}) {
    SessionOptions options;
    options.num_cpu_devices = count;
    const absl::Status status = Make(options).status();
    EXPECT_FALSE(status.ok()) << count;
    EXPECT_TRUE(ErrorInfoOf(status).has_value()) << status;
  }
}

TEST_F(SessionSetupTest, ANullDeviceIsRefused) {
  AddSimpleGraph();
  SessionOptions options;
  options.devices = std::make_shared<std::vector<std::unique_ptr<Device>>>(1);
  EXPECT_THAT(Make(options).status(), IsError(ErrorCode::kWrongUse, "null"));
}

TEST_F(SessionSetupTest, AFinalisedSessionRunsWhatWasPrepared) {
  AddSimpleGraph();
  Open();
  ExpectFetch("z", 16, {{"x", Int(3)}});
  ASSERT_OK_AND_ASSIGN(const std::shared_ptr<const Callable> y, session_->Prepare({{"x"}, {"y"}, {}, {}}));
  ASSERT_OK(session_->Finalize());
  ExpectFetch("z", 25, {{"x", Int(4)}});
  Tensor in[] = {Int(2)}, out[1];
  ASSERT_OK(y->Run(in, absl::MakeSpan(out)));
  EXPECT_EQ(*out[0].AsScalar<int32_t>(), 3);
  session_->Reset({});
  ExpectFetch("z", 36, {{"x", Int(5)}});
  EXPECT_OK(session_->Finalize());
}

TEST_F(SessionSetupTest, AFinalisedSessionPreparesNothingNew) {
  AddSimpleGraph();
  Open();
  ASSERT_OK(session_->Finalize());
  EXPECT_EQ(session_->CopyGraph(), nullptr);
  EXPECT_THAT(Fetch("z", {{"x", Int(3)}}), IsError(ErrorCode::kWrongUse, "finalised"));
  EXPECT_THAT(session_->Prepare({{"x"}, {"z"}, {}, {}}).status(), IsError(ErrorCode::kWrongUse));
  EXPECT_THAT(session_->PRunSetup({{"x"}, {"z"}, {}, {}}).status(), IsError(ErrorCode::kWrongUse));
  EXPECT_THAT(session_->Replace(b_.graph()), StatusIs(absl::StatusCode::kFailedPrecondition));
  ASSERT_OK(session_->Close());
  EXPECT_THAT(Fetch("z", {{"x", Int(3)}}), IsError(ErrorCode::kSessionClosed));
}

TEST_F(SessionSetupTest, AClosedSessionGetsNoOtherGraph) {
  AddSimpleGraph();
  Open();
  ASSERT_OK(session_->Close());
  EXPECT_THAT(session_->Replace(b_.graph()), IsError(ErrorCode::kSessionClosed));
  ASSERT_OK(session_->Finalize());
  EXPECT_THAT(session_->Replace(b_.graph()), IsError(ErrorCode::kSessionClosed));
}

TEST_F(SessionSetupTest, PoolsAreSharedByName) {
  SharedPools pools;
  ASSERT_OK_AND_ASSIGN(std::shared_ptr<ThreadPool> one, pools.Find("large", 4));
  ASSERT_OK_AND_ASSIGN(std::shared_ptr<ThreadPool> same, pools.Find("large", 4));
  ASSERT_OK_AND_ASSIGN(const std::shared_ptr<ThreadPool> other, pools.Find("small", 2));
  EXPECT_EQ(one, same);
  EXPECT_NE(one, other);
  EXPECT_THAT(pools.Find("large", 5).status(), IsError(ErrorCode::kWrongUse, "'large'"));
  one.reset();
  same.reset();
  ASSERT_OK_AND_ASSIGN(one, pools.Find("large", 5));  // It was no longer in use.
  EXPECT_EQ(one->num_threads(), 5);
}

TEST_F(SessionSetupTest, SessionsThatNameOnePoolGetOne) {
  AddSimpleGraph();
  SessionOptions options;
  options.num_threads = 1;
  options.pools = {{3, "session_setup_test"}, {2, ""}, {1, ""}};
  ASSERT_OK_AND_ASSIGN(const std::unique_ptr<Session> one, Make(options));
  ASSERT_OK_AND_ASSIGN(const std::unique_ptr<Session> other, Make(options));
  ASSERT_OK_AND_ASSIGN(ThreadPool* const pool, one->core().FindPool(1));
  ASSERT_OK_AND_ASSIGN(ThreadPool* const same, other->core().FindPool(1));
  EXPECT_EQ(pool, same);
  EXPECT_EQ(pool->num_threads(), 3);
  EXPECT_NE(*one->core().FindPool(2), *other->core().FindPool(2));
  EXPECT_EQ(*one->core().FindPool(3), nullptr);
  options.pools[0].num_threads = 2;
  EXPECT_THAT(Make(options).status(), IsError(ErrorCode::kWrongUse, "session_setup_test"));
}

TEST_F(SessionSetupTest, ACallWithAPoolThatIsNoneIsRefused) {
  AddSimpleGraph();
  SessionOptions options;
  options.pools = {{2, ""}};
  Open(options);
  for (const int pool : {-2, 2, 100}) {
    CallOptions call;
    call.pool = pool;
    EXPECT_THAT(Fetch("z", {{"x", Int(1)}}, call), IsError(ErrorCode::kWrongUse, "no such pool"));
    EXPECT_THAT(session_->PRunSetup({{"x"}, {"z"}, {}, {}}, call).status(), IsError(ErrorCode::kWrongUse));
  }
  for (const int pool : {CallOptions::kCallerThread, CallOptions::kSessionPool, 1}) {
    CallOptions call;
    call.pool = pool;
    EXPECT_OK(Fetch("z", {{"x", Int(1)}}, call));
  }
}

TEST_F(SessionSetupTest, ExecutorsAreChosenByName) {
  AddSimpleGraph();
  for (const std::string kind : {"", "DEFAULT", "SINGLE_THREADED_EXECUTOR"}) {
    for (const Driver driver : {Driver::kAuto, Driver::kDataflow}) {
      SessionOptions options;
      options.executor = kind;
      options.driver = driver;
      Open(options);
      ExpectFetch("z", 16, {{"x", Int(3)}});
    }
  }
  SessionOptions options;
  options.executor = "NO_SUCH_EXECUTOR";
  EXPECT_THAT(Make(options).status(), StatusIs(absl::StatusCode::kNotFound, "NO_SUCH_EXECUTOR"));
}

TEST_F(SessionSetupTest, AHostAddsExecutorsOfItsOwn) {
  AddSimpleGraph();
  std::atomic<int> made{0};
  ExecutorKinds kinds;
  ASSERT_OK(kinds.Add("MINE", [&made](const LocalExecutorParams& params, Graph graph) {
    ++made;
    return NewLocalExecutor(params, std::move(graph));
  }));
  EXPECT_THAT(kinds.Add("MINE", &NewLocalExecutor), IsError(ErrorCode::kWrongUse));
  EXPECT_THAT(kinds.Add("DEFAULT", &NewLocalExecutor), IsError(ErrorCode::kWrongUse));
  SessionOptions options;
  options.executor_kinds = &kinds;
  options.executor = "MINE";
  Open(options);
  ExpectFetch("z", 16, {{"x", Int(3)}});
  EXPECT_EQ(made, 1);
}

TEST_F(SessionSetupTest, TheSingleThreadedKindGivesKernelsNoThreadsWhicheverDriverRunsThem) {
  KernelRegistry kernels;
  RegisterAllKernels(kernels);
  std::atomic<int> calls{0}, with_threads{0};
  const auto look = [&](KernelContext& context) {
    ++calls;
    if (context.run().task_runner != nullptr) ++with_threads;
    context.SetOutput(0, context.TakeInput(0));
    return absl::OkStatus();
  };
  ASSERT_OK(kernels.Add(OwnedKernelRow("Neg", MakeFunction(look, CostHint::kHeavy))));
  b_.Op("Neg", "y", {b_.Placeholder("x", DType::kInt32)});
  for (const Driver driver : {Driver::kAuto, Driver::kSerial, Driver::kDataflow}) {
    SessionOptions options;
    options.executor = "SINGLE_THREADED_EXECUTOR";
    options.driver = driver;
    options.kernels = &kernels;
    Open(options);
    ExpectFetch("y", 3, {{"x", Int(3)}});
  }
  EXPECT_EQ(calls, 3);
  EXPECT_EQ(with_threads, 0);
}

// ---- Executors of a host's that do not keep to all rules ----

// Runs a graph as `function` says.
class HostExecutor final : public Executor {
 public:
  using Function = std::function<void(const Executor& inner, const Args& args, Done done)>;
  HostExecutor(std::unique_ptr<Executor> inner, const Function& function)
      : inner_(std::move(inner)), function_(function) {}
  void RunAsync(const Args& args, Done done) const override { function_(*inner_, args, std::move(done)); }

 private:
  const std::unique_ptr<Executor> inner_;
  const Function& function_;
};

class HostExecutorTest : public SessionSetupTest, public testing::WithParamInterface<bool> {
 protected:
  HostExecutorTest() {
    EXPECT_OK(kinds_.Add(
        "MINE", [this](const LocalExecutorParams& params, Graph graph) -> absl::StatusOr<std::unique_ptr<Executor>> {
          SLUICE_ASSIGN_OR_RETURN(std::unique_ptr<Executor> inner, NewLocalExecutor(params, std::move(graph)));
          return std::make_unique<HostExecutor>(std::move(inner), function_);
        }));
  }
  // y = -(-x), on two devices or on one, as the parameter says. Steps on two are cut: an executor runs each part. Else
  // one executor runs all of the step, without a PartitionedStep around it.
  void OpenIt() {
    const Output there = b_.Op("Neg", "there", {b_.Placeholder("x", DType::kInt32)});
    if (is_cut()) b_.SetDevice(there, "/device:CPU:1");
    b_.SetDevice(b_.Op("Neg", "y", {there}), "/device:CPU:0");
    SessionOptions options;
    options.executor_kinds = &kinds_;
    options.executor = "MINE";
    options.num_cpu_devices = is_cut() ? 2 : 1;
    Open(options);
  }
  static bool is_cut() { return GetParam(); }
  absl::Status RunAsync(const CallOptions& call = {}) {
    absl::Status outcome = absl::UnknownError("hangs");
    Notification over;
    session_->RunAsync({{"x", Int(3)}}, {"y"}, {}, call, [&](const absl::StatusOr<std::vector<Tensor>>& values) {
      outcome = values.status();
      over.Notify();
    });
    over.WaitForNotification();
    return outcome;
  }

  HostExecutor::Function function_ = [](const Executor& inner, const Executor::Args& args, Executor::Done done) {
    inner.RunAsync(args, std::move(done));
  };
  ExecutorKinds kinds_;
};

INSTANTIATE_TEST_SUITE_P(Steps, HostExecutorTest, ::testing::Bool(),
                         [](const ::testing::TestParamInfo<bool>& info) { return info.param ? "Cut" : "Whole"; });

TEST_P(HostExecutorTest, RunsAllOfAStepOrAPartOfIt) {
  std::atomic<int> num_runs{0};
  function_ = [&](const Executor& inner, const Executor::Args& args, Executor::Done done) {
    ++num_runs;
    inner.RunAsync(args, std::move(done));
  };
  OpenIt();
  ExpectFetch("y", 3, {{"x", Int(3)}});
  EXPECT_EQ(num_runs, is_cut() ? 2 : 1);
  EXPECT_OK(RunAsync());
  EXPECT_EQ(num_runs, is_cut() ? 4 : 2);
}

TEST_P(HostExecutorTest, MayCancelTheManagerThatARunWasGiven) {
  bool fails = true;
  function_ = [&](const Executor& inner, const Executor::Args& args, Executor::Done done) {
    EXPECT_TRUE(args.cancel_on_error);
    if (!fails) return inner.RunAsync(args, std::move(done));
    args.cancellation->StartCancelWithStatus(absl::DataLossError("broken"));
    done(absl::DataLossError("broken"));
  };
  OpenIt();
  for (int i = 0; i < 2; ++i) {
    fails = true;
    EXPECT_THAT(Fetch("y", {{"x", Int(3)}}), StatusIs(absl::StatusCode::kDataLoss, "broken"));
    EXPECT_THAT(RunAsync(), StatusIs(absl::StatusCode::kDataLoss, "broken"));
    fails = false;
    ExpectFetch("y", 3, {{"x", Int(3)}});
    EXPECT_OK(RunAsync());
  }
}

TEST_P(HostExecutorTest, ALateOkIsLate) {
  function_ = [](const Executor& inner, const Executor::Args& args, Executor::Done done) {
    Executor::Args patient = args;
    patient.deadline = absl::InfiniteFuture();
    inner.RunAsync(patient, [deadline = args.deadline, done = std::move(done)](absl::Status status) mutable {
      while (deadline != absl::InfiniteFuture() && absl::Now() <= deadline) absl::SleepFor(absl::Milliseconds(1));
      std::move(done)(std::move(status));
    });
  };
  OpenIt();
  ExpectFetch("y", 3, {{"x", Int(3)}});
  CallOptions call;
  call.deadline = absl::Now() + absl::Milliseconds(20);
  EXPECT_THAT(Fetch("y", {{"x", Int(3)}}, call), IsError(ErrorCode::kDeadline));
  call.deadline = absl::Now() + absl::Milliseconds(20);
  EXPECT_THAT(RunAsync(call), IsError(ErrorCode::kDeadline));
}

TEST_P(HostExecutorTest, MayThrow) {
  const LogCapture log;
  bool throws = true;
  function_ = [&](const Executor& inner, const Executor::Args& args, Executor::Done done) {
    if (throws) throw std::runtime_error("bad host");
    inner.RunAsync(args, std::move(done));
  };
  OpenIt();
  EXPECT_FALSE(Fetch("y", {{"x", Int(3)}}).ok());
  EXPECT_THAT(RunAsync(), IsError(ErrorCode::kRunCancelled));
  throws = false;
  ExpectFetch("y", 3, {{"x", Int(3)}});
  EXPECT_OK(RunAsync());
}

TEST_P(HostExecutorTest, MayDropItsCallback) {
  bool drops = true;
  function_ = [&](const Executor& inner, const Executor::Args& args, Executor::Done done) {
    if (!drops) inner.RunAsync(args, std::move(done));
  };
  OpenIt();
  EXPECT_THAT(Fetch("y", {{"x", Int(3)}}), IsError(ErrorCode::kRunCancelled, "dropped"));
  EXPECT_THAT(RunAsync(), IsError(ErrorCode::kRunCancelled, "dropped"));
  drops = false;
  ExpectFetch("y", 3, {{"x", Int(3)}});
  EXPECT_OK(RunAsync());
}

// The run continues although RunAsync has thrown: it ends with the callback.
TEST_P(HostExecutorTest, MayThrowAndCallBackLater) {
  const LogCapture log;
  Mutex mu;
  std::vector<std::thread> threads;
  function_ = [&](const Executor&, const Executor::Args&, Executor::Done done) {
    {
      MutexLock lock(&mu);
      threads.emplace_back([done = std::move(done)]() mutable {
        absl::SleepFor(absl::Milliseconds(5));
        std::move(done)(absl::DataLossError("broken"));
      });
    }
    throw std::runtime_error("bad host");
  };
  OpenIt();
  EXPECT_THAT(Fetch("y", {{"x", Int(3)}}), StatusIs(absl::StatusCode::kDataLoss, "broken"));
  EXPECT_THAT(RunAsync(), StatusIs(absl::StatusCode::kDataLoss, "broken"));
  std::vector<std::thread> started;
  {
    MutexLock lock(&mu);  // The thread may have ended the run before emplace_back has returned.
    started.swap(threads);
  }
  for (std::thread& thread : started) thread.join();
  EXPECT_FALSE(log.lines().empty());
}

TEST_P(HostExecutorTest, MayReadItsArgumentsUntilItReturns) {
  std::atomic<int> wrong{0};
  function_ = [&](const Executor& inner, const Executor::Args& args, Executor::Done done) {
    const StepId step = args.step_id;
    inner.RunAsync(args, std::move(done));
    if (args.step_id != step) ++wrong;
  };
  OpenIt();
  for (int i = 0; i < 20; ++i) {
    ExpectFetch("y", 3, {{"x", Int(3)}});
    EXPECT_OK(RunAsync());
  }
  EXPECT_EQ(wrong, 0);
}

// Says that it does all of a run in the call, unless the run is observed.
class UnobservedAtOnce final : public Executor {
 public:
  struct Calls {
    int runs = 0, async_runs = 0;
  };
  UnobservedAtOnce(std::unique_ptr<Executor> inner, Calls& calls) : inner_(std::move(inner)), calls_(calls) {}

  void RunAsync(const Args& args, Done done) const override {
    ++calls_.async_runs;
    inner_->RunAsync(args, std::move(done));
  }
  absl::Status Run(const Args& args) const override {
    ++calls_.runs;
    return inner_->Run(args);
  }
  bool RunsAtOnce(const Args& args) const override { return args.observer == nullptr; }

 private:
  const std::unique_ptr<Executor> inner_;
  Calls& calls_;
};

// Run might wait for what RunAsync only begins: so it is not used for a run that an observer of the session's is for.
TEST_F(SessionSetupTest, AnExecutorIsAskedWhetherItRunsAtOnceWithAllObservers) {
  UnobservedAtOnce::Calls calls;
  ExecutorKinds kinds;
  ASSERT_OK(kinds.Add(
      "MINE", [&calls](const LocalExecutorParams& params, Graph graph) -> absl::StatusOr<std::unique_ptr<Executor>> {
        SLUICE_ASSIGN_OR_RETURN(std::unique_ptr<Executor> inner, NewLocalExecutor(params, std::move(graph)));
        return std::make_unique<UnobservedAtOnce>(std::move(inner), calls);
      }));
  AddSimpleGraph();
  SessionOptions options;
  options.executor_kinds = &kinds;
  options.executor = "MINE";
  Open(options);
  ASSERT_OK_AND_ASSIGN(const std::shared_ptr<const Callable> f, session_->Prepare({{"x"}, {"z"}, {}, {}}));
  const auto expect_at_once = [&](const CallOptions& call, bool at_once) {
    calls = UnobservedAtOnce::Calls();
    Tensor in[1] = {Int(3)}, out[1];
    absl::Status outcome;
    Notification over;
    f->RunAsync(absl::MakeSpan(in), absl::MakeSpan(out), call, [&](absl::Status status) {
      outcome = std::move(status);
      over.Notify();
    });
    over.WaitForNotification();
    ASSERT_OK(outcome);
    EXPECT_EQ(*out[0].AsScalar<int32_t>(), 16);
    EXPECT_EQ(calls.runs, at_once ? 1 : 0);
    EXPECT_EQ(calls.async_runs, at_once ? 0 : 1);
  };
  expect_at_once({}, true);
  CallOptions watched, told;
  watched.stall_timeout = absl::Hours(1);
  expect_at_once(watched, false);
  const NodeOutputsCallback hears = [](absl::string_view, int, const Tensor*, bool, const KernelContext&) {
    return absl::OkStatus();
  };
  told.node_outputs = &hears;
  expect_at_once(told, false);
}

}  // namespace
}  // namespace sluice

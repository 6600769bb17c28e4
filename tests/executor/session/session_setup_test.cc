// How sessions are set up: names, pools, executors by name, what a finalised session still does.

#include <atomic>
#include <set>
#include <thread>

#include "absl/time/clock.h"
#include "executor/compiled/executor_kinds.h"
#include "executor/session/shared_pools.h"
#include "graph/base/mutex.h"
#include "tests/executor/session/session_fixture.h"

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
  EXPECT_EQ(session_->graph(), nullptr);
  EXPECT_THAT(Fetch("z", {{"x", Int(3)}}), IsError(ErrorCode::kWrongUse, "finalised"));
  EXPECT_THAT(session_->Prepare({{"x"}, {"z"}, {}, {}}).status(), IsError(ErrorCode::kWrongUse));
  EXPECT_THAT(session_->PRunSetup({{"x"}, {"z"}, {}, {}}).status(), IsError(ErrorCode::kWrongUse));
  EXPECT_THAT(session_->Extend(b_.graph()), StatusIs(absl::StatusCode::kFailedPrecondition));
  ASSERT_OK(session_->Close());
  EXPECT_THAT(Fetch("z", {{"x", Int(3)}}), IsError(ErrorCode::kSessionClosed));
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
  ASSERT_OK_AND_ASSIGN(one, pools.Find("large", 5));  // Nobody used it any more.
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

}  // namespace
}  // namespace sluice

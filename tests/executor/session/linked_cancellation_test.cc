#include "executor/session/linked_cancellation.h"

#include <thread>

#include "absl/time/time.h"
#include "executor/threads/thread_runs.h"
#include "graph/base/mutex.h"
#include "gtest/gtest.h"
#include "tests/testing/status_matchers.h"

namespace sluice {
namespace {

TEST(LinkedCancellationTest, WithoutACallerItIsTheSessionsManager) {
  CancellationManager session;
  LinkedCancellation linked(session, nullptr);
  EXPECT_EQ(&linked.manager(), &session);
}

TEST(LinkedCancellationTest, TheCallersCancellationEndsTheCallAndNotTheSession) {
  CancellationManager session, caller;
  LinkedCancellation linked(session, &caller);
  ASSERT_NE(&linked.manager(), &session);
  EXPECT_FALSE(linked.manager().IsCancelling());
  caller.StartCancelWithStatus(absl::AbortedError("enough"));
  EXPECT_TRUE(linked.manager().IsCancelled());
  EXPECT_THAT(linked.manager().status(), StatusIs(absl::StatusCode::kAborted, "enough"));
  EXPECT_FALSE(session.IsCancelling());
}

TEST(LinkedCancellationTest, TheSessionsCancellationEndsTheCallAndNotTheCallersOtherWork) {
  CancellationManager session, caller;
  LinkedCancellation linked(session, &caller);
  session.StartCancelWithStatus(absl::CancelledError("closed"));
  EXPECT_TRUE(linked.manager().IsCancelled());
  EXPECT_THAT(linked.manager().status(), StatusIs(absl::StatusCode::kCancelled, "closed"));
  EXPECT_FALSE(caller.IsCancelling());
}

TEST(LinkedCancellationTest, ACallerThatWasCancelledBeforeEndsTheCallAtOnce) {
  CancellationManager session, caller;
  caller.StartCancelWithStatus(absl::AbortedError("before"));
  LinkedCancellation linked(session, &caller);
  EXPECT_TRUE(linked.manager().IsCancelled());
  EXPECT_THAT(linked.manager().status(), StatusIs(absl::StatusCode::kAborted, "before"));
}

TEST(LinkedCancellationTest, AfterTheCallNothingOfItIsLeftWithEither) {
  CancellationManager session, caller;
  bool was_called = false;
  {
    LinkedCancellation linked(session, &caller);
    const CancellationToken token = linked.manager().NewToken();
    ASSERT_TRUE(linked.manager().RegisterCallback(token, [&was_called] { was_called = true; }));
    EXPECT_TRUE(linked.manager().DeregisterCallback(token));
  }
  caller.StartCancel();
  session.StartCancel();
  EXPECT_FALSE(was_called);
}

// A run that tells when it is continued.
class ToldRun final : public DeferredRun {
 public:
  explicit ToldRun(Notification* ran) : DeferredRun(StepId()), ran_(*ran) {}
  void RunTask() noexcept override { ran_.Notify(); }
  bool HandOver(To) noexcept override { return false; }

 private:
  Notification& ran_;
};

// A callback of `of_callback` waits for a run that is deferred on the thread that takes the link back, which waits for
// the callback.
void ExpectDeferredRunsGoOn(bool of_session) {
  CancellationManager session, caller;
  Notification began, ran;
  ToldRun run(&ran);
  bool has_run = false;
  std::thread canceller;
  {
    const ThreadRuns::Scope scope;
    ThreadRuns::Current().PushLocal(&run);
    {
      LinkedCancellation linked(session, &caller);
      CancellationManager& of_callback = of_session ? session : caller;
      ASSERT_TRUE(of_callback.RegisterCallback(of_callback.NewToken(), [&] {
        began.Notify();
        has_run = ran.WaitForNotificationWithTimeout(absl::Seconds(20));
      }));
      canceller = std::thread([&] { of_callback.StartCancel(); });
      began.WaitForNotification();
    }
    canceller.join();
  }
  EXPECT_TRUE(has_run);
}

TEST(LinkedCancellationTest, WhileItWaitsForTheCallersCancellationDeferredRunsGoOn) { ExpectDeferredRunsGoOn(false); }
TEST(LinkedCancellationTest, WhileItWaitsForTheSessionsCancellationDeferredRunsGoOn) { ExpectDeferredRunsGoOn(true); }

}  // namespace
}  // namespace sluice

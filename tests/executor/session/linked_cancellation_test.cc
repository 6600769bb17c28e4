#include "executor/session/linked_cancellation.h"

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

}  // namespace
}  // namespace sluice

#include "graph/base/cancellation.h"

#include <atomic>
#include <memory>
#include <thread>
#include <vector>

#include "graph/base/error.h"
#include "gtest/gtest.h"
#include "tests/testing/status_matchers.h"

namespace sluice {
namespace {

TEST(CancellationManagerTest, NothingRunsWithoutCancel) {
  bool called = false;
  CancellationManager manager;
  const CancellationToken token = manager.NewToken();
  ASSERT_TRUE(manager.RegisterCallback(token, [&] { called = true; }));
  EXPECT_TRUE(manager.DeregisterCallback(token));
  EXPECT_FALSE(manager.DeregisterCallback(token));
  EXPECT_FALSE(called);
  EXPECT_OK(manager.status());
}

TEST(CancellationManagerTest, CancelRunsEveryCallbackOnceAndKeepsTheFirstCause) {
  int calls = 0;
  CancellationManager manager;
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(manager.RegisterCallback(manager.NewToken(), [&] { ++calls; }));
  manager.StartCancelWithStatus(absl::DeadlineExceededError("late"));
  manager.StartCancel();
  EXPECT_EQ(calls, 3);
  EXPECT_TRUE(manager.IsCancelled());
  EXPECT_THAT(manager.status(), StatusIs(absl::StatusCode::kDeadlineExceeded, "late"));
}

TEST(CancellationManagerTest, RegisteringAfterCancelIsRefused) {
  CancellationManager manager;
  manager.StartCancel();
  EXPECT_FALSE(manager.RegisterCallback(manager.NewToken(), [] { FAIL(); }));
}

TEST(CancellationManagerTest, DeregisteringAfterCancelSaysThatItRan) {
  CancellationManager manager;
  const CancellationToken token = manager.NewToken();
  ASSERT_TRUE(manager.RegisterCallback(token, [] {}));
  manager.StartCancel();
  EXPECT_FALSE(manager.DeregisterCallback(token));
  EXPECT_FALSE(manager.TryDeregisterCallback(token));
}

TEST(CancellationManagerTest, IsCancelledOnlyWhenCallbacksAreThrough) {
  CancellationManager manager;
  ASSERT_TRUE(manager.RegisterCallback(manager.NewToken(), [&] {
    EXPECT_TRUE(manager.IsCancelling());
    EXPECT_FALSE(manager.IsCancelled());
  }));
  manager.StartCancel();
  EXPECT_TRUE(manager.IsCancelled());
}

TEST(CancellationManagerTest, TryDeregisterDoesNotWaitWhileCallbacksRun) {
  CancellationManager manager;
  const CancellationToken token = manager.NewToken();
  Notification started, go_on;
  ASSERT_TRUE(manager.RegisterCallback(token, [&] {
    started.Notify();
    go_on.WaitForNotification();
  }));
  std::thread canceller([&] { manager.StartCancel(); });
  started.WaitForNotification();
  EXPECT_FALSE(manager.TryDeregisterCallback(token));
  go_on.Notify();
  EXPECT_FALSE(manager.DeregisterCallback(token));  // Waits until it has run.
  EXPECT_TRUE(manager.IsCancelled());
  canceller.join();
}

// Whoever is told that a run was cancelled can look the code up.
TEST(CancellationManagerTest, ACancellationHasACode) {
  CancellationManager plain, with_text, with_cause;
  plain.StartCancel();
  EXPECT_THAT(plain.status(), IsError(ErrorCode::kRunCancelled));
  with_text.StartCancelWithStatus(absl::CancelledError("the window was closed"));
  EXPECT_THAT(with_text.status(), IsError(ErrorCode::kRunCancelled, "the window was closed"));
  with_cause.StartCancelWithStatus(absl::InternalError("x"));
  EXPECT_THAT(with_cause.status(), StatusIs(absl::StatusCode::kInternal, "x"));
}

TEST(CancellationManagerTest, ChildrenFollowTheirParent) {
  CancellationManager parent;
  CancellationManager early(&parent);
  parent.StartCancelWithStatus(absl::AbortedError("closed"));
  CancellationManager late(&parent);
  EXPECT_THAT(early.status(), StatusIs(absl::StatusCode::kAborted));
  EXPECT_THAT(late.status(), StatusIs(absl::StatusCode::kAborted));
}

TEST(CancellationManagerTest, ParentOutlivesChildrenThatWereNotCancelled) {
  CancellationManager parent;
  for (int i = 0; i < 100; ++i) CancellationManager child(&parent);
  parent.StartCancel();
  EXPECT_TRUE(parent.IsCancelled());
}

TEST(CancellationManagerTest, DestructionRunsWhatIsStillRegistered) {
  bool called = false;
  {
    CancellationManager manager;
    ASSERT_TRUE(manager.RegisterCallback(manager.NewToken(), [&] { called = true; }));
  }
  EXPECT_TRUE(called);
}

TEST(CancellationManagerTest, ManyThreadsRegisterWhileOneCancels) {
  for (int round = 0; round < 50; ++round) {
    CancellationManager manager;
    std::atomic<int> called{0}, expected{0};
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t) {
      threads.emplace_back([&] {
        for (int i = 0; i < 50; ++i) {
          const CancellationToken token = manager.NewToken();
          if (!manager.RegisterCallback(token, [&] { called.fetch_add(1); })) continue;
          if (i % 2 == 0 && manager.DeregisterCallback(token)) continue;
          expected.fetch_add(1);
        }
      });
    }
    manager.StartCancel();
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(called.load(), expected.load());
  }
}

}  // namespace
}  // namespace sluice

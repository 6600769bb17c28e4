#include "graph/base/cancellation.h"

#include <atomic>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "graph/base/error.h"
#include "graph/base/mutex.h"
#include "gtest/gtest.h"
#include "tests/testing/log_capture.h"
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

// Users who read that a run was cancelled can look the code up.
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

TEST(CancellationManagerTest, ACancellationWithoutACauseIsAnErrorAllTheSame) {
  CancellationManager manager;
  manager.StartCancelWithStatus(absl::OkStatus());
  EXPECT_THAT(manager.status(), IsError(ErrorCode::kRunCancelled));
  CancellationManager child(&manager);
  EXPECT_THAT(child.status(), IsError(ErrorCode::kRunCancelled));
}

TEST(CancellationManagerTest, ALaterCauseDoesNotReplaceTheFirst) {
  CancellationManager manager;
  ASSERT_TRUE(manager.RegisterCallback(manager.NewToken(),
                                       [&] { manager.StartCancelWithStatus(absl::InternalError("inside")); }));
  manager.StartCancelWithStatus(absl::AbortedError("first"));
  manager.StartCancelWithStatus(absl::InternalError("after"));
  EXPECT_THAT(manager.status(), StatusIs(absl::StatusCode::kAborted, "first"));
}

TEST(CancellationManagerTest, ACallbackMayDeregisterItselfAndOthers) {
  CancellationManager manager;
  const CancellationToken first = manager.NewToken(), second = manager.NewToken(), third = manager.NewToken();
  std::vector<int> called;
  ASSERT_TRUE(manager.RegisterCallback(first, [&] {
    called.push_back(1);
    EXPECT_FALSE(manager.DeregisterCallback(first)) << "it runs";
    EXPECT_TRUE(manager.DeregisterCallback(second)) << "it has not run, and will not";
    EXPECT_FALSE(manager.DeregisterCallback(second));
  }));
  ASSERT_TRUE(manager.RegisterCallback(second, [&] { called.push_back(2); }));
  ASSERT_TRUE(manager.RegisterCallback(third, [&] {
    called.push_back(3);
    EXPECT_FALSE(manager.TryDeregisterCallback(first));
  }));
  manager.StartCancel();
  EXPECT_EQ(called, (std::vector<int>{1, 3}));
  EXPECT_TRUE(manager.IsCancelled());
}

TEST(CancellationManagerTest, ACallbackMayDestroyItsManagerAndTheOthersAreCalled) {
  auto manager = std::make_unique<CancellationManager>();
  CancellationManager& borrowed = *manager;
  std::vector<int> called;
  for (int i = 0; i < 3; ++i) {
    ASSERT_TRUE(borrowed.RegisterCallback(borrowed.NewToken(), [&, i] {
      called.push_back(i);
      if (i == 1) manager.reset();
    }));
  }
  borrowed.StartCancel();
  EXPECT_EQ(manager, nullptr);
  EXPECT_EQ(called, (std::vector<int>{0, 1, 2}));
}

// As a run does whose last wait is ended by the cancellation, in a host that frees what the run has used.
TEST(CancellationManagerTest, AChildMayGoInsideOfItsParentsCancellation) {
  CancellationManager parent;
  auto child = std::make_unique<CancellationManager>(&parent);
  bool is_last_called = false;
  ASSERT_TRUE(child->RegisterCallback(child->NewToken(), [&] { child.reset(); }));
  ASSERT_TRUE(parent.RegisterCallback(parent.NewToken(), [&] { is_last_called = true; }));
  parent.StartCancel();
  EXPECT_EQ(child, nullptr);
  EXPECT_TRUE(is_last_called);
  EXPECT_TRUE(parent.IsCancelled());
}

TEST(CancellationManagerTest, DestructionWaitsForACancellationOnAnotherThread) {
  for (int round = 0; round < 20; ++round) {
    auto manager = std::make_unique<CancellationManager>();
    CancellationManager& borrowed = *manager;
    Notification started;
    std::atomic<bool> has_returned{false};
    ASSERT_TRUE(borrowed.RegisterCallback(borrowed.NewToken(), [&] {
      started.Notify();
      for (int i = 0; i < 1000; ++i) std::this_thread::yield();
      has_returned = true;
    }));
    std::thread canceller([&] { borrowed.StartCancel(); });
    started.WaitForNotification();
    manager.reset();
    EXPECT_TRUE(has_returned);
    canceller.join();
  }
}

TEST(CancellationManagerTest, AllThreadsThatWaitForACallbackGoOnWhenItIsThrough) {
  for (int round = 0; round < 20; ++round) {
    CancellationManager manager;
    Notification started;
    std::atomic<bool> may_return{false};
    const CancellationToken token = manager.NewToken();
    ASSERT_TRUE(manager.RegisterCallback(token, [&] {
      started.Notify();
      while (!may_return) std::this_thread::yield();
    }));
    std::thread canceller([&] { manager.StartCancel(); });
    started.WaitForNotification();
    std::atomic<int> num_back{0};
    std::vector<std::thread> waiters;
    for (int i = 0; i < 4; ++i) {
      waiters.emplace_back([&] {
        EXPECT_FALSE(manager.DeregisterCallback(token));
        EXPECT_TRUE(may_return);
        num_back.fetch_add(1);
      });
    }
    for (int i = 0; i < 100; ++i) std::this_thread::yield();
    EXPECT_EQ(num_back.load(), 0);
    may_return = true;
    for (std::thread& waiter : waiters) waiter.join();
    canceller.join();
    EXPECT_TRUE(manager.IsCancelled());
  }
}

TEST(CancellationManagerTest, CallbacksAreDestroyedWithoutALock) {
  // Asks the manager when it goes.
  struct Asks {
    ~Asks() { EXPECT_FALSE(manager.TryDeregisterCallback(-1)); }
    CancellationManager& manager;
  };
  CancellationManager manager;
  const auto add = [&manager](CancellationToken token) {
    return manager.RegisterCallback(token, [asks = std::make_unique<Asks>(Asks{manager})] {});
  };
  for (const bool waits : {true, false}) {
    const CancellationToken token = manager.NewToken();
    ASSERT_TRUE(add(token));
    EXPECT_TRUE(waits ? manager.DeregisterCallback(token) : manager.TryDeregisterCallback(token));
  }
  ASSERT_TRUE(add(manager.NewToken()));
  manager.StartCancel();
  EXPECT_FALSE(add(manager.NewToken()));
}

TEST(CancellationManagerTest, ACallbackThatThrowsIsLoggedAndTheOthersRun) {
  const LogCapture log;
  CancellationManager manager;
  bool is_called = false;
  ASSERT_TRUE(manager.RegisterCallback(manager.NewToken(), [] { throw std::runtime_error("bad callback"); }));
  ASSERT_TRUE(manager.RegisterCallback(manager.NewToken(), [&] { is_called = true; }));
  manager.StartCancel();
  EXPECT_TRUE(is_called);
  ASSERT_EQ(log.lines().size(), 1u);
  EXPECT_NE(log.lines()[0].find("bad callback"), std::string::npos);
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

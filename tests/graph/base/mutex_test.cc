#include "graph/base/mutex.h"

#include <memory>
#include <thread>
#include <vector>

#include "gtest/gtest.h"

namespace sluice {
namespace {

// A number that several threads add to.
class Counter {
 public:
  void Add(int n) ABSL_LOCKS_EXCLUDED(mu_) {
    MutexLock lock(&mu_);
    sum_ += n;
    changed_.SignalAll();
  }
  void WaitUntil(int sum) ABSL_LOCKS_EXCLUDED(mu_) {
    MutexLock lock(&mu_);
    while (sum_ < sum) changed_.Wait(&mu_);
  }
  int sum() const ABSL_LOCKS_EXCLUDED(mu_) {
    MutexLock lock(&mu_);
    mu_.AssertHeld();
    return sum_;
  }

 private:
  mutable Mutex mu_;
  CondVar changed_;
  int sum_ ABSL_GUARDED_BY(mu_) = 0;
};

TEST(MutexTest, ThreadsAddWithoutLoss) {
  constexpr int kThreads = 4, kAdds = 2000;
  Counter counter;
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([&counter] {
      for (int n = 0; n < kAdds; ++n) counter.Add(1);
    });
  }
  counter.WaitUntil(kThreads * kAdds);
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(counter.sum(), kThreads * kAdds);
}

TEST(MutexTest, TryLockFailsWhileAnotherThreadHolds) {
  Mutex mu;
  mu.Lock();
  std::thread([&mu] {
    const bool taken = mu.TryLock();
    EXPECT_FALSE(taken);
    if (taken) mu.Unlock();
  }).join();
  mu.Unlock();
  const bool taken = mu.TryLock();
  EXPECT_TRUE(taken);
  if (taken) mu.Unlock();
}

TEST(CondVarTest, WaitEndsAtItsDeadline) {
  Mutex mu;
  CondVar never;
  const absl::Time deadline = absl::Now() + absl::Milliseconds(20);
  mu.Lock();
  while (!never.WaitWithDeadline(&mu, deadline)) {
  }
  mu.Unlock();
  EXPECT_GE(absl::Now(), deadline);
}

TEST(NotificationTest, WhatWasWrittenBeforeIsSeenAfter) {
  Notification done;
  int value = 0;  // Unguarded on purpose: the notification orders it.
  std::thread writer([&] {
    value = 42;
    done.Notify();
  });
  done.WaitForNotification();
  EXPECT_EQ(value, 42);
  EXPECT_TRUE(done.HasBeenNotified());
  writer.join();
}

TEST(NotificationTest, TimesOut) {
  Notification never;
  EXPECT_FALSE(never.WaitForNotificationWithTimeout(absl::Milliseconds(5)));
  EXPECT_FALSE(never.HasBeenNotified());
}

TEST(NotificationTest, MayBeDestroyedByTheWaiter) {
  for (int i = 0; i < 200; ++i) {
    auto done = std::make_unique<Notification>();
    std::thread notifier([raw = done.get()] { raw->Notify(); });
    done->WaitForNotification();
    done.reset();
    notifier.join();
  }
}

}  // namespace
}  // namespace sluice

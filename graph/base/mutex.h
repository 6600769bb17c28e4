#ifndef SLUICE_GRAPH_BASE_MUTEX_H_
#define SLUICE_GRAPH_BASE_MUTEX_H_

// Locks with annotations for clang's -Wthread-safety: the only lock types our code uses.
//
//   void Add(int n) ABSL_LOCKS_EXCLUDED(mu_) {
//     MutexLock lock(&mu_);
//     sum_ += n;
//   }
//   Mutex mu_;
//   int sum_ ABSL_GUARDED_BY(mu_) = 0;
//
// They wrap the standard library's. Not Abseil's: Debian's build is not instrumented for ThreadSanitizer, and has
// deadlock detection on, which makes a lock several times as slow as the work under it (a transfer through the
// rendezvous: 133 ns instead of 50).

#include <condition_variable>
#include <mutex>

#include "absl/base/thread_annotations.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"

namespace sluice {

// Mutual exclusion, not recursive. Writes under the lock are seen by the next holder. REQUIRES at destruction: no
// thread holds it or waits for it.
class ABSL_LOCKABLE Mutex {
 public:
  Mutex() = default;
  Mutex(const Mutex&) = delete;
  Mutex& operator=(const Mutex&) = delete;

  void Lock() ABSL_EXCLUSIVE_LOCK_FUNCTION() { mu_.lock(); }
  void Unlock() ABSL_UNLOCK_FUNCTION() { mu_.unlock(); }
  // True when this thread has the lock now. Never waits.
  bool TryLock() ABSL_EXCLUSIVE_TRYLOCK_FUNCTION(true) { return mu_.try_lock(); }
  // Tells the analysis, and a reader, that the lock is held.
  void AssertHeld() const ABSL_ASSERT_EXCLUSIVE_LOCK() {}

 private:
  friend class CondVar;
  std::mutex mu_;
};

// Holds a Mutex for its own life time. One thread's, on the stack.
class ABSL_SCOPED_LOCKABLE MutexLock {
 public:
  explicit MutexLock(Mutex* mu) ABSL_EXCLUSIVE_LOCK_FUNCTION(mu) : mu_(mu) { mu_->Lock(); }
  MutexLock(const MutexLock&) = delete;
  MutexLock& operator=(const MutexLock&) = delete;
  ~MutexLock() ABSL_UNLOCK_FUNCTION() { mu_->Unlock(); }

 private:
  Mutex* const mu_;
};

// Lets threads wait, under a Mutex, for a condition that others make true. Waits may end spuriously: test the condition
// in a loop. Thread-safe.
class CondVar {
 public:
  CondVar() = default;
  CondVar(const CondVar&) = delete;
  CondVar& operator=(const CondVar&) = delete;

  // Releases `mu`, waits for a signal, locks `mu` again.
  void Wait(Mutex* mu) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu) ABSL_NO_THREAD_SAFETY_ANALYSIS {
    std::unique_lock<std::mutex> lock(mu->mu_, std::adopt_lock);
    cv_.wait(lock);
    lock.release();
  }

  // As Wait, but not beyond `deadline`. Returns true when it has passed.
  bool WaitWithDeadline(Mutex* mu, absl::Time deadline)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu) ABSL_NO_THREAD_SAFETY_ANALYSIS {
    if (deadline == absl::InfiniteFuture()) {
      Wait(mu);
      return false;
    }
    std::unique_lock<std::mutex> lock(mu->mu_, std::adopt_lock);
    const bool timed_out = cv_.wait_until(lock, absl::ToChronoTime(deadline)) == std::cv_status::timeout;
    lock.release();
    return timed_out;
  }

  // Wakes one waiter, or all. The mutex need not be held.
  void Signal() { cv_.notify_one(); }
  void SignalAll() { cv_.notify_all(); }

 private:
  std::condition_variable cv_;
};

// An event that happens once. Threads that see it see all writes before Notify, and a waiter may destroy the
// Notification as soon as its wait returns. Thread-safe.
class Notification {
 public:
  Notification() = default;
  Notification(const Notification&) = delete;
  Notification& operator=(const Notification&) = delete;
  // Waits for a Notify that has not returned yet.
  ~Notification() { MutexLock lock(&mu_); }

  // REQUIRES: not called before.
  void Notify() ABSL_LOCKS_EXCLUDED(mu_) {
    MutexLock lock(&mu_);
    notified_ = true;
    cv_.SignalAll();
  }

  bool HasBeenNotified() const ABSL_LOCKS_EXCLUDED(mu_) {
    MutexLock lock(&mu_);
    return notified_;
  }

  void WaitForNotification() const ABSL_LOCKS_EXCLUDED(mu_) {
    MutexLock lock(&mu_);
    while (!notified_) cv_.Wait(&mu_);
  }

  // Returns whether it has happened by `deadline`.
  bool WaitForNotificationWithDeadline(absl::Time deadline) const ABSL_LOCKS_EXCLUDED(mu_) {
    MutexLock lock(&mu_);
    while (!notified_) {
      if (cv_.WaitWithDeadline(&mu_, deadline)) break;
    }
    return notified_;
  }

  bool WaitForNotificationWithTimeout(absl::Duration timeout) const ABSL_LOCKS_EXCLUDED(mu_) {
    return WaitForNotificationWithDeadline(absl::Now() + timeout);
  }

 private:
  mutable Mutex mu_;
  mutable CondVar cv_;
  bool notified_ ABSL_GUARDED_BY(mu_) = false;
};

}  // namespace sluice

#endif  // SLUICE_GRAPH_BASE_MUTEX_H_

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
// They wrap Abseil's. Under ThreadSanitizer they wrap the standard library's instead: the system's Abseil is not
// instrumented, so its locks would be invisible and every access under them a reported race.

#include "absl/base/thread_annotations.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"

#if defined(__SANITIZE_THREAD__) || defined(SLUICE_TSAN)  // The latter by --config=tsan.
#define SLUICE_STANDARD_MUTEX_ 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define SLUICE_STANDARD_MUTEX_ 1
#endif
#endif

#ifdef SLUICE_STANDARD_MUTEX_
#include <condition_variable>
#include <mutex>
#else
#include "absl/synchronization/mutex.h"
#endif

namespace sluice {

// Mutual exclusion, not recursive. What was written under the lock is seen by whoever locks next.
// REQUIRES at destruction: nobody holds it or waits for it.
class ABSL_LOCKABLE Mutex {
 public:
  Mutex() = default;
  Mutex(const Mutex&) = delete;
  Mutex& operator=(const Mutex&) = delete;

#ifdef SLUICE_STANDARD_MUTEX_
  void Lock() ABSL_EXCLUSIVE_LOCK_FUNCTION() { mu_.lock(); }
  void Unlock() ABSL_UNLOCK_FUNCTION() { mu_.unlock(); }
  // True when this thread has the lock now. Never waits.
  bool TryLock() ABSL_EXCLUSIVE_TRYLOCK_FUNCTION(true) { return mu_.try_lock(); }
  // Tells the analysis, and a reader, that the lock is held.
  void AssertHeld() const ABSL_ASSERT_EXCLUSIVE_LOCK() {}
#else
  void Lock() ABSL_EXCLUSIVE_LOCK_FUNCTION() ABSL_NO_THREAD_SAFETY_ANALYSIS { mu_.Lock(); }
  void Unlock() ABSL_UNLOCK_FUNCTION() ABSL_NO_THREAD_SAFETY_ANALYSIS { mu_.Unlock(); }
  // True when this thread has the lock now. Never waits.
  bool TryLock() ABSL_EXCLUSIVE_TRYLOCK_FUNCTION(true) ABSL_NO_THREAD_SAFETY_ANALYSIS { return mu_.TryLock(); }
  // Tells the analysis, and a reader, that the lock is held.
  void AssertHeld() const ABSL_ASSERT_EXCLUSIVE_LOCK() ABSL_NO_THREAD_SAFETY_ANALYSIS { mu_.AssertHeld(); }
#endif

 private:
  friend class CondVar;
#ifdef SLUICE_STANDARD_MUTEX_
  std::mutex mu_;
#else
  absl::Mutex mu_;
#endif
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

// Lets threads wait, under a Mutex, for something that others make true. Waits may end without reason: call them in
// a loop that tests the condition. Thread-safe.
class CondVar {
 public:
  CondVar() = default;
  CondVar(const CondVar&) = delete;
  CondVar& operator=(const CondVar&) = delete;

  // Gives `mu` up, waits for a signal, takes `mu` again.
  void Wait(Mutex* mu) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu) ABSL_NO_THREAD_SAFETY_ANALYSIS {
#ifdef SLUICE_STANDARD_MUTEX_
    std::unique_lock<std::mutex> lock(mu->mu_, std::adopt_lock);
    cv_.wait(lock);
    lock.release();
#else
    cv_.Wait(&mu->mu_);
#endif
  }

  // As Wait, but not beyond `deadline`. Returns true when it has passed.
  bool WaitWithDeadline(Mutex* mu, absl::Time deadline)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu) ABSL_NO_THREAD_SAFETY_ANALYSIS {
#ifdef SLUICE_STANDARD_MUTEX_
    if (deadline == absl::InfiniteFuture()) {
      Wait(mu);
      return false;
    }
    std::unique_lock<std::mutex> lock(mu->mu_, std::adopt_lock);
    const bool timed_out = cv_.wait_until(lock, absl::ToChronoTime(deadline)) == std::cv_status::timeout;
    lock.release();
    return timed_out;
#else
    return cv_.WaitWithDeadline(&mu->mu_, deadline);
#endif
  }

  // Wakes one waiter, or all. The mutex need not be held.
#ifdef SLUICE_STANDARD_MUTEX_
  void Signal() { cv_.notify_one(); }
  void SignalAll() { cv_.notify_all(); }
#else
  void Signal() { cv_.Signal(); }
  void SignalAll() { cv_.SignalAll(); }
#endif

 private:
#ifdef SLUICE_STANDARD_MUTEX_
  std::condition_variable cv_;
#else
  absl::CondVar cv_;
#endif
};

// An event that happens once. What was written before Notify is seen by whoever knows of it, and the waiter may
// destroy the Notification as soon as its wait returns. Thread-safe.
class Notification {
 public:
  Notification() = default;
  Notification(const Notification&) = delete;
  Notification& operator=(const Notification&) = delete;
  // Waits for a Notify that is still on its way out.
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

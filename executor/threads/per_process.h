#ifndef SLUICE_EXECUTOR_THREADS_PER_PROCESS_H_
#define SLUICE_EXECUTOR_THREADS_PER_PROCESS_H_

#include <pthread.h>

#include <atomic>
#include <memory>

namespace sluice {

// Holds the one T of the process, made at the first use and never destroyed. A child of fork() gets a new T: it has
// none of the parent's threads, and locks that those held would stay held. Thread-safe.
template <typename T>
class PerProcess {
 public:
  static T& Get() {
    // Acquire: see the store.
    T* const found = object_.load(std::memory_order_acquire);
    return found != nullptr ? *found : Make();
  }

 private:
  static T& Make() {
    auto made = std::make_unique<T>();
    T* found = nullptr;
    // Release: publishes the object. Acquire: another thread's.
    if (!object_.compare_exchange_strong(found, made.get(), std::memory_order_acq_rel)) return *found;
    pthread_atfork(nullptr, nullptr, [] { object_.store(nullptr, std::memory_order_relaxed); });
    return *made.release();
  }

  static inline std::atomic<T*> object_{nullptr};
};

}  // namespace sluice

#endif  // SLUICE_EXECUTOR_THREADS_PER_PROCESS_H_

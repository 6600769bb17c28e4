#ifndef SLUICE_EXECUTOR_THREADS_PER_PROCESS_H_
#define SLUICE_EXECUTOR_THREADS_PER_PROCESS_H_

#include <pthread.h>

#include <atomic>
#include <memory>

namespace sluice {

// The one T of the process, made with the first use; it lives for ever. A child of fork() gets a new one: threads of
// the parent are not in it, and locks that they held stay held. Thread-safe.
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

#ifndef SLUICE_EXECUTOR_SERVICE_THREADS_H_
#define SLUICE_EXECUTOR_SERVICE_THREADS_H_

#include <pthread.h>

#include "absl/base/thread_annotations.h"
#include "executor/intrusive_queue.h"
#include "graph/base/mutex.h"

namespace sluice {

// Threads of the process for what must go on at once though no thread of a host or of a pool is there for it: calls
// that are due at a deadline, and runs without threads of their own that wait for a thread which is going to wait
// itself. Each task gets a thread that does nothing else meanwhile, so that one that waits does not hold up another.
// They start with the first task; a few stay for the next ones. Thread-safe. Lives for ever.
class ServiceThreads {
 public:
  // Something to run. Borrowed until RunTask is called, which may free it.
  class Task {
   public:
    virtual void RunTask() noexcept = 0;

   protected:
    ~Task() = default;

   private:
    friend class ServiceThreads;
    Task* next_task_ = nullptr;
  };
  // As pthread_create.
  using CreateThread = int (*)(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*);

  static ServiceThreads& Global();

  explicit ServiceThreads(CreateThread create_thread = &pthread_create) : create_thread_(create_thread) {}
  ServiceThreads(const ServiceThreads&) = delete;
  ServiceThreads& operator=(const ServiceThreads&) = delete;

  // Has `task` run on a thread of its own. False, and nothing happens, when the system gives none.
  [[nodiscard]] bool Run(Task* task) noexcept ABSL_LOCKS_EXCLUDED(mu_);
  // Threads that there are, busy or not.
  int num_threads() const ABSL_LOCKS_EXCLUDED(mu_);

 private:
  // More threads than these do not wait for tasks.
  static constexpr int kMaxIdle = 2;

  static void* ThreadMain(void* threads);
  void Loop() ABSL_LOCKS_EXCLUDED(mu_);

  const CreateThread create_thread_;
  mutable Mutex mu_;
  CondVar task_came_;
  IntrusiveQueue<Task, &Task::next_task_> tasks_ ABSL_GUARDED_BY(mu_);
  int num_tasks_ ABSL_GUARDED_BY(mu_) = 0;
  int num_threads_ ABSL_GUARDED_BY(mu_) = 0;
  int num_idle_ ABSL_GUARDED_BY(mu_) = 0;  // Waiting for a task, or on their way to one that waits for them.
};

}  // namespace sluice

#endif  // SLUICE_EXECUTOR_SERVICE_THREADS_H_

#include "executor/service_threads.h"

#include "executor/per_process.h"

namespace sluice {

ServiceThreads& ServiceThreads::Global() { return PerProcess<ServiceThreads>::Get(); }

bool ServiceThreads::Run(Task* task) noexcept {
  MutexLock lock(&mu_);
  // Each waiting task has an idle thread of its own: none waits for a task that runs.
  if (num_idle_ <= num_tasks_) {
    pthread_t thread;
    if (create_thread_(&thread, nullptr, &ThreadMain, this) != 0) return false;
    pthread_detach(thread);
    ++num_threads_;
    ++num_idle_;
  }
  tasks_.PushBack(task);
  ++num_tasks_;
  task_came_.Signal();
  return true;
}

int ServiceThreads::num_threads() const {
  MutexLock lock(&mu_);
  return num_threads_;
}

void* ServiceThreads::ThreadMain(void* threads) {
  pthread_setname_np(pthread_self(), "sluice-service");
  static_cast<ServiceThreads*>(threads)->Loop();
  return nullptr;
}

void ServiceThreads::Loop() {
  for (;;) {
    Task* task = nullptr;
    {
      MutexLock lock(&mu_);
      while (tasks_.empty()) {
        if (num_idle_ > kMaxIdle) {
          --num_idle_;
          --num_threads_;
          return;
        }
        task_came_.Wait(&mu_);
      }
      task = tasks_.PopFront();
      --num_tasks_;
      --num_idle_;
    }
    task->RunTask();
    MutexLock lock(&mu_);
    ++num_idle_;
  }
}

}  // namespace sluice

#ifndef SLUICE_EXECUTOR_THREADS_THREAD_POOL_H_
#define SLUICE_EXECUTOR_THREADS_THREAD_POOL_H_

#include <pthread.h>

#include <atomic>
#include <cstdint>
#include <deque>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/functional/any_invocable.h"
#include "absl/functional/function_ref.h"
#include "absl/time/time.h"
#include "executor/threads/service_threads.h"
#include "graph/base/mutex.h"
#include "kernels/device/task_runner.h"

namespace sluice {

class ParallelJob;

// Note [Exact size]
// A pool of n threads has n - 1 of its own: the n-th is the calling thread, which works in ParallelFor, in
// Executor::Run and in steps over several devices (StepTasks), so that at most n threads are busy for one caller. A
// pool of one still has a thread for scheduled tasks, started by the first Schedule: otherwise they might never run.

struct ThreadPoolOptions {
  // The caller included. 0: as many as there are processors for this process.
  int num_threads = 0;
  // How long a thread without work looks for more before it sleeps: handing work to a looking thread takes 0.1 us,
  // waking a sleeping one 20. Zero: sleeps at once.
  absl::Duration spin = absl::Microseconds(20);
  // Threads are called "<name>/1" to "<name>/<n - 1>", cut to what the system shows (15 bytes).
  std::string name = "sluice";
  // How threads are made; for tests.
  ServiceThreads::CreateThread create_thread = &pthread_create;
};

// Threads for nodes and for work inside kernels. They start with the first work; they spin for a while and sleep then,
// and are woken only when one sleeps and none looks for work. Tasks and shards run with denormals flushed.
// See Note [Exact size]. Thread-safe. Must outlive all calls; the destructor runs what is still queued and joins, and
// so cannot run on a thread of the pool's own.
class ThreadPool final : public TaskRunner {
 public:
  using Task = absl::AnyInvocable<void()>;

  explicit ThreadPool(const ThreadPoolOptions& options = {});
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;
  ~ThreadPool() override;

  // Queues `task`: oldest first. An exception of the task is logged. Where the system gives no thread at all, runs it.
  void Schedule(Task task) override ABSL_LOCKS_EXCLUDED(mu_);
  int num_threads() const override { return num_threads_; }
  bool HasWaitingTasks() const override { return available_.load(std::memory_order_relaxed) > 0; }
  // Shards are those of ShardPlan. Never runs queued tasks. Throws what the first shard to fail has thrown.
  void ParallelFor(int64_t total, double unit_ns, bool deterministic,
                   absl::FunctionRef<void(int64_t, int64_t)> work) override ABSL_LOCKS_EXCLUDED(mu_);

  // Whether the calling thread is one of the pool's own.
  bool IsOwnThread() const;
  // Threads that were started so far: 0 before the first work, num_threads() - 1 afterwards (1 for a pool of one).
  int num_started() const ABSL_LOCKS_EXCLUDED(mu_);

 private:
  // A ParallelFor that others may join.
  struct OpenJob {
    ParallelJob* const job;
    int places;                  // How many more threads may join. Guarded by mu_.
    std::atomic<int> active{0};  // Threads that joined and have not left. Changes under mu_, read without.
    OpenJob* older = nullptr;    // In the list of jobs. Guarded by mu_.
  };
  static void* ThreadMain(void* pool);
  void WorkerLoop() ABSL_LOCKS_EXCLUDED(mu_);
  // Runs one queued task, or helps with a ParallelFor. False when there was nothing to do.
  bool RunOne() ABSL_LOCKS_EXCLUDED(mu_);
  void Run(Task task);
  void StartThreadsLocked() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // Wakes sleepers for the work that has just been made available: up to `wanted`, less the threads that are searching
  // for work or waking up.
  void WakeForWorkLocked(int wanted) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  OpenJob* JoinJobLocked() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void WorkOn(OpenJob* open) ABSL_LOCKS_EXCLUDED(mu_);
  void Publish(OpenJob* open, double work_ns) ABSL_LOCKS_EXCLUDED(mu_);
  void Withdraw(OpenJob* open) ABSL_LOCKS_EXCLUDED(mu_);
  // Looks for work, without the lock, for the time that options give. True when there is some.
  bool Spin();
  // Sleeps until woken. False: the pool is being destroyed and nothing is left to do.
  bool SleepUntilWork() ABSL_LOCKS_EXCLUDED(mu_);

  // Immutable after construction.
  const int num_threads_;
  const int64_t spin_ns_;
  const std::string name_;
  const ServiceThreads::CreateThread create_thread_;

  mutable Mutex mu_;
  CondVar work_cv_;    // Own threads: there is work, or the end has come.
  CondVar joined_cv_;  // Threads in ParallelFor: a thread has left their job.
  std::deque<Task> tasks_ ABSL_GUARDED_BY(mu_);
  OpenJob* newest_job_ ABSL_GUARDED_BY(mu_) = nullptr;  // The list of jobs: the newest is joined first.
  std::vector<pthread_t> threads_ ABSL_GUARDED_BY(mu_);
  bool is_stopping_ ABSL_GUARDED_BY(mu_) = false;
  int num_sleeping_ ABSL_GUARDED_BY(mu_) = 0;
  int num_waking_ ABSL_GUARDED_BY(mu_) = 0;  // Of the sleeping: signalled, not yet awake.

  // Queued tasks and open places of jobs. Written under mu_; spinning threads read it without the lock.
  std::atomic<int64_t> available_{0};
  // Threads in Spin. Acquire and release: a thread that makes work available and then reads the spinner's presence here
  // is seen by the spinner, which looks at the queue after it has left.
  std::atomic<int> num_spinning_{0};
};

}  // namespace sluice

#endif  // SLUICE_EXECUTOR_THREADS_THREAD_POOL_H_

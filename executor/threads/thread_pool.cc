#include "executor/threads/thread_pool.h"

#include <algorithm>
#include <cstdio>
#include <utility>

#include "executor/threads/flush_denormals.h"
#include "executor/threads/parallel_job.h"
#include "executor/threads/processors.h"
#include "executor/threads/spin.h"
#include "graph/base/as_status.h"

namespace sluice {
namespace {

// Less work than this is not worth waking a thread that sleeps: it would come too late.
constexpr double kWakeNs = 60e3;

// The pool whose thread this is, or null.
thread_local ThreadPool* pool_of_thread = nullptr;

}  // namespace

ThreadPool::ThreadPool(const ThreadPoolOptions& options)
    : num_threads_(options.num_threads > 0 ? options.num_threads : NumProcessors()),
      spin_ns_(absl::ToInt64Nanoseconds(options.spin)),
      name_(options.name),
      create_thread_(options.create_thread) {}

ThreadPool::~ThreadPool() {
  std::vector<pthread_t> threads;
  {
    MutexLock lock(&mu_);
    is_stopping_ = true;
    threads.swap(threads_);
  }
  work_cv_.SignalAll();
  while (RunOne()) {
  }
  for (const pthread_t thread : threads) pthread_join(thread, nullptr);
  // What the last tasks queued.
  while (RunOne()) {
  }
}

bool ThreadPool::IsOwnThread() const { return pool_of_thread == this; }

void* ThreadPool::ThreadMain(void* pool) {
  pool_of_thread = static_cast<ThreadPool*>(pool);
  pool_of_thread->WorkerLoop();
  return nullptr;
}

void ThreadPool::StartThreadsLocked() {
  // Where the system gives no more threads, those that are there do the work. If the system gives no thread, the next
  // call tries again.
  if (!threads_.empty() || is_stopping_) return;
  const int wanted = std::max(1, num_threads_ - 1);
  threads_.reserve(static_cast<size_t>(wanted));  // Steps that can throw come first.
  for (int i = 1; i <= wanted; ++i) {
    pthread_t thread;
    if (create_thread_(&thread, nullptr, &ThreadMain, this) != 0) return;
    threads_.push_back(thread);
    char name[16];  // Longer ones are refused by the system.
    std::snprintf(name, sizeof(name), "%s/%d", name_.c_str(), i);
    pthread_setname_np(thread, name);
  }
}

void ThreadPool::WorkerLoop() {
  do {
    while (RunOne()) {
    }
    if (Spin()) continue;
    if (!SleepUntilWork()) return;
  } while (true);
}

void ThreadPool::WakeForWorkLocked(int wanted) {
  // A read that writes: see the member.
  const int num_spinning = num_spinning_.fetch_add(0, std::memory_order_acq_rel);
  int missing = wanted - num_spinning - num_waking_;
  for (; missing > 0 && num_waking_ < num_sleeping_; --missing) {
    ++num_waking_;
    work_cv_.Signal();
  }
}

void ThreadPool::Schedule(Task task) {
  {
    MutexLock lock(&mu_);
    StartThreadsLocked();
    if (!threads_.empty() || is_stopping_) {
      tasks_.push_back(std::move(task));
      const int64_t available = available_.fetch_add(1, std::memory_order_relaxed) + 1;
      return WakeForWorkLocked(static_cast<int>(std::min<int64_t>(available, num_threads_)));
    }
  }
  Run(std::move(task));
}

bool ThreadPool::RunOne() {
  Task task;
  OpenJob* open = nullptr;
  {
    MutexLock lock(&mu_);
    open = JoinJobLocked();
    if (open == nullptr) {
      if (tasks_.empty()) return false;
      task = std::move(tasks_.front());
      tasks_.pop_front();
      available_.fetch_sub(1, std::memory_order_relaxed);
    }
  }
  if (open != nullptr) {
    WorkOn(open);
    return true;
  }
  Run(std::move(task));
  return true;
}

void ThreadPool::Run(Task task) {
  const FlushDenormals flush;
  try {
    std::move(task)();
  } catch (...) {
    LogCaught("a task of a thread pool");
  }
}

ThreadPool::OpenJob* ThreadPool::JoinJobLocked() {
  while (newest_job_ != nullptr) {
    OpenJob* const open = newest_job_;
    if (open->job->IsExhausted()) {
      available_.fetch_sub(open->places, std::memory_order_relaxed);
      open->places = 0;
      newest_job_ = open->older;
      continue;
    }
    available_.fetch_sub(1, std::memory_order_relaxed);
    open->active.fetch_add(1, std::memory_order_relaxed);
    if (--open->places == 0) newest_job_ = open->older;
    return open;
  }
  return nullptr;
}

void ThreadPool::WorkOn(OpenJob* open) {
  open->job->Work();
  MutexLock lock(&mu_);
  // Releases the results to the caller of ParallelFor, who may be gone, and `open` with it, right after this.
  if (open->active.fetch_sub(1, std::memory_order_release) == 1) joined_cv_.SignalAll();
}

void ThreadPool::ParallelFor(int64_t total, double unit_ns, bool deterministic,
                             absl::FunctionRef<void(int64_t, int64_t)> work) {
  if (total <= 0) return;
  const ShardPlan plan(total, unit_ns, deterministic ? 0 : num_threads_);
  if (plan.size() == 1) {
    const FlushDenormals flush;
    work(0, total);
    return;
  }
  ParallelJob job(plan, work);
  const int places = static_cast<int>(std::min<int64_t>(num_threads_ - 1, plan.size() - 1));
  if (places == 0) {
    job.Work();
    return job.RethrowFailure();
  }
  OpenJob open{&job, places};
  Publish(&open, static_cast<double>(total) * unit_ns);
  job.Work();
  Withdraw(&open);
  job.RethrowFailure();
}

void ThreadPool::Publish(OpenJob* open, double work_ns) {
  MutexLock lock(&mu_);
  StartThreadsLocked();
  open->older = newest_job_;
  newest_job_ = open;
  available_.fetch_add(open->places, std::memory_order_relaxed);
  if (work_ns >= kWakeNs) WakeForWorkLocked(open->places);
}

void ThreadPool::Withdraw(OpenJob* open) {
  {
    MutexLock lock(&mu_);
    OpenJob** link = &newest_job_;
    while (*link != nullptr && *link != open) link = &(*link)->older;
    if (*link == open) {
      available_.fetch_sub(open->places, std::memory_order_relaxed);
      *link = open->older;
    }
  }
  const auto all_left = [open] { return open->active.load(std::memory_order_acquire) == 0; };
  if (SpinUntil(spin_ns_, all_left)) return;
  MutexLock lock(&mu_);
  while (!all_left()) joined_cv_.Wait(&mu_);
}

bool ThreadPool::Spin() {
  num_spinning_.fetch_add(1, std::memory_order_relaxed);
  const bool found = SpinUntil(spin_ns_, [&] { return available_.load(std::memory_order_relaxed) > 0; });
  num_spinning_.fetch_sub(1, std::memory_order_acq_rel);
  return found;
}

bool ThreadPool::SleepUntilWork() {
  MutexLock lock(&mu_);
  ++num_sleeping_;
  while (tasks_.empty() && newest_job_ == nullptr && !is_stopping_) {
    work_cv_.Wait(&mu_);
    if (num_waking_ > 0) --num_waking_;
  }
  --num_sleeping_;
  num_waking_ = std::min(num_waking_, num_sleeping_);
  return !tasks_.empty() || newest_job_ != nullptr;
}

int ThreadPool::num_started() const {
  MutexLock lock(&mu_);
  return static_cast<int>(threads_.size());
}

}  // namespace sluice

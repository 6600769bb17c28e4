#include "executor/thread_pool.h"

#include <immintrin.h>
#include <sched.h>
#include <time.h>

#include <algorithm>
#include <cstdio>
#include <exception>
#include <utility>

#include "executor/flush_denormals.h"
#include "executor/parallel_job.h"
#include "graph/base/check.h"

namespace sluice {
namespace {

// Less work than this is not worth waking a thread that sleeps: it would come too late.
constexpr double kWakeNs = 60e3;

int NumProcessors() {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof(set), &set) != 0) return 1;
  return std::max(1, CPU_COUNT(&set));
}

int64_t NowNs() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * int64_t{1000000000} + now.tv_nsec;
}

// Waits without sleeping until `stop()` holds or `ns` have passed; returns whether it holds. Pauses grow to 16, so
// that another thread on the same core is not slowed down, and the clock is read rarely.
template <typename Stop>
bool SpinUntil(int64_t ns, const Stop& stop) {
  if (stop()) return true;
  if (ns <= 0) return false;
  const int64_t end = NowNs() + ns;
  for (int pauses = 1;; pauses = std::min(pauses * 2, 16)) {
    for (int round = 0; round < 4; ++round) {
      for (int i = 0; i < pauses; ++i) _mm_pause();
      if (stop()) return true;
    }
    if (NowNs() >= end) return false;
  }
}

// HelpUntil calls on this thread's stack.
thread_local int help_depth = 0;

}  // namespace

ThreadPool::ThreadPool(const ThreadPoolOptions& options)
    : num_threads_(options.num_threads > 0 ? options.num_threads : NumProcessors()),
      spin_ns_(absl::ToInt64Nanoseconds(options.spin)),
      name_(options.name) {}

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

void* ThreadPool::ThreadMain(void* pool) {
  static_cast<ThreadPool*>(pool)->WorkerLoop();
  return nullptr;
}

void ThreadPool::StartThreadsLocked() {
  if (is_started_ || is_stopping_) return;
  threads_.reserve(static_cast<size_t>(num_threads_));  // What can throw comes first.
  is_started_ = true;
  for (int i = 1; i < num_threads_; ++i) {
    pthread_t thread;
    // Where the system gives no more threads, those that are there do the work.
    if (pthread_create(&thread, nullptr, &ThreadMain, this) != 0) return;
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
    if (Spin([] { return false; })) continue;
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
  for (auto it = sleepers_.rbegin(); missing > 0 && it != sleepers_.rend(); ++it) {
    if (!(*it)->is_waking) (*it)->cv.Signal();
    (*it)->is_waking = true;
    --missing;
  }
}

void ThreadPool::Schedule(Task task) {
  MutexLock lock(&mu_);
  StartThreadsLocked();
  tasks_.push_back(std::move(task));
  const int64_t available = available_.fetch_add(1, std::memory_order_relaxed) + 1;
  WakeForWorkLocked(static_cast<int>(std::min<int64_t>(available, num_threads_)));
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
  const FlushDenormals flush;
  try {
    std::move(task)();
  } catch (const std::exception& e) {
    SLUICE_LOG(ERROR) << "a task of the pool '" << name_ << "' has thrown an exception: " << e.what();
  } catch (...) {
    SLUICE_LOG(ERROR) << "a task of the pool '" << name_ << "' has thrown an exception of unknown type";
  }
  return true;
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

bool ThreadPool::Spin(absl::FunctionRef<bool()> done) {
  num_spinning_.fetch_add(1, std::memory_order_relaxed);
  const bool found = SpinUntil(spin_ns_, [&] { return available_.load(std::memory_order_relaxed) > 0 || done(); });
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

void ThreadPool::HelperSleep(absl::FunctionRef<bool()> done, absl::Time deadline, bool also_for_work) {
  Sleeper self{done, false, {}};
  MutexLock lock(&mu_);
  sleepers_.push_back(&self);
  num_sleepers_.fetch_add(1, std::memory_order_acq_rel);
  const bool has_work = !tasks_.empty() || newest_job_ != nullptr;
  if (!(also_for_work && has_work) && !done()) self.cv.WaitWithDeadline(&mu_, deadline);
  num_sleepers_.fetch_sub(1, std::memory_order_relaxed);
  sleepers_.erase(std::find(sleepers_.begin(), sleepers_.end(), &self));
}

void ThreadPool::PassOn() {
  if (available_.load(std::memory_order_relaxed) == 0) return;
  MutexLock lock(&mu_);
  const int64_t available = available_.load(std::memory_order_relaxed);
  WakeForWorkLocked(static_cast<int>(std::min<int64_t>(available, num_threads_)));
}

bool ThreadPool::HelpUntil(absl::FunctionRef<bool()> done, absl::Time deadline) {
  const bool is_deep = help_depth >= kMaxHelpDepth;
  ++help_depth;
  bool is_done = false;
  while (!(is_done = done())) {
    if (deadline != absl::InfiniteFuture() && absl::Now() >= deadline) break;
    if (is_deep) {
      HelperSleep(done, std::min(deadline, absl::Now() + absl::Milliseconds(1)), /*also_for_work=*/false);
      if (!done()) RunOne();
      continue;
    }
    if (RunOne() || Spin(done)) continue;
    HelperSleep(done, deadline, /*also_for_work=*/true);
  }
  --help_depth;
  PassOn();
  return is_done;
}

void ThreadPool::NotifyHelpers() {
  if (num_sleepers_.fetch_add(0, std::memory_order_acq_rel) == 0) return;
  MutexLock lock(&mu_);
  for (Sleeper* const sleeper : sleepers_) {
    if (!sleeper->done()) continue;
    sleeper->is_waking = true;
    sleeper->cv.Signal();
  }
}

int ThreadPool::num_started() const {
  MutexLock lock(&mu_);
  return static_cast<int>(threads_.size());
}

}  // namespace sluice

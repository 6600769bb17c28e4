#include "executor/runner_adapter.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "executor/threads/flush_denormals.h"
#include "executor/threads/parallel_job.h"
#include "graph/base/mutex.h"

namespace sluice {
namespace {

// Lets closures of the host, which may run long after the ParallelFor has returned, take part in it while it lasts.
// Shared by them and the caller. Thread-safe.
class Gate {
 public:
  explicit Gate(ParallelJob* job) : job_(job) {}

  // Takes part, unless the job is over.
  void Enter() ABSL_LOCKS_EXCLUDED(mu_) {
    ParallelJob* job = nullptr;
    {
      MutexLock lock(&mu_);
      if (job_ == nullptr) return;
      job = job_;
      ++num_inside_;
    }
    job->Work();
    MutexLock lock(&mu_);
    if (--num_inside_ == 0) left_.SignalAll();
  }

  // Admits no more threads and waits until all have left.
  void Close() ABSL_LOCKS_EXCLUDED(mu_) {
    MutexLock lock(&mu_);
    job_ = nullptr;
    while (num_inside_ > 0) left_.Wait(&mu_);
  }

 private:
  Mutex mu_;
  CondVar left_;
  ParallelJob* job_ ABSL_GUARDED_BY(mu_);
  int num_inside_ ABSL_GUARDED_BY(mu_) = 0;
};

}  // namespace

RunnerAdapter::RunnerAdapter(const Runner& runner, int num_threads)
    : runner_(runner), num_threads_(std::max(1, num_threads)) {}

void RunnerAdapter::Schedule(absl::AnyInvocable<void()> task) {
  runner_([task = std::move(task)]() mutable {
    const FlushDenormals flush;
    std::move(task)();
  });
}

void RunnerAdapter::ParallelFor(int64_t total, double unit_ns, bool deterministic,
                                absl::FunctionRef<void(int64_t, int64_t)> work) {
  if (total <= 0) return;
  const ShardPlan plan(total, unit_ns, deterministic ? 0 : num_threads_);
  ParallelJob job(plan, work);
  const int64_t num_offers = std::min<int64_t>(num_threads_, plan.size()) - 1;
  if (num_offers == 0) {
    job.Work();
    return job.RethrowFailure();
  }
  const auto gate = std::make_shared<Gate>(&job);
  try {
    for (int64_t i = 0; i < num_offers; ++i) runner_([gate] { gate->Enter(); });
  } catch (...) {
    // The host takes no more: those that it has taken, and the calling thread, do the work.
  }
  job.Work();
  gate->Close();
  job.RethrowFailure();
}

}  // namespace sluice

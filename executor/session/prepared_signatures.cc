#include "executor/session/prepared_signatures.h"

#include <algorithm>
#include <utility>

#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "executor/executor.h"
#include "executor/session/callable.h"
#include "graph/base/as_status.h"
#include "graph/base/status_macros.h"
#include "graph/base/stop_poll.h"

namespace sluice {
namespace {

// How often a waiting thread polls its cancellation.
constexpr absl::Duration kLook = absl::Milliseconds(5);
// A factory may wait for another thread, which may wait for what the factory's thread is preparing. To break that
// deadlock, a thread prepares by itself after this time, at the cost of double work.
constexpr absl::Duration kPatience = absl::Seconds(5);

thread_local bool this_thread_prepares = false;

}  // namespace

// One preparation that others may wait for. Its members but the first two are guarded by mu_.
struct PreparedSignatures::Work {
  Work(int64_t of, absl::Duration time_left) : generation(of), time(time_left) {}

  // Whether a thread with that deadline may wait for this: yes if it has no deadline, or not much more time than this.
  bool HasTimeFor(absl::Time deadline) const {
    return deadline == absl::InfiniteFuture() || deadline - absl::Now() <= time + time / 8;
  }

  const int64_t generation;
  const absl::Duration time;  // Time that the preparing thread had until its deadline.
  bool is_over = false;
  bool was_stopped = false;                  // The preparing thread's deadline or cancellation ended it.
  std::shared_ptr<const Callable> callable;  // Null: it has failed.
};

// While it lives, this thread prepares something. On the stack.
class PreparedSignatures::Preparing {
 public:
  Preparing() : outer_(std::exchange(this_thread_prepares, true)) {}
  Preparing(const Preparing&) = delete;
  Preparing& operator=(const Preparing&) = delete;
  ~Preparing() { this_thread_prepares = outer_; }

 private:
  const bool outer_;
};

std::shared_ptr<const Callable> PreparedSignatures::Find(absl::string_view key) {
  const auto found = by_key_.find(key);
  if (found == by_key_.end()) return nullptr;
  recent_.splice(recent_.begin(), recent_, found->second);
  return found->second->callable;
}

PreparedSignatures::Result PreparedSignatures::FindOrPrepare(const std::string& key, const PrepareOptions& options,
                                                             absl::FunctionRef<Result()> prepare) {
  bool shares = !this_thread_prepares;
  for (;;) {
    std::shared_ptr<Work> work, mine;
    int64_t generation;
    {
      MutexLock lock(&mu_);
      SLUICE_RETURN_IF_ERROR(closed_);
      std::shared_ptr<const Callable> kept = Find(key);
      if (kept != nullptr) return kept;
      generation = generation_;
      if (shares) {
        std::shared_ptr<Work>& known = under_way_[key];
        if (known == nullptr || known->generation != generation || !known->HasTimeFor(options.deadline)) {
          known = mine = std::make_shared<Work>(generation, options.deadline - absl::Now());
        }
        work = known;
      }
    }
    if (!shares) return PrepareAndKeep(key, generation, prepare);
    if (mine != nullptr) {
      Result result = PrepareAndKeep(key, generation, prepare);
      End(key, mine, options, result);
      return result;
    }
    SLUICE_RETURN_IF_ERROR(Wait(*work, options));
    MutexLock lock(&mu_);
    if (work->callable != nullptr) return work->callable;
    shares = work->was_stopped;
  }
}

void PreparedSignatures::End(const std::string& key, const std::shared_ptr<Work>& work, const PrepareOptions& options,
                             const Result& result) {
  StopPoll stop(options.deadline, options.cancellation);
  const absl::Status stopped = AsStatus([&] { return stop.Look(); });
  MutexLock lock(&mu_);
  work->is_over = true;
  // The deadline may have passed after another failure.
  work->was_stopped = !result.ok() && !stopped.ok() && result.status().code() == stopped.code();
  if (result.ok()) work->callable = *result;
  const auto known = under_way_.find(key);
  if (known != under_way_.end() && known->second == work) under_way_.erase(known);
  over_.SignalAll();
}

PreparedSignatures::Result PreparedSignatures::PrepareAndKeep(const std::string& key, int64_t generation,
                                                              absl::FunctionRef<Result()> prepare) {
  return AsStatus([&]() -> Result {
    const Preparing preparing;
    SLUICE_ASSIGN_OR_RETURN(std::shared_ptr<const Callable> callable, prepare());
    std::shared_ptr<const Callable> ended;  // Freed outside of the lock.
    MutexLock lock(&mu_);
    if (generation != generation_) return callable;
    // The factory, or a thread that did not wait, may have kept one. All callers must get the same: it may have state.
    std::shared_ptr<const Callable> kept = Find(key);
    if (kept != nullptr) {
      ended = std::move(callable);
      return kept;
    }
    std::list<Kept> added;
    added.push_front({key, callable});
    by_key_.emplace(added.front().key, added.begin());
    recent_.splice(recent_.begin(), added);  // Done after everything that can throw.
    if (recent_.size() > max_kept_) {
      by_key_.erase(recent_.back().key);
      ended = std::move(recent_.back().callable);
      recent_.pop_back();
    }
    return callable;
  });
}

absl::Status PreparedSignatures::Wait(const Work& work, const PrepareOptions& options) {
  BeforeWaiting();  // This may be inside of a `done` or a kernel.
  StopPoll stop(options.deadline, options.cancellation);
  const absl::Time give_up = absl::Now() + kPatience;
  const bool may_stop = options.cancellation != nullptr || options.deadline != absl::InfiniteFuture();
  MutexLock lock(&mu_);
  while (!work.is_over && closed_.ok() && absl::Now() < give_up) {
    SLUICE_RETURN_IF_ERROR(stop.Look());
    over_.WaitWithDeadline(&mu_, may_stop ? std::min(give_up, absl::Now() + kLook) : give_up);
  }
  return absl::OkStatus();
}

void PreparedSignatures::Clear() {
  std::list<Kept> ended;  // Freed outside of the lock.
  MutexLock lock(&mu_);
  ++generation_;
  by_key_.clear();
  ended.swap(recent_);
}

void PreparedSignatures::Close(const absl::Status& status) {
  MutexLock lock(&mu_);
  closed_ = status;
  over_.SignalAll();
}

void PreparedSignatures::ForgetUnderWay() {
  MutexLock lock(&mu_);
  ++generation_;
}

size_t PreparedSignatures::size() const {
  MutexLock lock(&mu_);
  return by_key_.size();
}

}  // namespace sluice

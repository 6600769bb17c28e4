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

// How often a thread that waits looks whether it is cancelled.
constexpr absl::Duration kLook = absl::Milliseconds(5);
// A factory may wait for another thread, which may want what the factory's thread is preparing. So nobody waits for
// ever: after this time a thread prepares by itself, which costs work and nothing else.
constexpr absl::Duration kPatience = absl::Seconds(5);

thread_local bool this_thread_prepares = false;

}  // namespace

// One preparation that others may wait for. Its members but the first are guarded by mu_.
struct PreparedSignatures::Work {
  explicit Work(int64_t of) : generation(of) {}

  const int64_t generation;
  bool is_over = false;
  bool was_stopped = false;                  // By the deadline or the cancellation of the thread that prepared.
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
      std::shared_ptr<const Callable> kept = Find(key);
      if (kept != nullptr) return kept;
      generation = generation_;
      if (shares) {
        std::shared_ptr<Work>& known = under_way_[key];
        if (known == nullptr || known->generation != generation) known = mine = std::make_shared<Work>(generation);
        work = known;
      }
    }
    if (!shares) return PrepareAndKeep(key, generation, prepare);
    if (mine != nullptr) {
      Result result = PrepareAndKeep(key, generation, prepare);
      StopPoll stop(options.deadline, options.cancellation);
      const bool was_stopped = !result.ok() && !AsStatus([&] { return stop.Look(); }).ok();
      MutexLock lock(&mu_);
      mine->is_over = true;
      mine->was_stopped = was_stopped;
      if (result.ok()) mine->callable = *result;
      const auto known = under_way_.find(key);
      if (known != under_way_.end() && known->second == mine) under_way_.erase(known);
      over_.SignalAll();
      return result;
    }
    SLUICE_RETURN_IF_ERROR(Wait(*work, options));
    MutexLock lock(&mu_);
    if (work->callable != nullptr) return work->callable;
    shares = work->was_stopped;
  }
}

PreparedSignatures::Result PreparedSignatures::PrepareAndKeep(const std::string& key, int64_t generation,
                                                              absl::FunctionRef<Result()> prepare) {
  return AsStatus([&]() -> Result {
    const Preparing preparing;
    SLUICE_ASSIGN_OR_RETURN(std::shared_ptr<const Callable> callable, prepare());
    std::shared_ptr<const Callable> ended;  // Freed outside of the lock.
    MutexLock lock(&mu_);
    if (generation != generation_ || by_key_.count(key) > 0) return callable;
    std::list<Kept> added;
    added.push_front({key, callable});
    by_key_.emplace(added.front().key, added.begin());
    recent_.splice(recent_.begin(), added);  // What can throw came first.
    if (recent_.size() > max_kept_) {
      by_key_.erase(recent_.back().key);
      ended = std::move(recent_.back().callable);
      recent_.pop_back();
    }
    return callable;
  });
}

absl::Status PreparedSignatures::Wait(const Work& work, const PrepareOptions& options) {
  BeforeWaiting();  // Perhaps in a `done`, or in a kernel.
  StopPoll stop(options.deadline, options.cancellation);
  const absl::Time give_up = absl::Now() + kPatience;
  const bool may_stop = options.cancellation != nullptr || options.deadline != absl::InfiniteFuture();
  MutexLock lock(&mu_);
  while (!work.is_over && absl::Now() < give_up) {
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

void PreparedSignatures::ForgetUnderWay() {
  MutexLock lock(&mu_);
  ++generation_;
}

size_t PreparedSignatures::size() const {
  MutexLock lock(&mu_);
  return by_key_.size();
}

}  // namespace sluice

#include "executor/session/session_graph.h"

#include <utility>

#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "graph/base/error.h"
#include "graph/base/status_macros.h"

namespace sluice {
namespace {

// How often a reader that waits for an addition polls its `stop`.
constexpr absl::Duration kLook = absl::Milliseconds(5);

absl::Status Forgotten() {
  return Error(ErrorCode::kWrongUse).Text("the session is finalised: it runs what was prepared before");
}

}  // namespace

// While it lives, after a successful Begin, the graph does not change. One thread's, on the stack; not nested.
class SessionGraph::Reading {
 public:
  explicit Reading(const SessionGraph& of) : of_(of) {}
  Reading(const Reading&) = delete;
  Reading& operator=(const Reading&) = delete;
  ~Reading() {
    if (!is_reading_ && !is_waiting_) return;
    MutexLock lock(&of_.mu_);
    if (is_waiting_) EndWait();
    if (is_reading_) --of_.num_reading_;
    if (of_.num_reading_ == 0 && of_.num_writing_ > 0) of_.changed_.SignalAll();
  }

  absl::Status Begin(StopPoll* stop) {
    MutexLock lock(&of_.mu_);
    seen_ = of_.num_written_;
    ++of_.num_waiting_;
    is_waiting_ = true;
    // Of the waiting writers it lets one go first.
    while (of_.is_writing_ || (of_.num_writing_ > 0 && of_.num_written_ == seen_)) {
      if (stop != nullptr) SLUICE_RETURN_IF_ERROR(stop->Look());
      of_.changed_.WaitWithDeadline(&of_.mu_, stop == nullptr ? absl::InfiniteFuture() : absl::Now() + kLook);
    }
    EndWait();
    is_reading_ = true;
    ++of_.num_reading_;
    return absl::OkStatus();
  }

 private:
  void EndWait() ABSL_EXCLUSIVE_LOCKS_REQUIRED(of_.mu_) {
    is_waiting_ = false;
    --of_.num_waiting_;
    if (of_.num_written_ > seen_) --of_.num_due_;
  }

  const SessionGraph& of_;
  bool is_waiting_ = false, is_reading_ = false;
  int64_t seen_ = 0;  // What num_written_ was when it began to wait.
};

// While it lives, the graph is this thread's alone. On the stack.
class SessionGraph::Writing {
 public:
  explicit Writing(SessionGraph& of) : of_(of) {
    MutexLock lock(&of_.mu_);
    ++of_.num_writing_;
    while (of_.num_reading_ > 0 || of_.num_due_ > 0 || of_.is_writing_) of_.changed_.Wait(&of_.mu_);
    of_.is_writing_ = true;
  }
  Writing(const Writing&) = delete;
  Writing& operator=(const Writing&) = delete;
  ~Writing() {
    MutexLock lock(&of_.mu_);
    of_.is_writing_ = false;
    --of_.num_writing_;
    ++of_.num_written_;
    of_.num_due_ = of_.num_waiting_;  // Those due before this writer have all read.
    of_.changed_.SignalAll();
  }

  void CountVersion() {
    MutexLock lock(&of_.mu_);
    ++of_.version_;
    of_.is_forgotten_ = of_.graph_ == nullptr;
  }

 private:
  SessionGraph& of_;
};

absl::StatusOr<FeedFetchGraph> SessionGraph::Cut(const FeedFetchSpec& spec, const FeedFetchOptions& options) const {
  Reading reading(*this);
  SLUICE_RETURN_IF_ERROR(reading.Begin(options.stop));
  if (graph_ == nullptr) return Forgotten();
  return ApplyFeedsAndFetches(*graph_, spec, options);
}

absl::StatusOr<SessionGraph::Part> SessionGraph::CutPart(const FeedFetchSpec& spec, const FeedFetchOptions& options,
                                                         const KernelStore& kernels, bool with_homes) const {
  Reading reading(*this);
  SLUICE_RETURN_IF_ERROR(reading.Begin(options.stop));
  if (graph_ == nullptr) return Forgotten();
  const int64_t kernel_generation = kernels.generation();
  SLUICE_ASSIGN_OR_RETURN(FeedFetchGraph needed, ApplyFeedsAndFetches(*graph_, spec, options));
  return Part{std::move(needed), version(), kernel_generation, with_homes ? Homes() : nullptr};
}

std::shared_ptr<const StateHomes> SessionGraph::Homes() const {
  std::pair<int64_t, int32_t> now;
  {
    MutexLock lock(&mu_);
    now = {version_, graph_->id_limit()};
    if (homes_ != nullptr && homes_of_ == now) return homes_;
  }
  auto found = std::make_shared<const StateHomes>(*graph_);
  MutexLock lock(&mu_);
  homes_of_ = now;
  homes_ = found;
  return found;
}

absl::Status SessionGraph::Extend(GraphSource added, const LoadLimits& limits) {
  const Writing writing(*this);
  if (graph_ == nullptr) return Forgotten();
  if (own_ == nullptr) Own(std::make_shared<Graph>(*graph_));
  return extender_.Extend(*own_, std::move(added), limits);
}

absl::Status SessionGraph::Replace(Graph graph, absl::FunctionRef<void(const Graph& next)> before) {
  auto next = std::make_shared<Graph>(std::move(graph));
  std::shared_ptr<const Graph> ended;  // Goes without a lock.
  GraphExtender extender;
  Writing writing(*this);
  if (graph_ == nullptr) return Forgotten();
  before(*next);
  ended.swap(graph_);
  Own(std::move(next));
  std::swap(extender_, extender);
  writing.CountVersion();
  return absl::OkStatus();
}

void SessionGraph::Forget() {
  std::shared_ptr<const Graph> ended;
  GraphExtender extender;
  Writing writing(*this);
  graph_.swap(ended);
  own_ = nullptr;
  std::swap(extender_, extender);
  writing.CountVersion();
}

std::shared_ptr<const Graph> SessionGraph::Copy() const {
  Reading reading(*this);
  reading.Begin(nullptr).IgnoreError();  // Without a `stop` it cannot fail.
  return graph_ == nullptr ? nullptr : std::make_shared<const Graph>(*graph_);
}

absl::Status SessionGraph::CheckIsThere() const {
  MutexLock lock(&mu_);
  return is_forgotten_ ? Forgotten() : absl::OkStatus();
}

int64_t SessionGraph::version() const {
  MutexLock lock(&mu_);
  return version_;
}

}  // namespace sluice

#include "kernels/queues/barrier.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "graph/base/error.h"
#include "graph/base/status_macros.h"
#include "graph/value/tstring.h"
#include "kernels/input_error.h"

namespace sluice {

struct Barrier::TakeWaiter final : Waiter {
  TakeWaiter(Barrier& b, const TakeOptions& o, TakeDone d) : barrier(b), options(o), done(std::move(d)) {}
  Progress Try() override {
    absl::Status failure;
    const Progress progress = barrier.TryTake(*this, &failure);
    Fail(std::move(failure));
    return progress;
  }
  void Finish(absl::Status status) override { done(std::move(status), std::move(taken)); }

  Barrier& barrier;
  const TakeOptions options;
  std::vector<QueueElement> taken;
  TakeDone done;
};

Barrier::Barrier(QueueSpec spec)
    : Resource(kTypeName), spec_(std::move(spec)), room_({WaitingRoom::Order::kInTurn}), ready_(NewPriorityStore()) {}

absl::Status Barrier::Insert(const Tensor& keys, std::vector<QueueElement> values, size_t component) {
  absl::Status status;
  {
    MutexLock lock(&room_.mu);
    bool has_new = false;
    for (size_t i = 0; i < values.size() && status.ok(); ++i) {
      status = InsertOne(keys.flat<TString>()[i].view(), std::move(values[i][0]), component, &has_new);
    }
    if (has_new) ++next_index_;
  }
  room_.Serve();
  return status;
}

absl::Status Barrier::InsertOne(absl::string_view key, Tensor value, size_t component, bool* is_new) {
  auto found = incomplete_.find(std::string(key));
  if (found == incomplete_.end()) {
    if (is_closed_) {
      return Error(ErrorCode::kResourceClosed)
          .Found(absl::StrCat("key '", PrintableName(key), "'"))
          .Text("the barrier is closed and takes no new key");
    }
    Incomplete element;
    element.index = next_index_;
    element.components.resize(spec_.types.size());
    element.num_missing = spec_.types.size();
    found = incomplete_.emplace(std::string(key), std::move(element)).first;
    *is_new = true;
  }
  Incomplete& element = found->second;
  if (element.components[component].has_value()) {
    return ValueError(1, "keys", absl::StrCat("key '", PrintableName(key), "'"),
                      absl::StrCat("a key without component ", component));
  }
  element.components[component] = std::move(value);
  if (--element.num_missing > 0) return absl::OkStatus();
  QueueElement complete = {Tensor::Scalar(element.index), Tensor::String(key)};
  for (Tensor& part : element.components) complete.push_back(std::move(part));
  incomplete_.erase(found);
  ready_->Put(std::move(complete));
  return absl::OkStatus();
}

void Barrier::Take(const TakeOptions& options, CancellationManager* cancellation, TakeDone done) {
  room_.Submit(0, std::make_unique<TakeWaiter>(*this, options, std::move(done)), cancellation,
               CountedPtr<const Counted>::Share(this));
}

Waiter::Progress Barrier::TryTake(TakeWaiter& waiter, absl::Status* failure) {
  room_.mu.AssertHeld();
  const TakeOptions& options = waiter.options;
  int64_t count = options.count;
  if (is_closed_) {
    const int64_t ready = ready_->size();
    const bool counts_incomplete = !options.allow_small_batch || options.wait_for_incomplete;
    const int64_t available = ready + (counts_incomplete ? static_cast<int64_t>(incomplete_.size()) : 0);
    if (options.allow_small_batch) count = std::min(count, available);
    if (available < std::max<int64_t>(count, 1)) {
      *failure =
          Error(ErrorCode::kOpRange)
              .Text(absl::StrCat("the barrier is closed and has too few elements: ", available, " of ", options.count));
      return Waiter::Progress::kDone;
    }
  }
  if (ready_->size() < count) return Waiter::Progress::kNone;
  ready_->TakeTo(count, waiter.taken);
  return Waiter::Progress::kDone;
}

void Barrier::PutBack(std::vector<QueueElement> elements) {
  {
    MutexLock lock(&room_.mu);
    for (QueueElement& element : elements) ready_->PutBack(std::move(element));
  }
  room_.Serve();
}

absl::Status Barrier::Close(bool cancel_pending) {
  HashMap<std::string, Incomplete> ended;  // Freed without the lock.
  {
    MutexLock lock(&room_.mu);
    if (is_closed_ && (is_cancelled_ || !cancel_pending)) {
      return Error(ErrorCode::kResourceClosed).Text("the barrier is closed already");
    }
    is_closed_ = true;
    is_cancelled_ |= cancel_pending;
    if (cancel_pending) std::swap(ended, incomplete_);
  }
  room_.Serve();
  return absl::OkStatus();
}

int64_t Barrier::num_ready() const {
  MutexLock lock(&room_.mu);
  return ready_->size();
}

int64_t Barrier::num_incomplete() const {
  MutexLock lock(&room_.mu);
  return static_cast<int64_t>(incomplete_.size());
}

std::string Barrier::DebugString() const {
  return absl::StrCat(spec_.ToString(), " with ", num_ready(), " elements, and ", num_incomplete(), " incomplete ones");
}

}  // namespace sluice

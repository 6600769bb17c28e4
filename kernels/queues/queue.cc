#include "kernels/queues/queue.h"

#include <algorithm>
#include <random>
#include <utility>

#include "absl/strings/str_cat.h"
#include "graph/base/error.h"

namespace sluice {
namespace {

std::unique_ptr<QueueStore> NewStore(const QueueSpec& spec) {
  if (spec.kind == "RandomShuffleQueue") {
    uint64_t seed = static_cast<uint64_t>(spec.seed), seed2 = static_cast<uint64_t>(spec.seed2);
    if (seed == 0 && seed2 == 0) {
      std::random_device device;  // Unpredictable seeds.
      seed = uint64_t{device()} << 32 | device();
      seed2 = uint64_t{device()} << 32 | device();
    }
    return NewShuffleStore(seed, seed2, spec.min_after_dequeue);
  }
  if (spec.kind == "PriorityQueue") return NewPriorityStore();
  return NewFifoStore();
}

absl::Status Closed() { return Error(ErrorCode::kResourceClosed).Text("the queue is closed"); }

}  // namespace

struct Queue::PutWaiter final : Waiter {
  PutWaiter(Queue& q, std::vector<QueueElement> e, Done d) : queue(q), elements(std::move(e)), done(std::move(d)) {}
  Progress Try() override {
    absl::Status failure;
    const Progress progress = queue.TryPut(*this, &failure);
    Fail(std::move(failure));
    return progress;
  }
  void Finish(absl::Status status) override { done(std::move(status)); }

  Queue& queue;
  std::vector<QueueElement> elements;
  size_t next = 0;  // The first that has not been put yet.
  Done done;
};

struct Queue::TakeWaiter final : Waiter {
  TakeWaiter(Queue& q, int64_t n, bool f, TakeDone d) : queue(q), count(n), or_fewer(f), done(std::move(d)) {}
  Progress Try() override {
    absl::Status failure;
    const Progress progress = queue.TryTake(*this, &failure);
    Fail(std::move(failure));
    return progress;
  }
  void GiveUp() override ABSL_NO_THREAD_SAFETY_ANALYSIS { queue.PutBackLocked(taken); }
  void Finish(absl::Status status) override { done(std::move(status), std::move(taken)); }

  Queue& queue;
  int64_t count;
  const bool or_fewer;
  std::vector<QueueElement> taken;
  TakeDone done;
};

struct Queue::CloseWaiter final : Waiter {
  CloseWaiter(Queue& q, Done d) : queue(q), done(std::move(d)) {}
  Progress Try() override {
    absl::Status failure;
    const Progress progress = queue.TryClose(&failure);
    Fail(std::move(failure));
    return progress;
  }
  void Finish(absl::Status status) override { done(std::move(status)); }

  Queue& queue;
  Done done;
};

Queue::Queue(QueueSpec spec)
    : Resource(kTypeName),
      spec_(std::move(spec)),
      room_({WaitingRoom::Order::kInTurn, WaitingRoom::Order::kInTurn}),
      store_(NewStore(spec_)) {}

void Queue::Put(std::vector<QueueElement> elements, CancellationManager* cancellation, Done done) {
  room_.Submit(kPutters, std::make_unique<PutWaiter>(*this, std::move(elements), std::move(done)), cancellation,
               Self());
}

Waiter::Progress Queue::TryPut(PutWaiter& waiter, absl::Status* failure) {
  room_.mu.AssertHeld();
  if (is_closed_) {
    *failure = Closed();
    return Waiter::Progress::kDone;
  }
  const size_t before = waiter.next;
  while (waiter.next < waiter.elements.size() && store_->size() < spec_.capacity) {
    store_->Put(std::move(waiter.elements[waiter.next]));
    ++waiter.next;
  }
  if (waiter.next == waiter.elements.size()) return Waiter::Progress::kDone;
  return waiter.next > before ? Waiter::Progress::kSome : Waiter::Progress::kNone;
}

void Queue::Take(int64_t count, bool or_fewer, CancellationManager* cancellation, TakeDone done) {
  room_.Submit(kTakers, std::make_unique<TakeWaiter>(*this, count, or_fewer, std::move(done)), cancellation, Self());
}

Waiter::Progress Queue::TryTake(TakeWaiter& waiter, absl::Status* failure) {
  room_.mu.AssertHeld();
  const int64_t missing = waiter.count - static_cast<int64_t>(waiter.taken.size());
  if (is_closed_ && store_->size() < missing) {
    PutBackLocked(waiter.taken);
    // A PriorityQueue never gives fewer, as in TensorFlow.
    const bool takes_fewer = waiter.or_fewer && spec_.kind != "PriorityQueue" && store_->size() > 0;
    if (!takes_fewer) {
      *failure = Error(ErrorCode::kOpRange)
                     .Text(absl::StrCat("the queue is closed and has too few elements: ", store_->size(), " of ",
                                        waiter.count));
      return Waiter::Progress::kDone;
    }
    waiter.count = store_->size();
  }
  const int64_t wanted = waiter.count - static_cast<int64_t>(waiter.taken.size());
  const int64_t ready = store_->NumReady(is_closed_);
  // Elements that come by their keys are taken all at once, so that none is before one of an earlier part.
  if (spec_.kind == "PriorityQueue" && ready < wanted) return Waiter::Progress::kNone;
  const int64_t now = std::min(wanted, ready);
  store_->TakeTo(now, waiter.taken);
  if (now == wanted) return Waiter::Progress::kDone;
  return now > 0 ? Waiter::Progress::kSome : Waiter::Progress::kNone;
}

void Queue::PutBackLocked(std::vector<QueueElement>& elements) {
  for (auto element = elements.rbegin(); element != elements.rend(); ++element) store_->PutBack(std::move(*element));
  elements.clear();
}

void Queue::PutBack(std::vector<QueueElement> elements) {
  {
    MutexLock lock(&room_.mu);
    PutBackLocked(elements);
  }
  room_.Serve();
}

void Queue::Close(bool cancel_pending, CancellationManager* cancellation, Done done) {
  if (!cancel_pending) {
    room_.Submit(kPutters, std::make_unique<CloseWaiter>(*this, std::move(done)), cancellation, Self());
    return;
  }
  {
    MutexLock lock(&room_.mu);
    is_closed_ = true;
    room_.Dismiss(kPutters,
                  Error(ErrorCode::kResourceClosed).Text("was cancelled: the queue was closed while this waited"));
  }
  room_.Serve();
  done(absl::OkStatus());
}

Waiter::Progress Queue::TryClose(absl::Status* failure) {
  room_.mu.AssertHeld();
  if (is_closed_) *failure = Error(ErrorCode::kResourceClosed).Text("the queue is closed already");
  is_closed_ = true;
  return Waiter::Progress::kDone;
}

int64_t Queue::size() const {
  MutexLock lock(&room_.mu);
  return store_->size();
}

bool Queue::is_closed() const {
  MutexLock lock(&room_.mu);
  return is_closed_;
}

std::string Queue::DebugString() const {
  return absl::StrCat(spec_.ToString(), " with ", size(), " elements", is_closed() ? ", closed" : "");
}

}  // namespace sluice

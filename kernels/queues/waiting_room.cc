#include "kernels/queues/waiting_room.h"

#include "graph/base/error.h"

namespace sluice {
namespace {

// Where there is no memory for the text, the code: a waiter that is cancelled ends whatever happens.
absl::Status Cancelled() noexcept {
  try {
    return Error(ErrorCode::kRunCancelled).Text("the run was cancelled while this waited");
  } catch (...) {
    return absl::Status(absl::StatusCode::kCancelled, "");
  }
}

}  // namespace

WaitingRoom::WaitingRoom(std::initializer_list<Order> lines) {
  for (const Order order : lines) lines_.push_back({order, {}});
}

// One by one: a chain of them that ended itself would take as much stack.
WaitingRoom::Ended::~Ended() {
  while (Pop() != nullptr) {
  }
}

void WaitingRoom::Ended::Push(std::unique_ptr<Waiter> waiter) {
  Waiter* const added = waiter.get();
  (last_ != nullptr ? last_->next_ended_ : first_) = std::move(waiter);
  last_ = added;
}

std::unique_ptr<Waiter> WaitingRoom::Ended::Pop() {
  std::unique_ptr<Waiter> popped = std::move(first_);
  if (popped != nullptr) first_ = std::move(popped->next_ended_);
  if (first_ == nullptr) last_ = nullptr;
  return popped;
}

void WaitingRoom::Ended::Swap(Ended& other) {
  std::swap(first_, other.first_);
  std::swap(last_, other.last_);
}

void WaitingRoom::Finish(Ended& ended) {
  while (const std::unique_ptr<Waiter> waiter = ended.Pop()) {
    // Never waits: a callback that runs now looks for a waiter that is no longer in its line.
    if (waiter->cancellation_ != nullptr) waiter->cancellation_->TryDeregisterCallback(waiter->token_);
    waiter->Finish(std::move(waiter->status_));
  }
}

bool WaitingRoom::ServeLine(Line& line) {
  bool has_changed = false;
  for (auto at = line.waiting.begin(); at != line.waiting.end();) {
    const Waiter::Progress progress = at->second->Try();
    has_changed |= progress != Waiter::Progress::kNone;
    if (progress == Waiter::Progress::kDone) {
      ended_.Push(std::move(at->second));
      at = line.waiting.erase(at);
    } else if (line.order == Order::kInTurn) {
      break;
    } else {
      ++at;
    }
  }
  return has_changed;
}

void WaitingRoom::ServeLines() {
  for (bool has_changed = true; has_changed;) {
    has_changed = false;
    for (Line& line : lines_) has_changed |= ServeLine(line);
  }
}

void WaitingRoom::Serve() {
  Ended ended;
  {
    MutexLock lock(&mu);
    ServeLines();
    ended.Swap(ended_);
  }
  Finish(ended);
}

void WaitingRoom::Submit(int line_number, std::unique_ptr<Waiter> waiter, CancellationManager* cancellation,
                         CountedPtr<const Counted> owner) {
  Ended ended;
  {
    MutexLock lock(&mu);
    Line& line = lines_[Index(line_number)];
    const bool is_first = line.waiting.empty() || line.order == Order::kAnyOrder;
    const Waiter::Progress progress = is_first ? waiter->Try() : Waiter::Progress::kNone;
    if (progress == Waiter::Progress::kDone) {
      ended_.Push(std::move(waiter));
    } else {
      Enter(line_number, std::move(waiter), cancellation, std::move(owner));
    }
    // The others had been served before: they wait for what this one has changed.
    if (progress != Waiter::Progress::kNone) ServeLines();
    ended.Swap(ended_);
  }
  Finish(ended);
}

void WaitingRoom::Enter(int line_number, std::unique_ptr<Waiter> waiter, CancellationManager* cancellation,
                        CountedPtr<const Counted> owner) {
  Line& line = lines_[Index(line_number)];
  const uint64_t number = next_number_++;
  Waiter* const entered = waiter.get();
  try {
    line.waiting[number] = std::move(waiter);
    if (!Register(*entered, line_number, number, cancellation, std::move(owner))) Take(line, number);
  } catch (...) {
    entered->GiveUp();
    line.waiting.erase(number);
    throw;
  }
}

bool WaitingRoom::Register(Waiter& waiter, int line, uint64_t number, CancellationManager* cancellation,
                           CountedPtr<const Counted> owner) {
  if (cancellation == nullptr) return true;
  waiter.token_ = cancellation->NewToken();
  // The callback waits for this lock: it finds the waiter in its line.
  const bool is_registered = cancellation->RegisterCallback(
      waiter.token_, [this, owner = std::move(owner), line, number] { Cancel(line, number); });
  if (is_registered) waiter.cancellation_ = cancellation;
  return is_registered;
}

void WaitingRoom::Take(Line& line, uint64_t number) {
  const auto found = line.waiting.find(number);
  if (found == line.waiting.end()) return;
  found->second->GiveUp();
  found->second->status_ = Cancelled();
  ended_.Push(std::move(found->second));
  line.waiting.erase(found);
}

void WaitingRoom::Cancel(int line_number, uint64_t number) {
  Ended ended;
  {
    MutexLock lock(&mu);
    Line& line = lines_[Index(line_number)];
    Take(line, number);
    // Others may be next now. Where none waits for another, that would cost each cancellation a look at all of them.
    if (line.order == Order::kInTurn) ServeLines();
    ended.Swap(ended_);
  }
  Finish(ended);
}

void WaitingRoom::Dismiss(int line_number, const absl::Status& status) {
  Line& line = lines_[Index(line_number)];
  for (auto& [number, waiter] : line.waiting) {
    waiter->GiveUp();
    waiter->status_ = status;
    ended_.Push(std::move(waiter));
  }
  line.waiting.clear();
}

}  // namespace sluice

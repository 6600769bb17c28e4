#include "kernels/queues/waiting_room.h"

#include "graph/base/error.h"

namespace sluice {

WaitingRoom::WaitingRoom(std::initializer_list<Order> lines) {
  for (const Order order : lines) lines_.push_back({order, {}});
}

void WaitingRoom::Finish(Waiters ended) {
  for (const std::unique_ptr<Waiter>& waiter : ended) {
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
      ended_.push_back(std::move(at->second));
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
  Waiters ended;
  {
    MutexLock lock(&mu);
    ServeLines();
    ended.swap(ended_);
  }
  Finish(std::move(ended));
}

void WaitingRoom::Submit(int line_number, std::unique_ptr<Waiter> waiter, CancellationManager* cancellation,
                         CountedPtr<const Counted> owner) {
  Waiters ended;
  {
    MutexLock lock(&mu);
    Line& line = lines_[Index(line_number)];
    const bool is_first = line.waiting.empty() || line.order == Order::kAnyOrder;
    const Waiter::Progress progress = is_first ? waiter->Try() : Waiter::Progress::kNone;
    if (progress == Waiter::Progress::kDone) {
      ended_.push_back(std::move(waiter));
    } else {
      const uint64_t number = next_number_++;
      Waiter& waiting = *line.waiting.emplace(number, std::move(waiter)).first->second;
      if (cancellation != nullptr) {
        waiting.token_ = cancellation->NewToken();
        // The callback waits for this lock: it finds the waiter in its line.
        const bool is_registered = cancellation->RegisterCallback(
            waiting.token_, [this, owner = std::move(owner), line_number, number] { Cancel(line_number, number); });
        if (is_registered) {
          waiting.cancellation_ = cancellation;
        } else {
          waiting.GiveUp();
          waiting.status_ = Error(ErrorCode::kRunCancelled).Text("the run was cancelled while this waited");
          ended_.push_back(std::move(line.waiting.find(number)->second));
          line.waiting.erase(number);
        }
      }
    }
    ServeLines();
    ended.swap(ended_);
  }
  Finish(std::move(ended));
}

void WaitingRoom::Cancel(int line_number, uint64_t number) {
  Waiters ended;
  {
    MutexLock lock(&mu);
    Line& line = lines_[Index(line_number)];
    const auto found = line.waiting.find(number);
    if (found == line.waiting.end()) return;
    found->second->GiveUp();
    found->second->status_ = Error(ErrorCode::kRunCancelled).Text("the run was cancelled while this waited");
    ended_.push_back(std::move(found->second));
    line.waiting.erase(found);
    ServeLines();  // Others may be next now.
    ended.swap(ended_);
  }
  Finish(std::move(ended));
}

void WaitingRoom::Dismiss(int line_number, const absl::Status& status) {
  Line& line = lines_[Index(line_number)];
  for (auto& [number, waiter] : line.waiting) {
    waiter->GiveUp();
    waiter->status_ = status;
    ended_.push_back(std::move(waiter));
  }
  line.waiting.clear();
}

}  // namespace sluice

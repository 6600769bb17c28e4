#ifndef SLUICE_KERNELS_QUEUES_WAITING_ROOM_H_
#define SLUICE_KERNELS_QUEUES_WAITING_ROOM_H_

#include <cstdint>
#include <initializer_list>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "graph/base/cancellation.h"
#include "graph/base/mutex.h"
#include "graph/value/counted.h"

namespace sluice {

// An operation that may have to wait. Made and finished outside of all locks; Try and GiveUp run under the lock of its
// room, one thread's at a time.
class Waiter {
 public:
  enum class Progress { kNone, kSome, kDone };

  virtual ~Waiter() = default;
  // Does what can be done now. kDone: the operation is over, with the status that Fail was given, or OK.
  virtual Progress Try() = 0;
  // The operation was cancelled: gives back what it has taken. Only in a line that goes in turn.
  virtual void GiveUp() {}
  // Called once, last, without a lock.
  virtual void Finish(absl::Status status) = 0;

 protected:
  void Fail(absl::Status status) { status_ = std::move(status); }

 private:
  friend class WaitingRoom;
  std::unique_ptr<Waiter> next_ended_;
  absl::Status status_;
  CancellationManager* cancellation_ = nullptr;  // With a callback of this waiter's; else null.
  CancellationToken token_ = 0;
};

// Keeps operations on one resource in lines until they can be done. Blocks no thread: an operation waits as a small
// object, and is done by the thread that makes it possible.
//
//   struct Take : Waiter { Progress Try() override { return queue->TryTake(*this); } ... };
//   room_.Submit(kTakers, std::move(take), run.cancellation, CountedPtr<const Counted>::Share(this));
//
// Each waiter is finished once: by the thread that takes it out of its line (under `mu`), after it has released `mu`.
// Member of a resource, whose state `mu` guards, too. Thread-safe.
class WaitingRoom {
 public:
  enum class Order {
    kInTurn,    // Only the first waiter of the line may proceed.
    kAnyOrder,  // Every waiter may proceed: after each change all of them try.
  };
  // One line for each element.
  explicit WaitingRoom(std::initializer_list<Order> lines);
  WaitingRoom(const WaitingRoom&) = delete;
  WaitingRoom& operator=(const WaitingRoom&) = delete;

  // Does `waiter` now, or when its turn comes, or ends it when `cancellation` (may be null) is cancelled. It may be
  // finished before this returns. `owner`: the resource, kept alive while the waiter can be cancelled.
  void Submit(int line, std::unique_ptr<Waiter> waiter, CancellationManager* cancellation,
              CountedPtr<const Counted> owner) ABSL_LOCKS_EXCLUDED(mu);
  // Lets all waiters try until none can proceed, and finishes those that are done. Call it after anything but a waiter
  // has changed the state.
  void Serve() ABSL_LOCKS_EXCLUDED(mu);
  // Ends all waiters of a line with `status`; the next Serve finishes them.
  void Dismiss(int line, const absl::Status& status) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu);
  bool IsEmpty(int line) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu) { return lines_[Index(line)].waiting.empty(); }

  mutable Mutex mu;

 private:
  // Waiters that have left their lines and are not finished yet, in order. Allocates nothing: ending a waiter must not
  // fail.
  class Ended {
   public:
    Ended() = default;
    Ended(const Ended&) = delete;
    Ended& operator=(const Ended&) = delete;
    ~Ended();

    void Push(std::unique_ptr<Waiter> waiter);
    std::unique_ptr<Waiter> Pop();
    void Swap(Ended& other);

   private:
    std::unique_ptr<Waiter> first_;
    Waiter* last_ = nullptr;
  };
  struct Line {
    Order order;
    std::map<uint64_t, std::unique_ptr<Waiter>> waiting;  // By number: the first is the one that came first.
  };

  static size_t Index(int line) { return static_cast<size_t>(line); }
  static void Finish(Ended& ended);
  // Puts `waiter` in its line, to be cancelled with `cancellation` (may be null). Without memory for that, the elements
  // it has taken go back.
  void Enter(int line, std::unique_ptr<Waiter> waiter, CancellationManager* cancellation,
             CountedPtr<const Counted> owner) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu);
  // Registers Cancel with `cancellation` (may be null). Returns false if that is already cancelled.
  bool Register(Waiter& waiter, int line, uint64_t number, CancellationManager* cancellation,
                CountedPtr<const Counted> owner) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu);
  // Ends waiter `number` as cancelled if it is still there; Finish follows.
  void Take(Line& line, uint64_t number) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu);
  bool ServeLine(Line& line) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu);
  void ServeLines() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu);
  void Cancel(int line, uint64_t number) ABSL_LOCKS_EXCLUDED(mu);

  std::vector<Line> lines_ ABSL_GUARDED_BY(mu);
  Ended ended_ ABSL_GUARDED_BY(mu);
  uint64_t next_number_ ABSL_GUARDED_BY(mu) = 0;
};

}  // namespace sluice

#endif  // SLUICE_KERNELS_QUEUES_WAITING_ROOM_H_

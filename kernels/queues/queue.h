#ifndef SLUICE_KERNELS_QUEUES_QUEUE_H_
#define SLUICE_KERNELS_QUEUES_QUEUE_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "graph/value/resource_handle.h"
#include "kernels/queues/queue_spec.h"
#include "kernels/queues/queue_store.h"
#include "kernels/queues/waiting_room.h"

namespace sluice {

// A queue of FIFOQueue, PaddingFIFOQueue, RandomShuffleQueue or PriorityQueue. Operations that must wait do so in two
// lines, each in order: one for puts and closes, one for takes. An operation on several elements proceeds as far as it
// can while it waits; if it fails or is cancelled, the elements that it has taken are put back.
// Owned by the resource manager and the operations under way. Thread-safe.
class Queue final : public Resource {
 public:
  static constexpr absl::string_view kTypeName = "Queue";
  using Done = absl::AnyInvocable<void(absl::Status)>;
  using TakeDone = absl::AnyInvocable<void(absl::Status, std::vector<QueueElement>)>;

  explicit Queue(QueueSpec spec);

  const QueueSpec& spec() const { return spec_; }

  // Puts all elements, in order. kResourceClosed on a closed queue. `cancellation` may be null. `done` is called once,
  // perhaps before this returns, and so for all that follows.
  void Put(std::vector<QueueElement> elements, CancellationManager* cancellation, Done done);
  // Takes `count` > 0 elements; with `or_fewer` as many as are left once the queue is closed. kOpRange when it is
  // closed and has too few.
  void Take(int64_t count, bool or_fewer, CancellationManager* cancellation, TakeDone done);
  // Puts back elements that Take returned and its caller cannot use.
  void PutBack(std::vector<QueueElement> elements);
  // Closes the queue for puts: with `cancel_pending` at once, and ends the waiting puts; otherwise after them.
  // kResourceClosed if the queue is closed by then.
  void Close(bool cancel_pending, CancellationManager* cancellation, Done done);

  int64_t size() const;
  bool is_closed() const;
  std::string DebugString() const override;

 private:
  enum Line { kPutters, kTakers };
  struct PutWaiter;
  struct TakeWaiter;
  struct CloseWaiter;

  Waiter::Progress TryPut(PutWaiter& waiter, absl::Status* failure);
  Waiter::Progress TryTake(TakeWaiter& waiter, absl::Status* failure);
  Waiter::Progress TryClose(absl::Status* failure);
  void PutBackLocked(std::vector<QueueElement>& elements) ABSL_EXCLUSIVE_LOCKS_REQUIRED(room_.mu);
  CountedPtr<const Counted> Self() const { return CountedPtr<const Counted>::Share(this); }

  const QueueSpec spec_;
  WaitingRoom room_;
  const std::unique_ptr<QueueStore> store_ ABSL_PT_GUARDED_BY(room_.mu);
  bool is_closed_ ABSL_GUARDED_BY(room_.mu) = false;
};

}  // namespace sluice

#endif  // SLUICE_KERNELS_QUEUES_QUEUE_H_

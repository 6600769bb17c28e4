#ifndef SLUICE_KERNELS_QUEUES_STAGING_AREA_H_
#define SLUICE_KERNELS_QUEUES_STAGING_AREA_H_

#include <cstdint>
#include <deque>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"
#include "graph/value/resource_handle.h"
#include "kernels/queues/queue_store.h"
#include "kernels/queues/staging_spec.h"
#include "kernels/queues/waiting_room.h"

namespace sluice {

// A FIFO of lists of tensors of any types, between two parts of a graph. The first node that uses it sets its capacity.
// Owned by the resource manager and the operations under way. Thread-safe.
class StagingArea final : public Resource {
 public:
  static constexpr absl::string_view kTypeName = "StagingArea";
  using Done = absl::AnyInvocable<void(absl::Status)>;
  using TakeDone = absl::AnyInvocable<void(absl::Status, QueueElement)>;

  explicit StagingArea(const StagingSpec& spec);

  // Waits for room. kOutOfMemory for more bytes than the area ever holds. `done` is called once, and so below.
  void Put(QueueElement element, CancellationManager* cancellation, Done done);
  // Takes the first element. It stays where it is, and the status is an error, unless it has tensors of `types`:
  // kResourceType for another number of them, kOutputType for others.
  void Take(std::vector<DType> types, CancellationManager* cancellation, TakeDone done);
  // Returns element `index` without removing it. REQUIRES: index >= 0.
  void Peek(int64_t index, std::vector<DType> types, CancellationManager* cancellation, TakeDone done);
  void Clear();
  int64_t size() const;
  std::string DebugString() const override;

 private:
  enum Line { kPutters, kTakers, kPeekers };
  struct PutWaiter;
  struct GetWaiter;

  Waiter::Progress TryPut(PutWaiter& waiter);
  Waiter::Progress TryGet(GetWaiter& waiter, absl::Status* failure);
  CountedPtr<const Counted> Self() const { return CountedPtr<const Counted>::Share(this); }

  const StagingSpec spec_;
  WaitingRoom room_;
  std::deque<QueueElement> elements_ ABSL_GUARDED_BY(room_.mu);
  int64_t bytes_ ABSL_GUARDED_BY(room_.mu) = 0;  // Of all elements.
};

}  // namespace sluice

#endif  // SLUICE_KERNELS_QUEUES_STAGING_AREA_H_

#ifndef SLUICE_KERNELS_QUEUES_BARRIER_H_
#define SLUICE_KERNELS_QUEUES_BARRIER_H_

#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"
#include "graph/base/hash_table.h"
#include "graph/value/resource_handle.h"
#include "kernels/queues/queue_spec.h"
#include "kernels/queues/queue_store.h"
#include "kernels/queues/waiting_room.h"

namespace sluice {

// A queue of elements that are inserted in parts: each component by its own operation, under the key of its element.
// Complete elements can be taken, in the order in which their keys were first inserted. Owned by the resource manager
// and the operations under way. Thread-safe.
class Barrier final : public Resource {
 public:
  static constexpr absl::string_view kTypeName = "Barrier";
  struct TakeOptions {
    int64_t count = 0;
    bool allow_small_batch = false;    // Fewer once the barrier is closed, but one at least.
    bool wait_for_incomplete = false;  // With allow_small_batch: those that may still become complete count, too.
  };
  // Elements of a number of the key's first call, the key, and the components.
  using TakeDone = absl::AnyInvocable<void(absl::Status, std::vector<QueueElement>)>;

  explicit Barrier(QueueSpec spec);

  const QueueSpec& spec() const { return spec_; }

  // Adds value i to the element of key i; ends at the first that it cannot add. kResourceClosed for a new key on a
  // closed barrier, kOpValue for a component that is there. REQUIRES: as many values as keys; component < the types.
  absl::Status Insert(const Tensor& keys, std::vector<QueueElement> values, size_t component);
  // kOpRange when the barrier is closed and will not have so many. `done` is called once.
  void Take(const TakeOptions& options, CancellationManager* cancellation, TakeDone done);
  // Puts back elements that Take returned and its caller cannot use.
  void PutBack(std::vector<QueueElement> elements);
  // Refuses new keys from now on; with `cancel_pending` also drops the incomplete elements. kResourceClosed if already
  // closed in that way.
  absl::Status Close(bool cancel_pending);

  int64_t num_ready() const;
  int64_t num_incomplete() const;
  std::string DebugString() const override;

 private:
  struct TakeWaiter;
  struct Incomplete {
    int64_t index = 0;
    QueueElement components;  // Without a value where one is missing.
    size_t num_missing = 0;
  };

  absl::Status InsertOne(absl::string_view key, Tensor value, size_t component, bool* is_new)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(room_.mu);
  Waiter::Progress TryTake(TakeWaiter& waiter, absl::Status* failure);

  const QueueSpec spec_;
  WaitingRoom room_;
  HashMap<std::string, Incomplete> incomplete_ ABSL_GUARDED_BY(room_.mu);
  const std::unique_ptr<QueueStore> ready_ ABSL_PT_GUARDED_BY(room_.mu);
  int64_t next_index_ ABSL_GUARDED_BY(room_.mu) = std::numeric_limits<int64_t>::min();
  bool is_closed_ ABSL_GUARDED_BY(room_.mu) = false;
  bool is_cancelled_ ABSL_GUARDED_BY(room_.mu) = false;
};

}  // namespace sluice

#endif  // SLUICE_KERNELS_QUEUES_BARRIER_H_

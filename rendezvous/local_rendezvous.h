#ifndef SLUICE_RENDEZVOUS_LOCAL_RENDEZVOUS_H_
#define SLUICE_RENDEZVOUS_LOCAL_RENDEZVOUS_H_

#include <array>
#include <cstddef>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/container/inlined_vector.h"
#include "graph/base/mutex.h"
#include "rendezvous/rendezvous.h"

namespace sluice {

// The rendezvous of one process: a table of values without a receiver and receivers without a value, in shards with a
// lock each. Callbacks run with no lock held.
// Destruction without an abort ends remaining waits with CANCELLED.
class LocalRendezvous : public Rendezvous {
 public:
  LocalRendezvous() = default;
  ~LocalRendezvous() override;

  absl::Status Send(const RendezvousKey& key, const TransferArgs& sender, RendezvousValue value) override;
  void RecvAsync(const RendezvousKey& key, const TransferArgs& receiver, CancellationManager* cancellation,
                 RecvDone done) override;
  void StartAbort(const absl::Status& status) override;

  // Keys under which something waits: values nobody has asked for, or receives. For leak tests and the watchdog.
  size_t num_waiting_keys() const;
  // Up to `max` of the keys for which a receive waits.
  std::vector<RendezvousKey> WaitingReceives(size_t max) const;

 private:
  // A value without a receiver (`done` is null), or a receiver without a value.
  struct Item {
    RendezvousValue value;
    TransferArgs args;
    RecvDone done;
    CancellationManager* cancellation = nullptr;
    CancellationToken token = -1;
  };
  // Items from `head` on wait, oldest first: all values or all receivers.
  struct Queue {
    absl::InlinedVector<Item, 1> items;
    size_t head = 0;

    const Item& first() const { return items[head]; }
  };
  using Queues = absl::flat_hash_map<RendezvousKey, Queue>;
  struct alignas(64) Shard {  // A cache line each: senders of different edges do not disturb one another.
    mutable Mutex mu;
    Queues queues ABSL_GUARDED_BY(mu);
    absl::Status aborted ABSL_GUARDED_BY(mu);
  };
  static constexpr size_t kShards = 8;

  Shard& ShardOf(const RendezvousKey& key);
  // Takes the oldest item out of `queue`, which goes with its last item.
  static Item TakeFirst(Queues& queues, Queues::iterator queue);
  // Registers with the item's cancellation, if it has one. False when that is cancelled already. Called under the
  // shard's lock.
  bool Register(const RendezvousKey& key, Item* item) ABSL_LOCKS_EXCLUDED(callbacks_mu_);
  // Called when the cancellation of a receive is cancelled.
  void CancelReceive(const RendezvousKey& key, const CancellationManager* cancellation, CancellationToken token);
  // Ends the registration of a receive that is out of the table: either it is gone, or its callback will find nothing.
  void EndRegistration(const Item& item);
  void ReleaseCallback();

  std::array<Shard, kShards> shards_;
  // Cancellation callbacks that may still call us; destruction waits for them.
  Mutex callbacks_mu_;
  CondVar callbacks_done_;
  int callbacks_ ABSL_GUARDED_BY(callbacks_mu_) = 0;
};

}  // namespace sluice

#endif  // SLUICE_RENDEZVOUS_LOCAL_RENDEZVOUS_H_

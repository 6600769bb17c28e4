#ifndef SLUICE_RENDEZVOUS_LOCAL_RENDEZVOUS_H_
#define SLUICE_RENDEZVOUS_LOCAL_RENDEZVOUS_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/inlined_vector.h"
#include "graph/base/cancellation.h"
#include "graph/base/mutex.h"
#include "rendezvous/rendezvous.h"
#include "rendezvous/waiting_table.h"

namespace sluice {

// The rendezvous of one process: a table of values without a receiver and receivers without a value, in shards with a
// lock each. Callbacks run with no lock held.
// Destruction without an abort ends remaining waits with CANCELLED. It waits for nobody: it may come from inside a
// callback, also from one that a cancellation ends.
class LocalRendezvous : public Rendezvous {
 public:
  // Over a table of its own; over that of a plan, whose transfers it serves without looking for their edges.
  LocalRendezvous();
  explicit LocalRendezvous(EdgeTable& edges);
  ~LocalRendezvous() override;

  absl::Status Send(const RendezvousKey& key, const TransferArgs& sender, RendezvousValue value) override;
  void RecvAsync(const RendezvousKey& key, const TransferArgs& receiver, CancellationManager* cancellation,
                 RecvDone done) override;
  void StartAbort(const absl::Status& status) override;

  // Makes this as good as new, but for the memory it keeps: what was sent and not received goes, an abort is forgotten.
  // False when it cannot be used again, since a cancellation is still on its way out of it.
  // REQUIRES: nobody else uses it, and no receive waits.
  [[nodiscard]] bool Clear();

  // Keys under which something waits: values nobody has asked for, or receives. For leak tests and the watchdog.
  size_t num_waiting_keys() const;
  // Up to `max` of the keys for which a receive waits; of those under which something lies that nobody asked for.
  std::vector<RendezvousKey> WaitingReceives(size_t max) const { return WaitingKeys(max, /*is_receive=*/true); }
  std::vector<RendezvousKey> WaitingSends(size_t max) const { return WaitingKeys(max, /*is_receive=*/false); }

 private:
  // A cancellation that ends receives of a shard: one callback for all of them.
  struct Registration {
    CancellationManager* cancellation = nullptr;
    CancellationToken token = -1;
    int64_t num_waiting = 0;
    bool is_called = false;  // The callback has looked for receives, and will not look again.
  };
  struct Table;
  struct alignas(64) Shard {  // A cache line each: senders of different edges do not disturb one another.
    mutable Mutex mu;
    Table* table = nullptr;  // That it is part of. Immutable.
    WaitingTable waiting ABSL_GUARDED_BY(mu);
    // Those with receives that wait, and those whose callback is under way.
    absl::InlinedVector<Registration, 1> registrations ABSL_GUARDED_BY(mu);
    absl::Status aborted ABSL_GUARDED_BY(mu);

    Registration* Find(const CancellationManager* cancellation) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu);
    // A receive with `cancellation` does not wait any more. Either its registration ends, too, or others need it, or
    // its callback is under way and ends it.
    void EndWait(CancellationManager* cancellation) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu);
  };
  static constexpr size_t kShards = 8;
  static_assert(kShards <= WaitingTable::kMaxShards);
  // Outlives the rendezvous as long as a cancellation is under way in it. Thread-safe: each shard guards itself.
  struct Table : public Counted {
    std::array<Shard, kShards> shards;
  };
  // What a cancellation calls: a shard, whose table it keeps. One thread's at a time. Two pointers, which AnyInvocable
  // holds without an allocation.
  class CancelReceives {
   public:
    CancelReceives(Shard* shard, CancellationManager* cancellation);
    CancelReceives(CancelReceives&& other) noexcept;
    CancelReceives& operator=(CancelReceives&&) = delete;
    ~CancelReceives();
    void operator()();

   private:
    Shard* shard_;  // Null: moved.
    CancellationManager* const cancellation_;
  };

  LocalRendezvous(EdgeTable* edges, std::unique_ptr<EdgeTable> own_edges);

  std::vector<RendezvousKey> WaitingKeys(size_t max, bool is_receive) const;
  // Registers with `cancellation`, if need be. False when it is cancelled already.
  bool BeginWait(Shard& shard, CancellationManager* cancellation) ABSL_EXCLUSIVE_LOCKS_REQUIRED(shard.mu);

  const std::unique_ptr<EdgeTable> own_edges_;  // Null: they are another's.
  const CountedPtr<Table> table_;
};

}  // namespace sluice

#endif  // SLUICE_RENDEZVOUS_LOCAL_RENDEZVOUS_H_

#ifndef SLUICE_RENDEZVOUS_LOCAL_RENDEZVOUS_H_
#define SLUICE_RENDEZVOUS_LOCAL_RENDEZVOUS_H_

#include <array>
#include <atomic>
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

// Note [Shards of a rendezvous]
// Most steps wait for one or two values, and there may be ten thousand steps. So a rendezvous begins with one shard,
// which keeps a few keys in a list and its first item inline (some 450 bytes in all). When more keys wait at a time, or
// threads often find its lock held, it spreads: from then on new items go to one of eight more shards, by the key's
// hash, and none to the first. Items in the first shard stay there and are looked up first:
// - they are older than all others under their key, so the order under each key is kept;
// - a receive is added to another shard only after no value was found in the first, and a value only after no receive
//   was; since nothing is added to the first shard, that stays true;
// - a mask says which keys may be in the first shard, so that other keys need not take its lock.
// A rendezvous never shrinks back to one shard: one that was busy is busy again in the next step. If the shards cannot
// be allocated, it stays with one.

// The rendezvous of one process: a table of values without a receiver and receivers without a value, in one shard or
// more (see Note [Shards of a rendezvous]) with a lock each. Callbacks run with no lock held. The destructor ends
// remaining waits with CANCELLED. It waits for no other thread, so it may run inside a callback, even inside one that a
// cancellation has called.
class LocalRendezvous : public Rendezvous {
 public:
  // The first has its own table of edges. The second uses that of a plan, whose transfers then need no lookup of their
  // edges.
  LocalRendezvous();
  explicit LocalRendezvous(EdgeTable& edges);
  ~LocalRendezvous() override;

  absl::Status Send(const RendezvousKey& key, const TransferArgs& sender, RendezvousValue value) override;
  void RecvAsync(const RendezvousKey& key, const TransferArgs& receiver, CancellationManager* cancellation,
                 RecvDone done) override;
  void StartAbort(const absl::Status& status) override;

  // Makes this like new, but keeps its memory: drops values that were not received and forgets an abort. Returns false
  // if it cannot be reused because a cancellation callback is still running in it. REQUIRES: no other thread uses it,
  // and no receive waits.
  [[nodiscard]] bool Clear();

  // Whether it has more than one shard.
  bool has_spread() const { return table_->spread.load(std::memory_order_acquire) != nullptr; }
  // The number of keys under which a value waits for its receiver, or a receive for its value. For leak tests and the
  // watchdog.
  size_t num_waiting_keys() const;
  // Up to `max` of the keys under which a receive waits for its value, or (WaitingSends) a value for its receiver.
  std::vector<RendezvousKey> WaitingReceives(size_t max) const { return WaitingKeys(max, /*is_receive=*/true); }
  std::vector<RendezvousKey> WaitingSends(size_t max) const { return WaitingKeys(max, /*is_receive=*/false); }

 private:
  // One callback at a cancellation manager, for all receives of a shard that wait with it. Invariant: each waiting
  // receive has one; the callback removes it together with the receives that it takes, under one lock. So no manager's
  // address stays here after a `done` has freed the manager, and a new manager at that address gets a registration of
  // its own.
  struct Registration {
    CancellationManager* cancellation = nullptr;
    CancellationToken token = -1;
    int64_t num_waiting = 0;
  };
  struct Table;
  struct Shard {
    mutable Mutex mu;
    Table* table = nullptr;  // The rendezvous that it is part of. Immutable.
    WaitingTable waiting ABSL_GUARDED_BY(mu);
    // Of managers with waiting receives, and of those whose callback has begun but does not hold the lock yet.
    absl::InlinedVector<Registration, 1> registrations ABSL_GUARDED_BY(mu);
    int32_t num_cancelling ABSL_GUARDED_BY(mu) = 0;  // Callbacks that have taken receives and are ending them.
    absl::Status aborted ABSL_GUARDED_BY(mu);

    Registration* Find(const CancellationManager* cancellation) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu);
    void Forget(Registration* registration) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu) {
      *registration = registrations.back();
      registrations.pop_back();
    }
    // Updates the registration of `cancellation` after one of its receives has stopped waiting. Removes it with the
    // last one, unless its callback is under way, which then removes it.
    void EndWait(CancellationManager* cancellation) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu);
  };
  static constexpr size_t kShards = 8;
  static_assert(kShards <= WaitingTable::kMaxShards);
  // The rendezvous spreads when this many keys wait in the first shard, or its lock was found held this often.
  static constexpr size_t kFewKeys = WaitingTable::kMaxListed;
  static constexpr int kContended = 4;
  // The shards that are added by spreading.
  struct Spread {
    struct alignas(64) Line : Shard {};  // On its own cache lines: senders of different edges share none.

    explicit Spread(Table* table) {
      for (Line& line : lines) line.table = table;
    }

    std::array<Line, kShards> lines;
    // The KeyBits of the items left in the first shard. Bits are only ever cleared.
    std::atomic<uint64_t> left{0};
  };
  // All shards. Outlives the rendezvous while a cancellation callback runs in it. Thread-safe: each shard has its lock.
  struct Table final : public Counted {
    Table() { first.table = this; }
    ~Table() override { const std::unique_ptr<Spread> ended(spread.load(std::memory_order_relaxed)); }

    // The number of shards. After the first shard was locked and unlocked, includes every shard to which anything was
    // added before.
    size_t num_shards() const { return spread.load(std::memory_order_acquire) != nullptr ? 1 + kShards : 1; }
    // Shards in the order in which they are searched. REQUIRES: i < num_shards().
    Shard& shard(size_t i) { return i == 0 ? first : spread.load(std::memory_order_acquire)->lines[i - 1]; }
    bool HasRoom() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(first.mu) { return first.waiting.num_keys() < kFewKeys; }
    // Adds the other shards, unless there is no memory or the rendezvous was aborted.
    void TrySpread() noexcept ABSL_EXCLUSIVE_LOCKS_REQUIRED(first.mu);

    Shard first;
    int num_contended ABSL_GUARDED_BY(first.mu) = 0;
    std::atomic<Spread*> spread{nullptr};  // Owned. Set once, under first.mu.
  };
  // The callback of a cancellation; keeps the shard's table alive. Two pointers, so that AnyInvocable stores it without
  // an allocation.
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

  // Calls `act(shard, may_add)` for each shard that may hold keys of this hash, the first shard first, under the
  // shard's lock, until `act` returns true; it must return true if `may_add`. Does not touch this afterwards, which
  // `act` may have allowed others to destroy.
  template <typename Act>
  void VisitShards(size_t hash, const Act& act);
  std::vector<RendezvousKey> WaitingKeys(size_t max, bool is_receive) const;
  // Registers with `cancellation` unless the shard already has. Returns false if it is cancelled already.
  bool BeginWait(Shard& shard, CancellationManager* cancellation) ABSL_EXCLUSIVE_LOCKS_REQUIRED(shard.mu);

  const std::unique_ptr<EdgeTable> own_edges_;  // Null if the table of edges belongs to the plan.
  const CountedPtr<Table> table_;
};

}  // namespace sluice

#endif  // SLUICE_RENDEZVOUS_LOCAL_RENDEZVOUS_H_

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
// Most steps that wait do so for one thing or two, and there may be ten thousand of them: so a rendezvous has one
// shard, which holds a few keys in a list and the first item in itself (some 450 bytes in all). Where more keys wait at
// a time, or threads find its lock held again and again, it spreads: from then on everything that is added goes to one
// of eight shards, by the key's hash, and nothing to the first shard any more. Items that are there stay, and are
// looked up first:
// - it is older than what waits elsewhere under its key, so that the order under each key is kept;
// - receives under a key are elsewhere only where no value is there, and values only where no receive is: nothing is
//   added to the first shard, so what was not found there a moment ago will not be;
// - a mask says which keys may be there, so that the others do not take its lock.
// A rendezvous never shrinks back to one shard: one that was busy is busy again in the next step. If the shards cannot
// be allocated, it stays with one.

// The rendezvous of one process: a table of values without a receiver and receivers without a value, in one shard or
// more (see Note [Shards of a rendezvous]) with a lock each. Callbacks run with no lock held. Destruction without an
// abort ends remaining waits with CANCELLED. It waits for no other thread, so it may happen inside a callback, also in
// one that a cancellation ends.
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

  // Resets this to a new rendezvous that keeps its memory: drops values that were not received, forgets an abort. False
  // when it cannot be used again, since a cancellation is still on its way out of it. REQUIRES: no other thread uses
  // it, and no receive waits.
  [[nodiscard]] bool Clear();

  // Whether it has several shards.
  bool has_spread() const { return table_->spread.load(std::memory_order_acquire) != nullptr; }
  // The number of keys under which a value waits for its receiver, or a receive for its value. For leak tests and the
  // watchdog.
  size_t num_waiting_keys() const;
  // Up to `max` of the keys under which a receive waits for its value, or (WaitingSends) a value for its receiver.
  std::vector<RendezvousKey> WaitingReceives(size_t max) const { return WaitingKeys(max, /*is_receive=*/true); }
  std::vector<RendezvousKey> WaitingSends(size_t max) const { return WaitingKeys(max, /*is_receive=*/false); }

 private:
  // A cancellation that ends receives of a shard: one callback for all of them. Invariant: each receive that waits has
  // one, and it goes together with those that its callback takes, under one lock. So no address of a manager stays here
  // when a `done` frees it, and a new one at that address is a new one.
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
    // Those with receives that wait, and those whose callback is about to look for some.
    absl::InlinedVector<Registration, 1> registrations ABSL_GUARDED_BY(mu);
    int32_t num_cancelling ABSL_GUARDED_BY(mu) = 0;  // Callbacks that end the receives which they have taken.
    absl::Status aborted ABSL_GUARDED_BY(mu);

    Registration* Find(const CancellationManager* cancellation) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu);
    void Forget(Registration* registration) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu) {
      *registration = registrations.back();
      registrations.pop_back();
    }
    // A receive with `cancellation` does not wait any more. Either its registration ends, too, or others need it, or
    // its callback is under way and ends it.
    void EndWait(CancellationManager* cancellation) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu);
  };
  static constexpr size_t kShards = 8;
  static_assert(kShards <= WaitingTable::kMaxShards);
  // So many keys wait in the first shard, or so often was its lock held by others, before there are more shards.
  static constexpr size_t kFewKeys = WaitingTable::kMaxListed;
  static constexpr int kContended = 4;
  // Those that there are when it has spread.
  struct Spread {
    struct alignas(64) Line : Shard {};  // A cache line each: senders of different edges do not disturb one another.

    explicit Spread(Table* table) {
      for (Line& line : lines) line.table = table;
    }

    std::array<Line, kShards> lines;
    // Of what is left in the first shard (WaitingTable::KeyBit). Falls only.
    std::atomic<uint64_t> left{0};
  };
  // Outlives the rendezvous as long as a cancellation is under way in it. Thread-safe: each shard guards itself.
  struct Table final : public Counted {
    Table() { first.table = this; }
    ~Table() override { const std::unique_ptr<Spread> ended(spread.load(std::memory_order_relaxed)); }

    // How many there are now. Asked after the first was locked, it counts all to which anything had been added then.
    size_t num_shards() const { return spread.load(std::memory_order_acquire) != nullptr ? 1 + kShards : 1; }
    // In the order in which a key is looked for. REQUIRES: i < num_shards().
    Shard& shard(size_t i) { return i == 0 ? first : spread.load(std::memory_order_acquire)->lines[i - 1]; }
    bool HasRoom() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(first.mu) { return first.waiting.num_keys() < kFewKeys; }
    // Adds the other shards, if there is memory for them and no abort.
    void TrySpread() noexcept ABSL_EXCLUSIVE_LOCKS_REQUIRED(first.mu);

    Shard first;
    int num_contended ABSL_GUARDED_BY(first.mu) = 0;
    std::atomic<Spread*> spread{nullptr};  // Owned. Set once, with the lock of the first.
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

  // Calls `act(shard, may_add)` with each shard in which something may wait under a key with that hash, the oldest
  // first, under its lock, until it answers true, as it must where it may add. Touches nothing afterwards: this may be
  // gone.
  template <typename Act>
  void VisitShards(size_t hash, const Act& act);
  std::vector<RendezvousKey> WaitingKeys(size_t max, bool is_receive) const;
  // Registers with `cancellation`, if need be. False when it is cancelled already.
  bool BeginWait(Shard& shard, CancellationManager* cancellation) ABSL_EXCLUSIVE_LOCKS_REQUIRED(shard.mu);

  const std::unique_ptr<EdgeTable> own_edges_;  // Null: they are another's.
  const CountedPtr<Table> table_;
};

}  // namespace sluice

#endif  // SLUICE_RENDEZVOUS_LOCAL_RENDEZVOUS_H_

#include "rendezvous/local_rendezvous.h"

#include <array>
#include <utility>
#include <vector>

#include "absl/base/optimization.h"
#include "graph/base/check.h"
#include "graph/base/error.h"

namespace sluice {
namespace {

absl::Status ReceiveCancelled() noexcept {
  try {
    ErrorInfo info;
    info.code = ErrorCode::kReceiveCancelled;
    info.text = "a receive was given up because its run was cancelled";
    info.derived = true;
    return MakeError(info);
  } catch (...) {
    return absl::Status(absl::StatusCode::kCancelled, "");  // Needs no memory.
  }
}

// Spreads well because edges are numbered without gaps; the iteration and the frame shift all of them.
size_t ShardHash(const RendezvousKey& key) {
  const uint64_t turn = static_cast<uint64_t>(key.iteration) * 0x9E3779B97F4A7C15u;
  return static_cast<size_t>(static_cast<uint64_t>(key.edge.value()) + turn + key.frame);
}

// Frees the values and callbacks of `items`.
void DropAll(WaitingTable::Item* items) {
  for (WaitingTable::Item* item = items; item != nullptr; item = WaitingTable::Next(item)) {
    item->value = RendezvousValue();
    item->done = nullptr;
  }
}

// Ends the receives of `items` with `status`, and drops values. REQUIRES: no lock is held.
void Answer(const absl::Status& status, WaitingTable::Item* items) {
  for (WaitingTable::Item* item = items; item != nullptr; item = WaitingTable::Next(item)) {
    if (!item->done) continue;
    RecvDone done = std::move(item->done);
    item->done = nullptr;
    std::move(done)(status, RendezvousValue(), TransferArgs(), item->args);
  }
  DropAll(items);
}

// Holds the lock of a first shard, and records whether it had to wait for it.
class ABSL_SCOPED_LOCKABLE FirstLock {
 public:
  explicit FirstLock(Mutex* mu) ABSL_EXCLUSIVE_LOCK_FUNCTION(mu) ABSL_NO_THREAD_SAFETY_ANALYSIS : mu_(mu) {
    if (ABSL_PREDICT_TRUE(mu_->TryLock())) return;
    mu_->Lock();
    has_waited_ = true;
  }
  FirstLock(const FirstLock&) = delete;
  FirstLock& operator=(const FirstLock&) = delete;
  ~FirstLock() ABSL_UNLOCK_FUNCTION() { mu_->Unlock(); }

  bool has_waited() const { return has_waited_; }

 private:
  Mutex* const mu_;
  bool has_waited_ = false;
};

}  // namespace

LocalRendezvous::LocalRendezvous() : LocalRendezvous(nullptr, std::make_unique<EdgeTable>()) {}

LocalRendezvous::LocalRendezvous(EdgeTable& edges) : LocalRendezvous(&edges, nullptr) {}

LocalRendezvous::LocalRendezvous(EdgeTable* edges, std::unique_ptr<EdgeTable> own_edges)
    : Rendezvous(own_edges != nullptr ? own_edges.get() : edges),
      own_edges_(std::move(own_edges)),
      table_(MakeCounted<Table>()) {}

LocalRendezvous::~LocalRendezvous() {
  if (num_waiting_keys() > 0) StartAbort(absl::CancelledError("the rendezvous was destroyed"));
}

LocalRendezvous::CancelReceives::CancelReceives(Shard* shard, CancellationManager* cancellation)
    : shard_(shard), cancellation_(cancellation) {
  shard_->table->Ref();
}

LocalRendezvous::CancelReceives::CancelReceives(CancelReceives&& other) noexcept
    : shard_(std::exchange(other.shard_, nullptr)), cancellation_(other.cancellation_) {}

LocalRendezvous::CancelReceives::~CancelReceives() {
  if (shard_ != nullptr) shard_->table->Unref();
}

void LocalRendezvous::CancelReceives::operator()() {
  Shard& shard = *shard_;
  WaitingTable::Item* cancelled = nullptr;
  {
    MutexLock lock(&shard.mu);
    cancelled = shard.waiting.TakeAll(cancellation_);
    shard.Forget(shard.Find(cancellation_));
    ++shard.num_cancelling;
  }
  if (cancelled != nullptr) Answer(ReceiveCancelled(), cancelled);
  MutexLock lock(&shard.mu);
  shard.waiting.Recycle(cancelled);
  --shard.num_cancelling;
}

void LocalRendezvous::Table::TrySpread() noexcept {
  if (!first.aborted.ok() || spread.load(std::memory_order_relaxed) != nullptr) return;
  try {
    auto made = std::make_unique<Spread>(this);
    made->left.store(first.waiting.KeyBits(), std::memory_order_relaxed);  // Relaxed: published by what follows.
    spread.store(made.release(), std::memory_order_release);
  } catch (...) {
    // No memory: the next call that needs more shards tries again.
  }
}

template <typename Act>
void LocalRendezvous::VisitShards(size_t hash, const Act& act) {
  Table& table = *table_;
  Spread* spread = table.spread.load(std::memory_order_acquire);  // Acquire: what TrySpread made.
  // Relaxed: a clear bit stays clear; a stale set bit only costs taking the lock.
  if (spread == nullptr || (spread->left.load(std::memory_order_relaxed) & WaitingTable::KeyBit(hash)) != 0) {
    FirstLock lock(&table.first.mu);
    if (ABSL_PREDICT_FALSE(lock.has_waited()) && ++table.num_contended >= kContended) table.TrySpread();
    spread = table.spread.load(std::memory_order_relaxed);  // Relaxed: set under this lock.
    if (spread == nullptr && table.HasRoom()) {
      act(table.first, /*may_add=*/true);
      return;
    }
    if (act(table.first, /*may_add=*/false)) {
      if (spread != nullptr && table.first.waiting.num_keys() == 0) spread->left.store(0, std::memory_order_relaxed);
      return;
    }
    table.TrySpread();
    spread = table.spread.load(std::memory_order_relaxed);
    if (spread == nullptr) {
      act(table.first, /*may_add=*/true);
      return;
    }
    if (table.first.waiting.num_keys() == 0) spread->left.store(0, std::memory_order_relaxed);
  }
  Shard& shard = spread->lines[hash % kShards];
  MutexLock lock(&shard.mu);
  act(shard, /*may_add=*/true);
}

absl::Status LocalRendezvous::Send(const RendezvousKey& key, const TransferArgs& sender, RendezvousValue value) {
  const size_t hash = ShardHash(key);
  absl::Status aborted;
  Waiting receiver;
  VisitShards(hash, [&](Shard& shard, bool may_add) {
    shard.mu.AssertHeld();
    aborted = shard.aborted;
    if (!aborted.ok()) return true;
    WaitingTable::Item* const first = shard.waiting.Find(hash, key);
    if (first != nullptr && first->done) {
      receiver = shard.waiting.Take(first);
      shard.EndWait(receiver.cancellation);
      return true;
    }
    if (!may_add) return false;
    Waiting& sent = shard.waiting.Add(hash, key);
    sent.value = std::move(value);
    sent.args = sender;
    return true;
  });
  if (receiver.done) std::move(receiver.done)(absl::OkStatus(), std::move(value), sender, receiver.args);
  return aborted;
}

void LocalRendezvous::RecvAsync(const RendezvousKey& key, const TransferArgs& receiver,
                                CancellationManager* cancellation, RecvDone done) {
  const size_t hash = ShardHash(key);
  absl::Status failed;
  Waiting sent;
  bool waits = false;
  VisitShards(hash, [&](Shard& shard, bool may_add) {
    shard.mu.AssertHeld();
    failed = shard.aborted;
    if (!failed.ok()) return true;
    WaitingTable::Item* const first = shard.waiting.Find(hash, key);
    if (first != nullptr && !first->done) {
      sent = shard.waiting.Take(first);
      return true;
    }
    if (!may_add) return false;
    shard.waiting.Reserve();
    if (!BeginWait(shard, cancellation)) {
      failed = ReceiveCancelled();
      return true;
    }
    Waiting& waiting = shard.waiting.Add(hash, key);
    waiting.args = receiver;
    waiting.done = std::move(done);
    waiting.cancellation = cancellation;
    waits = true;
    return true;
  });
  if (waits) return;  // Another thread may have ended the transfer, the step and us.
  if (!failed.ok()) return std::move(done)(failed, RendezvousValue(), TransferArgs(), receiver);
  std::move(done)(absl::OkStatus(), std::move(sent.value), sent.args, receiver);
}

LocalRendezvous::Registration* LocalRendezvous::Shard::Find(const CancellationManager* cancellation) {
  for (Registration& registration : registrations) {
    if (registration.cancellation == cancellation) return &registration;
  }
  return nullptr;
}

bool LocalRendezvous::BeginWait(Shard& shard, CancellationManager* cancellation) {
  if (cancellation == nullptr) return true;
  Registration* const known = shard.Find(cancellation);
  if (known != nullptr) {
    ++known->num_waiting;
    return true;
  }
  // Steps that can throw come before steps that would have to be undone.
  shard.registrations.reserve(shard.registrations.size() + 1);
  const CancellationToken token = cancellation->NewToken();
  // The callback waits for the shard's lock, which we hold, so it cannot miss the receive.
  if (!cancellation->RegisterCallback(token, CancelReceives(&shard, cancellation))) {
    return false;
  }
  shard.registrations.push_back({cancellation, token, 1});
  return true;
}

void LocalRendezvous::Shard::EndWait(CancellationManager* cancellation) {
  if (cancellation == nullptr) return;
  Registration* const registration = Find(cancellation);
  if (--registration->num_waiting > 0 || !cancellation->TryDeregisterCallback(registration->token)) return;
  Forget(registration);
}

void LocalRendezvous::StartAbort(const absl::Status& status) {
  SLUICE_CHECK(!status.ok());
  const CountedPtr<Table> table = table_;  // A callback may destroy this.
  const absl::Status cause = status;
  // Values are freed, and receivers called, after the locks are released.
  std::array<WaitingTable::Item*, 1 + kShards> dropped = {};
  for (size_t i = 0; i < table->num_shards(); ++i) {  // Aborting the first shard prevents later spreading.
    Shard& shard = table->shard(i);
    MutexLock lock(&shard.mu);
    if (shard.aborted.ok()) shard.aborted = cause;
    dropped[i] = shard.waiting.TakeAll(nullptr);
    for (WaitingTable::Item* item = dropped[i]; item != nullptr; item = WaitingTable::Next(item)) {
      shard.EndWait(item->cancellation);
    }
  }
  for (WaitingTable::Item* const items : dropped) Answer(cause, items);
  for (size_t i = 0; i < dropped.size(); ++i) {
    if (dropped[i] == nullptr) continue;
    Shard& shard = table->shard(i);
    MutexLock lock(&shard.mu);
    shard.waiting.Recycle(dropped[i]);
  }
}

bool LocalRendezvous::Clear() {
  bool is_free = true;
  for (size_t i = 0; i < table_->num_shards(); ++i) {
    Shard& shard = table_->shard(i);
    WaitingTable::Item* dropped = nullptr;
    {
      MutexLock lock(&shard.mu);
      is_free = is_free && shard.registrations.empty() && shard.num_cancelling == 0;
      shard.aborted = absl::OkStatus();
      if (shard.waiting.num_keys() > 0) dropped = shard.waiting.TakeAll(nullptr);
    }
    if (dropped == nullptr) continue;
    DropAll(dropped);
    MutexLock lock(&shard.mu);
    shard.waiting.Recycle(dropped);
  }
  // Relaxed: no other thread uses it.
  Spread* const spread = table_->spread.load(std::memory_order_relaxed);
  if (spread != nullptr) spread->left.store(0, std::memory_order_relaxed);
  return is_free;
}

size_t LocalRendezvous::num_waiting_keys() const {
  size_t count = 0;
  for (size_t i = 0; i < table_->num_shards(); ++i) {
    const Shard& shard = table_->shard(i);
    MutexLock lock(&shard.mu);
    count += shard.waiting.num_keys();
  }
  return count;
}

std::vector<RendezvousKey> LocalRendezvous::WaitingKeys(size_t max, bool is_receive) const {
  std::vector<RendezvousKey> keys;
  for (size_t i = 0; i < table_->num_shards(); ++i) {
    const Shard& shard = table_->shard(i);
    MutexLock lock(&shard.mu);
    shard.waiting.AddKeys(max, is_receive, &keys);
  }
  return keys;
}

}  // namespace sluice

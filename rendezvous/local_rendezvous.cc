#include "rendezvous/local_rendezvous.h"

#include <utility>
#include <vector>

#include "graph/base/check.h"
#include "graph/base/error.h"

namespace sluice {
namespace {

absl::Status ReceiveCancelled() {
  ErrorInfo info;
  info.code = ErrorCode::kReceiveCancelled;
  info.text = "a receive was given up because its run was cancelled";
  info.derived = true;
  return MakeError(info);
}

// Edges are numbered without gaps, so that those of one step lie side by side; iterations and frames move them all.
size_t PlaceOf(const RendezvousKey& key) {
  const uint64_t turn = static_cast<uint64_t>(key.iteration) * 0x9E3779B97F4A7C15u;
  return static_cast<size_t>(static_cast<uint64_t>(key.edge.value()) + turn + key.frame);
}

}  // namespace

LocalRendezvous::LocalRendezvous() : table_(MakeCounted<Table>()) {
  for (Shard& shard : table_->shards) shard.table = table_.get();
}

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
  std::vector<Waiting> cancelled;
  {
    MutexLock lock(&shard.mu);
    cancelled = shard.waiting.TakeAll(cancellation_);
    shard.Find(cancellation_)->is_called = true;
  }
  for (Waiting& receiver : cancelled) {
    std::move(receiver.done)(ReceiveCancelled(), RendezvousValue(), TransferArgs(), receiver.args);
  }
  MutexLock lock(&shard.mu);
  *shard.Find(cancellation_) = shard.registrations.back();
  shard.registrations.pop_back();
}

absl::Status LocalRendezvous::Send(const RendezvousKey& key, const TransferArgs& sender, RendezvousValue value) {
  const size_t hash = PlaceOf(key);
  Shard& shard = table_->shards[hash % kShards];
  Waiting receiver;
  {
    MutexLock lock(&shard.mu);
    if (!shard.aborted.ok()) return shard.aborted;
    WaitingTable::Item* const first = shard.waiting.Find(hash, key);
    if (first == nullptr || !first->done) {
      Waiting& sent = shard.waiting.Add(hash, key);
      sent.value = std::move(value);
      sent.args = sender;
      return absl::OkStatus();
    }
    receiver = shard.waiting.Take(first);
    shard.EndWait(receiver.cancellation);
  }
  std::move(receiver.done)(absl::OkStatus(), std::move(value), sender, receiver.args);
  return absl::OkStatus();
}

void LocalRendezvous::RecvAsync(const RendezvousKey& key, const TransferArgs& receiver,
                                CancellationManager* cancellation, RecvDone done) {
  const size_t hash = PlaceOf(key);
  Shard& shard = table_->shards[hash % kShards];
  absl::Status failed;
  Waiting sent;
  {
    MutexLock lock(&shard.mu);
    WaitingTable::Item* const first = shard.waiting.Find(hash, key);
    failed = shard.aborted;
    if (failed.ok() && first != nullptr && !first->done) {
      sent = shard.waiting.Take(first);
    } else if (failed.ok() && BeginWait(shard, cancellation)) {
      Waiting& waiting = shard.waiting.Add(hash, key);
      waiting.args = receiver;
      waiting.done = std::move(done);
      waiting.cancellation = cancellation;
      return;  // From here on another thread may end the transfer, the step and us.
    } else if (failed.ok()) {
      failed = ReceiveCancelled();
    }
  }
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
    if (known->is_called) return false;
    ++known->num_waiting;
    return true;
  }
  const CancellationToken token = cancellation->NewToken();
  // The callback needs the shard's lock, which we hold: it finds the receive or what became of it.
  if (!cancellation->RegisterCallback(token, CancelReceives(&shard, cancellation))) {
    return false;
  }
  shard.registrations.push_back({cancellation, token, 1, false});
  return true;
}

void LocalRendezvous::Shard::EndWait(CancellationManager* cancellation) {
  if (cancellation == nullptr) return;
  Registration* const registration = Find(cancellation);
  if (--registration->num_waiting > 0 || !cancellation->TryDeregisterCallback(registration->token)) return;
  *registration = registrations.back();
  registrations.pop_back();
}

void LocalRendezvous::StartAbort(const absl::Status& status) {
  SLUICE_CHECK(!status.ok());
  std::vector<Waiting> dropped;  // Values go, and receivers are answered, outside the locks.
  for (Shard& shard : table_->shards) {
    MutexLock lock(&shard.mu);
    if (shard.aborted.ok()) shard.aborted = status;
    for (Waiting& waiting : shard.waiting.TakeAll(nullptr)) {
      shard.EndWait(waiting.cancellation);
      dropped.push_back(std::move(waiting));
    }
  }
  for (Waiting& waiting : dropped) {
    if (waiting.done) std::move(waiting.done)(status, RendezvousValue(), TransferArgs(), waiting.args);
  }
}

bool LocalRendezvous::Clear() {
  bool is_free = true;
  for (Shard& shard : table_->shards) {
    std::vector<Waiting> dropped;  // Goes after the lock.
    MutexLock lock(&shard.mu);
    is_free = is_free && shard.registrations.empty();
    shard.aborted = absl::OkStatus();
    if (shard.waiting.num_keys() > 0) dropped = shard.waiting.TakeAll(nullptr);
  }
  return is_free;
}

size_t LocalRendezvous::num_waiting_keys() const {
  size_t count = 0;
  for (const Shard& shard : table_->shards) {
    MutexLock lock(&shard.mu);
    count += shard.waiting.num_keys();
  }
  return count;
}

std::vector<RendezvousKey> LocalRendezvous::WaitingKeys(size_t max, bool is_receive) const {
  std::vector<RendezvousKey> keys;
  for (const Shard& shard : table_->shards) {
    MutexLock lock(&shard.mu);
    shard.waiting.AddKeys(max, is_receive, &keys);
  }
  return keys;
}

}  // namespace sluice

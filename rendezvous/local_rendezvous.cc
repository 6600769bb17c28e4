#include "rendezvous/local_rendezvous.h"

#include <utility>
#include <vector>

#include "absl/hash/hash.h"
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

}  // namespace

LocalRendezvous::~LocalRendezvous() {
  if (num_waiting_keys() > 0) StartAbort(absl::CancelledError("the rendezvous was destroyed"));
  MutexLock lock(&callbacks_mu_);
  while (callbacks_ > 0) callbacks_done_.Wait(&callbacks_mu_);
}

LocalRendezvous::Shard& LocalRendezvous::ShardOf(const RendezvousKey& key) {
  return shards_[absl::HashOf(key.edge, key.iteration) % kShards];
}

LocalRendezvous::Item LocalRendezvous::TakeFirst(Queues& queues, Queues::iterator queue) {
  constexpr size_t kSweepFrom = 32;
  Queue& from = queue->second;
  Item item = std::move(from.items[from.head++]);
  if (from.head == from.items.size()) {
    queues.erase(queue);
  } else if (from.head >= kSweepFrom && from.head * 2 > from.items.size()) {
    from.items.erase(from.items.begin(), from.items.begin() + static_cast<std::ptrdiff_t>(from.head));
    from.head = 0;
  }
  return item;
}

absl::Status LocalRendezvous::Send(const RendezvousKey& key, const TransferArgs& sender, RendezvousValue value) {
  Item receiver;
  {
    Shard& shard = ShardOf(key);
    MutexLock lock(&shard.mu);
    if (!shard.aborted.ok()) return shard.aborted;
    const auto queue = shard.queues.find(key);
    if (queue == shard.queues.end() || !queue->second.first().done) {
      Item item;
      item.value = std::move(value);
      item.args = sender;
      shard.queues[key].items.push_back(std::move(item));
      return absl::OkStatus();
    }
    receiver = TakeFirst(shard.queues, queue);
  }
  EndRegistration(receiver);
  std::move(receiver.done)(absl::OkStatus(), std::move(value), sender, receiver.args);
  return absl::OkStatus();
}

void LocalRendezvous::RecvAsync(const RendezvousKey& key, const TransferArgs& receiver,
                                CancellationManager* cancellation, RecvDone done) {
  absl::Status failed;
  Item sent;
  {
    Shard& shard = ShardOf(key);
    MutexLock lock(&shard.mu);
    const auto queue = shard.queues.find(key);
    failed = shard.aborted;
    if (failed.ok() && queue != shard.queues.end() && !queue->second.first().done) {
      sent = TakeFirst(shard.queues, queue);
    } else if (failed.ok()) {
      Item item;
      item.cancellation = cancellation;
      if (Register(key, &item)) {
        item.args = receiver;
        item.done = std::move(done);
        shard.queues[key].items.push_back(std::move(item));
        return;  // From here on another thread may end the transfer, the step and us.
      }
      failed = ReceiveCancelled();
    }
  }
  if (!failed.ok()) return std::move(done)(failed, RendezvousValue(), TransferArgs(), receiver);
  std::move(done)(absl::OkStatus(), std::move(sent.value), sent.args, receiver);
}

bool LocalRendezvous::Register(const RendezvousKey& key, Item* item) {
  CancellationManager* const cancellation = item->cancellation;
  if (cancellation == nullptr) return true;
  const CancellationToken token = item->token = cancellation->NewToken();
  {
    MutexLock lock(&callbacks_mu_);
    ++callbacks_;
  }
  // The callback needs the shard's lock, which we hold: it finds the item or what became of it.
  if (cancellation->RegisterCallback(token,
                                     [this, key, cancellation, token] { CancelReceive(key, cancellation, token); })) {
    return true;
  }
  ReleaseCallback();
  return false;
}

void LocalRendezvous::CancelReceive(const RendezvousKey& key, const CancellationManager* cancellation,
                                    CancellationToken token) {
  Item cancelled;
  {
    Shard& shard = ShardOf(key);
    MutexLock lock(&shard.mu);
    const auto queue = shard.queues.find(key);
    if (queue != shard.queues.end()) {
      auto& items = queue->second.items;
      for (auto item = items.begin() + static_cast<std::ptrdiff_t>(queue->second.head); item != items.end(); ++item) {
        if (item->token != token || item->cancellation != cancellation || !item->done) continue;
        cancelled = std::move(*item);
        items.erase(item);
        break;
      }
      if (queue->second.head == items.size()) shard.queues.erase(queue);
    }
  }
  if (cancelled.done) std::move(cancelled.done)(ReceiveCancelled(), RendezvousValue(), TransferArgs(), cancelled.args);
  ReleaseCallback();  // The last thing: afterwards we may be gone.
}

void LocalRendezvous::EndRegistration(const Item& item) {
  if (item.cancellation != nullptr && item.cancellation->TryDeregisterCallback(item.token)) ReleaseCallback();
}

void LocalRendezvous::ReleaseCallback() {
  MutexLock lock(&callbacks_mu_);
  if (--callbacks_ == 0) callbacks_done_.SignalAll();
}

void LocalRendezvous::StartAbort(const absl::Status& status) {
  SLUICE_CHECK(!status.ok());
  Queues dropped[kShards];  // Values sent go outside the locks.
  for (size_t i = 0; i < kShards; ++i) {
    MutexLock lock(&shards_[i].mu);
    if (shards_[i].aborted.ok()) shards_[i].aborted = status;
    dropped[i].swap(shards_[i].queues);
  }
  for (auto& queues : dropped) {
    for (auto& queue : queues) {
      Queue& from = queue.second;
      for (size_t i = from.head; i < from.items.size(); ++i) {
        Item& item = from.items[i];
        if (!item.done) continue;
        EndRegistration(item);
        std::move(item.done)(status, RendezvousValue(), TransferArgs(), item.args);
      }
    }
  }
}

size_t LocalRendezvous::num_waiting_keys() const {
  size_t count = 0;
  for (const Shard& shard : shards_) {
    MutexLock lock(&shard.mu);
    count += shard.queues.size();
  }
  return count;
}

std::vector<RendezvousKey> LocalRendezvous::WaitingReceives(size_t max) const {
  std::vector<RendezvousKey> keys;
  for (const Shard& shard : shards_) {
    MutexLock lock(&shard.mu);
    for (const auto& queue : shard.queues) {
      if (keys.size() < max && queue.second.first().done) keys.push_back(queue.first);
    }
  }
  return keys;
}

}  // namespace sluice

#include "rendezvous/waiting_table.h"

#include <algorithm>
#include <utility>

namespace sluice {

WaitingTable::Item** WaitingTable::Link(size_t hash, const RendezvousKey& key) {
  Item** link = &Bucket(hash);
  while (*link != nullptr && ((*link)->hash_ != hash || (*link)->key_ != key)) link = &(*link)->next_key_;
  return link;
}

WaitingTable::Item& WaitingTable::Add(size_t hash, const RendezvousKey& key) {
  Reserve();
  Item* const item = std::exchange(free_, free_->next_same_);
  item->key_ = key;
  item->hash_ = hash;
  item->next_key_ = item->next_same_ = nullptr;
  item->last_same_ = item;
  Item** const link = Link(hash, key);
  if (*link != nullptr) {
    (*link)->last_same_->next_same_ = item;
    (*link)->last_same_ = item;
    return *item;
  }
  *link = item;
  if (++num_keys_ > std::max(num_buckets_, kMaxListed)) Grow();
  return *item;
}

void WaitingTable::Unlink(Item** link) {
  Item* const item = *link;
  Item* const next = item->next_same_;
  if (next == nullptr) {
    *link = item->next_key_;
    --num_keys_;
    return;
  }
  next->next_key_ = item->next_key_;
  next->last_same_ = item->last_same_;
  *link = next;
}

Waiting WaitingTable::Free(Item* item) {
  Waiting taken = std::move(*item);
  item->done = nullptr;
  item->cancellation = nullptr;
  item->next_same_ = std::exchange(free_, item);
  return taken;
}

Waiting WaitingTable::Take(Item* first) {
  Item** link = &Bucket(first->hash_);
  while (*link != first) link = &(*link)->next_key_;
  Unlink(link);
  return Free(first);
}

WaitingTable::Item* WaitingTable::TakeAll(const CancellationManager* cancellation) noexcept {
  Item* taken = nullptr;
  Item** end = &taken;
  const auto take = [&end](Item* item) {
    item->next_same_ = nullptr;
    *end = item;
    end = &item->next_same_;
  };
  const auto is_wanted = [&](const Item& item) {
    return cancellation == nullptr || (item.done != nullptr && item.cancellation == cancellation);
  };
  for (size_t bucket = 0; bucket < num_buckets_; ++bucket) {
    for (Item** link = &buckets_[bucket]; *link != nullptr;) {
      Item* const first = *link;
      // Those after the first, then the first itself.
      Item* before = first;
      for (Item* item = first->next_same_; item != nullptr; item = before->next_same_) {
        if (!is_wanted(*item)) {
          before = item;
          continue;
        }
        before->next_same_ = item->next_same_;
        take(item);
      }
      first->last_same_ = before;
      if (!is_wanted(*first)) {
        link = &first->next_key_;
        continue;
      }
      const bool is_last = first->next_same_ == nullptr;
      Unlink(link);
      take(first);
      if (!is_last) link = &(*link)->next_key_;  // Skips the item that Unlink has put here: it does not match.
    }
  }
  return taken;
}

void WaitingTable::Recycle(Item* taken) noexcept {
  while (taken != nullptr) {
    Item* const next = taken->next_same_;
    Free(taken);
    taken = next;
  }
}

void WaitingTable::AddKeys(size_t max, bool is_receive, std::vector<RendezvousKey>* keys) const {
  for (size_t bucket = 0; bucket < num_buckets_; ++bucket) {
    for (const Item* item = buckets_[bucket]; item != nullptr && keys->size() < max; item = item->next_key_) {
      if ((item->done != nullptr) == is_receive) keys->push_back(item->key_);
    }
  }
}

uint64_t WaitingTable::KeyBits() const {
  uint64_t bits = 0;
  for (size_t bucket = 0; bucket < num_buckets_; ++bucket) {
    for (const Item* item = buckets_[bucket]; item != nullptr; item = item->next_key_) bits |= KeyBit(item->hash_);
  }
  return bits;
}

void WaitingTable::AddBlock() {
  const size_t size = std::max(kFirstBlock, num_items_);
  blocks_.push_back(std::make_unique<Item[]>(size));
  num_items_ += size;
  for (size_t i = size; i > 0; --i) {
    Item& item = blocks_.back()[i - 1];
    item.next_same_ = std::exchange(free_, &item);
  }
}

void WaitingTable::Grow() noexcept {
  const size_t old_size = num_buckets_, size = std::max(kFirstBuckets, old_size * 2);
  std::unique_ptr<Item*[]> more;
  try {
    more = std::make_unique<Item*[]>(size);  // All null.
  } catch (...) {
    return;
  }
  Item** const old = buckets_;
  more_buckets_.swap(more);  // The old ones are kept until the end.
  buckets_ = more_buckets_.get();
  num_buckets_ = size;
  for (size_t i = 0; i < old_size; ++i) {
    for (Item* item = old[i]; item != nullptr;) {
      Item* const next = item->next_key_;
      item->next_key_ = std::exchange(Bucket(item->hash_), item);
      item = next;
    }
  }
}

}  // namespace sluice

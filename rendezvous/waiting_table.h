#ifndef SLUICE_RENDEZVOUS_WAITING_TABLE_H_
#define SLUICE_RENDEZVOUS_WAITING_TABLE_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "graph/base/cancellation.h"
#include "rendezvous/key.h"
#include "rendezvous/rendezvous.h"

namespace sluice {

// A value without a receiver (`done` is null), or a receiver without a value.
struct Waiting {
  RendezvousValue value;
  TransferArgs args;
  RecvDone done;
  CancellationManager* cancellation = nullptr;  // Of a receiver, if it has one.
};

// What waits in one shard of a rendezvous, by key, oldest first under each: all values or all receivers. A few keys are
// a list, more of them a hash table; the first item needs no memory, and the others come from blocks that are kept
// until the end, so that a transfer costs no allocation of its own once there have been as many at a time. Callers give
// the key's hash, of which they use the low bits themselves. Owned by its shard. Not thread-safe: the shard's lock
// guards it.
class WaitingTable {
 public:
  // The low bits of a hash choose the shard: all keys here have them in common.
  static constexpr size_t kMaxShards = 16;

  class Item : public Waiting {
   private:
    friend class WaitingTable;
    RendezvousKey key_;
    size_t hash_ = 0;
    Item* next_key_ = nullptr;   // In the bucket; only of the first item under a key.
    Item* next_same_ = nullptr;  // The next one under this key, or in the list of free items.
    Item* last_same_ = nullptr;  // The last one under this key; only of the first.
  };

  // Keys that are looked through one after the other.
  static constexpr size_t kMaxListed = 4;

  WaitingTable() : free_(&first_item_) {}
  WaitingTable(const WaitingTable&) = delete;
  WaitingTable& operator=(const WaitingTable&) = delete;

  // The oldest item under `key`, or null. Valid until the next change.
  Item* Find(size_t hash, const RendezvousKey& key) { return *Link(hash, key); }
  // Gets the memory for one more item: the next Add does not throw.
  void Reserve() {
    if (free_ == nullptr) AddBlock();
  }
  // An empty item after all others under `key`, for the caller to fill in.
  Item& Add(size_t hash, const RendezvousKey& key);
  // Takes out `first`, which Find has given.
  Waiting Take(Item* first);
  // Takes out all receivers with this cancellation; null: everything, values too. Null when there is none, else the
  // first of a list, whose items stay what they are until Recycle. Needs no memory: an abort must not fail.
  Item* TakeAll(const CancellationManager* cancellation) noexcept;
  static Item* Next(const Item* taken) { return taken->next_same_; }
  // Empties items that TakeAll has given, and takes them back. May destroy what their callbacks hold.
  void Recycle(Item* taken) noexcept;

  // Keys under which something waits.
  size_t num_keys() const { return num_keys_; }
  // KeyBit: the mask bit of a hash. KeyBits: the OR over all keys here; a key whose bit is not set is not in this
  // table.
  static uint64_t KeyBit(size_t hash) { return uint64_t{1} << (hash * 0x9E3779B97F4A7C15u >> 58); }
  uint64_t KeyBits() const;
  // Adds keys under which receivers (or else values) wait to `keys`, up to `max` in all.
  void AddKeys(size_t max, bool is_receive, std::vector<RendezvousKey>* keys) const;

 private:
  static constexpr size_t kFirstBuckets = 8;  // When there are more keys than are listed.
  static constexpr size_t kFirstBlock = 4;    // After the first item.

  // Where the first item under `key` hangs, or would.
  Item** Link(size_t hash, const RendezvousKey& key);
  Item*& Bucket(size_t hash) { return buckets_[hash / kMaxShards & (num_buckets_ - 1)]; }
  // Takes the item at `link` out of its bucket; the next one under its key steps forward.
  void Unlink(Item** link);
  Waiting Free(Item* item);
  void AddBlock();
  // Without memory for it, lists grow instead.
  void Grow() noexcept;

  Item first_item_;
  Item* listed_ = nullptr;                 // The first bucket.
  std::unique_ptr<Item*[]> more_buckets_;  // Once there are more keys than are listed.
  Item** buckets_ = &listed_;
  size_t num_buckets_ = 1;  // A power of two.
  size_t num_keys_ = 0;
  Item* free_;
  size_t num_items_ = 1;  // In all.
  std::vector<std::unique_ptr<Item[]>> blocks_;
};

}  // namespace sluice

#endif  // SLUICE_RENDEZVOUS_WAITING_TABLE_H_

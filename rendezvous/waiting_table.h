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

// A value that waits for its receiver (`done` is null), or a receiver that waits for its value.
struct Waiting {
  RendezvousValue value;
  TransferArgs args;
  RecvDone done;
  CancellationManager* cancellation = nullptr;  // Only of receivers; may be null.
};

// The items that wait in one shard of a rendezvous, by key, oldest first. Under one key wait either values or
// receivers, never both. Up to kMaxListed keys are in a list, more in a hash table. The first item is a member; others
// come from blocks that are kept until destruction, so a transfer allocates only when more items wait than ever before.
// Callers pass the key's hash, whose low bits they have used to choose the shard. Owned by its shard. Not thread-safe:
// the shard's lock guards it.
class WaitingTable {
 public:
  // The low bits of a hash choose the shard, so they are the same for all keys in this table.
  static constexpr size_t kMaxShards = 16;

  class Item : public Waiting {
   private:
    friend class WaitingTable;
    RendezvousKey key_;
    size_t hash_ = 0;
    Item* next_key_ = nullptr;   // The next key in the bucket; set only for the first item under a key.
    Item* next_same_ = nullptr;  // The next one under this key, or in the list of free items.
    Item* last_same_ = nullptr;  // The last one under this key; set only for the first.
  };

  // Up to this many keys are searched linearly.
  static constexpr size_t kMaxListed = 4;

  WaitingTable() : free_(&first_item_) {}
  WaitingTable(const WaitingTable&) = delete;
  WaitingTable& operator=(const WaitingTable&) = delete;

  // The oldest item under `key`, or null. Valid until the next change.
  Item* Find(size_t hash, const RendezvousKey& key) { return *Link(hash, key); }
  // Allocates memory for one more item if necessary, so that the next Add does not throw.
  void Reserve() {
    if (free_ == nullptr) AddBlock();
  }
  // Adds an empty item after all others under `key`, for the caller to fill in.
  Item& Add(size_t hash, const RendezvousKey& key);
  // Removes `first`, which Find returned.
  Waiting Take(Item* first);
  // Removes all receivers with this cancellation or, if it is null, all items. Returns the first of a list (see Next),
  // whose items are unchanged until Recycle; null if there are none. Allocates nothing: an abort must not fail.
  Item* TakeAll(const CancellationManager* cancellation) noexcept;
  static Item* Next(const Item* taken) { return taken->next_same_; }
  // Clears items that TakeAll returned, for reuse. May run destructors of what their callbacks hold.
  void Recycle(Item* taken) noexcept;

  // The number of keys under which something waits.
  size_t num_keys() const { return num_keys_; }
  // KeyBit: the mask bit of a hash. KeyBits: the OR over all keys here; a key whose bit is not set is not in this
  // table.
  static uint64_t KeyBit(size_t hash) { return uint64_t{1} << (hash * 0x9E3779B97F4A7C15u >> 58); }
  uint64_t KeyBits() const;
  // Appends to `keys` the keys under which receivers (`is_receive`) or values wait, until it has `max` of them.
  void AddKeys(size_t max, bool is_receive, std::vector<RendezvousKey>* keys) const;

 private:
  static constexpr size_t kFirstBuckets = 8;  // The size of the first hash table.
  static constexpr size_t kFirstBlock = 4;    // After the first item.

  // The link that points to the first item under `key`, or to which it would be appended.
  Item** Link(size_t hash, const RendezvousKey& key);
  Item*& Bucket(size_t hash) { return buckets_[hash / kMaxShards & (num_buckets_ - 1)]; }
  // Removes the item at `link` from its bucket and puts the next one under its key there.
  void Unlink(Item** link);
  Waiting Free(Item* item);
  void AddBlock();
  // Doubles the buckets. If there is no memory, does nothing: the lists of the buckets become longer.
  void Grow() noexcept;

  Item first_item_;
  Item* listed_ = nullptr;                 // The first bucket.
  std::unique_ptr<Item*[]> more_buckets_;  // The hash table, once there are more than kMaxListed keys.
  Item** buckets_ = &listed_;
  size_t num_buckets_ = 1;  // A power of two.
  size_t num_keys_ = 0;
  Item* free_;
  size_t num_items_ = 1;  // In all.
  std::vector<std::unique_ptr<Item[]>> blocks_;
};

}  // namespace sluice

#endif  // SLUICE_RENDEZVOUS_WAITING_TABLE_H_

#ifndef SLUICE_GRAPH_IR_NAME_TABLE_H_
#define SLUICE_GRAPH_IR_NAME_TABLE_H_

#include <cstdint>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "graph/base/big_vector.h"

namespace sluice {

// `prefix`, or it with the number of the first gap found behind it: doubling, then halving, so that thousands of names
// with one prefix stay cheap.
template <typename IsTaken>
std::string FreeName(absl::string_view prefix, const IsTaken& is_taken) {
  if (!is_taken(prefix)) return std::string(prefix);
  const auto is_number_taken = [&](int64_t i) { return is_taken(absl::StrCat(prefix, "_", i)); };
  int64_t high = 1, low = 0;
  while (is_number_taken(high)) low = std::exchange(high, high * 2);
  while (high - low > 1) {
    const int64_t middle = low + (high - low) / 2;
    (is_number_taken(middle) ? low : high) = middle;
  }
  return absl::StrCat(prefix, "_", high);
}

// An index from names to numbers that does not hold the names: callers say what the name of a number is.
// Open addressing, 8 bytes a slot, at most 2/3 full: about 16 bytes a node at a million nodes.
// A value type. Not thread-safe.
class NameTable {
 public:
  static uint32_t Hash(absl::string_view name);

  // Makes room for `count` names in all.
  void Reserve(size_t count);

  // The number stored for `name`, or -1. `name_of(number)` gives the name of a stored number.
  template <typename NameOf>
  int32_t Find(absl::string_view name, uint32_t hash, const NameOf& name_of) const {
    if (slots_.empty()) return -1;
    for (size_t i = hash & mask_;; i = (i + 1) & mask_) {
      const Slot& slot = slots_[i];
      if (slot.number == kEmpty) return -1;
      if (slot.number >= 0 && slot.hash == hash && name_of(slot.number) == name) return slot.number;
    }
  }
  // Makes room for one more: the next Insert does not throw.
  void ReserveOne();
  // Stores `number`. REQUIRES: the name is not there.
  void Insert(uint32_t hash, int32_t number);
  // Stores the numbers of `from` under the same names, as far as `new_number(number)` is not negative, which they are
  // stored as. Looks at all names of `from`, but not at the names themselves. REQUIRES: none of the names is there.
  template <typename NewNumber>
  void InsertAll(const NameTable& from, const NewNumber& new_number) {
    for (const Slot& slot : from.slots_) {
      if (slot.number < 0) continue;
      const int32_t number = new_number(slot.number);
      if (number >= 0) Insert(slot.hash, number);
    }
  }
  // Forgets `number`, stored under `hash`.
  void Erase(uint32_t hash, int32_t number);
  // Fetches the slot of `hash` into the cache, for a Find soon.
  void Prefetch(uint32_t hash) const {
    if (!slots_.empty()) __builtin_prefetch(&slots_[hash & mask_]);
  }
  size_t bytes() const { return slots_.capacity() * sizeof(Slot); }

 private:
  static constexpr int32_t kEmpty = -1;
  static constexpr int32_t kErased = -2;
  struct Slot {
    uint32_t hash = 0;
    int32_t number = kEmpty;
  };
  void Rehash(size_t capacity);

  BigVector<Slot> slots_;
  size_t mask_ = 0;
  size_t used_ = 0;  // Slots that are not empty, erased ones included.
  size_t live_ = 0;
};

}  // namespace sluice

#endif  // SLUICE_GRAPH_IR_NAME_TABLE_H_

#include "graph/ir/name_table.h"

#include <cstring>
#include <utility>

namespace sluice {
namespace {

// Mixes 64 bits: the halves of their 128-bit product.
uint64_t Mix(uint64_t a, uint64_t b) {
  const unsigned __int128 product = static_cast<unsigned __int128>(a) * b;
  return static_cast<uint64_t>(product) ^ static_cast<uint64_t>(product >> 64);
}

template <typename Word>
uint64_t Load(const char* p) {
  Word word;
  std::memcpy(&word, p, sizeof(word));
  return word;
}

// Up to 8 bytes as one number; with their count, no two texts give the same.
uint64_t LoadShort(const char* p, size_t n) {
  if (n >= 4) return Load<uint32_t>(p) << 32 | Load<uint32_t>(p + n - 4);
  uint64_t v = 0;
  for (size_t i = 0; i < n; ++i) v = v << 8 | static_cast<unsigned char>(p[i]);
  return v;
}

}  // namespace

uint32_t NameTable::Hash(absl::string_view name) {
  constexpr uint64_t kSeed = 0x9e3779b97f4a7c15, kFactor = 0xd6e8feb86659fd93;
  uint64_t h = kSeed ^ name.size();
  const char* const p = name.data();
  const size_t n = name.size();
  if (n <= 8) {
    h = Mix(h ^ LoadShort(p, n), kFactor);
  } else {
    for (size_t i = 0; i + 8 < n; i += 8) h = Mix(h ^ Load<uint64_t>(p + i), kFactor);
    h = Mix(h ^ Load<uint64_t>(p + n - 8), kFactor);
  }
  h = Mix(h, kSeed);
  return static_cast<uint32_t>(h ^ (h >> 32));
}

void NameTable::Reserve(size_t count) {
  size_t capacity = 16;
  while (capacity * 2 < count * 3) capacity *= 2;
  if (capacity > slots_.size()) Rehash(capacity);
}

void NameTable::ReserveOne() {
  if ((used_ + 1) * 3 > slots_.size() * 2) Reserve((live_ + 1) * 2);
  // Erased slots may still fill a table of the right size: sweep them out.
  if ((used_ + 1) * 3 > slots_.size() * 2) Rehash(slots_.size());
}

void NameTable::Insert(uint32_t hash, int32_t number) {
  ReserveOne();
  size_t i = hash & mask_;
  while (slots_[i].number >= 0) i = (i + 1) & mask_;
  if (slots_[i].number == kEmpty) ++used_;
  slots_[i] = {hash, number};
  ++live_;
}

void NameTable::Erase(uint32_t hash, int32_t number) {
  if (slots_.empty()) return;
  for (size_t i = hash & mask_; slots_[i].number != kEmpty; i = (i + 1) & mask_) {
    if (slots_[i].number != number) continue;
    slots_[i].number = kErased;
    --live_;
    return;
  }
}

void NameTable::Rehash(size_t capacity) {
  const BigVector<Slot> old = std::exchange(slots_, BigVector<Slot>(capacity));
  mask_ = capacity - 1;
  used_ = live_ = 0;
  for (const Slot& slot : old) {
    if (slot.number < 0) continue;
    size_t i = slot.hash & mask_;
    while (slots_[i].number >= 0) i = (i + 1) & mask_;
    slots_[i] = slot;
    ++used_;
    ++live_;
  }
}

}  // namespace sluice

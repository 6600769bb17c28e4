#include "kernels/strings/string_hash.h"

#include <cstddef>
#include <cstring>
#include <utility>

namespace sluice {
namespace {

// Little endian, as this machine is.
template <typename T>
uint64_t Load(const char* p) {
  T value;
  std::memcpy(&value, p, sizeof(value));
  return value;
}
uint64_t Load64(const char* p) { return Load<uint64_t>(p); }

uint64_t RotateRight(uint64_t value, int bits) { return value >> bits | value << (64 - bits); }
uint64_t RotateLeft(uint64_t value, int bits) { return RotateRight(value, 64 - bits); }

constexpr uint64_t kFarm0 = 0xc3a5c85c97cb3127;
constexpr uint64_t kFarm1 = 0xb492b66fbe98f273;
constexpr uint64_t kFarm2 = 0x9ae16a3b2f90404f;

uint64_t FoldHigh(uint64_t value) { return value ^ (value >> 47); }

uint64_t MixPair(uint64_t low, uint64_t high, uint64_t factor) {
  const uint64_t first = FoldHigh((low ^ high) * factor);
  return FoldHigh((high ^ first) * factor) * factor;
}

uint64_t FarmUpTo16(const char* p, size_t size) {
  const uint64_t factor = kFarm2 + size * 2;
  if (size >= 8) {
    const uint64_t head = Load64(p) + kFarm2, tail = Load64(p + size - 8);
    return MixPair(RotateRight(tail, 37) * factor + head, (RotateRight(head, 25) + tail) * factor, factor);
  }
  if (size >= 4) return MixPair(size + (Load<uint32_t>(p) << 3), Load<uint32_t>(p + size - 4), factor);
  if (size == 0) return kFarm2;
  const uint64_t first = Load<uint8_t>(p), middle = Load<uint8_t>(p + size / 2), last = Load<uint8_t>(p + size - 1);
  return FoldHigh((first + (middle << 8)) * kFarm2 ^ (size + (last << 2)) * kFarm0) * kFarm2;
}

uint64_t FarmUpTo32(const char* p, size_t size) {
  const uint64_t factor = kFarm2 + size * 2;
  const uint64_t a = Load64(p) * kFarm1, b = Load64(p + 8);
  const uint64_t c = Load64(p + size - 8) * factor, d = Load64(p + size - 16) * kFarm2;
  return MixPair(RotateRight(a + b, 43) + RotateRight(c, 30) + d, a + RotateRight(b + kFarm2, 18) + c, factor);
}

uint64_t FarmUpTo64(const char* p, size_t size) {
  const uint64_t factor = kFarm2 + size * 2;
  const uint64_t a = Load64(p) * kFarm2, b = Load64(p + 8);
  const uint64_t c = Load64(p + size - 8) * factor, d = Load64(p + size - 16) * kFarm2;
  const uint64_t y = RotateRight(a + b, 43) + RotateRight(c, 30) + d;
  const uint64_t z = MixPair(y, a + RotateRight(b + kFarm2, 18) + c, factor);
  const uint64_t e = Load64(p + 16) * factor, f = Load64(p + 24);
  const uint64_t g = (y + Load64(p + size - 32)) * factor, h = (z + Load64(p + size - 24)) * factor;
  return MixPair(RotateRight(e + f, 43) + RotateRight(g, 30) + h, e + RotateRight(f + a, 18) + g, factor);
}

using Pair = std::pair<uint64_t, uint64_t>;

Pair FarmBlock32(const char* p, uint64_t a, uint64_t b) {
  a += Load64(p);
  b = RotateRight(b + a + Load64(p + 24), 21);
  const uint64_t before = a;
  a += Load64(p + 8) + Load64(p + 16);
  return {a + Load64(p + 24), b + RotateRight(a, 44) + before};
}

// The state of a long text, of which 64 bytes are taken in at a time.
struct FarmState {
  uint64_t x, y, z;
  Pair v = {0, 0}, w = {0, 0};

  // `scale`: 1, or 9 for the last block.
  void Take(const char* p, uint64_t factor, uint64_t scale) {
    x = RotateRight(x + y + v.first + Load64(p + 8), 37) * factor;
    y = RotateRight(y + v.second + Load64(p + 48), 42) * factor;
    x ^= w.second * scale;
    y += v.first * scale + Load64(p + 40);
    z = RotateRight(z + w.first, 33) * factor;
    v = FarmBlock32(p, v.second * factor, x + w.first);
    w = FarmBlock32(p + 32, z + w.second, y + Load64(p + 16));
    std::swap(z, x);
  }
};

uint64_t SipRounds(uint64_t (&v)[4], int rounds) {
  for (int i = 0; i < rounds; ++i) {
    v[0] += v[1];
    v[2] += v[3];
    v[1] = RotateLeft(v[1], 13) ^ v[0];
    v[3] = RotateLeft(v[3], 16) ^ v[2];
    v[0] = RotateLeft(v[0], 32) + v[3];
    v[2] += v[1];
    v[3] = RotateLeft(v[3], 21) ^ v[0];
    v[1] = RotateLeft(v[1], 17) ^ v[2];
    v[2] = RotateLeft(v[2], 32);
  }
  return v[0] ^ v[1] ^ v[2] ^ v[3];
}

}  // namespace

uint64_t FarmFingerprint(absl::string_view text) {
  const char* p = text.data();
  const size_t size = text.size();
  if (size <= 16) return FarmUpTo16(p, size);
  if (size <= 32) return FarmUpTo32(p, size);
  if (size <= 64) return FarmUpTo64(p, size);
  constexpr uint64_t kSeed = 81;
  FarmState state = {kSeed, kSeed * kFarm1 + 113, 0};
  state.z = FoldHigh(state.y * kFarm2 + 113) * kFarm2;
  state.x = kSeed * kFarm2 + Load64(p);
  for (size_t at = 0; at + 64 < size; at += 64) state.Take(p + at, kFarm1, 1);
  const uint64_t factor = kFarm1 + ((state.z & 0xff) << 1);
  state.w.first += (size - 1) & 63;
  state.v.first += state.w.first;
  state.w.first += state.v.first;
  state.Take(p + size - 64, factor, 9);
  return MixPair(MixPair(state.v.first, state.w.first, factor) + FoldHigh(state.y) * kFarm0 + state.z,
                 MixPair(state.v.second, state.w.second, factor) + state.x, factor);
}

uint64_t MurmurHash(absl::string_view text) {
  constexpr uint64_t kFactor = 0xc6a4a7935bd1e995, kSeed = 0xdecafcaffe;
  constexpr int kShift = 47;
  uint64_t hash = kSeed ^ (text.size() * kFactor);
  for (; text.size() >= 8; text.remove_prefix(8)) {
    uint64_t word = Load64(text.data()) * kFactor;
    word = (word ^ word >> kShift) * kFactor;
    hash = (hash ^ word) * kFactor;
  }
  if (!text.empty()) {
    uint64_t word = 0;
    std::memcpy(&word, text.data(), text.size());
    hash = (hash ^ word) * kFactor;
  }
  hash = (hash ^ hash >> kShift) * kFactor;
  return hash ^ hash >> kShift;
}

uint64_t SipHash(absl::string_view text, uint64_t key0, uint64_t key1) {
  uint64_t v[4] = {key0 ^ 0x736f6d6570736575, key1 ^ 0x646f72616e646f6d, key0 ^ 0x6c7967656e657261,
                   key1 ^ 0x7465646279746573};
  uint64_t last = static_cast<uint64_t>(text.size()) << 56;
  const auto take = [&v](uint64_t word) {
    v[3] ^= word;
    SipRounds(v, 2);
    v[0] ^= word;
  };
  for (; text.size() >= 8; text.remove_prefix(8)) take(Load64(text.data()));
  uint64_t rest = 0;
  if (!text.empty()) std::memcpy(&rest, text.data(), text.size());
  take(last | rest);
  v[2] ^= 0xff;
  return SipRounds(v, 4);
}

}  // namespace sluice

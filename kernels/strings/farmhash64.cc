#include "kernels/strings/farmhash64.h"

#include <cstring>
#include <utility>

namespace sluice {
namespace {

// The function's primes.
constexpr uint64_t kA = 0xc3a5c85c97cb3127;
constexpr uint64_t kB = 0xb492b66fbe98f273;
constexpr uint64_t kC = 0x9ae16a3b2f90404f;

// Little endian, like every machine that we run on.
uint64_t Word(const char* at) {
  uint64_t word;
  std::memcpy(&word, at, sizeof(word));
  return word;
}
uint64_t HalfWord(const char* at) {
  uint32_t word;
  std::memcpy(&word, at, sizeof(word));
  return word;
}
uint64_t Rotate(uint64_t value, int bits) { return value >> bits | value << (64 - bits); }
uint64_t Mix(uint64_t value) { return value ^ value >> 47; }

uint64_t Join(uint64_t u, uint64_t v, uint64_t factor) {
  const uint64_t a = Mix((u ^ v) * factor);
  return Mix((v ^ a) * factor) * factor;
}

uint64_t HashUpTo16(const char* s, size_t size) {
  if (size >= 8) {
    const uint64_t factor = kC + size * 2;
    const uint64_t a = Word(s) + kC;
    const uint64_t b = Word(s + size - 8);
    const uint64_t c = Rotate(b, 37) * factor + a;
    const uint64_t d = (Rotate(a, 25) + b) * factor;
    return Join(c, d, factor);
  }
  if (size >= 4) return Join(size + (HalfWord(s) << 3), HalfWord(s + size - 4), kC + size * 2);
  if (size == 0) return kC;
  const auto byte = [s](size_t i) { return static_cast<uint64_t>(static_cast<uint8_t>(s[i])); };
  const uint64_t y = byte(0) + (byte(size / 2) << 8);
  const uint64_t z = size + (byte(size - 1) << 2);
  return Mix(y * kC ^ z * kA) * kC;
}

uint64_t HashUpTo32(const char* s, size_t size) {
  const uint64_t factor = kC + size * 2;
  const uint64_t a = Word(s) * kB;
  const uint64_t b = Word(s + 8);
  const uint64_t c = Word(s + size - 8) * factor;
  const uint64_t d = Word(s + size - 16) * kC;
  return Join(Rotate(a + b, 43) + Rotate(c, 30) + d, a + Rotate(b + kC, 18) + c, factor);
}

uint64_t HashUpTo64(const char* s, size_t size) {
  const uint64_t factor = kC + size * 2;
  const uint64_t a = Word(s) * kC;
  const uint64_t b = Word(s + 8);
  const uint64_t c = Word(s + size - 8) * factor;
  const uint64_t d = Word(s + size - 16) * kC;
  const uint64_t y = Rotate(a + b, 43) + Rotate(c, 30) + d;
  const uint64_t z = Join(y, a + Rotate(b + kC, 18) + c, factor);
  const uint64_t e = Word(s + 16) * factor;
  const uint64_t f = Word(s + 24);
  const uint64_t g = (y + Word(s + size - 32)) * factor;
  const uint64_t h = (z + Word(s + size - 24)) * factor;
  return Join(Rotate(e + f, 43) + Rotate(g, 30) + h, e + Rotate(f + a, 18) + g, factor);
}

// Two words of state that take 32 bytes at a time.
using Pair = std::pair<uint64_t, uint64_t>;

Pair Take32(const char* s, uint64_t a, uint64_t b) {
  const uint64_t w = Word(s), x = Word(s + 8), y = Word(s + 16), z = Word(s + 24);
  a += w;
  b = Rotate(b + a + z, 21);
  const uint64_t c = a;
  a += x + y;
  b += Rotate(a, 44);
  return {a + z, b + c};
}

uint64_t HashLong(const char* s, size_t size) {
  constexpr uint64_t kSeed = 81;
  uint64_t x = kSeed;
  uint64_t y = kSeed * kB + 113;
  uint64_t z = Mix(y * kC + 113) * kC;
  Pair v{0, 0}, w{0, 0};
  x = x * kC + Word(s);
  const char* const end = s + (size - 1) / 64 * 64;
  const char* const last64 = s + size - 64;
  const auto turn = [&](const char* at, uint64_t factor, uint64_t weight) {
    x = Rotate(x + y + v.first + Word(at + 8), 37) * factor;
    y = Rotate(y + v.second + Word(at + 48), 42) * factor;
    x ^= w.second * weight;
    y += v.first * weight + Word(at + 40);
    z = Rotate(z + w.first, 33) * factor;
    v = Take32(at, v.second * factor, x + w.first);
    w = Take32(at + 32, z + w.second, y + Word(at + 16));
    std::swap(z, x);
  };
  for (; s != end; s += 64) turn(s, kB, 1);
  const uint64_t factor = kB + ((z & 0xff) << 1);
  w.first += (size - 1) & 63;
  v.first += w.first;
  w.first += v.first;
  turn(last64, factor, 9);
  return Join(Join(v.first, w.first, factor) + Mix(y) * kA + z, Join(v.second, w.second, factor) + x, factor);
}

}  // namespace

uint64_t FarmHash64(absl::string_view bytes) {
  const char* const s = bytes.data();
  const size_t size = bytes.size();
  if (size <= 16) return HashUpTo16(s, size);
  if (size <= 32) return HashUpTo32(s, size);
  if (size <= 64) return HashUpTo64(s, size);
  return HashLong(s, size);
}

}  // namespace sluice

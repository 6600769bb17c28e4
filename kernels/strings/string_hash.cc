#include "kernels/strings/string_hash.h"

#include <cstring>

namespace sluice {
namespace {

// Little endian, as this machine is.
uint64_t Load64(const char* p) {
  uint64_t value;
  std::memcpy(&value, p, sizeof(value));
  return value;
}

uint64_t RotateLeft(uint64_t value, int bits) { return value << bits | value >> (64 - bits); }

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

#include "rendezvous/frame_hash.h"

#include <cstring>

namespace sluice {

uint64_t ProtocolHash(absl::string_view text) {
  constexpr uint64_t kFactor = 0xc6a4a7935bd1e995, kSeed = 0xdecafcaffe;
  constexpr int kShift = 47;
  uint64_t h = kSeed ^ (text.size() * kFactor);
  while (text.size() >= sizeof(uint64_t)) {
    uint64_t word;
    std::memcpy(&word, text.data(), sizeof(word));
    word *= kFactor;
    word ^= word >> kShift;
    h = (h ^ (word * kFactor)) * kFactor;
    text.remove_prefix(sizeof(word));
  }
  if (!text.empty()) {
    uint64_t rest = 0;
    std::memcpy(&rest, text.data(), text.size());
    h = (h ^ rest) * kFactor;
  }
  h ^= h >> kShift;
  h *= kFactor;
  return h ^ (h >> kShift);
}

uint64_t ProtocolHashCombine(uint64_t a, uint64_t b) { return a ^ (b + 0x9e3779b97f4a7800 + (a << 10) + (a >> 4)); }

uint64_t ChildFrameNumber(uint64_t parent_frame, int64_t parent_iteration, absl::string_view name) {
  return ChildFrameNumber(parent_frame, parent_iteration, ProtocolHash(name));
}

uint64_t ChildFrameNumber(uint64_t parent_frame, int64_t parent_iteration, uint64_t name_hash) {
  return ProtocolHashCombine(parent_frame, ProtocolHashCombine(static_cast<uint64_t>(parent_iteration), name_hash));
}

}  // namespace sluice

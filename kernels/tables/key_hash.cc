#include "kernels/tables/key_hash.h"

#include <cstring>

#include "absl/strings/string_view.h"
#include "graph/value/tstring.h"
#include "kernels/array/index_values.h"

namespace sluice {
namespace {

uint64_t Murmur64A(absl::string_view text) {
  constexpr uint64_t kSeed = 0xDECAFCAFFE, kMultiplier = 0xc6a4a7935bd1e995;
  const auto fold = [](uint64_t value) { return value ^ value >> 47; };
  uint64_t hash = kSeed ^ text.size() * kMultiplier;
  for (; text.size() >= 8; text.remove_prefix(8)) {
    uint64_t word;  // Little endian, as all that we run on.
    std::memcpy(&word, text.data(), 8);
    hash = (hash ^ fold(word * kMultiplier) * kMultiplier) * kMultiplier;
  }
  if (!text.empty()) {
    uint64_t rest = 0;
    std::memcpy(&rest, text.data(), text.size());
    hash = (hash ^ rest) * kMultiplier;
  }
  return fold(fold(hash) * kMultiplier);
}

uint64_t HashElement(const Tensor& keys, int64_t i) {
  if (keys.dtype() == DType::kString) return Murmur64A(keys.flat<TString>()[static_cast<size_t>(i)].view());
  return static_cast<uint64_t>(IndexAt(keys, i));
}

}  // namespace

uint64_t HashKey(const Tensor& keys, int64_t row, int64_t width) {
  if (width == 1) return HashElement(keys, row);
  uint64_t hash = 0;
  for (int64_t i = 0; i < width; ++i) {
    hash ^= HashElement(keys, row * width + i) + 0x9e3779b97f4a7800 + (hash << 10) + (hash >> 4);
  }
  return hash;
}

}  // namespace sluice

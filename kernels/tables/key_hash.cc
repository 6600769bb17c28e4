#include "kernels/tables/key_hash.h"

#include "graph/value/tstring.h"
#include "kernels/array/index_values.h"
#include "kernels/strings/string_hash.h"

namespace sluice {
namespace {

uint64_t HashElement(const Tensor& keys, int64_t i) {
  if (keys.dtype() == DType::kString) return MurmurHash(keys.flat<TString>()[static_cast<size_t>(i)].view());
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

#include "kernels/checkpoint/snappy.h"

#include <algorithm>
#include <cstdint>

#include "absl/strings/str_cat.h"
#include "graph/base/error.h"
#include "kernels/checkpoint/take_varint.h"

namespace sluice {
namespace {

// The format: the size of the result as a varint, then elements. The two low bits of an element's first byte say what
// it is: bytes that follow, or a copy of bytes that the result has already, with its offset in 1, 2 or 4 bytes.
constexpr int kLiteral = 0;
constexpr int kCopyOffset1 = 1;
constexpr int kCopyOffset2 = 2;
constexpr size_t kMaxGrowth = 64;  // No element of n bytes gives more than 64 * n.

absl::Status Damaged(absl::string_view what) {
  return Error(ErrorCode::kCheckpointDamaged).Text(absl::StrCat("a compressed block is damaged: ", what));
}

// Takes a little-endian number of `size` (1 to 4) bytes. False when there are fewer.
bool TakeNumber(absl::string_view* bytes, size_t size, uint32_t* value) {
  if (bytes->size() < size) return false;
  *value = 0;
  for (size_t i = 0; i < size; ++i) *value |= static_cast<uint32_t>(static_cast<uint8_t>((*bytes)[i])) << (8 * i);
  bytes->remove_prefix(size);
  return true;
}

bool TakeSize(absl::string_view* bytes, uint32_t* size) {
  constexpr size_t kMaxBytes = 5;
  uint64_t value = 0;
  absl::string_view head = bytes->substr(0, kMaxBytes);
  if (!TakeVarint(&head, &value) || value > UINT32_MAX) return false;
  bytes->remove_prefix(std::min(bytes->size(), kMaxBytes) - head.size());
  *size = static_cast<uint32_t>(value);
  return true;
}

// Appends the bytes of a literal whose tag was `tag`.
bool AppendLiteral(uint8_t tag, absl::string_view* bytes, size_t limit, std::string* out) {
  uint32_t last = tag >> 2;  // Its length less 1, or that many bytes hold it.
  if (last >= 60 && !TakeNumber(bytes, last - 59, &last)) return false;
  const size_t length = size_t{last} + 1;
  if (length > bytes->size() || length > limit - out->size()) return false;
  out->append(bytes->data(), length);
  bytes->remove_prefix(length);
  return true;
}

// Appends a copy of what stands in `out`, `offset` bytes before the end. It may run into what it appends.
bool AppendCopy(size_t offset, size_t length, size_t limit, std::string* out) {
  if (offset == 0 || offset > out->size() || length > limit - out->size()) return false;
  for (size_t from = out->size() - offset; length > 0; ++from, --length) out->push_back((*out)[from]);
  return true;
}

bool AppendElement(absl::string_view* bytes, size_t limit, std::string* out) {
  const uint8_t tag = static_cast<uint8_t>(bytes->front());
  bytes->remove_prefix(1);
  uint32_t offset = 0;
  switch (tag & 3) {
    case kLiteral:
      return AppendLiteral(tag, bytes, limit, out);
    case kCopyOffset1:
      return TakeNumber(bytes, 1, &offset) && AppendCopy((tag >> 5) << 8 | offset, 4 + (tag >> 2 & 7), limit, out);
    case kCopyOffset2:
      return TakeNumber(bytes, 2, &offset) && AppendCopy(offset, 1 + (tag >> 2), limit, out);
    default:
      return TakeNumber(bytes, 4, &offset) && AppendCopy(offset, 1 + (tag >> 2), limit, out);
  }
}

}  // namespace

absl::StatusOr<std::string> SnappyDecompress(absl::string_view bytes, size_t max_bytes) {
  uint32_t size = 0;
  if (!TakeSize(&bytes, &size)) return Damaged("its size is unreadable");
  if (size / kMaxGrowth > bytes.size()) {
    return Damaged(absl::StrCat(bytes.size(), " bytes cannot stand for ", size));
  }
  if (size > max_bytes) {
    return Error(ErrorCode::kOutOfMemory)
        .Found(absl::StrCat(size, " bytes"))
        .Expected(absl::StrCat("at most ", max_bytes));
  }
  std::string out;
  out.reserve(size);
  while (!bytes.empty()) {
    if (!AppendElement(&bytes, size, &out)) return Damaged("an element leads out of it");
  }
  if (out.size() != size) return Damaged(absl::StrCat("it stands for ", out.size(), " bytes and says ", size));
  return out;
}

}  // namespace sluice

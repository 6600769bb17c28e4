#include "kernels/checkpoint/string_form.h"

#include <cstddef>

#include "graph/base/error.h"
#include "graph/wire/wire_writer.h"
#include "kernels/checkpoint/byte_order.h"
#include "kernels/checkpoint/crc32c.h"
#include "kernels/checkpoint/take_varint.h"

namespace sluice {
namespace {

absl::Status Damaged(absl::string_view what) { return Error(ErrorCode::kCheckpointDamaged).Text(what); }

template <typename T>
absl::string_view BytesOf(const T& value) {
  return absl::string_view(reinterpret_cast<const char*>(&value), sizeof(value));
}

// Goes on with the checksum of lengths: as a number of 4 bytes, or of 8 where that is too small, in the byte order of
// the file.
uint32_t WithLength(uint32_t crc, uint64_t length, bool is_big_endian) {
  if (length > UINT32_MAX) {
    if (is_big_endian) SwapByteOrder(DType::kUInt64, reinterpret_cast<char*>(&length), sizeof(length));
    return Crc32c(BytesOf(length), crc);
  }
  uint32_t small = static_cast<uint32_t>(length);
  if (is_big_endian) SwapByteOrder(DType::kUInt32, reinterpret_cast<char*>(&small), sizeof(small));
  return Crc32c(BytesOf(small), crc);
}

}  // namespace

absl::Status ReadStringForm(absl::string_view bytes, bool is_big_endian, absl::Span<TString> values, uint32_t* crc) {
  absl::string_view rest = bytes;
  uint64_t total = 0;
  *crc = 0;
  for (size_t i = 0; i < values.size(); ++i) {
    uint64_t length = 0;
    if (!TakeVarint(&rest, &length) || length > bytes.size() || total + length > bytes.size()) {
      return Damaged("the lengths of its strings do not add up");
    }
    total += length;
    *crc = WithLength(*crc, length, is_big_endian);
  }
  uint32_t stored = 0;
  if (rest.size() < sizeof(stored) || rest.size() - sizeof(stored) != total) {
    return Damaged("the lengths of its strings do not add up");
  }
  const uint32_t of_lengths = *crc;
  rest.copy(reinterpret_cast<char*>(&stored), sizeof(stored));
  *crc = Crc32c(rest.substr(0, sizeof(stored)), *crc);
  if (is_big_endian) SwapByteOrder(DType::kUInt32, reinterpret_cast<char*>(&stored), sizeof(stored));
  if (of_lengths != UnmaskCrc(stored)) return Damaged("the lengths of its strings have the wrong checksum");
  rest.remove_prefix(sizeof(stored));
  *crc = Crc32c(rest, *crc);
  absl::string_view lengths = bytes;
  for (TString& value : values) {
    uint64_t length = 0;
    TakeVarint(&lengths, &length);
    value.assign(rest.substr(0, static_cast<size_t>(length)));
    rest.remove_prefix(static_cast<size_t>(length));
  }
  return absl::OkStatus();
}

std::string StringFormHead(absl::Span<const TString> values, uint32_t* crc) {
  std::string head;
  WireWriter writer(&head);
  *crc = 0;
  for (const TString& value : values) {
    writer.RawVarint(value.size());
    *crc = WithLength(*crc, value.size(), /*is_big_endian=*/false);
  }
  const uint32_t masked = MaskCrc(*crc);
  head.append(BytesOf(masked).data(), sizeof(masked));
  *crc = Crc32c(BytesOf(masked), *crc);
  return head;
}

}  // namespace sluice

#include "graph/wire/wire_writer.h"

#include <cstring>

namespace sluice {
namespace {

template <typename T>
void AppendLittleEndian(T value, std::string* out) {
  for (size_t i = 0; i < sizeof(T); ++i) out->push_back(static_cast<char>(value >> (8 * i) & 0xff));
}

// Writes `value` as a varint into `buffer` and returns how many bytes it took.
size_t EncodeVarint(uint64_t value, char (&buffer)[10]) {
  size_t size = 0;
  while (value >= 0x80) {
    buffer[size++] = static_cast<char>((value & 0x7f) | 0x80);
    value >>= 7;
  }
  buffer[size++] = static_cast<char>(value);
  return size;
}

}  // namespace

void WireWriter::RawVarint(uint64_t value) {
  char buffer[10];
  out_.append(buffer, EncodeVarint(value, buffer));
}

void WireWriter::Varint(uint32_t field, uint64_t value) {
  Tag(field, WireType::kVarint);
  RawVarint(value);
}

void WireWriter::Fixed32(uint32_t field, uint32_t value) {
  Tag(field, WireType::kFixed32);
  AppendLittleEndian(value, &out_);
}

void WireWriter::Fixed64(uint32_t field, uint64_t value) {
  Tag(field, WireType::kFixed64);
  AppendLittleEndian(value, &out_);
}

void WireWriter::Float(uint32_t field, float value) {
  uint32_t bits;
  std::memcpy(&bits, &value, sizeof(bits));
  Fixed32(field, bits);
}

void WireWriter::Double(uint32_t field, double value) {
  uint64_t bits;
  std::memcpy(&bits, &value, sizeof(bits));
  Fixed64(field, bits);
}

void WireWriter::Bytes(uint32_t field, absl::string_view value) {
  Tag(field, WireType::kBytes);
  RawVarint(value.size());
  out_.append(value.data(), value.size());
}

size_t WireWriter::BeginMessage(uint32_t field) {
  Tag(field, WireType::kBytes);
  out_.push_back('\0');  // The length, if it turns out below 128; EndMessage makes room otherwise.
  return out_.size();
}

void WireWriter::EndMessage(size_t mark) {
  char buffer[10];
  const size_t length_size = EncodeVarint(out_.size() - mark, buffer);
  out_.replace(mark - 1, 1, buffer, length_size);
}

}  // namespace sluice

#include "graph/base/error_info_codec.h"

#include <utility>

#include "absl/strings/cord.h"

namespace sluice {
namespace {

constexpr uint32_t kVarint = 0;
constexpr uint32_t kLength = 2;

void PutVarint(uint64_t value, std::string* out) {
  for (; value >= 0x80; value >>= 7) out->push_back(static_cast<char>(value | 0x80));
  out->push_back(static_cast<char>(value));
}

void PutNumber(uint32_t field, int64_t value, std::string* out) {
  PutVarint(field << 3 | kVarint, out);
  PutVarint(static_cast<uint64_t>(value), out);
}

void PutBytes(uint32_t field, absl::string_view value, std::string* out) {
  PutVarint(field << 3 | kLength, out);
  PutVarint(value.size(), out);
  out->append(value.data(), value.size());
}

bool TakeVarint(absl::string_view* bytes, uint64_t* value) {
  *value = 0;
  for (size_t i = 0; i < bytes->size() && i < 10; ++i) {
    const auto byte = static_cast<unsigned char>((*bytes)[i]);
    *value |= static_cast<uint64_t>(byte & 0x7f) << (7 * i);
    if (byte < 0x80) {
      bytes->remove_prefix(i + 1);
      return true;
    }
  }
  return false;
}

// One field: a number, or bytes.
struct Field {
  uint64_t number = 0;
  bool is_bytes = false;
  uint64_t value = 0;
  absl::string_view bytes;
};

bool TakeField(absl::string_view* bytes, Field* field) {
  uint64_t tag = 0;
  if (!TakeVarint(bytes, &tag) || !TakeVarint(bytes, &field->value)) return false;
  field->number = tag >> 3;
  field->is_bytes = (tag & 7) == kLength;
  if (!field->is_bytes) return (tag & 7) == kVarint;
  if (field->value > bytes->size()) return false;
  field->bytes = bytes->substr(0, static_cast<size_t>(field->value));
  bytes->remove_prefix(field->bytes.size());
  return true;
}

// Calls visit(field number, member) for each member but `code` and `derived`: the one list of them.
template <typename Info, typename Visit>
void ForEachMember(Info& info, Visit visit) {
  visit(2u, info.text);
  visit(3u, info.node);
  visit(4u, info.op);
  visit(5u, info.input);
  visit(6u, info.input_name);
  visit(7u, info.attr);
  visit(8u, info.found);
  visit(9u, info.expected);
  visit(10u, info.function);
  visit(11u, info.frame);
  visit(12u, info.file);
  visit(13u, info.node_index);
  visit(14u, info.byte_begin);
  visit(15u, info.byte_end);
  visit(16u, info.line);
  visit(17u, info.column);
  visit(18u, info.limit);
  visit(19u, info.limit_value);
  visit(20u, info.suggestion);
}
constexpr uint32_t kCodeField = 1;
constexpr uint32_t kDerivedField = 21;

struct Writer {
  std::string* out;
  void operator()(uint32_t number, const std::string& text) const {
    if (!text.empty()) PutBytes(number, text, out);
  }
  void operator()(uint32_t number, int64_t value) const {
    if (value >= 0) PutNumber(number, value, out);
  }
};

struct Reader {
  const Field& field;
  void operator()(uint32_t number, std::string& text) const {
    if (number == field.number && field.is_bytes) text.assign(field.bytes.data(), field.bytes.size());
  }
  template <typename Int>
  void operator()(uint32_t number, Int& value) const {
    if (number == field.number && !field.is_bytes) value = static_cast<Int>(field.value);
  }
};

// Reads one {code, message, info} of a list.
bool DecodeListEntry(absl::string_view bytes, absl::Status* status) {
  uint64_t code = 0;
  absl::string_view message, info;
  Field field;
  while (!bytes.empty()) {
    if (!TakeField(&bytes, &field)) return false;
    if (field.number == 1) code = field.value;
    if (field.number == 2) message = field.bytes;
    if (field.number == 3) info = field.bytes;
  }
  if (code == 0 || code > static_cast<uint64_t>(absl::StatusCode::kUnauthenticated)) return false;
  *status = absl::Status(static_cast<absl::StatusCode>(code), message);
  if (!info.empty()) status->SetPayload(kErrorInfoUrl, absl::Cord(info));
  return true;
}

}  // namespace

std::string EncodeErrorInfo(const ErrorInfo& info) {
  std::string out;
  PutNumber(kCodeField, static_cast<int64_t>(info.code), &out);
  ForEachMember(info, Writer{&out});
  if (info.derived) PutNumber(kDerivedField, 1, &out);
  return out;
}

std::optional<ErrorInfo> DecodeErrorInfo(absl::string_view bytes) {
  ErrorInfo info;
  Field field;
  while (!bytes.empty()) {
    if (!TakeField(&bytes, &field)) return std::nullopt;
    if (field.number == kCodeField) info.code = static_cast<ErrorCode>(field.value);
    if (field.number == kDerivedField) info.derived = field.value != 0;
    ForEachMember(info, Reader{field});
  }
  return info;
}

std::string EncodeErrorList(const ErrorList& list) {
  std::string out;
  for (const absl::Status& error : list.errors) {
    std::string entry;
    PutNumber(1, static_cast<int64_t>(error.code()), &entry);
    PutBytes(2, error.message(), &entry);
    if (const auto info = error.GetPayload(kErrorInfoUrl)) PutBytes(3, std::string(*info), &entry);
    PutBytes(1, entry, &out);
  }
  PutNumber(2, list.total, &out);
  return out;
}

std::optional<ErrorList> DecodeErrorList(absl::string_view bytes) {
  ErrorList list;
  Field field;
  while (!bytes.empty()) {
    if (!TakeField(&bytes, &field)) return std::nullopt;
    if (field.number == 2) list.total = static_cast<int64_t>(field.value);
    if (field.number != 1 || !field.is_bytes) continue;
    absl::Status error;
    if (!DecodeListEntry(field.bytes, &error)) return std::nullopt;
    list.errors.push_back(std::move(error));
  }
  return list;
}

}  // namespace sluice

#include "tests/corpus/mutator.h"

#include <algorithm>
#include <iterator>

#include "absl/strings/str_cat.h"
#include "graph/wire/wire_reader.h"
#include "graph/wire/wire_writer.h"

namespace sluice {
namespace {

// Messages are looked for in fields up to this depth and size: below come weights.
constexpr int kMaxDepth = 10;
constexpr size_t kMaxNested = 32768;

// std::uniform_int_distribution differs between libraries; this does not.
size_t Below(std::mt19937& random, size_t limit) { return limit == 0 ? 0 : random() % limit; }

bool IsMessage(absl::string_view bytes) {
  if (bytes.empty()) return false;
  WireReader reader(bytes);
  while (reader.Next()) {
    if (reader.field() > 64) return false;
  }
  return reader.ok();
}

}  // namespace

Mutator::Mutator(absl::string_view bytes) : bytes_(bytes) {
  const bool is_message = IsMessage(bytes_);
  if (is_message) FindFields();
  // Other formats: any piece may be a field.
  for (size_t at = 0; fields_.empty() || (at < bytes_.size() && !is_message); ++at) {
    fields_.push_back({at, std::min(at + 1, bytes_.size()), std::min(at + 8, bytes_.size()), kRoot});
  }
}

void Mutator::FindFields() {
  struct Open {
    WireReader reader;
    int depth;
    size_t parent;
  };
  std::vector<Open> open = {{WireReader(bytes_), 0, kRoot}};
  while (!open.empty()) {
    auto [reader, depth, parent] = open.back();
    open.pop_back();
    while (reader.Next()) {
      const bool has_payload = reader.type() == WireType::kBytes;
      const size_t payload = has_payload ? reader.payload_offset() : reader.offset() + 1;
      fields_.push_back({reader.offset(), payload, reader.end_offset(), parent});
      const bool small = depth == 0 || reader.bytes().size() <= kMaxNested;
      if (has_payload && small && depth < kMaxDepth && IsMessage(reader.bytes())) {
        open.push_back({reader.Message(), depth + 1, fields_.size() - 1});
      }
    }
  }
}

std::string Mutator::Mutate(uint32_t seed) const {
  std::mt19937 random(seed);
  std::string bytes = bytes_;
  const size_t changes = 1 + Below(random, 4);
  for (size_t i = 0; i < changes && !bytes.empty(); ++i) ChangeOnce(random, &bytes);
  return bytes;
}

absl::string_view Mutator::Bytes(const Field& field) const {
  return absl::string_view(bytes_).substr(field.begin, field.end - field.begin);
}

std::string Mutator::Replace(size_t index, std::string field_bytes) const {
  while (fields_[index].parent != kRoot) {
    const Field& field = fields_[index];
    const Field& parent = fields_[field.parent];
    const std::string payload = absl::StrCat(bytes_.substr(parent.payload, field.begin - parent.payload), field_bytes,
                                             bytes_.substr(field.end, parent.end - field.end));
    WireReader reader(Bytes(parent));
    reader.Next();
    field_bytes.clear();
    WireWriter(&field_bytes).Bytes(reader.field(), payload);
    index = field.parent;
  }
  return absl::StrCat(bytes_.substr(0, fields_[index].begin), field_bytes, bytes_.substr(fields_[index].end));
}

std::string Mutator::ChangeTreeOnce(std::mt19937& random) const {
  const size_t index = Below(random, fields_.size());
  const absl::string_view field = Bytes(fields_[index]);
  WireReader reader(field);
  WireReader other(Bytes(fields_[Below(random, fields_.size())]));
  if (!reader.Next() || !other.Next()) return bytes_;
  static constexpr int64_t kNumbers[] = {-1, 0, 1, 2, 7, 100, 255, 65536, 0x7fffffff, 0x7fffffffffffffff};
  std::string changed;
  WireWriter writer(&changed);
  switch (Below(random, 7)) {
    case 0:  // Deleted.
      break;
    case 1:  // Doubled.
      changed = absl::StrCat(field, field);
      break;
    case 2:  // Emptied, or zero.
      if (reader.type() == WireType::kBytes) writer.Bytes(reader.field(), "");
      if (reader.type() == WireType::kVarint) writer.Varint(reader.field(), 0);
      break;
    case 3:  // What another field holds.
      if (other.type() == WireType::kBytes) writer.Bytes(reader.field(), other.bytes());
      if (other.type() == WireType::kVarint) writer.Varint(reader.field(), other.varint());
      break;
    case 4:  // An extreme number.
      writer.Int(reader.field(), kNumbers[Below(random, std::size(kNumbers))]);
      break;
    case 5:  // Another field as well.
      changed = absl::StrCat(field, other.raw());
      break;
    default:  // One byte.
      changed = std::string(field);
      changed.back() = static_cast<char>(random());
      break;
  }
  return Replace(index, changed);
}

std::string Mutator::MutateTree(uint32_t seed) const {
  std::mt19937 random(seed);
  const size_t changes = 1 + Below(random, 3);
  std::string bytes = ChangeTreeOnce(random);
  for (size_t i = 1; i < changes && IsMessage(bytes); ++i) bytes = Mutator(bytes).ChangeTreeOnce(random);
  return bytes;
}

void Mutator::ChangeOnce(std::mt19937& random, std::string* bytes) const {
  Field field = fields_[Below(random, fields_.size())];
  // Earlier changes may have made the bytes shorter.
  field.end = std::min(field.end, bytes->size());
  field.begin = std::min(field.begin, field.end);
  field.payload = std::min(std::max(field.payload, field.begin), field.end);
  const size_t size = field.end - field.begin;
  const size_t at = std::min(field.begin + Below(random, std::min<size_t>(size + 1, 40)), bytes->size() - 1);
  switch (Below(random, 10)) {
    case 0:  // One bit.
      (*bytes)[at] = static_cast<char>((*bytes)[at] ^ (1 << Below(random, 8)));
      break;
    case 1:  // One byte.
      (*bytes)[at] = static_cast<char>(random());
      break;
    case 2: {  // Extreme numbers.
      static constexpr absl::string_view kExtremes[] = {
          "\xff\xff\xff\xff\x07", "\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", "\x80\x80\x80\x80\x08", "\x7f"};
      const absl::string_view extreme = kExtremes[Below(random, 4)];
      bytes->replace(at, std::min(extreme.size(), bytes->size() - at), extreme.data(), extreme.size());
      break;
    }
    case 3:  // The length.
      if (field.begin + 1 < bytes->size()) (*bytes)[field.begin + 1] = static_cast<char>(random());
      break;
    case 4:  // Delete the field.
      bytes->erase(field.begin, size);
      break;
    case 5:  // Double the field.
      bytes->insert(field.begin, std::string(*bytes, field.begin, size));
      break;
    case 6: {  // Put it in the place of another one.
      const Field other = fields_[Below(random, fields_.size())];
      const std::string moved = bytes_.substr(other.begin, other.end - other.begin);
      bytes->replace(field.begin, size, moved);
      break;
    }
    case 7:  // Swap payload bytes for those of another field, length kept.
      for (size_t i = field.payload, from = Below(random, bytes_.size()); i < field.end && from < bytes_.size();) {
        (*bytes)[i++] = bytes_[from++];
      }
      break;
    case 8:  // A piece from elsewhere.
      bytes->insert(at, bytes_.substr(Below(random, bytes_.size()), Below(random, 64)));
      break;
    default:  // Cut.
      if (Below(random, 4) == 0) bytes->resize(at);
      break;
  }
}

}  // namespace sluice

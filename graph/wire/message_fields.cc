#include "graph/wire/message_fields.h"

#include "graph/wire/wire_reader.h"

namespace sluice {

std::vector<absl::string_view> MessagesOf(absl::string_view message, uint32_t field) {
  std::vector<absl::string_view> found;
  WireReader reader(message);
  while (reader.Next()) {
    if (reader.tag() == WireTag(field, WireType::kBytes)) found.push_back(reader.bytes());
  }
  return found;
}

absl::string_view LastOf(absl::string_view message, uint32_t field) {
  absl::string_view last;
  WireReader reader(message);
  while (reader.Next()) {
    if (reader.tag() == WireTag(field, WireType::kBytes)) last = reader.bytes();
  }
  return last;
}

}  // namespace sluice

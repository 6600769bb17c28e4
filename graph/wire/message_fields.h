#ifndef SLUICE_GRAPH_WIRE_MESSAGE_FIELDS_H_
#define SLUICE_GRAPH_WIRE_MESSAGE_FIELDS_H_

// Convenience readers for the messages and strings of one field. They stop at the first malformed field, and do not say
// so: use WireReader where errors must be reported.

#include <cstdint>
#include <vector>

#include "absl/strings/string_view.h"

namespace sluice {

// All values of `field`, which is a message or a string. Views into `message`.
std::vector<absl::string_view> MessagesOf(absl::string_view message, uint32_t field);

// The last occurrence, which is the one that counts if the field is not repeated; empty if there is none.
absl::string_view LastOf(absl::string_view message, uint32_t field);

}  // namespace sluice

#endif  // SLUICE_GRAPH_WIRE_MESSAGE_FIELDS_H_

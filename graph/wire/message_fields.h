#ifndef SLUICE_GRAPH_WIRE_MESSAGE_FIELDS_H_
#define SLUICE_GRAPH_WIRE_MESSAGE_FIELDS_H_

// Messages and strings of one field, for those who look for a few things in a large message and take damage for the end
// of it: what stands behind it is as good as not there. Who has to report damage walks a WireReader.

#include <cstdint>
#include <vector>

#include "absl/strings/string_view.h"

namespace sluice {

// All values of `field`, which is a message or a string. Views into `message`.
std::vector<absl::string_view> MessagesOf(absl::string_view message, uint32_t field);

// The last of them, which is the one that counts where the field is not repeated; empty where there is none.
absl::string_view LastOf(absl::string_view message, uint32_t field);

}  // namespace sluice

#endif  // SLUICE_GRAPH_WIRE_MESSAGE_FIELDS_H_

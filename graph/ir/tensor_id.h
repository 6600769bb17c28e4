#ifndef SLUICE_GRAPH_IR_TENSOR_ID_H_
#define SLUICE_GRAPH_IR_TENSOR_ID_H_

#include <cstdint>

#include "absl/strings/string_view.h"

namespace sluice {

// A parsed input or endpoint: "node", "node:2", "^node". Views into the parsed text.
struct TensorId {
  absl::string_view node;
  int32_t index = 0;  // -1 for a control input; see kControlIndex.

  bool is_control() const { return index < 0; }
};

inline constexpr int32_t kControlIndex = -1;

// Reads `text` from the end: digits behind the last ':' are the slot, a leading '^' marks a control input; anything
// else belongs to the name ("a:b:1" is slot 1 of "a:b", "a:b" slot 0 of "a:b"). A slot above 2^31-1 stays in the name.
TensorId ParseTensorId(absl::string_view text);

// Grammar of node names: one or more parts joined by '>'. A part is a letter, digit or '.', then letters, digits and
// "_./-". The first may begin with '_' when `internal`: TensorFlow refuses such names in files and makes them itself.
bool IsValidNodeName(absl::string_view name, bool internal);

}  // namespace sluice

#endif  // SLUICE_GRAPH_IR_TENSOR_ID_H_

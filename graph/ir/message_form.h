#ifndef SLUICE_GRAPH_IR_MESSAGE_FORM_H_
#define SLUICE_GRAPH_IR_MESSAGE_FORM_H_

// Note [Message form]
// The readers of this program take messages apart where they need them, field by field. They rely on two things that
// protobuf sees to when it reads a file as a whole:
//  - Text (`string` of proto3) is UTF-8. TensorFlow refuses a file where it is not, and such a file has no text form.
//  - A field that holds one message, and a oneof, stand once. On the wire they may stand more often: then protobuf
//    merges messages, and a member of a oneof empties the members before it.
// The import looks through all bytes for both, before anything is read. No program writes the second on purpose; such
// a graph goes through protobuf once, which leaves each field once, and then the readers' way. Of numbers and text that
// stand twice the last counts: every reader takes it, and the places in the file stay known.

#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace sluice {

// What CheckGraphDefForm finds.
struct MessageFormReport {
  // A field that holds one message, or members of one oneof, stand several times. (Of other values every reader takes
  // the last.)
  bool has_repeats = false;
  // Damage in any message, however deep, or messages nested too deeply. Readers describe errors in what they read
  // better: this is for fields that no reader visits.
  absl::Status damage;
  // Inputs and attrs of all nodes, in function bodies too: how much room they take.
  int64_t num_inputs = 0;
  int64_t num_attrs = 0;
};

// Looks through an encoded GraphDef, functions included. kFileWire, with function and node, for the first text that is
// not UTF-8. `base_offset` is where the bytes stand in their file. Linear, not recursive.
absl::StatusOr<MessageFormReport> CheckGraphDefForm(absl::string_view bytes, size_t base_offset);

// The graph as protobuf understands it, each field that holds one value once. Unknown fields stay.
absl::StatusOr<std::string> MergeRepeats(absl::string_view graph_def);

// Whether `text` is UTF-8 as protobuf means it: no overlong forms, no surrogates, nothing above U+10FFFF.
bool IsUtf8(absl::string_view text);

}  // namespace sluice

#endif  // SLUICE_GRAPH_IR_MESSAGE_FORM_H_

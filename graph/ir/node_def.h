#ifndef SLUICE_GRAPH_IR_NODE_DEF_H_
#define SLUICE_GRAPH_IR_NODE_DEF_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "graph/base/limits.h"
#include "graph/ir/attr.h"

namespace sluice {

// A NodeDef message taken apart, nothing looked up yet. Views into the message.
struct NodeDefView {
  absl::string_view name, op, device;
  std::vector<absl::string_view> inputs;  // As written: data, then control.
  std::vector<NamedAttr> attrs;           // The last of equal names wins.
  absl::string_view bytes;                // The message.
  int64_t byte_begin = -1;                // Where it starts in the file.

  const NamedAttr* FindAttr(absl::string_view name) const;
};

// Reads one NodeDef at file offset `base_offset`. Checks the wire format, name length and the counts of `limits`.
// Known fields with the wrong wire type are skipped, as protobuf does.
absl::StatusOr<NodeDefView> ParseNodeDef(absl::string_view bytes, int64_t base_offset, const LoadLimits& limits);

// The same into `*node`, whose vectors are used again: nothing is allocated once they have grown.
absl::Status ParseNodeDefInto(absl::string_view bytes, int64_t base_offset, const LoadLimits& limits,
                              NodeDefView* node);

// Fields of NodeDef that we do not know, as they stand, to be written back.
std::string UnknownNodeFields(absl::string_view bytes);

}  // namespace sluice

#endif  // SLUICE_GRAPH_IR_NODE_DEF_H_

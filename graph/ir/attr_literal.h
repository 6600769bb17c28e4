#ifndef SLUICE_GRAPH_IR_ATTR_LITERAL_H_
#define SLUICE_GRAPH_IR_ATTR_LITERAL_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "graph/ir/op_schema.h"

namespace sluice {

// The AttrValue message (its bytes) of the literal `text` for an attr of `type`, as defaults are written in op specs:
//
//   string  'SAME' or "SAME", with C escapes       shape   [2,?]  []  ?  or { dim { size: 2 } }  { unknown_rank: true }
//   int     -3                                     lists   [a, b, c] of the above
//   float   0.5  inf  nan                          any     hex: and the bytes of the AttrValue, for what has no
//   bool    true  false                                    literal: tensors, functions
//   type    float  DT_FLOAT
//
// kOpSchema with the text when it is none.
absl::StatusOr<std::string> EncodeAttrLiteral(AttrType type, absl::string_view text);

// The string that a quoted literal stands for. kOpSchema when it is not quoted or holds a bad escape.
absl::StatusOr<std::string> ParseQuotedLiteral(absl::string_view text);

}  // namespace sluice

#endif  // SLUICE_GRAPH_IR_ATTR_LITERAL_H_

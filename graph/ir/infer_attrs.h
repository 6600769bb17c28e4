#ifndef SLUICE_GRAPH_IR_INFER_ATTRS_H_
#define SLUICE_GRAPH_IR_INFER_ATTRS_H_

#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "graph/ir/attr.h"
#include "graph/ir/op_schema.h"

namespace sluice {

// Adds to `attrs` the type and number attrs of `schema` that the types of the inputs determine and that are not there.
// Inputs of kInvalid determine none. With several list arguments their lengths must be given as attrs: kAttrMissing.
absl::Status InferAttrs(const OpSchema& schema, absl::Span<const DType> inputs,
                        std::vector<std::pair<std::string, AttrValue>>* attrs);

}  // namespace sluice

#endif  // SLUICE_GRAPH_IR_INFER_ATTRS_H_

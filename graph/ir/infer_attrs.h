#ifndef SLUICE_GRAPH_IR_INFER_ATTRS_H_
#define SLUICE_GRAPH_IR_INFER_ATTRS_H_

#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "graph/ir/graph.h"

namespace sluice {

using AttrList = std::vector<std::pair<std::string, AttrValue>>;

// Adds to `attrs` the type and number attrs of `schema` that the types of the inputs determine and that are not there.
// Inputs of kInvalid determine none. With several list arguments their lengths must be given as attrs: kAttrMissing.
absl::Status InferAttrs(const OpSchema& schema, absl::Span<const DType> inputs, AttrList* attrs);

// Adds to `attrs` the type attrs ("T", "N", lists of types) of `schema` that follow from the data inputs of a node and
// are not among them. kAttrMissing where several lists of inputs leave it open how long each is.
absl::Status InferTypeAttrs(const Graph& graph, const OpSchema& schema, absl::Span<const Output> inputs,
                            AttrList* attrs);

}  // namespace sluice

#endif  // SLUICE_GRAPH_IR_INFER_ATTRS_H_

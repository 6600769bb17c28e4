#ifndef SLUICE_TESTS_GRAPH_IR_GRAPH_EQUAL_H_
#define SLUICE_TESTS_GRAPH_IR_GRAPH_EQUAL_H_

#include <string>

#include "graph/ir/graph.h"

namespace sluice {

// Whether two graphs have the same nodes (by name), inputs, controls, attrs by value, devices, functions and versions.
// Attrs that cannot be decoded are equal if protobuf reads the same. `why` (may be null) names the first difference.
bool GraphsEqual(const Graph& a, const Graph& b, std::string* why);

}  // namespace sluice

#endif  // SLUICE_TESTS_GRAPH_IR_GRAPH_EQUAL_H_

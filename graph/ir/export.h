#ifndef SLUICE_GRAPH_IR_EXPORT_H_
#define SLUICE_GRAPH_IR_EXPORT_H_

#include <string>

#include "graph/ir/graph.h"

namespace sluice {

// The graph as a binary GraphDef: nodes in order of id, attrs as they stand (defaults not added), fields that we do not
// know as they came. Importing the bytes gives an equal graph.
std::string ExportGraph(const Graph& graph);

// The NodeDef bytes of one node.
std::string ExportNode(const Graph& graph, NodeId id);

}  // namespace sluice

#endif  // SLUICE_GRAPH_IR_EXPORT_H_

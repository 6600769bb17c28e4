#ifndef SLUICE_GRAPH_LOAD_META_GRAPH_EXPORT_H_
#define SLUICE_GRAPH_LOAD_META_GRAPH_EXPORT_H_

#include <string>

#include "absl/strings/string_view.h"
#include "graph/ir/graph.h"
#include "graph/load/meta_graph.h"

namespace sluice {

// Encodes the graph and `info` as a binary MetaGraphDef, which ReadMetaGraph and TensorFlow can read. Writes only
// collections of nodes and of bytes, the kinds whose items MetaGraphInfo keeps.
std::string ExportMetaGraph(const Graph& graph, const MetaGraphInfo& info);

// A SavedModel file that holds this one MetaGraphDef.
std::string ExportSavedModel(absl::string_view meta_graph);

// One variable of a program, as the collections "variables" and "trainable_variables" have it: names of nodes and
// tensors of the graph.
struct VariableFacts {
  std::string variable;       // "w:0", the handle or the reference.
  std::string initializer;    // "w/Assign", the node that gives it its first value.
  std::string initial_value;  // "w/initial:0".
  std::string snapshot;       // "w/read:0", a read of it.
  bool is_resource = false;
  bool is_trainable = false;
};
// The same as a binary VariableDef, and back; facts that are not there stay empty.
std::string EncodeVariableFacts(const VariableFacts& facts);
VariableFacts DecodeVariableFacts(absl::string_view variable_def);

}  // namespace sluice

#endif  // SLUICE_GRAPH_LOAD_META_GRAPH_EXPORT_H_

#ifndef SLUICE_EXECUTOR_SAVED_MODEL_VARIABLE_FOLDER_H_
#define SLUICE_EXECUTOR_SAVED_MODEL_VARIABLE_FOLDER_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "graph/base/hash_table.h"
#include "graph/edit/graph_editor.h"
#include "graph/ir/graph.h"
#include "graph/value/tensor.h"

namespace sluice {

// Replaces one variable by a constant, and with it all nodes that pass its handle or reference on (through branches and
// into loops) and all that read it. Replaced nodes stay in the graph, unused, under other names; the caller prunes
// them. Borrows the graph. Not thread-safe.
class VariableFolder {
 public:
  explicit VariableFolder(Graph& graph) : graph_(graph), edit_(graph) {}

  // kCannotRun for uses that change the variable or are unknown.
  absl::Status Fold(NodeId variable, const Tensor& value);

 private:
  // The nodes that pass the handle on, those of loops once, the variable first.
  absl::StatusOr<std::vector<NodeId>> Forwarders(NodeId variable);
  // Adds a node, its inputs still unset, that passes the value on as `id` passes the handle on.
  absl::Status AddTwin(NodeId id, DType dtype);
  absl::Status ConnectTwin(NodeId id);
  // Replaces input `i` of `id`, which gets the handle, by the value.
  absl::Status FoldUse(NodeId id, int32_t i, Output value, const Tensor& constant);
  // Adds a node in the place of `id`, with its name and control inputs; only output 0 of either is used.
  absl::Status Replace(NodeId id, absl::string_view op, std::vector<Output> inputs,
                       std::vector<std::pair<std::string, AttrValue>> attrs);

  Graph& graph_;
  GraphEditor edit_;
  HashMap<NodeId, NodeId> twins_;
};

}  // namespace sluice

#endif  // SLUICE_EXECUTOR_SAVED_MODEL_VARIABLE_FOLDER_H_

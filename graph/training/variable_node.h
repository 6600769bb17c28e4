#ifndef SLUICE_GRAPH_TRAINING_VARIABLE_NODE_H_
#define SLUICE_GRAPH_TRAINING_VARIABLE_NODE_H_

#include <set>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "graph/edit/graph_editor.h"
#include "graph/ir/graph.h"
#include "graph/value/dtype.h"
#include "graph/value/shape.h"

namespace sluice {

// The names under which the resources of a graph are shared, where nodes say others than their own.
std::set<std::string> SharedNames(const Graph& graph);
// Returns `name`, with a number if a node or `shared` has it.
std::string UnsharedName(GraphEditor& edit, const std::set<std::string>& shared, const std::string& name);

// A variable of a graph, whichever of the two kinds it is: a handle (VarHandleOp) or a reference (VariableV2,
// Variable). Adds nodes in the scopes of the editor. A small value.
class VariableNode {
 public:
  // INVALID_ARGUMENT, naming the node, if it is not a variable.
  static absl::StatusOr<VariableNode> Find(const Graph& graph, NodeId id);

  NodeId id() const { return id_; }
  DType dtype() const { return dtype_; }
  const PartialShape& shape() const { return shape_; }  // As the node states it.
  bool is_resource() const { return is_resource_; }
  Output output() const { return {id_, 0}; }  // The handle, or the reference.

  // Adds another one of this kind and place.
  VariableNode AddAnother(GraphEditor& edit, const std::string& name, DType dtype, const PartialShape& shape) const;
  // Add nodes that read it, say its shape (a vector of int64), give it a value, add to it, take from it.
  Output Read(GraphEditor& edit) const;
  Output ReadShape(GraphEditor& edit) const;
  NodeId Assign(GraphEditor& edit, const Output& value) const { return Change(edit, "Assign", value); }
  NodeId Add(GraphEditor& edit, const Output& value) const { return Change(edit, "AssignAdd", value); }
  NodeId Subtract(GraphEditor& edit, const Output& value) const { return Change(edit, "AssignSub", value); }
  // The same of rows; `op` is "ScatterUpdate", "ScatterAdd" or "ScatterSub".
  Output ReadRows(GraphEditor& edit, const Output& indices) const;
  NodeId ChangeRows(GraphEditor& edit, absl::string_view op, const Output& indices, const Output& rows) const;

 private:
  VariableNode(NodeId id, DType dtype, PartialShape shape, bool is_resource)
      : id_(id), dtype_(dtype), shape_(std::move(shape)), is_resource_(is_resource) {}
  NodeId Change(GraphEditor& edit, absl::string_view op, const Output& value) const;

  NodeId id_;
  DType dtype_;
  PartialShape shape_;
  bool is_resource_;
};

}  // namespace sluice

#endif  // SLUICE_GRAPH_TRAINING_VARIABLE_NODE_H_

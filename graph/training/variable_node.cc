#include "graph/training/variable_node.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "graph/base/error.h"
#include "graph/base/status_macros.h"

namespace sluice {

absl::StatusOr<VariableNode> VariableNode::Find(const Graph& graph, NodeId id) {
  if (!graph.Contains(id)) {
    return Error(ErrorCode::kNodeMissing).Text("a variable is not in the graph");
  }
  const bool is_resource = graph.Is(id, "VarHandleOp");
  if (!graph.op(id).traits.makes_variable) {
    return graph.Locate(id, Error(ErrorCode::kInputType)
                                .Text("cannot be trained: it is not a variable")
                                .Found(graph.op_name(id))
                                .Expected("VarHandleOp, VariableV2 or Variable"));
  }
  SLUICE_ASSIGN_OR_RETURN(const DType dtype, graph.GetType(id, "dtype"));
  SLUICE_ASSIGN_OR_RETURN(PartialShape shape, graph.GetShape(id, "shape"));
  return VariableNode(id, dtype, std::move(shape), is_resource);
}

std::set<std::string> SharedNames(const Graph& graph) {
  std::set<std::string> names;
  for (const NodeId id : graph.Nodes()) {
    AttrView value;
    if (!graph.FindAttr(id, "shared_name", &value)) continue;
    const absl::StatusOr<absl::string_view> name = value.AsString();
    if (name.ok() && !name->empty()) names.emplace(*name);
  }
  return names;
}

std::string UnsharedName(GraphEditor& edit, const std::set<std::string>& shared, const std::string& name) {
  std::string unique = edit.UniqueName(name);
  for (int i = 1; shared.count(unique) > 0; ++i) unique = edit.UniqueName(absl::StrCat(name, "_", i));
  return unique;
}

VariableNode VariableNode::AddAnother(GraphEditor& edit, const std::string& name, DType dtype,
                                      const PartialShape& shape) const {
  const GraphEditor::Scope place = edit.OnDevice(std::string(edit.graph().device(id_)));
  AttrList attrs = {{"dtype", dtype}, {"shape", shape}};
  if (is_resource_) attrs.emplace_back("shared_name", name);
  const Output added = edit.Add(is_resource_ ? "VarHandleOp" : "VariableV2", name, {}, attrs);
  return VariableNode(added.node, dtype, shape, is_resource_);
}

Output VariableNode::Read(GraphEditor& edit) const {
  if (is_resource_) return edit.Add("ReadVariableOp", "", {output()}, {{"dtype", dtype_}});
  return edit.Add("Identity", "", {output()}, {{"T", dtype_}});
}

Output VariableNode::ReadShape(GraphEditor& edit) const {
  if (shape_.IsFullyDefined()) {
    const Tensor sizes = Tensor::Vector<int64_t>(std::vector<int64_t>(shape_.dims().begin(), shape_.dims().end()));
    return edit.Add("Const", "shape", {}, {{"dtype", DType::kInt64}, {"value", sizes}});
  }
  if (is_resource_) return edit.Add("VariableShape", "shape", {output()}, {{"out_type", DType::kInt64}});
  return edit.Add("Shape", "shape", {output()}, {{"T", dtype_}, {"out_type", DType::kInt64}});
}

NodeId VariableNode::Change(GraphEditor& edit, absl::string_view op, const Output& value) const {
  if (is_resource_) return edit.Add(absl::StrCat(op, "VariableOp"), op, {output(), value}, {{"dtype", dtype_}}).node;
  return edit.Add(op, op, {output(), value}, {{"T", dtype_}}).node;
}

Output VariableNode::ReadRows(GraphEditor& edit, const Output& indices) const {
  const AttrList attrs = {{is_resource_ ? "dtype" : "Tparams", dtype_}};
  return edit.Add(is_resource_ ? "ResourceGather" : "Gather", "rows", {output(), indices}, attrs);
}

NodeId VariableNode::ChangeRows(GraphEditor& edit, absl::string_view op, const Output& indices,
                                const Output& rows) const {
  const AttrList attrs = {{is_resource_ ? "dtype" : "T", dtype_}};
  return edit.Add(absl::StrCat(is_resource_ ? "Resource" : "", op), op, {output(), indices, rows}, attrs).node;
}

}  // namespace sluice

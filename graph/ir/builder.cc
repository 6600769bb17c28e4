#include "graph/ir/builder.h"

#include "absl/strings/str_cat.h"
#include "graph/base/error.h"
#include "graph/base/status_macros.h"
#include "graph/ir/infer_attrs.h"
#include "graph/ir/topo_order.h"

namespace sluice {
GraphBuilder::GraphBuilder(std::shared_ptr<const OpRegistry> ops) : graph_(std::move(ops)) {
  graph_.versions().producer = kGraphVersion;
}

GraphBuilder::GraphBuilder(Graph graph) : graph_(std::move(graph)) {}

absl::Status GraphBuilder::InferAttrs(const OpSchema& schema, absl::Span<const Output> inputs, Attrs& attrs) const {
  return InferTypeAttrs(graph_, schema, inputs, &attrs);
}

Output GraphBuilder::Op(absl::string_view op, absl::string_view name, std::vector<Output> inputs, Attrs attrs) {
  if (!status_.ok()) return Output{NodeId(-1), 0};
  NodeSpec spec;
  const std::string unique = name.empty() ? graph_.UniqueName(op) : std::string(name);
  spec.name = unique;
  spec.op = op;
  spec.device = device_;
  for (const Output& input : inputs) {
    if (input.is_set() && input.is_control()) {
      spec.controls.push_back(input.node);
    } else {
      spec.inputs.push_back(input);
    }
  }
  if (const OpSchema* const schema = graph_.FindOp(op)) {
    status_ = WithNode(InferAttrs(*schema, spec.inputs, attrs), unique, op);
    if (!status_.ok()) return Output{NodeId(-1), 0};
  }
  spec.attrs = std::move(attrs);
  const absl::StatusOr<NodeId> id = graph_.AddNode(spec);
  if (!id.ok()) {
    status_ = id.status();
    return Output{NodeId(-1), 0};
  }
  return Output{*id, graph_.num_outputs(*id) > 0 ? 0 : kControlIndex};
}

Output GraphBuilder::Const(absl::string_view name, const Tensor& value) {
  // Variants have no form in a file that every program could read back.
  if (status_.ok() && (!value.has_value() || value.dtype() == DType::kVariant)) {
    status_ = Error(ErrorCode::kWrongUse)
                  .Node(name, "Const")
                  .Text("cannot hold this value")
                  .Found(value.has_value() ? "a tensor of variants" : "a tensor without a value");
  }
  if (!status_.ok()) return Output{NodeId(-1), 0};
  return Op("Const", name, {}, {{"dtype", value.dtype()}, {"value", value}});
}

Output GraphBuilder::Placeholder(absl::string_view name, DType dtype, PartialShape shape) {
  return Op("Placeholder", name, {}, {{"dtype", dtype}, {"shape", shape}});
}

void GraphBuilder::SetInput(Output node, int32_t i, Output source) {
  if (status_.ok()) status_ = graph_.SetInput(node.node, i, source);
}

void GraphBuilder::AddControl(Output node, Output predecessor) {
  if (status_.ok()) status_ = graph_.AddControl(node.node, predecessor.node);
}

void GraphBuilder::SetDevice(Output node, absl::string_view device) {
  if (status_.ok() && graph_.Contains(node.node)) graph_.SetDevice(node.node, device);
}

absl::StatusOr<Graph> GraphBuilder::Build() {
  SLUICE_RETURN_IF_ERROR(status_);
  for (NodeId id : graph_.Nodes()) {
    int32_t i = 0;
    for (const Output& input : graph_.inputs(id)) {
      if (!input.is_set()) {
        return graph_.Locate(id, Error(ErrorCode::kInputCount).Text(absl::StrCat("has nothing at input ", i)));
      }
      if (!graph_.Contains(input.node)) {
        return graph_.Locate(
            id, Error(ErrorCode::kInputUnknown).Input(i).Text("comes from a node that was removed from the graph"));
      }
      ++i;
    }
  }
  SLUICE_RETURN_IF_ERROR(CheckAcyclic(graph_));
  Graph built = std::move(graph_);
  graph_ = Graph(built.ops());
  return built;
}

}  // namespace sluice

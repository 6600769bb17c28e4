#include "graph/ir/builder.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "graph/base/error.h"
#include "graph/base/status_macros.h"
#include "graph/ir/topo_order.h"

namespace sluice {
namespace {

bool Has(const GraphBuilder::Attrs& attrs, absl::string_view name) {
  return std::any_of(attrs.begin(), attrs.end(), [&](const auto& attr) { return attr.first == name; });
}

// Gives `name` a value unless it has one.
void SetIfAbsent(GraphBuilder::Attrs& attrs, absl::string_view name, AttrValue value) {
  if (!Has(attrs, name)) attrs.emplace_back(std::string(name), std::move(value));
}

}  // namespace

GraphBuilder::GraphBuilder(std::shared_ptr<const OpRegistry> ops) : graph_(std::move(ops)) {
  graph_.versions().producer = kGraphVersion;
}

GraphBuilder::GraphBuilder(Graph graph) : graph_(std::move(graph)) {}

// Walks arguments and inputs side by side. With several list arguments the lengths must be given as attrs.
absl::Status GraphBuilder::InferAttrs(const OpSchema& schema, absl::Span<const Output> inputs, Attrs& attrs) const {
  const size_t lists = static_cast<size_t>(
      std::count_if(schema.inputs.begin(), schema.inputs.end(), [](const ArgSpec& arg) { return arg.is_list(); }));
  const auto type_of = [&](size_t i) {
    if (i >= inputs.size() || !graph_.Contains(inputs[i].node)) return DType::kInvalid;
    const std::vector<DType>& outputs = graph_.signature(inputs[i].node).outputs;
    const size_t index = static_cast<size_t>(inputs[i].index);
    return index < outputs.size() ? BaseType(outputs[index]) : DType::kInvalid;
  };
  size_t at = 0;
  for (const ArgSpec& arg : schema.inputs) {
    size_t count = 1;
    if (arg.is_list()) {
      const auto given = std::find_if(attrs.begin(), attrs.end(), [&](const auto& attr) {
        return attr.first == (arg.number_attr.empty() ? arg.type_list_attr : arg.number_attr);
      });
      if (given != attrs.end()) {
        if (arg.number_attr.empty()) {
          SLUICE_ASSIGN_OR_RETURN(const std::vector<DType> types, given->second.view().AsTypeList());
          count = types.size();
        } else {
          SLUICE_ASSIGN_OR_RETURN(const int64_t number, given->second.view().AsInt());
          count = static_cast<size_t>(std::max<int64_t>(number, 0));
        }
      } else if (lists == 1) {
        const size_t others = schema.inputs.size() - 1;
        count = inputs.size() > others ? inputs.size() - others : 0;
      } else {
        return Error(ErrorCode::kAttrMissing)
            .Attr(arg.number_attr.empty() ? arg.type_list_attr : arg.number_attr)
            .Text("cannot be told from the inputs");
      }
    }
    if (!arg.number_attr.empty()) SetIfAbsent(attrs, arg.number_attr, static_cast<int64_t>(count));
    if (!arg.type_list_attr.empty()) {
      std::vector<DType> types;
      for (size_t i = at; i < at + count; ++i) types.push_back(type_of(i));
      SetIfAbsent(attrs, arg.type_list_attr, types);
    }
    if (!arg.type_attr.empty() && count > 0 && type_of(at) != DType::kInvalid) {
      SetIfAbsent(attrs, arg.type_attr, type_of(at));
    }
    at += count;
  }
  return absl::OkStatus();
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

#include "executor/saved_model/variable_folder.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "graph/base/error.h"
#include "graph/base/status_macros.h"

namespace sluice {
namespace {

bool IsHandle(DType type) { return IsRef(type) || type == DType::kResource; }

// The op that passes a value on as this one passes a reference on.
absl::string_view ValueOp(absl::string_view op) {
  absl::ConsumePrefix(&op, "Ref");
  return op;
}

// Whether nodes of this op pass their input on, perhaps into another frame or branch.
bool PassesOn(absl::string_view op) {
  constexpr absl::string_view kOps[] = {"Enter", "Exit", "Identity", "Merge", "NextIteration", "Switch"};
  return std::find(std::begin(kOps), std::end(kOps), ValueOp(op)) != std::end(kOps);
}

}  // namespace

absl::StatusOr<std::vector<NodeId>> VariableFolder::Forwarders(NodeId variable) {
  std::vector<NodeId> found = {variable};
  HashMap<NodeId, bool> seen;
  seen[variable] = true;
  for (size_t at = 0; at < found.size(); ++at) {
    for (const Use& use : edit_.UsesOf(found[at])) {
      if (use.input < 0 || !IsHandle(graph_.input_type(use.node, use.input)) || !PassesOn(graph_.op_name(use.node)) ||
          std::exchange(seen[use.node], true)) {
        continue;
      }
      if (twins_.find(use.node) != twins_.end()) {
        return graph_.Locate(use.node, Error(ErrorCode::kCannotRun).Text("may get one of several variables"));
      }
      found.push_back(use.node);
    }
  }
  return found;
}

absl::Status VariableFolder::AddTwin(NodeId id, DType dtype) {
  NodeSpec twin;
  const std::string name = graph_.UniqueName(absl::StrCat(graph_.name(id), "/value"));
  const std::string device(graph_.device(id));
  twin.name = name;
  twin.op = ValueOp(graph_.op_name(id));
  twin.device = device;
  twin.inputs.assign(graph_.inputs(id).size(), Output());
  for (const Output& control : graph_.controls(id)) twin.controls.push_back(control.node);
  for (const NamedAttr& attr : graph_.attrs(id)) {
    if (attr.name == "T" || absl::StartsWith(attr.name, "_")) continue;
    twin.attrs.emplace_back(std::string(attr.name), AttrValue::FromBytes(attr.value.bytes()));
  }
  twin.attrs.emplace_back("T", dtype);
  SLUICE_ASSIGN_OR_RETURN(twins_[id], edit_.AddNode(twin));
  return absl::OkStatus();
}

absl::Status VariableFolder::ConnectTwin(NodeId id) {
  const std::vector<Output> inputs(graph_.inputs(id).begin(), graph_.inputs(id).end());
  for (size_t i = 0; i < inputs.size(); ++i) {
    Output from = inputs[i];
    if (IsHandle(graph_.input_type(id, static_cast<int32_t>(i)))) {
      const auto twin = twins_.find(from.node);
      if (twin == twins_.end()) {
        return graph_.Locate(id, Error(ErrorCode::kCannotRun).Text("may get one of several variables"));
      }
      from.node = twin->second;
    }
    SLUICE_RETURN_IF_ERROR(edit_.SetInput(twins_[id], static_cast<int32_t>(i), from));
  }
  return edit_.ReplaceUses({id, kControlIndex}, {twins_[id], kControlIndex});
}

absl::Status VariableFolder::Fold(NodeId variable, const Tensor& value) {
  SLUICE_ASSIGN_OR_RETURN(const std::vector<NodeId> forwarders, Forwarders(variable));
  NodeSpec constant;
  const std::string name(graph_.name(variable)), device(graph_.device(variable));
  SLUICE_RETURN_IF_ERROR(edit_.Rename(variable, graph_.UniqueName(absl::StrCat(name, "/variable"))));
  constant.name = name;
  constant.op = "Const";
  constant.device = device;
  constant.attrs = {{"dtype", value.dtype()}, {"value", value}};
  SLUICE_ASSIGN_OR_RETURN(twins_[variable], edit_.AddNode(constant));
  for (size_t i = 1; i < forwarders.size(); ++i) SLUICE_RETURN_IF_ERROR(AddTwin(forwarders[i], value.dtype()));
  for (size_t i = 1; i < forwarders.size(); ++i) SLUICE_RETURN_IF_ERROR(ConnectTwin(forwarders[i]));
  for (const NodeId id : forwarders) {
    for (const Use& use : std::vector<Use>(edit_.UsesOf(id))) {
      if (use.input < 0 || twins_.find(use.node) != twins_.end()) continue;
      const Output from = graph_.inputs(use.node)[static_cast<size_t>(use.input)];
      if (from.node != id || !IsHandle(graph_.output_type(id, from.index))) continue;
      SLUICE_RETURN_IF_ERROR(FoldUse(use.node, use.input, {twins_[id], from.index}, value));
    }
  }
  return absl::OkStatus();
}

absl::Status VariableFolder::FoldUse(NodeId id, int32_t i, Output value, const Tensor& constant) {
  const absl::string_view op = graph_.op_name(id);
  const DType dtype = constant.dtype();
  if (!IsHandle(graph_.input_type(id, i))) return edit_.SetInput(id, i, value);
  if (op == "ReadVariableOp") return Replace(id, "Identity", {value}, {{"T", dtype}});
  if (op == "VariableShape") {
    SLUICE_ASSIGN_OR_RETURN(const DType out, graph_.GetType(id, "out_type"));
    return Replace(id, "Shape", {value}, {{"T", dtype}, {"out_type", out}});
  }
  if (op == "VarIsInitializedOp" || op == "IsVariableInitialized") {
    return Replace(id, "Const", {}, {{"dtype", DType::kBool}, {"value", Tensor::Scalar(true)}});
  }
  if (op == "ResourceGatherNd") {
    return Replace(id, "GatherNd", {value, graph_.inputs(id)[1]},
                   {{"Tparams", dtype}, {"Tindices", graph_.input_type(id, 1)}});
  }
  if (op == "ResourceGather") {
    SLUICE_ASSIGN_OR_RETURN(const int64_t batch_dims, graph_.GetInt(id, "batch_dims"));
    const Output indices = graph_.inputs(id)[1];
    NodeSpec axis;
    const std::string name = graph_.UniqueName(absl::StrCat(graph_.name(id), "/axis"));
    axis.name = name;
    axis.op = "Const";
    axis.attrs = {{"dtype", DType::kInt32}, {"value", Tensor::Scalar(static_cast<int32_t>(batch_dims))}};
    for (const Output& control : graph_.controls(id)) axis.controls.push_back(control.node);
    SLUICE_ASSIGN_OR_RETURN(const NodeId axis_id, edit_.AddNode(axis));
    // A constant without control inputs must be put into the frame of the indices.
    SLUICE_RETURN_IF_ERROR(edit_.AddControl(axis_id, indices.node));
    return Replace(id, "GatherV2", {value, indices, {axis_id, 0}},
                   {{"Tparams", dtype},
                    {"Tindices", graph_.input_type(id, 1)},
                    {"Taxis", DType::kInt32},
                    {"batch_dims", batch_dims}});
  }
  return graph_.Locate(id, Error(ErrorCode::kCannotRun)
                               .Input(i)
                               .Text("uses a variable where a constant cannot be used: a frozen variable cannot "
                                     "change"));
}

absl::Status VariableFolder::Replace(NodeId id, absl::string_view op, std::vector<Output> inputs,
                                     std::vector<std::pair<std::string, AttrValue>> attrs) {
  NodeSpec made;
  const std::string name(graph_.name(id)), device(graph_.device(id));
  SLUICE_RETURN_IF_ERROR(edit_.Rename(id, graph_.UniqueName(absl::StrCat(name, "/of_variable"))));
  made.name = name;
  made.op = op;
  made.device = device;
  made.inputs = std::move(inputs);
  made.attrs = std::move(attrs);
  for (const Output& control : graph_.controls(id)) made.controls.push_back(control.node);
  SLUICE_ASSIGN_OR_RETURN(const NodeId replacement, edit_.AddNode(made));
  SLUICE_RETURN_IF_ERROR(edit_.ReplaceUses({id, 0}, {replacement, 0}));
  return edit_.ReplaceUses({id, kControlIndex}, {replacement, kControlIndex});
}

}  // namespace sluice

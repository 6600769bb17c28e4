#include "graph/placement/edge_cutter.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "graph/base/error.h"
#include "graph/base/status_macros.h"
#include "graph/ir/made_nodes.h"
#include "graph/placement/memory_types.h"

namespace sluice {

bool EdgeCutter::SendsFromHost(const Edge& edge) const {
  const PartitionDevices::Device& device = devices_.of(edge.source.node);
  if (device.is_cpu) return true;
  if (edge.is_control()) return false;
  const KernelCatalog& catalog = options_.catalog != nullptr ? *options_.catalog : allow_all_;
  return OutputOnHost(graph_, catalog, edge.source.node, edge.source.index, device.type);
}

bool EdgeCutter::ReceivesOnHost(const Edge& edge) const {
  const PartitionDevices::Device& device = devices_.of(edge.consumer);
  if (device.is_cpu) return true;
  if (edge.is_control()) return false;
  const KernelCatalog& catalog = options_.catalog != nullptr ? *options_.catalog : allow_all_;
  return InputOnHost(graph_, catalog, edge.consumer, edge.input, device.type);
}

bool EdgeCutter::MustCut(const Edge& edge) const {
  if (devices_.of(edge.source.node).location != devices_.of(edge.consumer).location) return true;
  if (edge.is_control() || options_.by_task || devices_.of(edge.consumer).is_cpu) return false;
  return devices_.SameDevice(edge.source.node, edge.consumer) && SendsFromHost(edge) != ReceivesOnHost(edge);
}

bool EdgeCutter::LeavesReference(const Edge& edge) const {
  return !edge.is_control() && IsRef(graph_.output_type(edge.source.node, edge.source.index));
}

DType EdgeCutter::TypeOf(const Edge& edge) const {
  return edge.is_control() ? DType::kFloat : BaseType(graph_.output_type(edge.source.node, edge.source.index));
}

absl::Status EdgeCutter::Connect(NodeId consumer) {
  const absl::Span<const Output> inputs = graph_.all_inputs(consumer);
  const size_t num_data = graph_.inputs(consumer).size();
  std::vector<NodeId> others;     // Local nodes that a late read waits for.
  std::vector<NodeId> ref_recvs;  // Late reads.
  bool any_cut = false;
  Graph& part = GraphOf(consumer);
  for (size_t i = 0; i < inputs.size(); ++i) {
    const Edge edge{inputs[i], consumer, i < num_data ? static_cast<int32_t>(i) : kControlIndex};
    if (!graph_.Contains(edge.source.node)) {
      return graph_.Locate(consumer, Error(ErrorCode::kPartition).Input(edge.input).Text("is not connected"));
    }
    if (!MustCut(edge)) {
      if (!LeavesReference(edge)) others.push_back(Local(edge.source.node));
      if (!devices_.SameDevice(edge.source.node, consumer)) SLUICE_RETURN_IF_ERROR(AddLaterTrigger(edge));
      continue;
    }
    any_cut = true;
    SLUICE_ASSIGN_OR_RETURN(const Receiver receiver, Cut(edge));
    (LeavesReference(edge) ? ref_recvs : others).push_back(receiver.value);
    if (edge.is_control()) {
      SLUICE_RETURN_IF_ERROR(part.AddControl(Local(consumer), receiver.value));
    } else {
      SLUICE_RETURN_IF_ERROR(part.SetInput(Local(consumer), edge.input, Output{receiver.value, 0}));
    }
  }
  if (!any_cut) return absl::OkStatus();
  for (NodeId recv : ref_recvs) {
    for (NodeId other : others) SLUICE_RETURN_IF_ERROR(part.AddControl(recv, other));
  }
  return absl::OkStatus();
}

NodeId EdgeCutter::Trigger(const Edge& edge) const {
  if (!options_.has_control_loops) return loops_.Trigger(edge.source.node, devices_.of(edge.consumer).name);
  for (const Output& control : graph_.controls(edge.consumer)) {
    if (IsControlLoopMerge(graph_, control.node) && devices_.SameDevice(control.node, edge.consumer)) {
      return control.node;
    }
  }
  return NodeId();
}

absl::Status EdgeCutter::AddLaterTrigger(const Edge& edge) {
  const NodeId trigger = options_.by_task ? Trigger(edge) : NodeId();
  if (!trigger.valid()) return absl::OkStatus();
  return GraphOf(edge.consumer).AddControl(Local(edge.consumer), Local(trigger));
}

absl::StatusOr<EdgeCutter::Receiver> EdgeCutter::Cut(const Edge& edge) {
  if (!edge.is_control() && IsRef(graph_.input_type(edge.consumer, edge.input))) {
    return graph_.Locate(edge.consumer, Error(ErrorCode::kPartition)
                                            .Input(edge.input, graph_.OutputName(edge.source))
                                            .Text("is a reference, which cannot cross devices")
                                            .Found(devices_.of(edge.source.node).name)
                                            .Expected(devices_.of(edge.consumer).name));
  }
  // A control edge has slot -1, so that it never shares with data.
  const ShareKey key(edge.source.node.value(), edge.is_control() ? kControlIndex : edge.source.index,
                     devices_.of(edge.consumer).location, ReceivesOnHost(edge));
  const auto known = shared_.find(key);
  if (known != shared_.end()) {
    SLUICE_RETURN_IF_ERROR(AddLaterTrigger(edge));
    return known->second;
  }
  const std::string name = absl::StrCat(options_.edge_prefix, "_", num_cut_++, "_", graph_.name(edge.source.node));
  SLUICE_ASSIGN_OR_RETURN(const NodeId send, AddSend(edge, name));
  SLUICE_ASSIGN_OR_RETURN(const Receiver receiver, AddReceiver(edge, name));
  Graph& part = GraphOf(edge.consumer);
  if (&part == &GraphOf(edge.source.node)) {
    SLUICE_RETURN_IF_ERROR(part.AddControl(receiver.recv, send));
  } else {
    const NodeId trigger = Trigger(edge);
    if (trigger.valid()) SLUICE_RETURN_IF_ERROR(part.AddControl(receiver.recv, Local(trigger)));
  }
  if (!LeavesReference(edge)) shared_.emplace(key, receiver);
  return receiver;
}

std::vector<std::pair<std::string, AttrValue>> EdgeCutter::PairAttrs(const Edge& edge,
                                                                     const std::string& tensor_name) const {
  const PartitionDevices::Device& from = devices_.of(edge.source.node);
  return {{"tensor_name", tensor_name},
          {"send_device", from.name},
          {"send_device_incarnation", from.incarnation},
          {"recv_device", devices_.of(edge.consumer).name},
          {"client_terminated", false},
          {"_src", graph_.name(edge.source.node)},
          {"_dst", graph_.name(edge.consumer)}};
}

// Adds a node to the partition, and on the device, of `beside`; it is named after the source.
absl::StatusOr<NodeId> EdgeCutter::AddNode(const Edge& edge, NodeId beside, NodeSpec spec) {
  Graph& part = GraphOf(beside);
  const std::string name = part.UniqueName(absl::StrCat(graph_.name(edge.source.node), "/_", num_names_++));
  spec.name = name;
  spec.device = devices_.of(beside).name;
  spec.attrs.push_back(
      MadeForAttr({"transfer", UserOutputName(graph_, {edge.source.node, std::max(edge.source.index, 0)}), 0}));
  return part.AddNode(spec);
}

// The empty constant that stands for a control edge on its way.
absl::StatusOr<NodeId> EdgeCutter::AddControlValue(const Edge& edge) {
  SLUICE_ASSIGN_OR_RETURN(Tensor empty, Tensor::Make(DType::kFloat, Shape::Of({0})));
  NodeSpec spec;
  spec.op = "Const";
  spec.attrs = {{"dtype", DType::kFloat}, {"value", empty}};
  spec.controls = {Local(edge.source.node)};
  return AddNode(edge, edge.source.node, std::move(spec));
}

absl::StatusOr<NodeId> EdgeCutter::AddSend(const Edge& edge, const std::string& tensor_name) {
  Output value{Local(edge.source.node), edge.source.index};
  if (edge.is_control()) {
    SLUICE_ASSIGN_OR_RETURN(const NodeId empty, AddControlValue(edge));
    value = Output{empty, 0};
  }
  const bool on_host = !devices_.of(edge.source.node).is_cpu && SendsFromHost(edge);
  NodeSpec spec;
  spec.op = on_host ? "_HostSend" : "_Send";
  spec.inputs = {value};
  spec.attrs = PairAttrs(edge, tensor_name);
  spec.attrs.emplace_back("T", TypeOf(edge));
  return AddNode(edge, edge.source.node, std::move(spec));
}

absl::StatusOr<EdgeCutter::Receiver> EdgeCutter::AddReceiver(const Edge& edge, const std::string& tensor_name) {
  const bool on_host = !devices_.of(edge.consumer).is_cpu && ReceivesOnHost(edge);
  NodeSpec spec;
  spec.op = on_host ? "_HostRecv" : "_Recv";
  spec.attrs = PairAttrs(edge, tensor_name);
  spec.attrs.emplace_back("tensor_type", TypeOf(edge));
  SLUICE_ASSIGN_OR_RETURN(const NodeId recv, AddNode(edge, edge.consumer, std::move(spec)));
  if (!edge.is_control()) return Receiver{recv, recv};
  NodeSpec identity;
  identity.op = "Identity";
  identity.inputs = {Output{recv, 0}};
  identity.attrs = {{"T", DType::kFloat}};
  SLUICE_ASSIGN_OR_RETURN(const NodeId value, AddNode(edge, edge.consumer, std::move(identity)));
  return Receiver{recv, value};
}

}  // namespace sluice

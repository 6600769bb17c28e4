#include "graph/placement/control_loops.h"

#include <map>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "graph/base/error.h"
#include "graph/base/status_macros.h"
#include "graph/ir/op_class.h"
#include "graph/ir/op_schema.h"
#include "graph/ir/topo_order.h"

namespace sluice {
namespace {

constexpr absl::string_view kPrefix = "_cloop";  // Also known to a second cut.

bool IsNextIteration(const OpSchema& op) { return op.op_class == OpClass::kNextIteration; }
// A RefEnter stays with its variable.
bool FollowsConsumer(const OpSchema& op) {
  return IsNextIteration(op) || (op.op_class == OpClass::kEnter && !op.outputs[0].is_ref);
}
bool FollowsProducer(const OpSchema& op) { return IsGate(op.op_class) || op.op_class == OpClass::kExit; }

}  // namespace

bool IsControlLoopMerge(const Graph& graph, NodeId id) {
  return graph.op(id).op_class == OpClass::kMerge && absl::StartsWith(graph.name(id), kPrefix);
}

absl::Status ColocateControlFlow(Graph& graph) {
  SLUICE_ASSIGN_OR_RETURN(const std::vector<NodeId> order, TopologicalOrder(graph));
  std::vector<NodeId> first_consumer(static_cast<size_t>(graph.id_limit()));
  for (NodeId id : graph.Nodes()) {
    for (const Output& input : graph.inputs(id)) {
      if (!input.is_set()) continue;
      NodeId& first = first_consumer[static_cast<size_t>(input.node.value())];
      if (!first.valid()) first = id;
    }
  }
  // Consumers before producers, so that an Enter of an Enter ends where the value is used.
  for (auto it = order.rbegin(); it != order.rend(); ++it) {
    const NodeId consumer = first_consumer[static_cast<size_t>(it->value())];
    if (consumer.valid() && FollowsConsumer(graph.op(*it))) graph.SetDevice(*it, graph.device(consumer));
  }
  for (NodeId id : order) {
    if (!FollowsProducer(graph.op(id))) continue;
    if (graph.inputs(id)[0].is_set()) graph.SetDevice(id, graph.device(graph.inputs(id)[0].node));
  }
  return absl::OkStatus();
}

void ControlLoops::FindValueFrames(const Graph& graph) {
  value_frames_ = info_->frame_of;
  for (const StaticFrame& frame : info_->frames) {
    for (NodeId exit : frame.exits) value_frames_[static_cast<size_t>(exit.value())] = frame.parent;
  }
  value_frames_.resize(static_cast<size_t>(graph.id_limit()), 0);
}

absl::StatusOr<ControlLoops> ControlLoops::Add(const ControlFlowInfo& info, Graph& graph) {
  ControlLoops loops(info);
  if (info.has_frames) {
    loops.FindValueFrames(graph);
    SLUICE_RETURN_IF_ERROR(loops.AddForReceivers(graph));
    SLUICE_RETURN_IF_ERROR(loops.AddForInvariants(graph));
  }
  loops.info_ = nullptr;
  return loops;
}

absl::Status ControlLoops::AddForReceivers(Graph& graph) {
  for (NodeId id : graph.Nodes()) {
    for (size_t i = 0; i < graph.all_inputs(id).size(); ++i) {
      const Output input = graph.all_inputs(id)[i];
      if (!input.is_set() || graph.device(input.node) == graph.device(id)) continue;
      const int32_t frame = ValueFrame(input.node);
      if (frame > 0) SLUICE_RETURN_IF_ERROR(AddFor(frame, id, graph));
    }
  }
  return absl::OkStatus();
}

absl::Status ControlLoops::AddForInvariants(Graph& graph) {
  struct Part {
    NodeId first;
    bool begins_iterations = false;
  };
  std::vector<std::map<absl::string_view, Part>> parts(info_->frames.size());  // Of each frame, by device.
  for (NodeId id : graph.Nodes()) {
    const size_t place = static_cast<size_t>(id.value());
    if (place >= info_->frame_of.size()) continue;  // Added for a receiver.
    Part& part = parts[static_cast<size_t>(info_->frame_of[place])][graph.device(id)];
    if (!part.first.valid()) part.first = id;
    part.begins_iterations = part.begins_iterations || IsNextIteration(graph.op(id));
  }
  for (size_t frame = 1; frame < parts.size(); ++frame) {
    if (!info_->frames[frame].loop_cond.valid()) continue;  // It has one iteration, or no end.
    for (const auto& [device, part] : parts[frame]) {
      if (parts[frame].size() == 1 || part.begins_iterations) continue;
      SLUICE_RETURN_IF_ERROR(AddFor(static_cast<int32_t>(frame), part.first, graph));
    }
  }
  return absl::OkStatus();
}

// Makes sure that the device of `consumer` has a control loop for `frame` and for the frames around it.
absl::Status ControlLoops::AddFor(int32_t frame, NodeId consumer, Graph& graph) {
  NodeId inner;  // The Enter that still needs an input.
  for (; frame > 0; frame = info_->frames[static_cast<size_t>(frame)].parent) {
    const auto known = merges_.find({frame, graph.device(consumer)});
    if (known != merges_.end()) {
      return inner.valid() ? graph.SetInput(inner, 0, Output{known->second, 0}) : absl::OkStatus();
    }
    SLUICE_ASSIGN_OR_RETURN(const Loop loop, AddLoop(frame, consumer, graph));
    if (inner.valid()) SLUICE_RETURN_IF_ERROR(graph.SetInput(inner, 0, Output{loop.merge, 0}));
    merges_[{frame, graph.device(loop.merge)}] = loop.merge;
    inner = loop.enter;
  }
  if (!inner.valid()) return absl::OkStatus();
  SLUICE_ASSIGN_OR_RETURN(
      const NodeId start,
      AddNode(0, consumer, "Const", {}, {{"dtype", DType::kFloat}, {"value", Tensor::Scalar(0.0f)}}, graph));
  return graph.SetInput(inner, 0, Output{start, 0});
}

absl::StatusOr<ControlLoops::Loop> ControlLoops::AddLoop(int32_t index, NodeId consumer, Graph& graph) {
  const StaticFrame& frame = info_->frames[static_cast<size_t>(index)];
  if (!frame.loop_cond.valid()) {
    return graph.Locate(consumer,
                        Error(ErrorCode::kPartition)
                            .Text(absl::StrCat("takes part in the loop '", PrintableName(frame.name),
                                               "', which runs on several devices and has no LoopCond to ask")));
  }
  const AttrValue type = DType::kFloat;
  SLUICE_ASSIGN_OR_RETURN(const NodeId enter, AddNode(index, consumer, "Enter", {Output()},
                                                      {{"T", type},
                                                       {"frame_name", frame.name},
                                                       {"is_constant", false},
                                                       {"parallel_iterations", frame.parallel_iterations}},
                                                      graph));
  SLUICE_ASSIGN_OR_RETURN(const NodeId merge, AddNode(index, consumer, "Merge", {Output{enter, 0}, Output()},
                                                      {{"T", type}, {"N", int64_t{2}}}, graph));
  SLUICE_ASSIGN_OR_RETURN(
      const NodeId turn,
      AddNode(index, consumer, "Switch", {Output{merge, 0}, Output{frame.loop_cond, 0}}, {{"T", type}}, graph));
  SLUICE_ASSIGN_OR_RETURN(const NodeId next,
                          AddNode(index, consumer, "NextIteration", {Output{turn, 1}}, {{"T", type}}, graph));
  SLUICE_RETURN_IF_ERROR(graph.SetInput(merge, 1, Output{next, 0}));
  return Loop{enter, merge};
}

absl::StatusOr<NodeId> ControlLoops::AddNode(int32_t frame, NodeId consumer, absl::string_view op,
                                             std::vector<Output> inputs,
                                             std::vector<std::pair<std::string, AttrValue>> attrs, Graph& graph) {
  NodeSpec spec;
  const std::string name = graph.UniqueName(absl::StrCat(kPrefix, graph.name(consumer), "/", op));
  spec.name = name;
  spec.op = op;
  spec.inputs = std::move(inputs);
  spec.attrs = std::move(attrs);
  spec.device = graph.device(consumer);
  SLUICE_ASSIGN_OR_RETURN(const NodeId id, graph.AddNode(spec));
  value_frames_.push_back(frame);
  return id;
}

}  // namespace sluice

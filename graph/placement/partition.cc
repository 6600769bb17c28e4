#include "graph/placement/partition.h"

#include <algorithm>
#include <utility>

#include "graph/base/status_macros.h"
#include "graph/ir/control_flow_check.h"
#include "graph/ir/extract.h"
#include "graph/ir/op_class.h"
#include "graph/placement/control_loops.h"
#include "graph/placement/edge_cutter.h"
#include "graph/placement/incarnations.h"
#include "graph/placement/partition_devices.h"
#include "graph/placement/reachable_functions.h"

namespace sluice {
namespace {

bool HasControlFlow(const Graph& graph) {
  const std::vector<NodeId> nodes = graph.Nodes();
  return std::any_of(nodes.begin(), nodes.end(), [&](NodeId id) {
    const OpClass op_class = graph.op(id).op_class;
    return IsGate(op_class) || op_class == OpClass::kEnter;
  });
}

// The parts with their own nodes and inner edges; `local_ids` by id of `graph`.
std::vector<Partition> Split(const Graph& graph, const PartitionDevices& devices, std::vector<NodeId>* local_ids) {
  std::vector<std::vector<NodeId>> members(devices.locations().size());
  for (NodeId id : graph.Nodes()) members[static_cast<size_t>(devices.of(id).location)].push_back(id);
  std::vector<Graph> graphs = ExtractParts(graph, members, local_ids);
  std::vector<Partition> parts;
  for (size_t i = 0; i < graphs.size(); ++i) parts.push_back(Partition{devices.locations()[i], std::move(graphs[i])});
  return parts;
}

absl::StatusOr<std::vector<Partition>> CutUp(const Graph& graph, const ControlLoops& loops,
                                             const PartitionOptions& options) {
  SLUICE_ASSIGN_OR_RETURN(const PartitionDevices devices, PartitionDevices::Find(graph, options));
  std::vector<NodeId> local_ids;
  std::vector<Partition> parts = Split(graph, devices, &local_ids);
  EdgeCutter cutter(graph, devices, loops, options, local_ids, parts);
  for (NodeId id : graph.Nodes()) SLUICE_RETURN_IF_ERROR(cutter.Connect(id));
  const ReachableFunctions functions(graph.library());
  for (Partition& part : parts) {
    SLUICE_RETURN_IF_ERROR(functions.AddTo(part.graph));
    if (options.devices != nullptr) SLUICE_RETURN_IF_ERROR(SetIncarnations(*options.devices, part.graph));
  }
  return parts;
}

}  // namespace

absl::StatusOr<std::vector<Partition>> PartitionGraph(const Graph& graph, const PartitionOptions& options) {
  SLUICE_ASSIGN_OR_RETURN(const PartitionDevices devices, PartitionDevices::Find(graph, options));
  if (options.has_control_loops || devices.num_devices() < 2 || !HasControlFlow(graph)) {
    return CutUp(graph, ControlLoops(), options);
  }
  Graph looped = graph;
  SLUICE_RETURN_IF_ERROR(ColocateControlFlow(looped));
  SLUICE_ASSIGN_OR_RETURN(const ControlFlowInfo info, BuildControlFlowInfo(looped, options.limits));
  SLUICE_ASSIGN_OR_RETURN(const ControlLoops loops, ControlLoops::Add(info, looped));
  return CutUp(looped, loops, options);
}

}  // namespace sluice

#include "graph/edit/validate.h"

#include "graph/base/error.h"
#include "graph/base/limits.h"
#include "graph/base/status_macros.h"
#include "graph/ir/runnable_check.h"
#include "graph/ir/signature.h"
#include "graph/ir/topo_order.h"

namespace sluice {
namespace {

absl::Status CheckNode(const Graph& graph, NodeId id) {
  if (graph.Find(graph.name(id)) != id) return Error(ErrorCode::kInternal).Text("is not found under its name");
  const auto find = [&](absl::string_view name, AttrView* value) { return graph.FindAttr(id, name, value); };
  SLUICE_ASSIGN_OR_RETURN(const Signature wanted,
                          ComputeSignature(graph.op(id), find, LoadLimits().max_inputs_per_node));
  const Signature& found = graph.signature(id);
  if (found.inputs == wanted.inputs && found.outputs == wanted.outputs) return absl::OkStatus();
  return Error(ErrorCode::kInternal).Text("has other types than its attrs say");
}

}  // namespace

absl::Status ValidateGraph(const Graph& graph) {
  SLUICE_RETURN_IF_ERROR(CheckRunnable(graph));
  for (const NodeId id : graph.Nodes()) {
    const absl::Status status = CheckNode(graph, id);
    if (!status.ok()) return graph.Locate(id, status);
  }
  return CheckAcyclic(graph);
}

}  // namespace sluice

#include "executor/session/step_graph.h"

#include <string>
#include <utility>

#include "graph/functions/inliner.h"
#include "graph/ir/attr_minimums.h"
#include "graph/placement/placer.h"

namespace sluice {
namespace {

// Whether some node asks for a device or to be with another node: otherwise all are on the only device there is.
bool AsksForDevices(const Graph& graph) {
  for (int32_t i = 0; i < graph.id_limit(); ++i) {
    const NodeId id(i);
    if (graph.Contains(id) && (!graph.device(id).empty() || graph.HasAttr(id, "_class"))) return true;
  }
  return false;
}

}  // namespace

absl::StatusOr<StepGraph> MakeStepGraph(const Graph& graph, const FeedFetchSpec& spec, const SessionCore& core,
                                        FeedFetchOptions::Convention convention) {
  FeedFetchOptions options;
  options.limits = core.options().limits;
  options.convention = convention;
  const DeviceEntry& client = core.device_list().client();
  if (core.num_devices() > 1 || convention == FeedFetchOptions::Convention::kRendezvous) {
    options.client_device = client.name;
    options.client_incarnation = client.incarnation;
  }
  StepGraph step;
  SLUICE_ASSIGN_OR_RETURN(step.signature, ApplyFeedsAndFetches(graph, spec, options));
  Graph& needed = step.signature.graph;
  SLUICE_RETURN_IF_ERROR(CheckAttrMinimums(needed));
  InlineOptions inlining;
  inlining.limits = core.options().limits;
  inlining.lower_unmarked = true;
  inlining.ignore_marks = true;
  SLUICE_RETURN_IF_ERROR(InlineFunctionCalls(needed, inlining).status());
  if (core.num_devices() > 1 || AsksForDevices(needed)) {
    PlacementOptions placement;
    placement.allow_soft = core.options().allow_soft_placement;
    placement.default_device = client.name;
    SLUICE_RETURN_IF_ERROR(PlaceGraph(needed, core.device_list(), core.kernels(), placement).status());
    for (int32_t i = 0; i < needed.id_limit() && !step.is_split; ++i) {
      const NodeId id(i);
      step.is_split = needed.Contains(id) && needed.device(id) != client.name;
    }
  }
  return step;
}

}  // namespace sluice

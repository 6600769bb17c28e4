#include "graph/passes/simplify.h"

#include <memory>
#include <utility>
#include <vector>

#include "graph/base/status_macros.h"
#include "graph/edit/graph_editor.h"
#include "graph/ir/op_class.h"
#include "graph/ir/topo_order.h"
#include "graph/passes/common_subexpression.h"
#include "graph/passes/layer_fusion.h"
#include "graph/passes/pass.h"
#include "graph/passes/prune.h"
#include "graph/passes/unread_values.h"

namespace sluice {
namespace {

// The nodes that all else is there for: those that no other one uses, and those from which none of these is reached,
// for a loop that nothing leaves has its effects, too.
std::vector<NodeId> RootsOf(const Graph& graph) {
  std::vector<bool> used(static_cast<size_t>(graph.id_limit()), false);
  bool has_loops = false;
  for (int32_t i = 0; i < graph.id_limit(); ++i) {
    if (!graph.Contains(NodeId(i))) continue;
    has_loops = has_loops || graph.op(NodeId(i)).op_class == OpClass::kNextIteration;
    for (const Output& input : graph.all_inputs(NodeId(i))) {
      if (input.is_set() && input.node.value() != i) used[static_cast<size_t>(input.node.value())] = true;
    }
  }
  std::vector<NodeId> roots;
  const auto add_unless = [&](const std::vector<bool>& marked) {
    for (int32_t i = 0; i < graph.id_limit(); ++i) {
      if (graph.Contains(NodeId(i)) && !marked[static_cast<size_t>(i)]) roots.push_back(NodeId(i));
    }
  };
  add_unless(used);
  if (has_loops) add_unless(ReverseReachable(graph, roots));
  return roots;
}

}  // namespace

absl::StatusOr<SimplifyReport> SimplifyGraph(Graph& graph, const PassContext& context, const SimplifyOptions& options) {
  SimplifyReport report;
  std::vector<std::unique_ptr<const Pass>> passes;
  if (options.drop_unread_values) passes.push_back(std::make_unique<UnreadValuesPass>());
  if (options.fold_constants) passes.push_back(std::make_unique<ConstantFoldingPass>(options.folding));
  if (options.join_equal_nodes) passes.push_back(std::make_unique<CommonSubexpressionPass>());
  if (options.fuse_layers) passes.push_back(std::make_unique<LayerFusionPass>());
  if (passes.empty() || static_cast<int64_t>(graph.num_nodes()) > options.max_nodes) return report;
  std::vector<NodeId> roots = RootsOf(graph);
  std::vector<PassReport> reports;
  GraphEditor edit(graph);
  edit.SetInference(context.inference);
  SLUICE_RETURN_IF_ERROR(RunPasses(passes, /*max_rounds=*/1, context, edit, &reports));
  for (const PassReport& pass : reports) {
    int64_t& count = pass.name == "constant_folding"       ? report.folded
                     : pass.name == "common_subexpression" ? report.joined
                     : pass.name == "layer_fusion"         ? report.fused
                                                           : report.dropped;
    count = pass.changes;
  }
  if (report.dropped + report.folded + report.joined + report.fused == 0) return report;
  passes.clear();
  passes.push_back(std::make_unique<PrunePass>(std::move(roots)));
  reports.clear();
  SLUICE_RETURN_IF_ERROR(RunPasses(passes, /*max_rounds=*/1, context, edit, &reports));
  report.removed = reports[0].changes;
  return report;
}

}  // namespace sluice

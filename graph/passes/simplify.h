#ifndef SLUICE_GRAPH_PASSES_SIMPLIFY_H_
#define SLUICE_GRAPH_PASSES_SIMPLIFY_H_

// Note [Simplifying a step]
// A session simplifies the graph of a signature before it compiles it, in four ways, each with a switch:
// - dropping: removes nodes whose values nobody reads, though other nodes wait for them, if they cannot fail;
// - folding: computes nodes that depend only on constants, once;
// - joining: computes equal nodes once; the first of them stays;
// - fusing: finishes a product in its own kernel (Note [Fused layers] in layer_fusion.h).
// The graph is that of one signature by then: fed values are arguments, fetched values are results, functions are
// inlined, and every node has a device. So no fed value is taken for a constant, and nodes are joined only on one
// device. Remaining calls do not change, nor do the bodies that they call, which belong to no signature. Values are
// bitwise the same, computed by the same kernels. Kernels of hosts, which may do more than their ops say, are left
// alone. A node that cannot be evaluated stays, and fails only if a run reaches it. Effects, deadness and the names of
// targets do not change. Limits: ConstantFoldingOptions; and a graph of more than `max_nodes` is not simplified, since
// visiting each node would cost more than it saves when a million nodes are to be prepared in tenths of a second.

#include <cstdint>

#include "absl/status/statusor.h"
#include "graph/ir/graph.h"
#include "graph/passes/constant_folding.h"
#include "graph/passes/pass_context.h"

namespace sluice {

struct SimplifyOptions {
  bool drop_unread_values = true;
  bool fold_constants = true;
  bool join_equal_nodes = true;
  bool fuse_layers = true;
  ConstantFoldingOptions folding;
  int64_t max_nodes = 200'000;
  bool validates = false;  // For tests: see PassContext.
};

// What was done, in nodes.
struct SimplifyReport {
  int64_t dropped = 0;
  int64_t folded = 0;
  int64_t joined = 0;
  int64_t fused = 0;    // Layers.
  int64_t removed = 0;  // Of those that became unused.
};

// See Note [Simplifying a step]. Ids of nodes that stay, stay.
absl::StatusOr<SimplifyReport> SimplifyGraph(Graph& graph, const PassContext& context, const SimplifyOptions& options);

}  // namespace sluice

#endif  // SLUICE_GRAPH_PASSES_SIMPLIFY_H_

#ifndef SLUICE_GRAPH_PASSES_SIMPLIFY_H_
#define SLUICE_GRAPH_PASSES_SIMPLIFY_H_

// Note [Simplifying a step]
// What a session prepares for a signature is simplified before it is compiled: what nobody reads, though others wait
// for it, is not computed where it cannot fail (dropping), what depends on constants alone is computed once (folding),
// what is computed twice once (joining), and a product is finished where it is made (Note [Fused layers] in
// layer_fusion.h). Each has a switch. By then the graph is that of one signature: fed values
// are arguments in it, fetched ones results, functions are inlined, and every node has its place; so nothing that is
// fed is taken for a constant, and nodes join only on one device. Calls that are left stay as they are, and so do the
// bodies that they call, which belong to no signature. Values are the same bits, computed by the same kernels; those of
// hosts, which may do more than their ops say, are left alone; a node whose evaluation fails stays, and fails when it
// is reached, or not; effects, deadness and the names of targets stay. Of nodes alike the first one stays, and what
// becomes unused goes. Bounds: ConstantFoldingOptions, and graphs above `max_nodes` are left as they are: there a look
// at each node costs more than what it finds, and preparing a million nodes is a matter of tenths of a second.

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

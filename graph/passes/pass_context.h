#ifndef SLUICE_GRAPH_PASSES_PASS_CONTEXT_H_
#define SLUICE_GRAPH_PASSES_PASS_CONTEXT_H_

#include <algorithm>
#include <functional>
#include <utility>
#include <vector>

#include "graph/base/stop_poll.h"
#include "graph/ir/graph.h"
#include "graph/passes/constant_evaluator.h"
#include "graph/placement/kernel_catalog.h"
#include "graph/shapes/inference.h"

namespace sluice {

// Inputs of passes other than the graph, its uses and its shapes, which their GraphEditor has. Borrows; lives for one
// pipeline of passes over one graph.
class PassContext {
 public:
  PassContext() = default;
  // `keep`: nodes that code outside of the graph refers to by id or name. They keep both, and their values; ids that
  // the graph does not have are ignored.
  explicit PassContext(std::vector<NodeId> keep) : keep_(std::move(keep)) { std::sort(keep_.begin(), keep_.end()); }

  bool IsKept(NodeId id) const { return std::binary_search(keep_.begin(), keep_.end(), id); }
  const std::vector<NodeId>& keep() const { return keep_; }  // Ascending.

  // If null, nothing is computed ahead of the run.
  const ConstantEvaluator* evaluator = nullptr;
  // Which devices have kernels for which nodes, for passes that put other ops in place of some. Null: nothing is known
  // of kernels, and such passes change nothing.
  const KernelCatalog* catalog = nullptr;
  // By which shapes are inferred where a pass asks for them: feeds, bodies of functions.
  InferenceOptions inference;
  // Whether to leave a node unchanged although its op is pure: a host's kernel may do more than its op says. Called
  // once for each op and types. Null: no node.
  std::function<bool(const Graph& graph, NodeId id)> leaves_alone;
  // Whether RunPasses looks, in builds with assertions, that each pass left a sound graph. The check takes as long as
  // the passes.
  bool validates = true;
  // Polled; null: never stops.
  StopPoll* stop = nullptr;

 private:
  std::vector<NodeId> keep_;
};

}  // namespace sluice

#endif  // SLUICE_GRAPH_PASSES_PASS_CONTEXT_H_

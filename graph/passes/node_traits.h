#ifndef SLUICE_GRAPH_PASSES_NODE_TRAITS_H_
#define SLUICE_GRAPH_PASSES_NODE_TRAITS_H_

#include <utility>

#include "graph/base/hash_table.h"
#include "graph/ir/graph.h"
#include "graph/passes/pass_context.h"

namespace sluice {

// Whether node `id` is a pure function of its inputs and attrs, so that it may be computed earlier, once instead of
// twice, or not at all: no state, no references or resource handles, no calls of functions (whose bodies may have
// state), no control flow, no value from outside (Placeholder, _Arg).
bool IsPure(const Graph& graph, NodeId id);

// Whether `id` is Switch, Merge, Enter, Exit, NextIteration, LoopCond, ControlTrigger or one of their kin.
bool IsControlFlow(const Graph& graph, NodeId id);

// The nodes of one graph that are pure and that the context does not leave alone: looked up by op and signature, of
// which there are few. Borrows graph and context; no functions are added meanwhile. Not thread-safe.
class PureNodes {
 public:
  PureNodes(const Graph& graph, const PassContext& context) : graph_(graph), context_(context) {}

  bool Contain(NodeId id) {
    const Kind kind(&graph_.op(id), &graph_.signature(id));
    if (kind == last_) return is_last_pure_;
    const auto [known, is_new] = kinds_.try_emplace(kind, false);
    if (is_new) {
      known->second = IsPure(graph_, id) && (context_.leaves_alone == nullptr || !context_.leaves_alone(graph_, id));
    }
    last_ = kind;
    is_last_pure_ = known->second;
    return is_last_pure_;
  }

 private:
  using Kind = std::pair<const OpSchema*, const Signature*>;

  const Graph& graph_;
  const PassContext& context_;
  HashMap<Kind, bool> kinds_;
  Kind last_;
  bool is_last_pure_ = false;
};

}  // namespace sluice

#endif  // SLUICE_GRAPH_PASSES_NODE_TRAITS_H_

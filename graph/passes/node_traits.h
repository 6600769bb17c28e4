#ifndef SLUICE_GRAPH_PASSES_NODE_TRAITS_H_
#define SLUICE_GRAPH_PASSES_NODE_TRAITS_H_

#include "graph/ir/graph.h"

namespace sluice {

// Whether node `id` is a pure function of its inputs and attrs, so that it may be computed earlier, once instead of
// twice, or not at all: no state, no references or resource handles, no calls of functions (whose bodies may have
// state), no control flow, no value from outside (Placeholder, _Arg).
bool IsPure(const Graph& graph, NodeId id);

// Whether `id` is Switch, Merge, Enter, Exit, NextIteration, LoopCond, ControlTrigger or one of their kin.
bool IsControlFlow(const Graph& graph, NodeId id);

}  // namespace sluice

#endif  // SLUICE_GRAPH_PASSES_NODE_TRAITS_H_

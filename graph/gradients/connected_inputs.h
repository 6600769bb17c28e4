#ifndef SLUICE_GRAPH_GRADIENTS_CONNECTED_INPUTS_H_
#define SLUICE_GRAPH_GRADIENTS_CONNECTED_INPUTS_H_

// Note [Connected inputs]
// A gradient of a whole function is more than the gradients of what its results need: TensorFlow counts as connected
//   - of a While, all its inputs, whatever becomes of them in the body;
//   - of an If, a Case or a call, the arguments that any result depends on, be that result read or not.
// An x that is connected only in such a way has a gradient of zeros, not none; unless a node on the way with a gradient
// of a host, a plug-in or its own got a gradient and gave none for the input.

#include "absl/types/span.h"
#include "graph/base/hash_table.h"
#include "graph/base/limits.h"
#include "graph/ir/graph.h"

namespace sluice {

// The inputs that ys are connected with through calls in the graph and through loops lowered from Whiles. An immutable
// value.
class ConnectedInputs {
 public:
  // `without` are inputs of nodes from which nothing flows on: see GradientSweep::without(). Linear in the graph and in
  // the bodies of the calls on which ys depend, as far as `limits` allow.
  ConnectedInputs(const Graph& graph, absl::Span<const Output> ys, absl::Span<const Output> stop,
                  const HashSet<Output>& without, const LoadLimits& limits);
  // Whether `x`, or what is computed from it, is such an input.
  bool Has(const Output& x) const { return inputs_.contains(x); }

 private:
  HashSet<Output> inputs_;
};

}  // namespace sluice

#endif  // SLUICE_GRAPH_GRADIENTS_CONNECTED_INPUTS_H_

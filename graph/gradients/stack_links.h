#ifndef SLUICE_GRAPH_GRADIENTS_STACK_LINKS_H_
#define SLUICE_GRAPH_GRADIENTS_STACK_LINKS_H_

#include "graph/base/hash_table.h"
#include "graph/ir/graph.h"

namespace sluice {

// A stack with one push and one pop: the pop returns what the push has taken.
struct StackLink {
  NodeId push, pop;
};

// The stacks of a graph known to be such, by their pops: those of gradients of loops (Note [Values of a loop] in
// loop_frame.h), TensorFlow's included. Not stacks whose handle cannot be followed (into a call, a Merge, a loop's
// variable). An immutable value.
class StackLinks {
 public:
  // Linear.
  explicit StackLinks(const Graph& graph);
  // Whether the op takes values off a stack.
  static bool IsPop(const Graph& graph, NodeId id);

  // The push whose values `pop` gives back; an invalid id for other nodes.
  NodeId PushOf(NodeId pop) const;

 private:
  HashMap<NodeId, NodeId> push_of_;
};

}  // namespace sluice

#endif  // SLUICE_GRAPH_GRADIENTS_STACK_LINKS_H_

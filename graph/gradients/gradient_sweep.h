#ifndef SLUICE_GRAPH_GRADIENTS_GRADIENT_SWEEP_H_
#define SLUICE_GRAPH_GRADIENTS_GRADIENT_SWEEP_H_

// Note [The sweep]
// Gradients flow against the edges. A node's turn comes when all its uses that lie between xs and ys have handed over
// what they have to give, also when that is nothing: then what has come for each of its outputs is added up, and its
// row says what that means for its inputs. So every node has one turn, sums know all their terms, and the work is
// linear; the order is that of a queue, and no call nests. Terms are added in the order of the edges (by consumer, then
// by input; what y itself begins with comes first), whatever the order in which they came.
// In loops, edges go round: see Note [Gradients of loops] in loop_gradients.h.

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "graph/base/big_vector.h"
#include "graph/base/hash_table.h"
#include "graph/gradients/forward_facts.h"
#include "graph/gradients/gradient.h"
#include "graph/gradients/gradient_emitter.h"
#include "graph/gradients/gradient_region.h"
#include "graph/gradients/gradients.h"
#include "graph/gradients/stack_links.h"

namespace sluice {

class LoopGradients;
class OwnGradients;

// One pass over the region. Borrows all it is made of. Not thread-safe.
class GradientSweep {
 public:
  // `loops` is null where the region has none.
  GradientSweep(const GradientRegion& region, ForwardFacts& facts, GradientEmitter& emitter, LoopGradients* loops,
                OwnGradients& own, const GradientOptions& options);

  // The gradient that `y` begins with; several add up.
  void Seed(const Output& y, const Gradient& gradient) { AddTerm(y, NodeId(), -1, gradient); }
  absl::Status Run();
  // What was found for an x.
  Gradient GradientOf(const Output& x) const;

  // Inputs of nodes (by node and number of the input) that a gradient which a host, a plug-in or the node itself has
  // was asked for, and gave none: nothing flows on from there.
  const HashSet<Output>& without() const { return without_; }

  // Hands over what flows to input `input` of `node`, which may be nothing. Once for each edge that counts.
  void Deliver(NodeId node, int32_t input, const Gradient& gradient);
  // Whether that edge counts.
  bool Flows(NodeId node, int32_t input) const;
  // Says that the pop of the stack has had its turn. Once for each that is reached.
  void Release(const StackLink& stack);

 private:
  struct Term {
    int32_t next = -1;  // Of the same node.
    int32_t slot = 0;
    NodeId consumer;
    int32_t input = 0;
    Gradient gradient;
  };

  void AddTerm(const Output& of, NodeId consumer, int32_t input, const Gradient& gradient);
  // One use less to wait for.
  void CountDown(NodeId id) {
    if (--pending_[static_cast<size_t>(region_.IndexOf(id))] == 0) queue_.push_back(id);
  }
  absl::Status Visit(NodeId id);
  // Adds up what has come for the outputs of `id`, into dys_. Whether there is any.
  bool SumTerms(NodeId id);
  // The same of one of them.
  Gradient SumSlot(const Output& output, absl::Span<const Term> terms);
  absl::Status CallRow(NodeId id);
  const GradientRow* FindRow(absl::string_view op) const;
  // Whether the row of TensorFlow's table is what counts for the node.
  bool IsOfTable(NodeId id);

  const Graph& graph_;
  const GradientRegion& region_;
  ForwardFacts& facts_;
  GradientEmitter& emitter_;
  LoopGradients* const loops_;
  OwnGradients& own_;
  const GradientOptions& options_;
  BigVector<int32_t> pending_, first_term_;  // By place in the region.
  BigVector<Term> terms_;
  int32_t free_term_ = -1;
  BigVector<NodeId> queue_;
  std::vector<Term> of_node_;  // Of the node whose turn it is, like what follows.
  std::vector<Gradient> of_slot_, dys_, dxs_;
  HashMap<Output, Gradient> found_;
  HashSet<Output> without_;
};

}  // namespace sluice

#endif  // SLUICE_GRAPH_GRADIENTS_GRADIENT_SWEEP_H_

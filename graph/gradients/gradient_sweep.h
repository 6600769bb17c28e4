#ifndef SLUICE_GRAPH_GRADIENTS_GRADIENT_SWEEP_H_
#define SLUICE_GRAPH_GRADIENTS_GRADIENT_SWEEP_H_

// Note [The sweep]
// Gradients flow against the edges. A node is visited when all its uses between xs and ys have delivered a gradient or
// none: then the gradients of each output are summed, and its row computes those of its inputs. So every node is
// visited once, sums know all their terms, and the work is linear; a queue replaces recursion. Terms are added in the
// order of the edges (by consumer, then by input; the seed of a y first), whatever the order in which they came.
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
  // `loops` is null if the region has none.
  GradientSweep(const GradientRegion& region, ForwardFacts& facts, GradientEmitter& emitter, LoopGradients* loops,
                OwnGradients& own, const GradientOptions& options);

  // Gives `y` a first gradient; several add up.
  void Seed(const Output& y, const Gradient& gradient) { AddTerm(y, NodeId(), -1, gradient); }
  absl::Status Run();
  // Returns the result for an x.
  Gradient GradientOf(const Output& x) const;

  // Inputs (node, number of the input) for which a gradient of a host, a plug-in or the node itself gave none: nothing
  // flows on from there.
  const HashSet<Output>& without() const { return without_; }

  // Delivers the gradient, or none, of input `input` of `node`. Once for each edge that counts.
  void Deliver(NodeId node, int32_t input, const Gradient& gradient);
  // Whether that edge counts.
  bool Flows(NodeId node, int32_t input) const;
  // Reports that the pop of the stack was visited. Once for each that is reached.
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
  // Counts one use as delivered.
  void CountDown(NodeId id) {
    if (--pending_[static_cast<size_t>(region_.IndexOf(id))] == 0) queue_.push_back(id);
  }
  absl::Status Visit(NodeId id);
  // Sums the gradients of the outputs of `id` into dys_; returns whether there are any.
  bool SumTerms(NodeId id);
  // The same for one output.
  Gradient SumSlot(const Output& output, absl::Span<const Term> terms);
  absl::Status CallRow(NodeId id);
  const GradientRow* FindRow(absl::string_view op) const;
  // Whether the node uses the row of TensorFlow's table.
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
  std::vector<Term> of_node_;  // Of the visited node, as are the next members.
  std::vector<Gradient> of_slot_, dys_, dxs_;
  HashMap<Output, Gradient> found_;
  HashSet<Output> without_;
};

}  // namespace sluice

#endif  // SLUICE_GRAPH_GRADIENTS_GRADIENT_SWEEP_H_

#ifndef SLUICE_GRAPH_GRADIENTS_LOOP_GRADIENTS_H_
#define SLUICE_GRAPH_GRADIENTS_LOOP_GRADIENTS_H_

// Note [Gradients of loops]
// A loop of the forward graph (Enter, Merge, Switch, NextIteration, Exit, see Note [Static frames]) gets a loop of
// gradients, in which each variable of the loop that has a gradient is a variable, too:
//   1. When the gradients of all Exits have come, and there is at least one, the others start as zeros and the loop
//      begins: each gradient enters it, and in each iteration flows to the input of the forward NextIteration.
//   2. The gradients of the body are those of any graph; forward values are recalled (Note [Values of a loop]).
//   3. The gradient of the value that the forward Switch passes to the body is the variable's gradient in the next
//      iteration of the gradient (the previous one of the forward loop). After the last one it flows to the Enter's
//      input.
//   4. An invariant of the forward loop (a constant Enter) has a gradient in each iteration: these add up in a
//   variable.
// An Exit that nothing between xs and ys reads has the gradient zero; nested loops need no rule of their own.
//
// Note [Gradients of stacks]
// A loop of gradients reads forward values from stacks, so its own gradient flows through these: the gradient of a pop
// belongs to the push of the popped value. Pops run through the iterations backwards, their gradients forwards, and the
// gradients of the pushes backwards: a second stack has the gradients in the right order. For that the loop of
// gradients of the pushes begins when that of the pops has ended. This gives gradients of any order, even of loops that
// TensorFlow has differentiated. Both loops must run under the same conditions.

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "graph/base/hash_table.h"
#include "graph/base/limits.h"
#include "graph/gradients/conditions.h"
#include "graph/gradients/gradient.h"
#include "graph/gradients/gradient_emitter.h"
#include "graph/gradients/gradient_region.h"
#include "graph/gradients/loop_frame.h"
#include "graph/gradients/stack_links.h"
#include "graph/ir/control_flow_check.h"
#include "graph/ir/graph.h"

namespace sluice {

class GradientSweep;

// The loops and conditionals of one sweep. Borrows all it is made of. Not thread-safe.
class LoopGradients {
 public:
  // Fails if the frames of the graph do not nest, or nest deeper than `limits` allow.
  static absl::StatusOr<std::unique_ptr<LoopGradients>> Make(const GradientRegion& region, GradientEmitter& emitter,
                                                             const LoadLimits& limits);

  // Returns an error if some of `outputs` are in a loop.
  absl::Status CheckOutside(absl::Span<const Output> outputs, absl::string_view what) const;
  // Returns the gradient of the loop that a node's outputs are in; null: none.
  GradientFrame* FrameOfOutputs(NodeId id) const;
  // Whether the node is part of a loop's mechanism: Enter, Exit, NextIteration, the Merge and Switch of a variable, or
  // the push or pop of a stack.
  bool IsPart(NodeId id) const;
  // Whether the gradients of the node's outputs are sums over its readers, as for nodes that are not parts. Not for a
  // variable's Merge, NextIteration and Enter: theirs are the loop variable of the gradient.
  bool IsRead(NodeId id) const;
  // Whether `consumer` may have a gradient for what it reads of `id`: of the Merge of a variable only its Switch.
  bool MayRead(NodeId consumer, NodeId id) const;
  // Visits such a node.
  absl::Status Visit(NodeId id, absl::Span<const Gradient> dys, GradientSweep& sweep);

 private:
  struct Variable {
    NodeId merge, gate;         // Forward.
    std::vector<NodeId> exits;  // Reached ones: one from the file, and others that gradients read the last value by.
    int32_t back = -1;          // The input of the Merge that the NextIteration feeds.
    LoopFrame::Variable grad;   // Once the loop has begun with a gradient.
  };
  struct Loop {
    std::vector<NodeId> exits;  // Reached ones.
    // How many of these, the enclosing loop, and the pops of values pushed here or in an inner loop it still waits for.
    size_t num_waiting = 0;
    HashMap<NodeId, Gradient> exit_dys;
    bool has_stacked = false;  // A gradient came for something that was pushed here, or in a loop in it.
    std::vector<Variable> variables;
    std::vector<int32_t> loops, stacks;  // Loops in it; stacks that are filled in it, not in one of these.
    std::vector<int32_t> readers;        // Loops whose gradients keep some for what is pushed in this one.
    std::unique_ptr<LoopFrame> frame;    // Once it has begun with a gradient.
  };
  // A stack whose pop is reached. The loops, in one frame, that contain its push and its pop; else -1.
  struct Stack {
    StackLink link;
    int32_t push_loop = -1, pop_loop = -1;
    Output gradients = kNoOutput;  // The stack of the gradients of what it gave, once there are any.
  };

  LoopGradients(const GradientRegion& region, GradientEmitter& emitter)
      : region_(region), emitter_(emitter), graph_(emitter.graph()), conditions_(emitter.graph()) {}
  absl::Status Init(const LoadLimits& limits);
  absl::Status FindVariables(int32_t frame);
  absl::Status FindGates(int32_t frame);
  void FindStack(const StackLink& link);
  absl::Status Refuse(NodeId id, absl::string_view why) const;
  Loop& LoopOf(NodeId id) { return loops_[static_cast<size_t>(info_.frame(id))]; }
  const Loop& LoopOf(NodeId id) const { return loops_[static_cast<size_t>(info_.frame(id))]; }
  Variable* VariableOf(NodeId id);
  const Variable* VariableOf(NodeId id) const;
  LoopFrame* ParentOf(int32_t frame) const;

  // The variable whose last value an Exit gives; null: another value of the loop's head.
  Variable* LeavingBy(NodeId exit);
  absl::Status VisitExit(NodeId id, const Gradient& dy, GradientSweep& sweep);
  absl::Status VisitPop(Stack& stack, const Gradient& dy, GradientSweep& sweep);
  absl::Status VisitPush(Stack& stack, const Gradient& dy, GradientSweep& sweep);
  // Counts one event that the loop waits for; after the last, begins the loop, then those in it.
  absl::Status Arrive(int32_t frame, GradientSweep& sweep);
  absl::Status Begin(int32_t frame, GradientSweep& sweep);
  absl::Status MakeFrame(int32_t frame);
  absl::Status VisitGate(NodeId id, absl::Span<const Gradient> dys, GradientSweep& sweep);
  absl::Status VisitInvariant(NodeId id, const Gradient& dy, GradientSweep& sweep);
  // Returns the first value of the variable's gradient: the sum for its Exits, or zeros.
  Expr StartOf(const Loop& loop, const Variable& variable);
  // Returns the variable's last value, outside of the forward loop, from an Exit or a new one.
  Output LastValue(const Variable& variable);

  const GradientRegion& region_;
  GradientEmitter& emitter_;
  const Graph& graph_;
  ControlFlowInfo info_;
  Conditions conditions_;
  std::vector<Loop> loops_;                                 // By frame; that of the root is not used.
  HashMap<NodeId, std::pair<int32_t, int32_t>> variables_;  // Merge or Switch: loop, place in its variables.
  std::vector<Stack> stacks_;
  HashMap<NodeId, int32_t> stack_of_;  // Push or pop: place in stacks_.
};

}  // namespace sluice

#endif  // SLUICE_GRAPH_GRADIENTS_LOOP_GRADIENTS_H_

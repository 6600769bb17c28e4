#ifndef SLUICE_GRAPH_GRADIENTS_LOOP_FRAME_H_
#define SLUICE_GRAPH_GRADIENTS_LOOP_FRAME_H_

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "graph/base/hash_table.h"
#include "graph/gradients/conditions.h"
#include "graph/gradients/gradient_emitter.h"
#include "graph/ir/control_flow_check.h"
#include "graph/ir/graph.h"

namespace sluice {

// The gradient of one loop: a loop of as many iterations, in reverse order.
//
// Note [Values of a loop]
// The gradient of iteration i needs forward values of iteration i. Constants and invariants enter the gradient's loop
// as they entered the forward one. Any other value has a stack, made once a run: the forward loop pushes the value in
// each iteration, and the gradient's loop pops it. A counter in the forward loop counts its iterations; the gradient's
// counts down from there. Pushes of one iteration come before those of the next, as the forward counter waits for them;
// pops likewise, through the gradient's counter. A value that is dead in some iterations is pushed and popped only in
// the others: the handle goes through the same Switches. Its predicates are recalled like other values. A nested loop
// uses the same stacks each time it runs: its counter starts with the outer loop's iteration, which waits for the push
// of the last count; backwards, the outer loop waits for the end of its counter.
//
// Borrows all it is made of. Not thread-safe.
class LoopFrame : public GradientFrame {
 public:
  // `parent`: the gradient of the enclosing loop, or null.
  LoopFrame(const StaticFrame& forward, int32_t index, const ControlFlowInfo& info, LoopFrame* parent,
            Conditions& conditions, GradientEmitter& emitter);

  // Makes the loop's counters and its LoopCond. Call it first, once. The loop begins when the nodes `after`, of the
  // enclosing frame, are done, dead or not. Returns the number of iterations, in that frame.
  Output Begin(absl::Span<const NodeId> after);
  Output Recall(const Output& forward) override;
  Output BringIn(const Output& outside) override;
  Expr Beside(const Output& forward, const Expr& value) override;
  Output ForwardOf(const Output& here) const override;
  bool IsAtHand(const Output& forward) const override;

  // A loop variable: the Merge that it enters by, which has no other input yet, and its value in the iteration.
  struct Variable {
    Output merge, value, leaves;  // `leaves`: its value after the last iteration, in the loop.
  };
  Variable AddVariable(const Output& start);
  // Sets the variable's value in the next iteration. Returns its value after the last one, outside.
  Output Close(const Variable& variable, const Output& next);
  // Brings in a value from the gradient of the enclosing loop, for all iterations.
  Output Enter(const Output& outside);

  // Keeps the value of each iteration in which it is live. Returns the stack, which is outside of all loops.
  Output Keep(const Output& value);
  // Returns the values that a loop in the other direction has kept, in the iterations in which `forward` is live.
  Output GiveBack(const Output& stack, const Output& forward);
  // Returns a node of the enclosing frame that is done when all iterations are.
  NodeId End();

  LoopFrame* parent() const { return parent_; }
  int32_t index() const { return index_; }
  const std::string& name() const { return name_; }

 private:
  EmitAttrs EnterAttrs(const std::string& frame, bool is_constant) const;
  // The parts of a variable, in the order in which they are added: its Merge, which Repeat closes; its Switch.
  Output AddMerge(const Output& enter);
  Variable Gate(const Output& merge, const Output& condition);
  void Repeat(const Variable& variable, const Output& next);
  // In the frame around the forward loop.
  void AddForwardCounter();
  Output RecallInParent(const Output& forward);
  // Follows `forward` to its source if it only passes a value on or is in the head of the loop.
  Output Source(Output forward) const;
  // Whether it is the same in all iterations, entering as a constant.
  bool IsInvariant(const Output& forward) const;
  Output RecallInvariant(const Output& forward);
  // Brings a value from outside of all loops into each iteration of the forward loop.
  Output EnterForward(const Output& outside);
  Output RecallByStack(const Output& forward);
  // Makes a stack for values of this type.
  Output NewStack(const Output& value);
  void AddControl(NodeId node, NodeId after);
  // Returns the conditions that change between iterations: those of predicates of this loop.
  Conditions::List LocalConditions(const Output& forward);

  const StaticFrame& forward_;
  const int32_t index_;
  const ControlFlowInfo& info_;
  LoopFrame* const parent_;
  Conditions& conditions_;
  GradientEmitter& emitter_;
  const std::string scope_;  // Of the names of nodes.
  const std::string name_;   // Of the frame of the gradient.
  // Of the forward loop: a node that is live when the loop is entered, one of each iteration of the body, and its
  // counter.
  NodeId anchor_, body_, sync_;
  Output trips_ = kNoOutput;
  // Of the gradient.
  Output condition_ = kNoOutput;
  Variable counter_;
  NodeId pivot_, back_sync_, end_;
  HashMap<Output, Output> recalled_, entered_, brought_, forward_of_;
  mutable HashMap<Output, Output> sources_;  // Results of Source.
};

}  // namespace sluice

#endif  // SLUICE_GRAPH_GRADIENTS_LOOP_FRAME_H_

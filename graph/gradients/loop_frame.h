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

// The gradient of one loop: a loop that turns as often, through the iterations backwards.
//
// Note [Values of a loop]
// The gradient of iteration i needs forward values of iteration i. What is the same in all iterations enters the
// gradient's loop as it entered the forward one (constants, invariants). Anything else goes through a stack: made
// once a run, one for each value, it gets the value in each iteration of the forward loop and gives it back in
// each of the gradient's. A counter in the forward loop says how often that turned; the gradient's counts down from
// there. Pushes of one iteration come before those of the next, as the forward counter waits for them; pops likewise,
// through the gradient's counter. A value that is dead in some iterations is pushed only where it is live, and popped
// only there: the handle goes through the same Switches. Its predicates are recalled like other values.
// A loop in a loop has the same stacks each time: its counter starts when the outer one's next iteration does, which
// waits for the outer push of how often it turned; backwards the outer loop waits for its counter's end.
//
// Borrows all it is made of. Not thread-safe.
class LoopFrame : public GradientFrame {
 public:
  // `parent` is the gradient of the loop around this one, null where there is none.
  LoopFrame(const StaticFrame& forward, int32_t index, const ControlFlowInfo& info, LoopFrame* parent,
            Conditions& conditions, GradientEmitter& emitter);

  // Makes the loop: its counters, and its LoopCond. Called once, before all others. It begins when the nodes `after`,
  // of the frame around it, are done, dead or not. Gives how often it turns, in that frame.
  Output Begin(absl::Span<const NodeId> after);
  Output Recall(const Output& forward) override;
  Output BringIn(const Output& outside) override;
  Expr Beside(const Output& forward, const Expr& value) override;
  Output ForwardOf(const Output& here) const override;
  bool IsAtHand(const Output& forward) const override;

  // A value that goes round: the Merge it enters by, which has no other input yet, and what it is in the iteration.
  struct Variable {
    Output merge, value, leaves;  // `leaves`: what it is after the last iteration, in the loop.
  };
  Variable AddVariable(const Output& start);
  // Closes the circle: what the variable is in the next iteration. Gives what it is after the last one, outside.
  Output Close(const Variable& variable, const Output& next);
  // Brings a value of the gradient of the loop around this one in, for all iterations.
  Output Enter(const Output& outside);

  // Keeps what the value is in each iteration in which it is live. Gives the stack, which stands outside of all loops.
  Output Keep(const Output& value);
  // What a loop that went through the same iterations in the other direction has kept, in the iterations in which the
  // forward value is live.
  Output GiveBack(const Output& stack, const Output& forward);
  // A node of the frame around this one that is done when all iterations are.
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
  // What stands for `forward` where that only hands something on, or is the head of the loop.
  Output Source(Output forward) const;
  // Whether it is the same in all iterations, and Enters as such.
  bool IsInvariant(const Output& forward) const;
  Output RecallInvariant(const Output& forward);
  // A value that stands outside of all loops, in each iteration of the forward loop.
  Output EnterForward(const Output& outside);
  Output RecallByStack(const Output& forward);
  // Of values like this one.
  Output NewStack(const Output& value);
  void AddControl(NodeId node, NodeId after);
  // The conditions that change from iteration to iteration: those of predicates of this loop.
  Conditions::List LocalConditions(const Output& forward);

  const StaticFrame& forward_;
  const int32_t index_;
  const ControlFlowInfo& info_;
  LoopFrame* const parent_;
  Conditions& conditions_;
  GradientEmitter& emitter_;
  const std::string scope_;  // Of the names of nodes.
  const std::string name_;   // Of the frame of the gradient.
  // Of the forward loop: something that is live when the loop is entered, the iteration of the body, how often that
  // ran.
  NodeId anchor_, body_, sync_;
  Output trips_ = kNoOutput;
  // Of the gradient.
  Output condition_ = kNoOutput;
  Variable counter_;
  NodeId pivot_, back_sync_, end_;
  HashMap<Output, Output> recalled_, entered_, brought_, forward_of_;
  mutable HashMap<Output, Output> sources_;  // What Source has found on the way.
};

}  // namespace sluice

#endif  // SLUICE_GRAPH_GRADIENTS_LOOP_FRAME_H_

#ifndef SLUICE_EXECUTOR_SERIAL_STRUCTURE_H_
#define SLUICE_EXECUTOR_SERIAL_STRUCTURE_H_

// Analyses a graph for the compiler of serial programs: its values, the guards of its nodes, and its loops.

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "executor/plan/kernel_set.h"
#include "executor/serial/guard_table.h"
#include "graph/base/limits.h"
#include "graph/base/stop_poll.h"
#include "graph/ir/control_flow_check.h"
#include "graph/ir/graph.h"

namespace sluice {

// What a node becomes in a serial program.
enum class SerialRole : uint8_t {
  kCompute,        // A call of its kernel.
  kConst,          // Nothing: its value is in the constant table.
  kAlias,          // Nothing: its outputs are its inputs (OpClass::kForward, LoopCond).
  kNothing,        // Nothing: only the order counts (NoOp).
  kTrigger,        // The same, but its inputs may be dead (ControlTrigger).
  kSwitch,         // Nothing: its outputs are its input; consumers stand in blocks.
  kMerge,          // A move per input, in that input's block; loop-carried: a register for the whole loop.
  kEnter,          // Constant: nothing. Else a move before the loop.
  kExit,           // Nothing.
  kNextIteration,  // A move at the end of the iteration.
  kArg,
  kReturn,
  kStart,        // The beginning of an asynchronous call, which ends elsewhere (Note [Segments] in segment_plan.h).
  kSend,         // A call of its kernel, also where its input is dead.
  kUnsupported,  // Only the dataflow driver can run it.
};

// Whether a graph may have asynchronous kernels and transfers.
enum class SerialWaits : uint8_t { kRefused, kAllowed };

// A value that lies in a register, or in the constant table.
struct SerialValue {
  const Tensor* constant = nullptr;  // Null: a register.
  bool is_ref = false;
  bool is_used = false;
  int32_t carried_by = -1;  // The frame whose loop variable this is.
  int32_t rank = 0;         // As a predicate: above all those that its node stands under, in the frames around it too.
};

// One loop-carried value: a Merge over an Enter and a NextIteration.
struct LoopVariable {
  NodeId merge;
  int32_t value = -1;  // The Merge's register.
  Output initial;      // What its Enter reads, in the parent frame.
  Output next;         // What its NextIteration reads.
  NodeId enter, next_iteration;
};

struct SerialLoop {
  GuardId guard{-1};       // Of the loop as a whole, in its parent frame.
  int32_t rank = 0;        // Of values in it: above all predicates of `guard`, and of the loops around.
  int32_t condition = -1;  // The value that LoopCond reads.
  std::vector<LoopVariable> variables;
};

// The values, guards and loops of one graph. Immutable after Analyze. Borrows graph and kernels.
class SerialStructure {
 public:
  static constexpr int32_t kNoValue = -1;

  // Succeeds for every sound graph; is_structured() says whether a serial program can be written. Returns errors of the
  // graph itself, of frames beyond `limits`, and of `stop` (may be null).
  static absl::StatusOr<SerialStructure> Analyze(const Graph& graph, const KernelSet& kernels, StopPoll* stop = nullptr,
                                                 const LoadLimits& limits = LoadLimits(),
                                                 SerialWaits waits = SerialWaits::kRefused);

  bool is_structured() const { return why_not_.empty(); }
  // Why a serial program cannot be written, in words.
  const std::string& why_not() const { return why_not_; }

  const Graph& graph() const { return *graph_; }
  const KernelSet& kernels() const { return *kernels_; }
  const ControlFlowInfo& frames() const { return frames_; }
  // Topological, back edges aside.
  const std::vector<NodeId>& order() const { return order_; }
  bool has_control_flow() const { return has_control_flow_; }
  // Whether some node is of role kStart or kSend.
  bool has_waits() const { return has_waits_; }
  SerialRole role(NodeId id) const { return roles_[Index(id)]; }
  // In the node's own frame; of an Enter in the parent frame.
  GuardId guard(NodeId id) const { return has_control_flow_ ? guards_of_[Index(id)] : kAlways; }
  GuardId output_guard(const Output& output) const;
  const GuardTable& guards() const { return guards_; }
  size_t guard_length(GuardId guard) const { return guards_.literals(guard).size(); }
  int32_t frame(NodeId id) const { return frames_.frame(id); }
  // The value of an output; kNoValue when it is never computed.
  int32_t value(const Output& output) const { return value_of_[OutputIndex(output)]; }
  const std::vector<SerialValue>& values() const { return values_; }
  // By frame; the root's is empty.
  const std::vector<SerialLoop>& loops() const { return loops_; }
  // Some Switch that decides by `pred`, for error messages.
  NodeId switch_of(int32_t pred) const { return switch_of_.at(pred); }
  bool IsLoopMerge(NodeId id) const;
  // Whether the node must read the value of a reference at `input`, so that its output has a register of its own.
  bool Dereferences(NodeId id, int32_t input) const;

 private:
  SerialStructure(const Graph& graph, const KernelSet& kernels, SerialWaits waits)
      : graph_(&graph), kernels_(&kernels), waits_(waits) {}

  static size_t Index(NodeId id) { return static_cast<size_t>(id.value()); }
  size_t OutputIndex(const Output& output) const {
    return first_output_[Index(output.node)] + static_cast<size_t>(output.index);
  }
  void FindRoles();
  SerialRole RoleOf(NodeId id) const;
  void NumberOutputs();
  void Visit(NodeId id);
  void VisitMerge(NodeId id, GuardId controls);
  void VisitLoopMerge(NodeId id, GuardId controls);
  void VisitSwitch(NodeId id);
  void VisitEnter(NodeId id);
  void VisitExit(NodeId id);
  void VisitCompute(NodeId id);
  void AliasOutput(NodeId id, int32_t output, int32_t input);
  void CheckLoops();
  GuardId InputsGuard(NodeId id);
  GuardId ControlsGuard(NodeId id);
  GuardId And(GuardId a, GuardId b);
  void SetGuard(NodeId id, GuardId guard);
  void SetOutput(NodeId id, int32_t output, int32_t value, GuardId guard);
  int32_t NewValue(NodeId id, bool is_ref);
  bool ReadsOneIterationOnly(NodeId id) const;
  int32_t Use(const Output& source);
  void Refuse(NodeId id, absl::string_view why);

  const Graph* graph_;
  const KernelSet* kernels_;
  SerialWaits waits_;
  ControlFlowInfo frames_;
  std::vector<NodeId> order_;
  std::vector<SerialRole> roles_;
  bool has_control_flow_ = false;
  bool has_waits_ = false;
  std::vector<uint32_t> first_output_;
  std::vector<int32_t> value_of_;       // By output.
  std::vector<GuardId> guards_of_;      // By node; empty without control flow.
  std::vector<GuardId> output_guards_;  // By output; empty without control flow.
  std::vector<SerialValue> values_;
  std::vector<SerialLoop> loops_;
  HashMap<int32_t, NodeId> switch_of_;
  GuardTable guards_;
  std::string why_not_;
};

}  // namespace sluice

#endif  // SLUICE_EXECUTOR_SERIAL_STRUCTURE_H_

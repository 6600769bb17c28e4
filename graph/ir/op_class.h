#ifndef SLUICE_GRAPH_IR_OP_CLASS_H_
#define SLUICE_GRAPH_IR_OP_CLASS_H_

#include <cstdint>

#include "absl/strings/string_view.h"

namespace sluice {

// What an op means to a scheduler, a pass or a partitioner: the ops that cannot be treated as "compute outputs from
// inputs". There is one table of their names, in op_class.cc; everybody else reads OpSchema::op_class and switches over
// it, so that a new op is added in one place. References (RefSwitch and others) have the class of their plain form;
// where the difference matters, the op's outputs say so (ArgSpec::is_ref).
enum class OpClass : uint8_t {
  kOther,  // Computes outputs from inputs; a kernel says how.
  kConst,  // Const, HostConst.
  // Gives its inputs unchanged: output i is input i. Reads a reference when it runs, but makes no copy:
  // Identity, IdentityN, RefIdentity, StopGradient, PreventGradient, PlaceholderWithDefault. Not Snapshot, which
  // copies.
  kForward,
  kNoOp,
  kArg,     // _Arg.
  kRetval,  // _Retval.
  // Control flow.
  kControlTrigger,
  kSwitch,   // Switch, RefSwitch.
  kSwitchN,  // _SwitchN.
  kMerge,
  kEnter,
  kExit,
  kNextIteration,
  kLoopCond,
  kGradSum,
  // Through the rendezvous.
  kSend,      // _Send, Send.
  kRecv,      // _Recv, Recv.
  kHostSend,  // _HostSend.
  kHostRecv,  // _HostRecv.
  // Call functions.
  kIf,     // If, StatelessIf.
  kCase,   // Case, StatelessCase.
  kWhile,  // While, StatelessWhile.
  kCall,   // PartitionedCall, StatefulPartitionedCall, RemoteCall, SymbolicGradient.
};

// The class of the op named `op`; kOther for names that the table does not have.
OpClass OpClassOf(absl::string_view op);

// Whether values may die, enter or leave a frame at such a node.
constexpr bool IsControlFlow(OpClass c) { return c >= OpClass::kControlTrigger && c <= OpClass::kLoopCond; }
// Whether such a node hands input 0 to the output that input 1 chooses.
constexpr bool IsGate(OpClass c) { return c == OpClass::kSwitch || c == OpClass::kSwitchN; }
// Whether such a node sends or receives through the rendezvous.
constexpr bool IsTransfer(OpClass c) { return c >= OpClass::kSend && c <= OpClass::kHostRecv; }
constexpr bool IsSend(OpClass c) { return c == OpClass::kSend || c == OpClass::kHostSend; }
// Whether such a node names functions that it calls.
constexpr bool IsFunctionCaller(OpClass c) { return c >= OpClass::kIf && c <= OpClass::kCall; }

}  // namespace sluice

#endif  // SLUICE_GRAPH_IR_OP_CLASS_H_

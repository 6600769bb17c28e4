#ifndef SLUICE_EXECUTOR_PLAN_CALLED_BODY_H_
#define SLUICE_EXECUTOR_PLAN_CALLED_BODY_H_

#include "absl/status/status.h"
#include "graph/ir/graph.h"
#include "kernels/kernel.h"

namespace sluice {

class SerialProgram;

// Note [Called bodies]
// The body of a function that is called instead of inlined is compiled once and used as the kernel of each node that
// calls it. A serial program that meets such a node does not call the kernel: it continues in the program of the body,
// with registers of its own, and returns at its end. So only memory limits how deep calls nest, and a call costs little
// more than a jump. The dataflow driver calls the kernel, which runs the program of the body in the same way. The body
// uses the caller's run (cancellation, deadline, observer, resources, step), and its nodes see the caller's frame and
// iteration. Arguments that nothing else reads are moved: a body works in place where an inlined one would. Only
// programs that run without a wait can be bodies or call them: programs with segments (Note [Segments]) do neither. A
// body that waits is inlined, not called asynchronously: inlined, its nodes begin as soon as their own arguments
// arrive, and its results can be read one by one, while a call begins with all arguments and ends with all results. If
// the awaited value depends on one of those results, a call would wait for ever. A kernel that calls a function decides
// itself when to do so, and may call functions that wait (Note [Functions of kernels] in kernels/function_finder.h).
// Bodies are not simplified (Note [Simplifying a step]): most are compiled for all signatures, those whose kernels keep
// state for one (Note [State of calls] in graph/functions/call_states.h). If a body cannot be compiled (for example, a
// node has no kernel), a run that reaches the call fails, as in TensorFlow.

// The kernel of nodes that call one function. Immutable once all bodies of its plan are compiled; thread-safe. Owned by
// the session's BodyStore (executor/functions), which outlive all plans that use it.
class CalledBody : public Kernel {
 public:
  // The program; null if the body cannot run, see status().
  virtual const SerialProgram* program() const = 0;
  // OK where there is a program.
  virtual const absl::Status& status() const = 0;
};

// The bodies that the calls of one plan need. Thread-safe.
class CalledBodies {
 public:
  virtual ~CalledBodies() = default;

  // The body that node `id` of `graph` calls; null for nodes that are not calls.
  virtual const CalledBody* Find(const Graph& graph, NodeId id) const = 0;
};

}  // namespace sluice

#endif  // SLUICE_EXECUTOR_PLAN_CALLED_BODY_H_

#ifndef SLUICE_EXECUTOR_KERNEL_CALL_H_
#define SLUICE_EXECUTOR_KERNEL_CALL_H_

// The steps of one kernel call, shared by everything that calls kernels: NodeRunner (dataflow), ProgramRunner,
// PortCalls and WaitingRun (serial), EagerOp (tape). All of it is inline: these are their hot loops.
//
//   PrepareCall(context, io);
//   status = KernelCall(graph, node, observer).Compute(kernel, context);
//   CheckOutputs(context.tables(), io, ...);
//
// The caller then releases the inputs; how depends on the driver.

#include <cstdint>

#include "absl/base/attributes.h"
#include "absl/base/optimization.h"
#include "absl/status/status.h"
#include "executor/node_call.h"
#include "executor/plan/node_error.h"
#include "executor/trace/node_observer.h"
#include "graph/ir/graph.h"
#include "graph/value/entry.h"
#include "kernels/kernel.h"
#include "kernels/kernel_context.h"

namespace sluice {

// Makes `context` refer to the node's operands `io` and marks its outputs empty.
ABSL_ATTRIBUTE_ALWAYS_INLINE inline void PrepareCall(KernelContext& context, const NodeIo& io) {
  context.SetNode(io);
  const Operand* const outputs = io.operands + io.num_inputs;
  const Operand* const end = outputs + io.num_outputs;
  for (const Operand* output = outputs; output != end; ++output) context.tables().at(*output).MarkEmpty();
}

// Visits the outputs after the kernel has run: passes values of the declared dtype to `take(i, output)`, and any other
// output to `is_right(i, output)`, which returns whether it is acceptable. Returns false at the first that is not.
template <typename Take, typename IsRight>
ABSL_ATTRIBUTE_ALWAYS_INLINE inline bool CheckOutputs(EntryTables& tables, const NodeIo& io, const Take& take,
                                                      const IsRight& is_right) {
  const Operand* const outputs = io.operands + io.num_inputs;
  const uint32_t count = io.num_outputs;
  for (uint32_t i = 0; i < count; ++i) {
    Entry& output = tables.at(outputs[i]);
    if (ABSL_PREDICT_TRUE(output.has_value() && output.value().dtype() == io.output_types[i])) {
      take(i, output);
    } else if (!is_right(i, output)) {
      return false;
    }
  }
  return true;
}

// As above, but ignores values of the declared dtype, and returns the first error of `check(i, output)` for the others.
template <typename Check>
inline absl::Status CheckOutputs(EntryTables& tables, const NodeIo& io, const Check& check) {
  absl::Status status;
  const auto is_right = [&](uint32_t i, const Entry& output) {
    status = check(i, output);
    return status.ok();
  };
  CheckOutputs(
      tables, io, [](uint32_t, const Entry&) {}, is_right);
  return status;
}

// One kernel call of `node`: reports it to `observer` (may be null) and adds the node's name to its errors. Borrows
// everything.
struct KernelCall {
  // Reports the start of the call to the observer and returns the start time.
  int64_t Begin() const { return NodeObserver::Begin(observer, node); }
  // Calls `kernel`. Exceptions of the kernel propagate to the caller.
  ABSL_ATTRIBUTE_ALWAYS_INLINE absl::Status Compute(const Kernel& kernel, KernelContext& context) const {
    const int64_t start_ns = Begin();
    absl::Status status = kernel.Compute(context);
    if (ABSL_PREDICT_FALSE(!status.ok())) return Failed(start_ns, status);
    NodeObserver::End(observer, node, start_ns, context);
    return status;
  }
  // Reports to the observer that the call which began at `start_ns` has failed; returns `status` with the node's name.
  absl::Status Failed(int64_t start_ns, const absl::Status& status) const {
    NodeObserver::Fail(observer, node, start_ns);
    return AtNode(graph, node, status);
  }
  // As Failed, for a call that ends outside any run: if the observer throws, returns `status` without the node's name.
  absl::Status FailedAsync(int64_t start_ns, const absl::Status& status) const noexcept {
    try {
      return Failed(start_ns, status);
    } catch (...) {
      return status;
    }
  }
  // Returns the outcome of an asynchronous call that its kernel ended with `status`. If that is OK, `check` validates
  // the outputs.
  template <typename Check>
  absl::Status EndAsync(const NodeCall& call, const absl::Status& status, const Check& check) const noexcept {
    if (!status.ok()) return FailedAsync(call.start_ns, status);
    try {
      NodeObserver::End(observer, node, call.start_ns, call.context);
      return check();
    } catch (...) {
      return StatusOfException(graph, node);
    }
  }

  const Graph& graph;
  const NodeId node;
  NodeObserver* const observer;
};

}  // namespace sluice

#endif  // SLUICE_EXECUTOR_KERNEL_CALL_H_

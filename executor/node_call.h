#ifndef SLUICE_EXECUTOR_NODE_CALL_H_
#define SLUICE_EXECUTOR_NODE_CALL_H_

#include <cstdint>
#include <vector>

#include "absl/container/fixed_array.h"
#include "absl/status/status.h"
#include "frames/tagged_node.h"
#include "kernels/kernel_context.h"

namespace sluice {

// What a kernel call needs besides the values in their slots: copies of variables' values, and its own list of operands
// if the plan's cannot be used. Reused by later calls; one thread at a time.
struct CallSpace {
  explicit CallSpace(uint32_t num_scratch) : scratch(num_scratch + 1), empty(num_scratch) {}

  absl::FixedArray<Entry, 1> scratch;  // Most plans need the empty one only.
  const uint32_t empty;                // Index of a scratch entry that never has a value: what dead transfers read.
  NodeIo io;
  std::vector<Operand> operands;
};

// A kernel call that does not end where it began: asynchronous, or run by another thread. Owned by its run, which
// reuses it; handed from thread to thread through Scheduler.
struct NodeCall {
  explicit NodeCall(const RunContext& run) : context(run, EntryTables()) {}

  NodeCall* next = nullptr;  // In the list that holds it, if any.
  KernelContext context;
  // The outcome.
  absl::Status status;
  int64_t start_ns = 0;  // Of an asynchronous call that is observed.
  uint32_t cost_ns = 0;  // Expected.
  bool all_live = false;
};

// One of the dataflow driver.
struct ItemCall final : NodeCall {
  ItemCall(const RunContext& run, uint32_t num_scratch) : NodeCall(run), space(num_scratch) {}

  TaggedNode node;
  CallSpace space;
  uint32_t input_bytes = 0;  // Of a call that is measured.
  bool is_async = false;     // Completed by its kernel, not by the thread that runs it.
};

}  // namespace sluice

#endif  // SLUICE_EXECUTOR_NODE_CALL_H_

#ifndef SLUICE_EXECUTOR_TRACE_NODE_OBSERVER_H_
#define SLUICE_EXECUTOR_TRACE_NODE_OBSERVER_H_

#include <cstdint>

#include "graph/base/strong_id.h"
#include "kernels/kernel_context.h"

namespace sluice {

// Told of every kernel that a run calls: the source of statistics and traces. Costs two clock readings a node, and
// nothing at all where a run has none.
// Thread-safe: called from all threads of the run.
class NodeObserver {
 public:
  virtual ~NodeObserver() = default;

  // The kernel of `node` ran from `start_ns` to `end_ns` (NowNs) on this thread. `context` has its outputs.
  virtual void OnNode(NodeId node, int64_t start_ns, int64_t end_ns, const KernelContext& context) = 0;

  // Nanoseconds of the clock that all times here are of.
  static int64_t NowNs();
};

}  // namespace sluice

#endif  // SLUICE_EXECUTOR_TRACE_NODE_OBSERVER_H_

#ifndef SLUICE_EXECUTOR_DATAFLOW_EXECUTOR_PLAN_H_
#define SLUICE_EXECUTOR_DATAFLOW_EXECUTOR_PLAN_H_

#include <atomic>
#include <memory>
#include <vector>

#include "executor/dataflow/node_cost.h"
#include "executor/plan/kernel_set.h"
#include "frames/graph_view.h"
#include "graph/ir/graph.h"
#include "kernels/device/device.h"
#include "kernels/device/stream.h"

namespace sluice {

// What all runs of one executor share. Immutable but for the measured costs, which change no result.
struct ExecutorPlan {
  const Graph* graph = nullptr;
  const GraphView* view = nullptr;
  Device* device = nullptr;
  // Of some node, each once: those that work on their own (Note [Streams] in kernels/device/stream.h).
  std::vector<StreamDevice*> stream_devices;
  // By item. Relaxed: a hint.
  std::unique_ptr<std::atomic<NodeCost>[]> costs;
};

}  // namespace sluice

#endif  // SLUICE_EXECUTOR_DATAFLOW_EXECUTOR_PLAN_H_

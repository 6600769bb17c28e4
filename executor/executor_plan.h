#ifndef SLUICE_EXECUTOR_EXECUTOR_PLAN_H_
#define SLUICE_EXECUTOR_EXECUTOR_PLAN_H_

#include <atomic>
#include <memory>

#include "executor/kernel_set.h"
#include "executor/node_cost.h"
#include "frames/graph_view.h"
#include "graph/ir/graph.h"
#include "kernels/device/device.h"

namespace sluice {

// What all runs of one executor share. Immutable but for the measured costs, which change no result.
struct ExecutorPlan {
  const Graph* graph = nullptr;
  const GraphView* view = nullptr;
  Device* device = nullptr;
  // By item. Relaxed: a hint.
  std::unique_ptr<std::atomic<NodeCost>[]> costs;
};

}  // namespace sluice

#endif  // SLUICE_EXECUTOR_EXECUTOR_PLAN_H_

#ifndef SLUICE_EXECUTOR_COMPILED_DATAFLOW_EXECUTOR_H_
#define SLUICE_EXECUTOR_COMPILED_DATAFLOW_EXECUTOR_H_

#include <memory>

#include "absl/status/statusor.h"
#include "executor/compiled/compiled_graph.h"
#include "executor/executor.h"
#include "graph/base/stop_poll.h"

namespace sluice {

// Runs any graph by the dataflow driver (executor_state.h), with the propagator that it needs. Makes the plan for it
// unless there is one already; `stop` is polled meanwhile and may be null.
absl::StatusOr<std::unique_ptr<Executor>> NewDataflowExecutor(std::shared_ptr<const CompiledGraph> compiled,
                                                              StopPoll* stop);

}  // namespace sluice

#endif  // SLUICE_EXECUTOR_COMPILED_DATAFLOW_EXECUTOR_H_

#ifndef SLUICE_EXECUTOR_COMPILED_LOCAL_EXECUTOR_H_
#define SLUICE_EXECUTOR_COMPILED_LOCAL_EXECUTOR_H_

#include <memory>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "executor/compiled/compiled_graph.h"
#include "executor/executor.h"
#include "graph/ir/graph.h"

namespace sluice {

// The options of an executor.
using LocalExecutorParams = CompiledGraph::Options;

// An executor of `graph` (all of it) on one device. Checks its control flow and makes its kernels; the first node that
// cannot be run here ends it.
//
//   SLUICE_ASSIGN_OR_RETURN(auto executor, NewLocalExecutor(params, std::move(graph)));
//   absl::Status status = executor->Run(args);
//
// A graph without kernels that wait is run as a serial program, on the thread that calls RunAsync or where Args::runner
// takes it; one that waits, and is structured (Note [Segments]), as a serial program with segments. Where threads for
// nodes are there and turn out to win (AutoExecutor), such graphs are run by the dataflow driver, and so are all others
// (those with nodes on devices that work on their own, say), runs with an observer where `params.observes_ports`, and
// all where `params.driver` says so. The outcome is the same. What only the dataflow driver does: it asks the call
// frame for arguments that nothing reads.
absl::StatusOr<std::unique_ptr<Executor>> NewLocalExecutor(const LocalExecutorParams& params, Graph graph);

// The same by the kind's name: "" and "DEFAULT" for the one above; "SINGLE_THREADED_EXECUTOR" for one whose runs use
// one thread at a time, also inside kernels, whatever their Args say. NOT_FOUND for others; ExecutorKinds has those of
// hosts too.
inline constexpr absl::string_view kDefaultExecutor = "DEFAULT";
inline constexpr absl::string_view kSingleThreadedExecutor = "SINGLE_THREADED_EXECUTOR";
absl::StatusOr<std::unique_ptr<Executor>> NewExecutor(absl::string_view kind, const LocalExecutorParams& params,
                                                      Graph graph);
// The same over what is compiled already, for any number of executors. `stop` is polled; it may be null.
absl::StatusOr<std::unique_ptr<Executor>> NewExecutor(absl::string_view kind,
                                                      std::shared_ptr<const CompiledGraph> compiled,
                                                      StopPoll* stop = nullptr);

}  // namespace sluice

#endif  // SLUICE_EXECUTOR_COMPILED_LOCAL_EXECUTOR_H_

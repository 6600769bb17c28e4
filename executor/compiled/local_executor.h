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

// Makes an executor that runs the whole `graph` on one device. Checks its control flow and makes its kernels; fails at
// the first node that cannot run here.
//
//   SLUICE_ASSIGN_OR_RETURN(auto executor, NewLocalExecutor(params, std::move(graph)));
//   absl::Status status = executor->Run(args);
//
// A structured graph runs as a serial program, on the thread that calls RunAsync or the one that Args::runner chooses;
// if it waits, as one with segments (Note [Segments]). If the run has threads for nodes and these turn out to be faster
// (AutoExecutor), the dataflow driver runs such a graph; it also runs all other graphs (such as those with nodes on
// asynchronous devices), runs with an observer if `params.observes_ports`, and all runs if `params.driver` says so. The
// results are the same, except that only the dataflow driver asks the call frame for arguments that nothing reads.
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

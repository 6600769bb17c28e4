#ifndef SLUICE_EXECUTOR_COMPILED_LOCAL_EXECUTOR_H_
#define SLUICE_EXECUTOR_COMPILED_LOCAL_EXECUTOR_H_

#include <memory>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "executor/executor.h"
#include "executor/kernel_set.h"
#include "graph/base/limits.h"
#include "graph/ir/graph.h"
#include "kernels/kernel_registry.h"

namespace sluice {

// What an executor is made with. Borrowed; all of it must outlive the executor.
struct LocalExecutorParams {
  Device* device = nullptr;
  absl::Span<Device* const> node_devices;  // See KernelSet.
  const KernelRegistry* registry = nullptr;
  EdgeTable* edges = nullptr;                   // Of the rendezvous that runs will use.
  const CreateKernel* create_kernel = nullptr;  // Instead of the registry, when set.
  KernelStore* kernel_store = nullptr;          // See KernelSet.
  LoadLimits limits;                            // For frames.
  StopPoll* stop = nullptr;                     // Polled while the executor is made; null: never stops.
};

// An executor of `graph` (all of it) on one device. Checks its control flow and makes its kernels; the first node that
// cannot be run here ends it.
//
//   SLUICE_ASSIGN_OR_RETURN(auto executor, NewLocalExecutor(params, std::move(graph)));
//   absl::Status status = executor->Run(args);
absl::StatusOr<std::unique_ptr<Executor>> NewLocalExecutor(const LocalExecutorParams& params, Graph graph);

// The same by the kind's name: "" and "DEFAULT" for the one above; "SINGLE_THREADED_EXECUTOR" for one whose runs use
// one thread at a time, also inside kernels, whatever their Args say. NOT_FOUND for others; ExecutorKinds has those of
// hosts too.
inline constexpr absl::string_view kDefaultExecutor = "DEFAULT";
inline constexpr absl::string_view kSingleThreadedExecutor = "SINGLE_THREADED_EXECUTOR";
absl::StatusOr<std::unique_ptr<Executor>> NewExecutor(absl::string_view kind, const LocalExecutorParams& params,
                                                      Graph graph);
// The same over `kernels`, which were made for this graph. Both must outlive the executor; of `params`, what says how
// to make kernels is not used.
absl::StatusOr<std::unique_ptr<Executor>> NewExecutor(absl::string_view kind, const LocalExecutorParams& params,
                                                      const Graph& graph, const KernelSet& kernels);

}  // namespace sluice

#endif  // SLUICE_EXECUTOR_COMPILED_LOCAL_EXECUTOR_H_

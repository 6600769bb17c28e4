#ifndef SLUICE_EXECUTOR_FUNCTIONS_KERNEL_FUNCTIONS_H_
#define SLUICE_EXECUTOR_FUNCTIONS_KERNEL_FUNCTIONS_H_

#include <map>
#include <memory>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "executor/compiled/compiled_graph.h"
#include "graph/base/mutex.h"
#include "graph/functions/attr_binding.h"
#include "graph/ir/graph.h"
#include "kernels/function_runner.h"

namespace sluice {

// The functions that the kernels of one plan call, each compiled once for each binding of its attrs. See
// Note [Functions of kernels] in kernels/function_runner.h. What it has found lives by itself: this is needed while the
// kernels of the plan are made. Thread-safe.
class KernelFunctions final : public FunctionRunner {
 public:
  // Functions are those of `graph`, which need not live; the library is copied, not the functions. `options` say how
  // their bodies are compiled: node_devices, edges, bodies and what is for functions are not used. `stop` among them is
  // polled.
  KernelFunctions(const Graph& graph, const CompiledGraph::Options& options);
  KernelFunctions(const KernelFunctions&) = delete;
  KernelFunctions& operator=(const KernelFunctions&) = delete;
  ~KernelFunctions() override;

  absl::StatusOr<std::shared_ptr<const CallableFunction>> Find(const FunctionAttr& function) override
      ABSL_LOCKS_EXCLUDED(mu_);
  // Whether some function found so far sends or receives: then runs of the plan need a rendezvous.
  bool HasTransfers() const ABSL_LOCKS_EXCLUDED(mu_);

  // Whether some kernel of `graph` may call functions, as far as its ops tell.
  static bool AreCalledIn(const Graph& graph);

 private:
  class Function;
  class Within;

  // `within`: the functions that are being compiled, since kernels of one another call them; null: none are.
  absl::StatusOr<std::shared_ptr<const CallableFunction>> FindWithin(const FunctionAttr& function, const Within* within)
      ABSL_LOCKS_EXCLUDED(mu_);
  absl::Status CheckChain(const BoundFunction& function, const std::string& key, const Within* within) const;
  absl::StatusOr<std::shared_ptr<const Function>> Compile(const BoundFunction& function, const std::string& key,
                                                          const Within* within);
  absl::StatusOr<Graph> MakeGraph(const BoundFunction& function) const;

  const FunctionLibrary library_;
  const std::shared_ptr<const OpRegistry> ops_;
  const GraphVersions versions_;
  const CompiledGraph::Options options_;

  mutable Mutex mu_;
  // Survives failing allocations.
  std::map<std::string, std::shared_ptr<const Function>> known_ ABSL_GUARDED_BY(mu_);
  bool has_transfers_ ABSL_GUARDED_BY(mu_) = false;
};

}  // namespace sluice

#endif  // SLUICE_EXECUTOR_FUNCTIONS_KERNEL_FUNCTIONS_H_

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
#include "graph/functions/call_state_names.h"
#include "graph/ir/graph.h"
#include "kernels/function_finder.h"

namespace sluice {

// The functions that the kernels of one plan call, each compiled once for each binding of its attrs. See Note
// [Functions of kernels] in kernels/function_finder.h. Found functions do not depend on it: it is needed only while the
// kernels of the plan are made. Thread-safe.
class KernelFunctions final : public FunctionFinder {
 public:
  // Functions are those of `graph`, which need not live; the library is copied, not the functions. `options` say how
  // their bodies are compiled: node_devices, edges, bodies and what is for functions are not used, but the scope of
  // call_store is, which is not null. `stop` among them is polled.
  KernelFunctions(const Graph& graph, const CompiledGraph::Options& options);
  KernelFunctions(const KernelFunctions&) = delete;
  KernelFunctions& operator=(const KernelFunctions&) = delete;
  ~KernelFunctions() override;

  absl::StatusOr<std::shared_ptr<const CallableFunction>> Find(const FunctionAttr& function) override
      ABSL_LOCKS_EXCLUDED(mu_);
  // Whether some function of the graph sends or receives: then runs of the plan need a rendezvous. Not only those that
  // were found: a kernel with state may be of an earlier plan, with the functions that it has found there.
  bool HasTransfers() const;

  // Whether some kernel of `graph` may call functions, as far as its ops tell.
  static bool AreCalledIn(const Graph& graph);

 private:
  class Function;
  class CompilingFunction;

  // `caller`: the functions that are being compiled, since kernels of one another call them; null: none are.
  absl::StatusOr<std::shared_ptr<const CallableFunction>> FindFrom(const FunctionAttr& function,
                                                                   CompilingFunction* caller) ABSL_LOCKS_EXCLUDED(mu_);
  // Null: it is not compiled yet.
  std::shared_ptr<const Function> FindKnown(const std::string& key) const ABSL_LOCKS_EXCLUDED(mu_);
  absl::Status CheckChain(const BoundFunction& function, const std::string& key, const CompilingFunction* caller) const;
  // `depth`: functions that kernels call out of one another.
  absl::Status CheckDepth(const BoundFunction& function, int depth) const;
  absl::StatusOr<std::shared_ptr<const Function>> Compile(const BoundFunction& function, const std::string& key,
                                                          CompilingFunction* caller);
  absl::StatusOr<Graph> MakeGraph(const BoundFunction& function, CallStateNames* names) const;

  const FunctionLibrary library_;
  const std::shared_ptr<const OpRegistry> ops_;
  const GraphVersions versions_;
  const CompiledGraph::Options options_;

  mutable Mutex mu_;
  // Survives failing allocations.
  std::map<std::string, std::shared_ptr<const Function>> known_ ABSL_GUARDED_BY(mu_);
};

}  // namespace sluice

#endif  // SLUICE_EXECUTOR_FUNCTIONS_KERNEL_FUNCTIONS_H_

#ifndef SLUICE_EXECUTOR_FUNCTIONS_BODY_STORE_H_
#define SLUICE_EXECUTOR_FUNCTIONS_BODY_STORE_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "executor/plan/called_body.h"
#include "executor/functions/call_store.h"
#include "executor/threads/kept_pool.h"
#include "executor/plan/kernel_store.h"
#include "graph/base/limits.h"
#include "graph/base/mutex.h"
#include "graph/base/stop_poll.h"
#include "graph/functions/call_choice.h"
#include "graph/functions/call_states.h"
#include "graph/ir/graph.h"
#include "kernels/device/device.h"
#include "kernels/kernel_registry.h"

namespace sluice {

// The bodies of functions that the plans of one session call, each compiled once for each binding of its attrs. See
// Note [Called bodies] in executor/plan/called_body.h.
//
//   SLUICE_ASSIGN_OR_RETURN(BodyStore::Calls calls, bodies.Compile(graph, choice, stop));
//   if (calls.bodies == nullptr) ...  // Inline all: calls.why_not says why.
//   of_kernels.bodies = calls.bodies.get();
//
// Bodies with kernels that keep state are one plan's alone, one for each instance of the function (Note [State of
// calls] in graph/functions/call_states.h). Large constants are the session's. A body is known as long as what it was
// compiled from is the same: a graph that only grows, and the registry's rows. Memory that runs leave for the next run
// is bounded, for all bodies together, and freed with the last plan that uses a body. Thread-safe: of two threads that
// compile one body at once, each keeps its own, and later plans get the first.
class BodyStore {
 public:
  // Borrowed; all of it outlives this and the plans.
  struct Options {
    const KernelRegistry* registry = nullptr;
    Device* device = nullptr;
    KernelStore* store = nullptr;  // May be null.
    LoadLimits limits;
  };

  // What the calls of one graph need, and what keeps it alive.
  struct Calls {
    std::unique_ptr<const CalledBodies> bodies;  // Null: some body cannot be called.
    std::string why_not;                         // For people.
  };

  explicit BodyStore(const Options& options) : options_(options) {}
  BodyStore(const BodyStore&) = delete;
  BodyStore& operator=(const BodyStore&) = delete;

  // The state that is shared while one plan is made.
  struct Plan {
    CallStates* states = nullptr;     // With which the calls that stay were left in the graph; may be null.
    CallStore* call_store = nullptr;  // Gets the kernels with state in its bodies, and the names of instances.
    // Graphs of one version have the same function under each name that they both have (SessionGraph::version).
    int64_t version = 0;
  };

  // Compiles all that the calls in `graph`, which InlineFunctionCalls has left there by `choice`, lead to, however deep
  // they are nested. Errors are those of the calls themselves, limits, `stop` (may be null) and memory; what is wrong
  // with a body is an error where it is called. kLimitNodes where instances would have more than
  // LoadLimits::max_expanded_nodes nodes together: there may be as many as inlining makes.
  absl::StatusOr<Calls> Compile(const Graph& graph, const CallChoice& choice, StopPoll* stop, const Plan& plan)
      ABSL_LOCKS_EXCLUDED(mu_);
  // Forgets all bodies, those too that are being compiled. Plans keep what they use.
  void Clear() ABSL_LOCKS_EXCLUDED(mu_);
  // How many are known.
  size_t num_bodies() const ABSL_LOCKS_EXCLUDED(mu_);
  // The memory kept for the next run, of all bodies.
  size_t kept_bytes() const { return kept_->kept(); }

 private:
  class Body;
  class BodiesOfGraph;
  class Compiler;
  // Bodies that were compiled together, and the others that they call.
  struct Batch;
  struct Known {
    const Body* body = nullptr;
    std::shared_ptr<const Batch> batch;
  };

  // Version numbers of what bodies are compiled from: the graph and the registry.
  using Version = std::pair<int64_t, int64_t>;

  // Forgets what is known of an earlier version. How often Clear was called.
  int64_t Begin(const Version& version) ABSL_LOCKS_EXCLUDED(mu_);
  // Nothing where `version` is not the one that is known.
  Known Find(const std::string& key, const Version& version) const ABSL_LOCKS_EXCLUDED(mu_);
  // Nothing where Clear was called since Begin, which answered `num_cleared`: kernels may be those from before.
  void Add(const std::shared_ptr<const Batch>& batch, const Version& version, int64_t num_cleared)
      ABSL_LOCKS_EXCLUDED(mu_);

  const Options options_;
  const std::shared_ptr<KeptBytes> kept_ = std::make_shared<KeptBytes>();  // Of all bodies, which may outlive this.
  mutable Mutex mu_;
  Version version_ ABSL_GUARDED_BY(mu_) = {0, 0};  // Of known_.
  int64_t num_cleared_ ABSL_GUARDED_BY(mu_) = 0;
  std::map<std::string, Known, std::less<>> known_ ABSL_GUARDED_BY(mu_);  // Survives failing allocations.
};

}  // namespace sluice

#endif  // SLUICE_EXECUTOR_FUNCTIONS_BODY_STORE_H_

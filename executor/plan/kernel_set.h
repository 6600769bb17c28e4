#ifndef SLUICE_EXECUTOR_PLAN_KERNEL_SET_H_
#define SLUICE_EXECUTOR_PLAN_KERNEL_SET_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/functional/any_invocable.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "executor/plan/call_store.h"
#include "executor/plan/called_body.h"
#include "executor/plan/kernel_store.h"
#include "graph/base/stop_poll.h"
#include "graph/ir/graph.h"
#include "kernels/kernel_registry.h"

namespace sluice {

// Creates the kernel of a node; a host or a session that keeps kernels across plans supplies its own.
using CreateKernel =
    absl::AnyInvocable<absl::StatusOr<std::shared_ptr<const Kernel>>(const KernelConstruction& construction) const>;

// The kernels of one graph, made once per plan, whichever drivers run it. Equal nodes (same op, types and attrs) share
// a kernel where its row allows that, so that a graph of a million like nodes has a few kernels. Kernels with state and
// large constants are those of the store, if there is one (Note [Kernel store]).
// All are for one device, but nodes may be on others, of the same memory and threads or with their own: their kernels
// find the device that they are on (Note [Joined devices] in executor/session/step_graph.h).
// Immutable after Create; thread-safe. The graph must outlive it.
class KernelSet {
 public:
  struct Options {
    const KernelRegistry* registry = nullptr;
    Device* device = nullptr;
    // By node id; empty or null: `device`.
    absl::Span<Device* const> node_devices;
    EdgeTable* edges = nullptr;
    const CreateKernel* create = nullptr;                    // Used for all nodes when set.
    KernelStore* store = nullptr;                            // Of the session. Not used with `create`.
    int64_t store_generation = KernelStore::kAnyGeneration;  // Of `store`, that the plan was begun in.
    // For kernels that call functions, used in Create alone; null: they cannot.
    FunctionFinder* functions = nullptr;
    // The state of the graph's calls, which outlives the set; null if the graph calls nothing. Not used with `create`.
    const CalledBodies* bodies = nullptr;
    // Of the plan, used in Create alone: for kernels with state in functions whose calls share it (Note [State of
    // calls] in graph/functions/call_states.h). Null: `store`. Not used without that.
    const CallStore* call_store = nullptr;
    // For the body of such a function: the prefix of its nodes' names in call_store.
    absl::string_view store_scope;
    StopPoll* stop = nullptr;  // Polled; null: never stops.
  };

  // First calls CheckRunnable, since every graph that is run passes through here. Fails at the first node that has no
  // kernel or whose kernel cannot be made (kNoKernel and others), or for which a host's factory returns no kernel or
  // one with a constant value of the wrong dtype (kHostKernel).
  static absl::StatusOr<KernelSet> Create(const Graph& graph, const Options& options);

  // Null for removed nodes and for ops that need no kernel (NeedsNoKernel).
  const Kernel* kernel(NodeId id) const { return by_node_[static_cast<size_t>(id.value())]; }
  // The value of the only output of a node without inputs whose kernel says that it never changes; null for others.
  const Tensor* constant(const Graph& graph, NodeId id) const;
  // The body that the node calls; null for other nodes. It is the node's kernel, too.
  const CalledBody* body(NodeId id) const {
    return bodies_.empty() ? nullptr : bodies_[static_cast<size_t>(id.value())];
  }
  bool has_bodies() const { return !bodies_.empty(); }
  size_t num_kernels() const { return kernels_.size(); }

 private:
  friend class KernelSetMaker;
  KernelSet() = default;

  std::vector<const Kernel*> by_node_;
  std::vector<std::shared_ptr<const Kernel>> kernels_;
  std::vector<const CalledBody*> bodies_;  // By node; empty if the node has none.
};

}  // namespace sluice

#endif  // SLUICE_EXECUTOR_PLAN_KERNEL_SET_H_

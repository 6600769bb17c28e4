#ifndef SLUICE_EXECUTOR_KERNEL_SET_H_
#define SLUICE_EXECUTOR_KERNEL_SET_H_

#include <memory>
#include <vector>

#include "absl/functional/any_invocable.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "graph/ir/graph.h"
#include "kernels/kernel_registry.h"

namespace sluice {

// Creates the kernel of a node; a host or a session that keeps kernels across plans supplies its own.
using CreateKernel =
    absl::AnyInvocable<absl::StatusOr<std::shared_ptr<const Kernel>>(const KernelConstruction& construction) const>;

// The kernels of one graph, made once per plan. Equal nodes (same op, types and attrs) share a kernel where its row
// allows that, so that a graph of a million like nodes has a few kernels.
// All are for one device, but nodes may be on others of the same kind, memory and threads: their kernels find the
// device that they are on (Note [Joined devices] in executor/session/step_graph.h).
// Immutable after Create; thread-safe. The graph must outlive it.
class KernelSet {
 public:
  struct Options {
    const KernelRegistry* registry = nullptr;
    Device* device = nullptr;
    // By node id; empty or null: `device`.
    absl::Span<Device* const> node_devices;
    EdgeTable* edges = nullptr;
    const CreateKernel* create = nullptr;  // Used for all nodes when set.
  };

  // Checks `graph` first (CheckRunnable): all that is run comes through here. The first node for which there is no
  // kernel, or whose kernel cannot be made, ends it: kNoKernel and others.
  static absl::StatusOr<KernelSet> Create(const Graph& graph, const Options& options);

  // Null for removed nodes and for ops that need no kernel (NeedsNoKernel).
  const Kernel* kernel(NodeId id) const { return by_node_[static_cast<size_t>(id.value())]; }
  size_t num_kernels() const { return kernels_.size(); }

 private:
  KernelSet() = default;

  std::vector<const Kernel*> by_node_;
  std::vector<std::shared_ptr<const Kernel>> kernels_;
};

}  // namespace sluice

#endif  // SLUICE_EXECUTOR_KERNEL_SET_H_

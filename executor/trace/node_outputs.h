#ifndef SLUICE_EXECUTOR_TRACE_NODE_OUTPUTS_H_
#define SLUICE_EXECUTOR_TRACE_NODE_OUTPUTS_H_

#include <cstdint>

#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "executor/trace/node_observer.h"
#include "graph/ir/graph.h"
#include "graph/value/tensor.h"

namespace sluice {

// For debuggers: called with each output of a node when its kernel has run, slot by slot, before anything reads them.
//   node     its name; in the body of a function that is called, the path of calls before it: "call/node"
//   slot     which output
//   value    valid during the call; a copy of it (a second handle) stays what it is. Null: the output is dead, or the
//            kernel left it out, since nothing reads it, or it is a reference to a variable without a value
//   is_ref   the output refers to a variable, whose value this is now
//   context  of the call, for those who need more
// An error that it returns, or an exception, is the node's, and ends the run. Called from all threads of a run, also of
// several runs at once, with no lock held.
using NodeOutputsCallback = absl::AnyInvocable<absl::Status(absl::string_view node, int slot, const Tensor* value,
                                                            bool is_ref, const KernelContext& context) const>;

// Calls a NodeOutputsCallback for every kernel call of a run: as the observer of an Executor's runs, or by
// CallOptions::node_outputs of a session's. Reports nodes that have kernels in the plan that runs: nodes that were
// folded or joined before are missing, and the serial driver has no kernels for Identity, Switch, Merge and their kin,
// nor for arguments and results; Driver::kDataflow calls all of them. Nodes that are dead are not told of, but for
// transfers.
//
//   const NodeOutputsCallback print = [](absl::string_view node, int slot, const Tensor* value, bool, const auto&) {
//     ...
//     return absl::OkStatus();
//   };
//   CallOptions options;
//   options.node_outputs = &print;
//
// Borrows all that it is made with. Immutable; thread-safe.
class NodeOutputsObserver final : public NodeObserver {
 public:
  // `graph` is the one that runs. `next` may be null; it is called for everything, before this.
  NodeOutputsObserver(const Graph& graph, const NodeOutputsCallback& callback, NodeObserver* next = nullptr)
      : graph_(graph), callback_(callback), next_(next) {}

  void OnStart(NodeId node, int64_t start_ns) override;
  void OnFailure(NodeId node, int64_t start_ns) override;
  void OnNode(NodeId node, int64_t start_ns, int64_t end_ns, const KernelContext& context) override;
  void OnCalledNode(const CalledNode& node, int64_t start_ns, int64_t end_ns, const KernelContext& context) override;

 private:
  // Throws ObserverFailure where the callback answers an error.
  void Tell(absl::string_view name, const KernelContext& context) const;

  const Graph& graph_;
  const NodeOutputsCallback& callback_;
  NodeObserver* const next_;
};

}  // namespace sluice

#endif  // SLUICE_EXECUTOR_TRACE_NODE_OUTPUTS_H_

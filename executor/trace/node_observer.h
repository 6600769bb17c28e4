#ifndef SLUICE_EXECUTOR_TRACE_NODE_OBSERVER_H_
#define SLUICE_EXECUTOR_TRACE_NODE_OBSERVER_H_

#include <cstdint>
#include <exception>
#include <string>
#include <utility>

#include "absl/base/optimization.h"
#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "graph/ir/graph.h"
#include "kernels/kernel_context.h"

namespace sluice {

// A node in the body of a function that is called. Valid during the call that it is given to.
struct CalledNode {
  const Graph& body;
  NodeId node;  // Of `body`.
  NodeId call;  // Of the graph that runs: the outermost call.
  // The names of the nodes in bodies that call one another from there on, each with a '/' at its end: "a/b/". Empty
  // where `body` is what `call` calls.
  absl::FunctionRef<std::string()> path;
};

// Ends a run whose observer wants no more of it: thrown by OnNode and OnCalledNode, and caught where kernels are
// called, as what a kernel throws is. The node that was told of has failed with `status`, as if its kernel had answered
// that.
class ObserverFailure : public std::exception {
 public:
  // REQUIRES: !status.ok().
  explicit ObserverFailure(absl::Status status) : status_(std::move(status)) {}

  const absl::Status& status() const { return status_; }
  const char* what() const noexcept override { return "an observer has ended the run"; }

 private:
  absl::Status status_;
};

// Told of every kernel that a run calls: the source of statistics and traces. Costs two clock readings per node; a run
// without an observer pays nothing. An exception of it ends the run (see ObserverFailure). Thread-safe: called from all
// threads of the run.
class NodeObserver {
 public:
  virtual ~NodeObserver() = default;

  // The kernel of `node` begins, at `start_ns`. One of the two below follows, unless it throws.
  virtual void OnStart(NodeId /*node*/, int64_t /*start_ns*/) {}
  // The kernel of `node` that began at `start_ns` has failed.
  virtual void OnFailure(NodeId /*node*/, int64_t /*start_ns*/) {}
  // The kernel of `node` ran from `start_ns` to `end_ns` (NowNs) on this thread. `context` has its outputs.
  virtual void OnNode(NodeId node, int64_t start_ns, int64_t end_ns, const KernelContext& context) = 0;

  // The same for a node in a body that is called; the call itself is reported too, as a node that takes as long. Not
  // told: that it begins, and that it fails.
  virtual void OnCalledNode(const CalledNode& /*node*/, int64_t /*start_ns*/, int64_t /*end_ns*/,
                            const KernelContext& /*context*/) {}

  // Nanoseconds of the clock that all times here are of.
  static int64_t NowNs();

  // A call begins, at the time returned; ends; or ends with an error. Without an observer nothing happens.
  static int64_t Begin(NodeObserver* observer, NodeId node) {
    if (ABSL_PREDICT_TRUE(observer == nullptr)) return 0;
    return BeginOf(*observer, node);
  }
  static void End(NodeObserver* observer, NodeId node, int64_t start_ns, const KernelContext& context) {
    if (ABSL_PREDICT_FALSE(observer != nullptr)) observer->OnNode(node, start_ns, NowNs(), context);
  }
  static void Fail(NodeObserver* observer, NodeId node, int64_t start_ns) {
    if (observer != nullptr) observer->OnFailure(node, start_ns);
  }

 private:
  static int64_t BeginOf(NodeObserver& observer, NodeId node);
};

}  // namespace sluice

#endif  // SLUICE_EXECUTOR_TRACE_NODE_OBSERVER_H_

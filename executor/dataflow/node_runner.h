#ifndef SLUICE_EXECUTOR_DATAFLOW_NODE_RUNNER_H_
#define SLUICE_EXECUTOR_DATAFLOW_NODE_RUNNER_H_

#include "absl/base/optimization.h"
#include "absl/status/status.h"
#include "executor/kernel_call.h"
#include "executor/node_call.h"
#include "executor/trace/node_observer.h"
#include "frames/activation.h"
#include "graph/ir/graph.h"
#include "kernels/kernel.h"

namespace sluice {

// Calls kernels: gathers their inputs before, collects their outputs after. Errors get the node's name. Borrows
// everything. Thread-safe: a run's threads share one.
class NodeRunner {
 public:
  NodeRunner(const Graph& graph, const GraphView& view, Activation& activation, NodeObserver* observer)
      : graph_(graph), view_(view), activation_(activation), observer_(observer) {}

  // Runs the synchronous kernel of `node` and releases its inputs. Sets `*all_live` to whether all outputs have values.
  // Exceptions of the kernel propagate. REQUIRES: tables and place of `context` are set.
  absl::Status Run(const TaggedNode& node, KernelContext& context, CallSpace& space, bool* all_live) const {
    const NodeItem& item = node.item();
    const absl::Status prepared = PrepareInputs(node, context, space);
    if (ABSL_PREDICT_FALSE(!prepared.ok())) return prepared;
    const absl::Status status = CallOf(item).Compute(*item.kernel, context);
    if (ABSL_PREDICT_FALSE(!status.ok())) return status;
    return ProcessOutputs(node, context, all_live);
  }

  // Prepares `context` for the kernel of `node`: finds the inputs and empties the outputs.
  absl::Status PrepareInputs(const TaggedNode& node, KernelContext& context, CallSpace& space) const {
    const NodeItem& item = node.item();
    const NodeIo* io = &item.io;
    if (ABSL_PREDICT_FALSE(node.is_dead() || item.kind == NodeKind::kGradSum ||
                           (item.flags & (NodeItem::kDerefsInputs | NodeItem::kHasRefInputs)) != 0)) {
      const absl::Status status = PrepareInputsElsewhere(node, context, space);
      if (!status.ok()) return Located(item, status);
      io = &space.io;
    }
    PrepareCall(context, *io);
    return absl::OkStatus();
  }

  // Checks the outputs of the kernel of `node` and releases its inputs.
  absl::Status ProcessOutputs(const TaggedNode& node, KernelContext& context, bool* all_live) const {
    const NodeItem& item = node.item();
    *all_live = true;
    uint32_t wrong = 0;  // No status: it would cost each node 2 %.
    const auto settle = [&](uint32_t i, Entry& output) { activation_.SettleUses(item, i, output); };
    const auto is_right = [&](uint32_t i, const Entry& output) {
      wrong = i;
      return CheckOutput(item, i, output, all_live).ok();
    };
    if (ABSL_PREDICT_FALSE(!CheckOutputs(context.tables(), item.io, settle, is_right))) {
      return CheckOutput(item, wrong, context.tables().at(item.io.output(wrong)), all_live);
    }
    activation_.DropInputs(item, node.iteration());
    if (ABSL_PREDICT_FALSE(item.is(NodeItem::kDerefsInputs))) ClearScratch(item, context);
    return absl::OkStatus();
  }

  // The KernelCall of `item`.
  KernelCall CallOf(const NodeItem& item) const { return {graph_, IdOf(item), observer_}; }
  // The error for a fault that a propagator found.
  absl::Status FaultStatus(const PropagationFault& fault) const;

  static NodeId IdOf(const NodeItem& item) { return NodeId(item.io.id); }

 private:
  // `status` with the node's name.
  absl::Status Located(const NodeItem& item, const absl::Status& status) const;
  absl::Status PrepareInputsElsewhere(const TaggedNode& node, KernelContext& context, CallSpace& space) const;
  absl::Status Dereference(const NodeItem& item, KernelContext& context, CallSpace& space) const;
  // Drops the copies of variables' values: while shared, a variable cannot be written in place.
  void ClearScratch(const NodeItem& item, KernelContext& context) const;
  absl::Status CheckReferences(const NodeItem& item, const EntryTables& tables) const;
  // The error of an output that does not have the declared dtype.
  absl::Status CheckOutput(const NodeItem& item, uint32_t i, const Entry& output, bool* all_live) const;

  const Graph& graph_;
  const GraphView& view_;
  Activation& activation_;
  NodeObserver* const observer_;
};

}  // namespace sluice

#endif  // SLUICE_EXECUTOR_DATAFLOW_NODE_RUNNER_H_

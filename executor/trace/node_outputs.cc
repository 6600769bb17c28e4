#include "executor/trace/node_outputs.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "graph/value/entry.h"
#include "graph/value/ref_cell.h"
#include "kernels/kernel_context.h"

namespace sluice {

void NodeOutputsObserver::OnStart(NodeId node, int64_t start_ns) {
  if (next_ != nullptr) next_->OnStart(node, start_ns);
}

void NodeOutputsObserver::OnFailure(NodeId node, int64_t start_ns) {
  if (next_ != nullptr) next_->OnFailure(node, start_ns);
}

void NodeOutputsObserver::OnNode(NodeId node, int64_t start_ns, int64_t end_ns, const KernelContext& context) {
  if (next_ != nullptr) next_->OnNode(node, start_ns, end_ns, context);
  Tell(graph_.name(node), context);
}

void NodeOutputsObserver::OnCalledNode(const CalledNode& node, int64_t start_ns, int64_t end_ns,
                                       const KernelContext& context) {
  if (next_ != nullptr) next_->OnCalledNode(node, start_ns, end_ns, context);
  Tell(absl::StrCat(graph_.name(node.call), "/", node.path(), node.body.name(node.node)), context);
}

void NodeOutputsObserver::Tell(absl::string_view name, const KernelContext& context) const {
  for (int slot = 0; slot < context.num_outputs(); ++slot) {
    const Entry& output = context.output_entry(slot);
    const bool is_ref = output.is_ref();
    Tensor of_variable;  // It may get another value meanwhile.
    if (is_ref) of_variable = output.ref()->Read();
    const Tensor* value = nullptr;
    if (is_ref && of_variable.has_value()) value = &of_variable;
    if (!is_ref && output.has_value()) value = &output.value();
    absl::Status told = callback_(name, slot, value, is_ref, context);
    if (!told.ok()) throw ObserverFailure(std::move(told));
  }
}

}  // namespace sluice

#include "graph/edit/live_shapes.h"

#include <algorithm>
#include <utility>

#include "absl/types/span.h"
#include "graph/base/status_macros.h"
#include "graph/ir/topo_order.h"

namespace sluice {

LiveShapes::LiveShapes(const Graph& graph, InferenceOptions options) : graph_(graph), options_(std::move(options)) {}

absl::StatusOr<const ShapeMap*> LiveShapes::Update(const LiveUses& uses) {
  const bool was_made = is_made_;
  is_made_ = false;  // Stays so where something throws.
  budget_ = CallBudget();
  if (!was_made || !InferChanged(uses)) SLUICE_RETURN_IF_ERROR(InferAll());
  changed_.clear();
  is_made_ = true;
  return &inference_->map();
}

absl::Status LiveShapes::InferAll() {
  queue_.clear();
  SLUICE_ASSIGN_OR_RETURN(const std::vector<NodeId> order, TopologicalOrder(graph_));
  labels_.assign(static_cast<size_t>(graph_.id_limit()), 0);
  for (size_t i = 0; i < order.size(); ++i) LabelOf(order[i]) = (static_cast<int64_t>(i) + 1) * kGapAtFirst;
  inference_ = std::make_unique<ShapeInference>(graph_, options_, budget_);
  num_inferred_ += static_cast<int64_t>(order.size());
  return inference_->Run({});
}

int64_t LiveShapes::LeastLabel(NodeId id) const {
  int64_t least = 0;
  for (const Output& input : graph_.all_inputs(id)) {
    if (!graph_.Contains(input.node) || IsBackEdge(graph_, id, input)) continue;
    least = std::max(least, labels_[static_cast<size_t>(input.node.value())] + 1);
  }
  return least;
}

void LiveShapes::Push(NodeId id) { queue_.emplace(LabelOf(id), id); }

void LiveShapes::PushUsers(const LiveUses& uses, NodeId id) {
  for (const Use& use : uses.Of(id)) {
    if (graph_.Contains(use.node)) Push(use.node);
  }
}

bool LiveShapes::InferChanged(const LiveUses& uses) {
  const size_t known = labels_.size();
  labels_.resize(static_cast<size_t>(graph_.id_limit()), 0);
  inference_->TakeInAdded();
  for (size_t i = known; i < labels_.size(); ++i) {
    const NodeId id(static_cast<int32_t>(i));
    if (!graph_.Contains(id)) continue;
    LabelOf(id) = LeastLabel(id) + kGap;
    Push(id);
  }
  for (const NodeId id : changed_) {
    if (id.value() < 0 || static_cast<size_t>(id.value()) >= known) continue;
    if (!graph_.Contains(id)) {
      inference_->Forget(id);
      continue;
    }
    if (!inference_->HasRoomFor(id)) return false;
    Push(id);
  }
  // A loop that gave back something else may do so no longer, while its nodes say what they said.
  if (!changed_.empty()) {
    for (const NodeId id : inference_->WidenedMerges()) Push(id);
  }
  std::vector<NodeId> merges;
  const int64_t patience = static_cast<int64_t>(graph_.num_nodes()) + kPatience;
  for (int64_t visited = 0; !queue_.empty(); ++visited) {
    if (visited > patience) return false;
    const NodeId id = queue_.begin()->second;
    queue_.erase(queue_.begin());
    const int64_t least = LeastLabel(id);
    if (LabelOf(id) < least) {
      LabelOf(id) = least + kGap;
      Push(id);
    } else if (inference_->IsLoopMerge(id)) {
      merges.push_back(id);
    } else {
      ++num_inferred_;
      if (inference_->InferAgain(id)) PushUsers(uses, id);
    }
  }
  return merges.empty() || InferLoops(uses, merges);
}

bool LiveShapes::InferLoops(const LiveUses& uses, const std::vector<NodeId>& merges) {
  // All that depends on the Merges, with the number of edges into each from among them.
  std::vector<int32_t> num_waiting(static_cast<size_t>(graph_.id_limit()), -1);
  const auto waiting = [&](NodeId id) -> int32_t& { return num_waiting[static_cast<size_t>(id.value())]; };
  std::vector<NodeId> found;
  const auto find = [&](NodeId id) {
    if (waiting(id) >= 0) return;
    waiting(id) = 0;
    found.push_back(id);
  };
  for (const NodeId id : merges) find(id);
  for (size_t i = 0; i < found.size(); ++i) {
    for (const Use& use : uses.Of(found[i])) find(use.node);
  }
  for (const NodeId id : found) {
    for (const Output& input : graph_.all_inputs(id)) {
      if (input.is_set() && waiting(input.node) >= 0 && !IsBackEdge(graph_, id, input)) ++waiting(id);
    }
  }
  std::vector<NodeId> order;
  for (const NodeId id : found) {
    if (waiting(id) == 0) order.push_back(id);
  }
  for (size_t i = 0; i < order.size(); ++i) {
    for (const Use& use : uses.Of(order[i])) {
      const bool is_control = use.input == kControlIndex;
      if (!is_control && IsBackEdge(graph_, use.node, graph_.inputs(use.node)[static_cast<size_t>(use.input)]))
        continue;
      if (--waiting(use.node) == 0) order.push_back(use.node);
    }
  }
  if (order.size() != found.size()) return false;
  num_inferred_ += static_cast<int64_t>(order.size());
  return inference_->InferAgain(absl::MakeConstSpan(order)).ok();  // Where it is to stop, InferAll says so.
}

}  // namespace sluice

// The edges of a GraphView: which slots a node reads, and which nodes it notifies. See Note [Counted edges].

#include <algorithm>

#include "frames/graph_view_builder.h"

namespace sluice {

// Makes each input refer to the slot of the output that it reads.
void GraphViewBuilder::PlaceInputs(uint32_t index) {
  NodeItem& item = this->item(index);
  Operand* const inputs = const_cast<Operand*>(item.io.operands);
  NodeExtra& extra = view_.extras_[index];
  const absl::Span<const Output> sources = graph_.inputs(node(index));
  extra.first_deref = static_cast<uint32_t>(view_.derefs_.size());
  for (uint32_t i = 0; i < sources.size(); ++i) {
    const NodeItem& source = this->item(item_of(sources[i].node));
    const uint32_t output = static_cast<uint32_t>(sources[i].index);
    if (source.kind == NodeKind::kNextIteration) continue;  // Its reader is a Merge, which is handed the value.
    inputs[i] = source.io.output(output);
    if (IsRef(item.io.input_types[i])) item.flags |= NodeItem::kHasRefInputs;
    if (IsRef(item.io.input_types[i]) || !IsRef(source.io.output_types[output])) continue;
    item.flags |= NodeItem::kDerefsInputs;
    if (!RunsKernel(item.kind)) continue;
    view_.derefs_.push_back(Deref{inputs[i], i, extra.num_derefs});
    inputs[i] = Operand(Operand::Table::kScratch, extra.num_derefs++, /*is_last_use=*/true);
  }
  view_.num_scratch_ = std::max(view_.num_scratch_, extra.num_derefs);
}

void GraphViewBuilder::AddEdge(uint32_t src, uint32_t dst, int32_t output, uint32_t input) {
  placed_.push_back(PlacedEdge{src, EdgeInfo(dst, output, input)});
  ++num_in_edges_[dst];
}

// Collects the edges into one node, without redundant ones.
void GraphViewBuilder::CollectEdges(uint32_t index) {
  const NodeItem& item = this->item(index);
  NodeExtra& extra = view_.extras_[index];
  if (item.kind == NodeKind::kMerge) return CollectMergeEdges(index);
  bool has_constant = false;
  const absl::Span<const Output> inputs = graph_.inputs(node(index));
  for (uint32_t i = 0; i < inputs.size(); ++i) {
    const uint32_t src = item_of(inputs[i].node);
    if (IsUncountedConst(src)) {
      has_constant = true;
      continue;
    }
    uint32_t& seen_by = output_seen_by_[view_.extras_[src].first_output + static_cast<uint32_t>(inputs[i].index)];
    if (seen_by == index) continue;
    seen_by = node_seen_by_[src] = index;
    AddEdge(src, index, inputs[i].index, i);
    ++extra.num_counted_data;
  }
  if (has_constant) extra.num_counted_data = ~uint32_t{0};
  for (const Output& control : graph_.controls(node(index))) {
    const uint32_t src = item_of(control.node);
    if (IsUncountedConst(src) || node_seen_by_[src] == index) continue;
    AddEdge(src, index, kControlIndex, 0);
  }
  if (num_in_edges_[index] == 0 && !IsUncountedConst(index)) view_.roots_.push_back(index);
}

void GraphViewBuilder::CollectMergeEdges(uint32_t index) {
  const absl::Span<const Output> inputs = graph_.inputs(node(index));
  for (uint32_t i = 0; i < inputs.size(); ++i) AddEdge(item_of(inputs[i].node), index, inputs[i].index, i);
  view_.extras_[index].num_counted_data = static_cast<uint32_t>(inputs.size());
  for (const Output& control : graph_.controls(node(index))) {
    if (IsUncountedConst(item_of(control.node))) continue;
    AddEdge(item_of(control.node), index, kControlIndex, 0);
    ++num_controls_in_[index];
  }
}

// Groups the edges by source, ordered by destination.
void GraphViewBuilder::SortEdges() {
  for (const PlacedEdge& placed : placed_) ++item(placed.src).num_edges;
  uint32_t first = 0;
  for (uint32_t i = 0; i < view_.num_items_; ++i) {
    item(i).first_edge = first;
    first += item(i).num_edges;
    item(i).num_edges = 0;
  }
  for (const PlacedEdge& placed : placed_) {
    NodeItem& source = item(placed.src);
    view_.edges_[source.first_edge + source.num_edges++] = placed.edge;
  }
}

void GraphViewBuilder::MakeCounter(uint32_t index) {
  NodeItem& item = this->item(index);
  const NodeExtra& extra = view_.extras_[index];
  FrameInfo& frame = view_.frames_[static_cast<size_t>(extra.frame)];
  const uint32_t num_in = num_in_edges_[index];
  if (item.kind == NodeKind::kMerge) {
    item.counter = frame.layout.CreateHandle(1 + 2 * num_controls_in_[index], extra.num_counted_data);
  } else if (num_in > 1 || (item.kind == NodeKind::kGradSum && num_in > 0)) {
    item.counter = frame.layout.CreateHandle(num_in, num_in);
  }
}

void GraphViewBuilder::SetFlags(uint32_t index) {
  NodeItem& item = this->item(index);
  if (item.counter.is_set()) {
    PendingCounts& counts = view_.frames_[static_cast<size_t>(view_.extras_[index].frame)].counts;
    counts.set_initial_pending(item.counter,
                               item.kind == NodeKind::kMerge ? 1 + 2 * num_controls_in_[index] : num_in_edges_[index]);
  }
  bool plain = true;
  for (const EdgeInfo& edge : view_.edges(item)) {
    const NodeKind kind = this->item(edge.dst).kind;
    plain = plain && kind != NodeKind::kMerge && kind != NodeKind::kGradSum && kind != NodeKind::kControlTrigger;
  }
  if (item.kind == NodeKind::kMerge && item.io.num_outputs > 1 && view_.uses(item, 1) > 0) {
    item.flags |= NodeItem::kIndexIsRead;
  }
  if (plain) item.flags |= NodeItem::kPlainEdges;
  for (uint32_t i = 0; i < item.io.num_outputs; ++i) {
    if (view_.uses(item, i) != 1) item.flags |= NodeItem::kCountsUses;
    if (view_.uses(item, i) == 0) item.io.SetOutputUnused(i);
    if (IsRef(item.io.output_types[i])) item.flags |= NodeItem::kIsRefMade;
  }
}

}  // namespace sluice

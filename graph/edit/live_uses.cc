#include "graph/edit/live_uses.h"

#include <algorithm>
#include <tuple>

#include "absl/strings/str_cat.h"
#include "graph/base/error.h"

namespace sluice {
namespace {

// The order of Consumers: by consumer, its control edge after its data edges.
bool Before(const Use& a, const Use& b) {
  const auto key = [](const Use& use) { return std::make_tuple(use.node, static_cast<uint32_t>(use.input), use.slot); };
  return key(a) < key(b);
}

bool Same(const Use& a, const Use& b) { return a.node == b.node && a.input == b.input && a.slot == b.slot; }

}  // namespace

LiveUses::LiveUses(const Graph& graph) {
  size_t num_edges = 0;
  for (const NodeId id : graph.Nodes()) num_edges += graph.all_inputs(id).size();
  nodes_.resize(static_cast<size_t>(graph.id_limit()));
  edges_.reserve(num_edges);
  for (int32_t i = graph.id_limit(); i-- > 0;) {  // Each use goes to the front: the first node's comes last.
    if (graph.Contains(NodeId(i))) Link(graph, NodeId(i));
  }
}

template <typename Wanted>
std::vector<Use> LiveUses::Collect(NodeId id, const Wanted& wanted) const {
  std::vector<Use> uses;
  for (int32_t edge = HeadOf(id); edge >= 0; edge = At(edge).next_use) {
    if (wanted(At(edge).use)) uses.push_back(At(edge).use);
  }
  if (!std::is_sorted(uses.begin(), uses.end(), Before)) std::sort(uses.begin(), uses.end(), Before);
  return uses;
}

std::vector<Use> LiveUses::Of(NodeId id) const {
  return Collect(id, [](const Use&) { return true; });
}

std::vector<Use> LiveUses::Of(const Output& output) const {
  return Collect(output.node, [&](const Use& use) { return use.slot == output.index; });
}

void LiveUses::Link(const Graph& graph, NodeId id) {
  const absl::Span<const Output> inputs = graph.all_inputs(id);
  const int32_t num_data = static_cast<int32_t>(graph.inputs(id).size());
  int32_t largest = id.value();
  for (const Output& input : inputs) largest = std::max(largest, input.node.value());
  if (largest >= id_limit()) nodes_.resize(static_cast<size_t>(largest) + 1);
  for (int32_t i = static_cast<int32_t>(inputs.size()); i-- > 0;) {
    const Output& input = inputs[static_cast<size_t>(i)];
    if (!input.is_set()) continue;
    int32_t edge = free_;
    if (edge >= 0) {
      free_ = At(edge).next_use;
    } else {
      edge = static_cast<int32_t>(edges_.size());
      edges_.emplace_back();
    }
    Lists& producer = ListsOf(input.node.value());
    Lists& consumer = ListsOf(id.value());
    const Use use{id, input.index, i < num_data ? i : kControlIndex};
    At(edge) = Edge{use, input.node.value(), producer.uses, -1, consumer.inputs};
    if (producer.uses >= 0) At(producer.uses).previous_use = edge;
    producer.uses = consumer.inputs = edge;
  }
}

void LiveUses::Unlink(NodeId id) {
  if (id.value() < 0 || id.value() >= id_limit()) return;
  int32_t& first = ListsOf(id.value()).inputs;
  while (first >= 0) {
    const int32_t edge = first;
    const Edge& gone = At(edge);
    first = gone.next_input;
    if (gone.next_use >= 0) At(gone.next_use).previous_use = gone.previous_use;
    (gone.previous_use >= 0 ? At(gone.previous_use).next_use : ListsOf(gone.producer).uses) = gone.next_use;
    At(edge).next_use = free_;
    free_ = edge;
  }
}

absl::Status LiveUses::Check(const Graph& graph) const {
  const Consumers wanted(graph);
  for (int32_t i = 0; i < std::max(graph.id_limit(), id_limit()); ++i) {
    const NodeId id(i);
    const std::vector<Use> found = Of(id);
    const absl::Span<const Use> there = i < graph.id_limit() ? wanted.of(id) : absl::Span<const Use>();
    if (std::equal(found.begin(), found.end(), there.begin(), there.end(), Same)) continue;
    return Error(ErrorCode::kInternal)
        .Text(absl::StrCat("the uses of node ", i, " are not those that the graph has"))
        .Found(absl::StrCat(found.size(), " uses"))
        .Expected(absl::StrCat(there.size()));
  }
  return absl::OkStatus();
}

}  // namespace sluice

#include "executor/tape/pass_plan.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "executor/tape/var_state.h"

namespace sluice {

PassPlan::PassPlan(Discovery& discovery, const Request& request) {
  MutexLock lock(&discovery.mu);
  const uint64_t pass = ++discovery.last_pass;
  Collect(request, pass);
  Sort();
  discovery.nodes_seen.store(static_cast<int64_t>(items_.size()), std::memory_order_relaxed);
  const auto place_of = [&](const TapeEdge& edge) {
    return edge.node->seen_by_pass == pass ? edge.node->place_in_pass : -1;
  };
  for (const TapeEdge& root : request.roots) root_places_.push_back(place_of(root));
  for (const TapeEdge& target : request.targets) target_places_.push_back(target.is_set() ? place_of(target) : -1);
  MarkNeeded(request);
  ResolveEdges(pass);
}

void PassPlan::Collect(const Request& request, uint64_t pass) {
  uint64_t oldest = 0;
  if (request.has_targets) {
    oldest = std::numeric_limits<uint64_t>::max();
    for (const TapeEdge& target : request.targets) {
      if (target.is_set()) oldest = std::min(oldest, target.node->sequence);
    }
  }
  const bool has_one_root = request.roots.size() == 1;
  const auto see = [&](const TapeEdge& edge) {
    if (!edge.is_set() || edge.node->seen_by_pass == pass) return;
    const bool is_only_root = has_one_root && items_.empty();
    if (edge.node->sequence < oldest && !is_only_root) return;
    edge.node->seen_by_pass = pass;
    items_.emplace_back();
    items_.back().node = edge.node;
    items_.back().is_only_root = is_only_root;
  };
  for (const TapeEdge& root : request.roots) see(root);
  for (size_t next = 0; next < items_.size(); ++next) {
    const TapeNode& node = *items_[next].node;
    for (const TapeEdge& edge : node.edges) see(edge);
  }
}

void PassPlan::Sort() {
  const auto is_younger = [](const Item& a, const Item& b) { return a.node->sequence > b.node->sequence; };
  if (!std::is_sorted(items_.begin(), items_.end(), is_younger)) std::sort(items_.begin(), items_.end(), is_younger);
  uint32_t num_edges = 0;
  for (size_t i = 0; i < items_.size(); ++i) {
    Item& item = items_[i];
    item.node->place_in_pass = static_cast<int32_t>(i);
    item.first_buffer = static_cast<uint32_t>(num_buffers_);
    item.first_edge = num_edges;
    num_buffers_ += item.node->outputs.size();
    num_edges += static_cast<uint32_t>(item.node->edges.size());
  }
  edge_targets_.assign(num_edges, -1);
}

void PassPlan::MarkNeeded(const Request& request) {
  if (!request.has_targets) {
    for (Item& item : items_) item.runs = true;
    return;
  }
  for (const int32_t place : target_places_) {
    if (place < 0) continue;
    Item& item = items_[static_cast<size_t>(place)];
    item.is_target = true;
    item.runs = request.runs_targets;
  }
}

void PassPlan::ResolveEdges(uint64_t pass) {
  // Oldest nodes first, so that the targets of edges are known.
  for (size_t i = items_.size(); i-- > 0;) {
    Item& item = items_[i];
    bool is_needed = false;
    for (size_t e = 0; e < item.node->edges.size(); ++e) {
      const TapeEdge& edge = item.node->edges[e];
      if (!edge.is_set() || edge.node->seen_by_pass != pass) continue;
      const Item& target = items_[static_cast<size_t>(edge.node->place_in_pass)];
      if (!target.runs && !target.is_target) continue;
      is_needed = true;
      edge_targets_[item.first_edge + e] = edge.node->place_in_pass;
    }
    item.runs = item.runs || is_needed;
  }
  for (size_t i = 0; i < items_.size(); ++i) {
    if (!items_[i].runs) continue;
    for (size_t e = 0; e < items_[i].node->edges.size(); ++e) {
      const int32_t target = Target(i, e);
      if (target >= 0) ++items_[static_cast<size_t>(target)].dependencies;
    }
  }
}

}  // namespace sluice

// AssignLayers and CountCrossings; PlaceItems is in item_placement.cc.

#include "tools/cli/draw/layered_layout.h"

#include <algorithm>
#include <cstddef>
#include <functional>
#include <limits>
#include <queue>
#include <utility>

namespace sluice {
namespace {

constexpr int kOrderingSweeps = 12;

using Adjacency = std::vector<std::vector<int32_t>>;

size_t Index(int32_t i) { return static_cast<size_t>(i); }

// Neighbours by node, without self edges and back edges.
Adjacency Successors(size_t num_nodes, absl::Span<const LayoutEdge> edges) {
  Adjacency out(num_nodes);
  for (const LayoutEdge& edge : edges) {
    if (edge.from != edge.to && !edge.back) out[Index(edge.from)].push_back(edge.to);
  }
  return out;
}

// Step 1: for each node its place in an order in which the edges that lead backwards are those that close a cycle.
// Takes the node with the lowest number whose predecessors are all taken; in a cycle, the lowest number there is.
// Numbers follow the order in which nodes were made, which is nearly that of the data.
std::vector<int32_t> AcyclicOrder(const Adjacency& successors) {
  const size_t n = successors.size();
  std::vector<int32_t> waits_for(n, 0), order(n, -1);
  for (const auto& list : successors) {
    for (const int32_t to : list) ++waits_for[Index(to)];
  }
  std::priority_queue<int32_t, std::vector<int32_t>, std::greater<>> ready;
  for (size_t i = 0; i < n; ++i) {
    if (waits_for[i] == 0) ready.push(static_cast<int32_t>(i));
  }
  size_t lowest = 0;  // No node below is without a place.
  for (int32_t next = 0; next < static_cast<int32_t>(n);) {
    if (ready.empty()) {
      while (order[lowest] >= 0) ++lowest;
      ready.push(static_cast<int32_t>(lowest));
    }
    const int32_t node = ready.top();
    ready.pop();
    if (order[Index(node)] >= 0) continue;
    order[Index(node)] = next++;
    for (const int32_t to : successors[Index(node)]) {
      if (--waits_for[Index(to)] == 0 && order[Index(to)] < 0) ready.push(to);
    }
  }
  return order;
}

// Step 2: layers by longest path over the edges, which lead from lower to higher `order`.
std::vector<int32_t> LongestPaths(const Adjacency& successors, absl::Span<const int32_t> order,
                                  absl::Span<const LayerPin> pins) {
  const size_t n = successors.size();
  std::vector<int32_t> by_order(n), rank(n, 0);
  for (size_t i = 0; i < n; ++i) by_order[Index(order[i])] = static_cast<int32_t>(i);
  const bool has_top = std::find(pins.begin(), pins.end(), LayerPin::kTop) != pins.end();
  std::vector<bool> is_source(n, true);
  for (const int32_t node : by_order) {
    const bool is_free = pins[Index(node)] != LayerPin::kTop;
    if (has_top && is_free) rank[Index(node)] = std::max(rank[Index(node)], 1);
    for (const int32_t to : successors[Index(node)]) {
      rank[Index(to)] = std::max(rank[Index(to)], rank[Index(node)] + 1);
      is_source[Index(to)] = false;
    }
  }
  // Puts sources just above their first user, from the end, in one pass.
  for (auto node = by_order.rbegin(); node != by_order.rend(); ++node) {
    const auto& users = successors[Index(*node)];
    if (!is_source[Index(*node)] || users.empty() || pins[Index(*node)] != LayerPin::kFree) continue;
    int32_t first_user = std::numeric_limits<int32_t>::max();
    for (const int32_t user : users) {
      if (pins[Index(user)] != LayerPin::kBottom) first_user = std::min(first_user, rank[Index(user)]);
    }
    if (first_user != std::numeric_limits<int32_t>::max()) rank[Index(*node)] = first_user - 1;
  }
  int32_t last = 0;
  for (size_t i = 0; i < n; ++i) {
    if (pins[i] != LayerPin::kBottom) last = std::max(last, rank[i] + 1);
  }
  for (size_t i = 0; i < n; ++i) {
    if (pins[i] == LayerPin::kBottom) rank[i] = last;
  }
  return rank;
}

// Turns ranks into layers and long edges into chains of points.
void MakeLayers(std::vector<int32_t> rank, absl::Span<const LayoutEdge> edges, absl::Span<const int32_t> order,
                int32_t max_points, Layering* layering) {
  const int32_t lowest = rank.empty() ? 0 : *std::min_element(rank.begin(), rank.end());
  for (int32_t& r : rank) r -= lowest;
  const int32_t num_layers = rank.empty() ? 0 : *std::max_element(rank.begin(), rank.end()) + 1;
  layering->layers.resize(Index(num_layers));
  std::vector<int32_t> by_order(rank.size());
  for (size_t i = 0; i < rank.size(); ++i) by_order[Index(order[i])] = static_cast<int32_t>(i);
  for (const int32_t node : by_order) layering->layers[Index(rank[Index(node)])].push_back(node);
  layering->num_items = layering->num_nodes;
  for (const LayoutEdge& edge : edges) {
    EdgeRoute route;
    route.reversed = order[Index(edge.from)] > order[Index(edge.to)];
    const int32_t top = std::min(rank[Index(edge.from)], rank[Index(edge.to)]);
    const int32_t bottom = std::max(rank[Index(edge.from)], rank[Index(edge.to)]);
    if (layering->num_items - layering->num_nodes + bottom - top <= max_points) {
      for (int32_t r = top + 1; r < bottom; ++r) {
        route.points.push_back(layering->num_items);
        layering->layers[Index(r)].push_back(layering->num_items++);
      }
    }
    if (rank[Index(edge.from)] > rank[Index(edge.to)]) std::reverse(route.points.begin(), route.points.end());
    layering->routes.push_back(std::move(route));
  }
  // Layers that hold nothing (moved sources) would be gaps.
  auto& layers = layering->layers;
  layers.erase(std::remove_if(layers.begin(), layers.end(), [](const auto& layer) { return layer.empty(); }),
               layers.end());
}

// Neighbours of each item in the layer above and in the layer below, along the chains.
struct Neighbours {
  Adjacency above, below;
};

Neighbours FindNeighbours(const Layering& layering, absl::Span<const LayoutEdge> edges) {
  Neighbours out{Adjacency(Index(layering.num_items)), Adjacency(Index(layering.num_items))};
  std::vector<int32_t> layer_of(Index(layering.num_items), 0);
  for (size_t r = 0; r < layering.layers.size(); ++r) {
    for (const int32_t item : layering.layers[r]) layer_of[Index(item)] = static_cast<int32_t>(r);
  }
  const auto link = [&](int32_t a, int32_t b) {
    if (layer_of[Index(a)] > layer_of[Index(b)]) std::swap(a, b);
    if (layer_of[Index(b)] - layer_of[Index(a)] != 1) return;  // Without points: does not take part.
    out.below[Index(a)].push_back(b);
    out.above[Index(b)].push_back(a);
  };
  for (size_t e = 0; e < edges.size(); ++e) {
    int32_t last = edges[e].from;
    for (const int32_t point : layering.routes[e].points) {
      link(last, point);
      last = point;
    }
    link(last, edges[e].to);
  }
  return out;
}

// Pairs of entries in the wrong order, by merging.
int64_t CountInversions(std::vector<int32_t>& values) {
  int64_t inversions = 0;
  std::vector<int32_t> merged(values.size());
  for (size_t width = 1; width < values.size(); width *= 2) {
    for (size_t begin = 0; begin < values.size(); begin += 2 * width) {
      const size_t middle = std::min(begin + width, values.size()), end = std::min(begin + 2 * width, values.size());
      size_t a = begin, b = middle, out = begin;
      while (a < middle || b < end) {
        const bool take_a = b == end || (a < middle && values[a] <= values[b]);
        if (!take_a) inversions += static_cast<int64_t>(middle - a);
        merged[out++] = values[take_a ? a++ : b++];
      }
    }
    values.swap(merged);
  }
  return inversions;
}

std::vector<int32_t> Positions(const Layering& layering) {
  std::vector<int32_t> position(Index(layering.num_items), 0);
  for (const auto& layer : layering.layers) {
    for (size_t i = 0; i < layer.size(); ++i) position[Index(layer[i])] = static_cast<int32_t>(i);
  }
  return position;
}

int64_t Crossings(const Layering& layering, const Neighbours& neighbours) {
  const std::vector<int32_t> position = Positions(layering);
  int64_t crossings = 0;
  std::vector<int32_t> ends;
  for (const auto& layer : layering.layers) {
    ends.clear();
    for (const int32_t item : layer) {
      const size_t first = ends.size();
      for (const int32_t below : neighbours.below[Index(item)]) ends.push_back(position[Index(below)]);
      std::sort(ends.begin() + static_cast<std::ptrdiff_t>(first), ends.end());
    }
    crossings += CountInversions(ends);
  }
  return crossings;
}

// Orders `layer` by the mean position of each item's `neighbours`; items without any keep their place.
void SortByMean(const Adjacency& neighbours, const std::vector<int32_t>& position, std::vector<int32_t>* layer) {
  std::vector<std::pair<double, int32_t>> keyed;
  keyed.reserve(layer->size());
  for (const int32_t item : *layer) {
    const auto& list = neighbours[Index(item)];
    double mean = position[Index(item)];
    if (!list.empty()) {
      double sum = 0;
      for (const int32_t other : list) sum += position[Index(other)];
      mean = sum / static_cast<double>(list.size());
    }
    keyed.emplace_back(mean, item);
  }
  std::stable_sort(keyed.begin(), keyed.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  for (size_t i = 0; i < keyed.size(); ++i) (*layer)[i] = keyed[i].second;
}

// Step 3.
void OrderLayers(absl::Span<const LayoutEdge> edges, Layering* layering) {
  const Neighbours neighbours = FindNeighbours(*layering, edges);
  std::vector<std::vector<int32_t>> best = layering->layers;
  int64_t fewest = Crossings(*layering, neighbours);
  for (int sweep = 0; sweep < kOrderingSweeps && fewest > 0; ++sweep) {
    std::vector<int32_t> position = Positions(*layering);
    const bool down = sweep % 2 == 0;
    for (size_t i = 1; i < layering->layers.size(); ++i) {
      auto& layer = layering->layers[down ? i : layering->layers.size() - 1 - i];
      SortByMean(down ? neighbours.above : neighbours.below, position, &layer);
      for (size_t k = 0; k < layer.size(); ++k) position[Index(layer[k])] = static_cast<int32_t>(k);
    }
    if (const int64_t crossings = Crossings(*layering, neighbours); crossings < fewest) {
      fewest = crossings;
      best = layering->layers;
    }
  }
  layering->layers = std::move(best);
}

}  // namespace

Layering AssignLayers(absl::Span<const LayerPin> pins, absl::Span<const LayoutEdge> edges, int32_t max_points) {
  Layering layering;
  layering.num_nodes = static_cast<int32_t>(pins.size());
  const std::vector<int32_t> order = AcyclicOrder(Successors(pins.size(), edges));
  Adjacency forward(pins.size());
  for (const LayoutEdge& edge : edges) {
    if (edge.from == edge.to) continue;
    const bool reversed = order[Index(edge.from)] > order[Index(edge.to)];
    forward[Index(reversed ? edge.to : edge.from)].push_back(reversed ? edge.from : edge.to);
  }
  MakeLayers(LongestPaths(forward, order, pins), edges, order, max_points, &layering);
  OrderLayers(edges, &layering);
  return layering;
}

int64_t CountCrossings(const Layering& layering, absl::Span<const LayoutEdge> edges) {
  return Crossings(layering, FindNeighbours(layering, edges));
}

}  // namespace sluice

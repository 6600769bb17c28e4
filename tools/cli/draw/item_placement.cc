// PlaceItems: coordinates for a layering. The viewer (viewer.js) has the same steps under the same names.

#include <algorithm>
#include <cstddef>
#include <utility>

#include "tools/cli/draw/layered_layout.h"

namespace sluice {
namespace {

constexpr int kPlacementSweeps = 10;
// Edges between two points pull harder, so that long edges run straight.
constexpr double kNodePull = 1, kMixedPull = 2, kPointPull = 8;

size_t Index(int32_t i) { return static_cast<size_t>(i); }

struct Pull {
  int32_t other;
  double weight;
};

// Everything the sweeps need; lives for one call of PlaceItems.
class Placer2D {
 public:
  Placer2D(const Layering& layering, absl::Span<const ItemSize> sizes, const LayoutGaps& gaps)
      : layering_(layering),
        gaps_(gaps),
        width_(Index(layering.num_items), 0),
        x_(width_.size(), 0),
        above_(width_.size()),
        below_(width_.size()),
        layer_of_(width_.size(), 0) {
    for (size_t i = 0; i < sizes.size(); ++i) width_[i] = sizes[i].width;
    for (size_t r = 0; r < layering.layers.size(); ++r) {
      for (const int32_t item : layering.layers[r]) layer_of_[Index(item)] = static_cast<int32_t>(r);
    }
  }

  void AddPulls(absl::Span<const LayoutEdge> edges) {
    for (size_t e = 0; e < edges.size(); ++e) {
      if (edges[e].from == edges[e].to) continue;
      int32_t last = edges[e].from;
      for (const int32_t point : layering_.routes[e].points) {
        Link(last, point);
        last = point;
      }
      Link(last, edges[e].to);
    }
  }

  // Packs each layer, then moves items towards their neighbours, down and up.
  std::vector<double> Run() {
    for (const auto& layer : layering_.layers) Pack(layer);
    for (int sweep = 0; sweep < kPlacementSweeps; ++sweep) {
      const size_t n = layering_.layers.size();
      const bool down = sweep % 2 == 0;
      for (size_t i = 0; i < n; ++i) MoveLayer(layering_.layers[down ? i : n - 1 - i], down);
    }
    return std::move(x_);
  }

 private:
  void Link(int32_t a, int32_t b) {
    const int points = (a >= layering_.num_nodes) + (b >= layering_.num_nodes);
    const double weight = points == 2 ? kPointPull : points == 1 ? kMixedPull : kNodePull;
    if (layer_of_[Index(a)] > layer_of_[Index(b)]) std::swap(a, b);
    below_[Index(a)].push_back({b, weight});
    above_[Index(b)].push_back({a, weight});
  }

  // The least distance between the centres of neighbours in a layer.
  double Distance(int32_t a, int32_t b) const {
    const bool has_point = a >= layering_.num_nodes || b >= layering_.num_nodes;
    return (width_[Index(a)] + width_[Index(b)]) / 2 + (has_point ? gaps_.point : gaps_.horizontal);
  }

  void Pack(const std::vector<int32_t>& layer) {
    double at = 0;
    for (size_t i = 0; i < layer.size(); ++i) {
      if (i > 0) at += Distance(layer[i - 1], layer[i]);
      x_[Index(layer[i])] = at;
    }
    for (const int32_t item : layer) x_[Index(item)] -= at / 2;
  }

  // Moves the items of `layer` as near as possible to the mean of their neighbours (on one side, or on both if that
  // side has none), keeping order and distances: least squares by pooling neighbours that would overlap.
  void MoveLayer(const std::vector<int32_t>& layer, bool from_above) {
    struct Pool {
      double sum, weight;
      size_t count;
      double mean() const { return sum / weight; }
    };
    std::vector<Pool> pools;
    std::vector<double> offset(layer.size(), 0);
    for (size_t i = 0; i < layer.size(); ++i) {
      if (i > 0) offset[i] = offset[i - 1] + Distance(layer[i - 1], layer[i]);
      const auto [wanted, weight] = Wanted(layer[i], from_above);
      pools.push_back({(wanted - offset[i]) * weight, weight, 1});
      while (pools.size() > 1 && pools[pools.size() - 2].mean() > pools.back().mean()) {
        const Pool last = pools.back();
        pools.pop_back();
        pools.back() = {pools.back().sum + last.sum, pools.back().weight + last.weight,
                        pools.back().count + last.count};
      }
    }
    size_t i = 0;
    for (const Pool& pool : pools) {
      for (size_t k = 0; k < pool.count; ++k, ++i) x_[Index(layer[i])] = pool.mean() + offset[i];
    }
  }

  std::pair<double, double> Wanted(int32_t item, bool from_above) const {
    const auto& first = from_above ? above_[Index(item)] : below_[Index(item)];
    const auto& pulls = first.empty() ? (from_above ? below_[Index(item)] : above_[Index(item)]) : first;
    if (pulls.empty()) return {x_[Index(item)], 0.1};
    double sum = 0, weight = 0;
    for (const Pull& pull : pulls) {
      sum += x_[Index(pull.other)] * pull.weight;
      weight += pull.weight;
    }
    return {sum / weight, weight};
  }

  const Layering& layering_;
  const LayoutGaps gaps_;
  std::vector<double> width_, x_;
  std::vector<std::vector<Pull>> above_, below_;
  std::vector<int32_t> layer_of_;
};

}  // namespace

Placement2D PlaceItems(const Layering& layering, absl::Span<const LayoutEdge> edges, absl::Span<const ItemSize> sizes,
                       const LayoutGaps& gaps) {
  Placement2D out;
  Placer2D placer(layering, sizes, gaps);
  placer.AddPulls(edges);
  out.x = placer.Run();
  out.y.resize(out.x.size());
  double top = 0;
  for (const auto& layer : layering.layers) {
    double height = 0;
    for (const int32_t item : layer) {
      if (item < layering.num_nodes) height = std::max(height, sizes[Index(item)].height);
    }
    for (const int32_t item : layer) {
      const double own = item < layering.num_nodes ? sizes[Index(item)].height : height;
      out.y[Index(item)] = top + own / 2 + std::min((height - own) / 2, gaps.vertical);
    }
    out.layer_top.push_back(top);
    out.layer_bottom.push_back(top + height);
    top += height + gaps.vertical;
  }
  out.height = layering.layers.empty() ? 0 : top - gaps.vertical;
  double left = 0, right = 0;
  for (size_t i = 0; i < out.x.size(); ++i) {
    const double half = i < sizes.size() ? sizes[i].width / 2 : 0;
    left = i == 0 ? out.x[i] - half : std::min(left, out.x[i] - half);
    right = i == 0 ? out.x[i] + half : std::max(right, out.x[i] + half);
  }
  for (double& x : out.x) x -= left;
  out.width = right - left;
  return out;
}

}  // namespace sluice

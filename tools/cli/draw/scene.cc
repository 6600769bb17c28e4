#include "tools/cli/draw/scene.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/container/node_hash_map.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace sluice {
namespace {

constexpr LayoutGaps kGaps = {22, 34, 9};
// The distance of a line that leads up from the box it passes, and the depth of its turns.
constexpr double kSideGap = 9, kTurn = 16;

size_t Index(int32_t i) { return static_cast<size_t>(i); }

struct Point {
  double x, y;
};

std::string Move(Point p) { return absl::StrFormat("M%.1f,%.1f", p.x, p.y); }
std::string Line(Point p) { return absl::StrFormat("L%.1f,%.1f", p.x, p.y); }
// A curve that leaves and arrives vertically.
std::string Curve(Point from, Point to) {
  const double middle = (from.y + to.y) / 2;
  return absl::StrFormat("C%.1f,%.1f %.1f,%.1f %.1f,%.1f", from.x, middle, to.x, middle, to.x, to.y);
}
// A turn of half a circle: down and up again (depth > 0), or up and down.
std::string Turn(Point from, Point to, double depth) {
  return absl::StrFormat("C%.1f,%.1f %.1f,%.1f %.1f,%.1f", from.x, from.y + depth, to.x, to.y + depth, to.x, to.y);
}

// An open box laid out for itself; coordinates count from its upper left corner.
struct Inside {
  ScopeLayering scope;
  Placement2D places;
  double width = 0, height = 0;
  absl::flat_hash_map<int32_t, double> top_port, bottom_port;  // By child: x.
};

// Lays open boxes out from the inside to the outside and gathers the shapes to draw. Borrows the tree; lives for one
// drawing, on one thread.
class SceneBuilder {
 public:
  SceneBuilder(const BoxTree& tree, const std::vector<bool>& open, absl::FunctionRef<ItemSize(const Box& box)> size_of)
      : tree_(tree), open_(open), size_of_(size_of), shown_(tree.boxes().size(), -1) {}

  Scene Build() {
    // Children have higher numbers than their parents: sizes from the end, positions from the start.
    for (size_t i = tree_.boxes().size(); i-- > 0;) {
      if (open_[i]) LayOut(static_cast<int32_t>(i));
    }
    const Inside& root = insides_.at(0);
    scene_.width = root.width;
    scene_.height = root.height;
    SceneBox whole;
    whole.open = true;
    whole.width = root.width;
    whole.height = root.height;
    Show(0, whole);
    for (size_t i = 0; i < scene_.boxes.size(); ++i) {
      if (scene_.boxes[i].open) PlaceChildren(SceneBox(scene_.boxes[i]));
    }
    for (size_t i = 0; i < scene_.boxes.size(); ++i) {
      if (scene_.boxes[i].open) DrawEdges(scene_.boxes[i]);
    }
    return std::move(scene_);
  }

 private:
  // Where the first layer begins. The root's header is the page's.
  double TopOf(int32_t box) const {
    if (!insides_.at(box).top_port.empty()) return 0;
    return box == 0 ? kScenePadding : kSceneHeader;
  }

  // REQUIRES: an open box has been laid out.
  ItemSize SizeOf(int32_t box) const {
    if (!open_[Index(box)]) return size_of_(tree_.box(box));
    const Inside& inside = insides_.at(box);
    return {inside.width, inside.height};
  }

  void LayOut(int32_t box) {
    Inside& inside = insides_[box];
    inside.scope = LayerScope(tree_, box);
    std::vector<ItemSize> sizes;
    for (size_t i = 0; i < inside.scope.pins.size(); ++i) {
      const bool is_child = inside.scope.pins[i] == LayerPin::kFree;
      sizes.push_back(is_child ? SizeOf(inside.scope.box_of_item[i]) : ItemSize{});
    }
    inside.places = PlaceItems(inside.scope.layering, inside.scope.edges, sizes, kGaps);
    inside.width = std::max(inside.places.width + 2 * kScenePadding, 60.0);
    for (size_t i = 0; i < inside.scope.pins.size(); ++i) {
      const double x = inside.places.x[i] + kScenePadding;
      const int32_t child = inside.scope.box_of_item[i];
      if (inside.scope.pins[i] == LayerPin::kTop) inside.top_port[child] = x;
      if (inside.scope.pins[i] == LayerPin::kBottom) inside.bottom_port[child] = x;
    }
    inside.height = TopOf(box) + inside.places.height + (inside.bottom_port.empty() ? kScenePadding : 0);
  }

  void Show(int32_t box, SceneBox scene_box) {
    shown_[Index(box)] = static_cast<int32_t>(scene_.boxes.size());
    scene_.boxes.push_back(scene_box);
  }

  void PlaceChildren(const SceneBox& parent) {
    const Inside& inside = insides_.at(parent.box);
    for (size_t i = 0; i < inside.scope.pins.size(); ++i) {
      if (inside.scope.pins[i] != LayerPin::kFree) continue;
      SceneBox child;
      child.box = inside.scope.box_of_item[i];
      child.open = open_[Index(child.box)];
      const ItemSize size = SizeOf(child.box);
      child.width = size.width;
      child.height = size.height;
      child.x = parent.x + kScenePadding + inside.places.x[i] - size.width / 2;
      child.y = parent.y + TopOf(parent.box) + inside.places.y[i] - size.height / 2;
      Show(child.box, child);
    }
  }

  const SceneBox& shown(int32_t box) const { return scene_.boxes[Index(shown_[Index(box)])]; }

  // Where an edge meets `box`: its middle, or the ports of the boxes inside that the edge leads to.
  std::vector<Point> EndsAt(int32_t box, const std::vector<int32_t>& inside, bool at_top) const {
    const SceneBox& here = shown(box);
    std::vector<Point> ends;
    if (here.open) {
      const Inside& within = insides_.at(box);
      const auto& ports = at_top ? within.top_port : within.bottom_port;
      for (const int32_t child : inside) {
        if (const auto port = ports.find(child); port != ports.end()) {
          ends.push_back({here.x + port->second, at_top ? here.y : here.bottom()});
        }
      }
    }
    if (ends.empty()) ends.push_back({here.center(), at_top ? here.y : here.bottom()});
    return ends;
  }

  void DrawEdges(const SceneBox& scope) {
    const Inside& inside = insides_.at(scope.box);
    const std::vector<BoxEdge>& edges = tree_.edges(scope.box);
    std::vector<size_t> layer_of(Index(inside.scope.layering.num_items), 0);
    for (size_t r = 0; r < inside.scope.layering.layers.size(); ++r) {
      for (const int32_t item : inside.scope.layering.layers[r]) layer_of[Index(item)] = r;
    }
    const double left = scope.x + kScenePadding, top = scope.y + TopOf(scope.box);
    for (size_t e = 0; e < edges.size(); ++e) {
      const BoxEdge& edge = edges[e];
      const LayoutEdge& link = inside.scope.edges[e];
      const EdgeRoute& route = inside.scope.layering.routes[e];
      const Point port_in = {left + inside.places.x[Index(link.from)], scope.y};
      const Point port_out = {left + inside.places.x[Index(link.to)], scope.bottom()};
      const std::vector<Point> starts =
          edge.from >= 0 ? EndsAt(edge.from, edge.from_inside, false) : std::vector<Point>(1, port_in);
      const std::vector<Point> ends =
          edge.to >= 0 ? EndsAt(edge.to, edge.to_inside, true) : std::vector<Point>(1, port_out);
      std::vector<Point> way;
      for (const int32_t point : route.points) {
        const double x = left + inside.places.x[Index(point)];
        const size_t layer = layer_of[Index(point)];
        const double above = top + inside.places.layer_top[layer], below = top + inside.places.layer_bottom[layer];
        way.push_back({x, route.reversed ? below : above});
        way.push_back({x, route.reversed ? above : below});
      }
      SceneEdge drawn;
      drawn.count = edge.count;
      drawn.control_only = edge.control_only;
      drawn.reversed = route.reversed;
      drawn.is_loop = edge.back_only;
      drawn.has_head = edge.to >= 0 && !shown(edge.to).open;
      const double start_y = edge.from >= 0 ? top + inside.places.layer_bottom[layer_of[Index(link.from)]] : scope.y;
      const double end_y = edge.to >= 0 ? top + inside.places.layer_top[layer_of[Index(link.to)]] : scope.bottom();
      drawn.path = route.reversed ? PathUp(edge, starts, ends, way) : PathDown(starts, ends, start_y, end_y, way);
      scene_.edges.push_back(std::move(drawn));
    }
  }

  // Lines from each point straight down to where the other list has it.
  static std::string Stubs(const std::vector<Point>& from, const std::vector<Point>& to) {
    std::string path;
    for (size_t i = 0; i < from.size(); ++i) {
      if (from[i].y < to[i].y) path += Move(from[i]) + Line(to[i]);
    }
    return path;
  }

  // Fans in from `starts`, along `way`, and out to `ends`. Leaves and enters straight through the layers of its boxes,
  // which end at `start_y` and begin at `end_y`: other boxes in them may be higher.
  static std::string PathDown(std::vector<Point> starts, std::vector<Point> ends, double start_y, double end_y,
                              std::vector<Point> way) {
    const std::vector<Point> box_starts = starts, box_ends = ends;
    for (Point& start : starts) start.y = std::max(start.y, start_y);
    for (Point& end : ends) end.y = std::min(end.y, end_y);
    const std::string last = Stubs(ends, box_ends);  // Where the arrow head is.
    if (way.empty() && starts.size() > 1 && ends.size() > 1) {
      const double y = (starts[0].y + ends[0].y) / 2;
      double x = 0;
      for (const Point& p : starts) x += p.x / static_cast<double>(2 * starts.size());
      for (const Point& p : ends) x += p.x / static_cast<double>(2 * ends.size());
      way.push_back({x, y});
    }
    std::string path = Stubs(box_starts, starts);
    if (way.empty()) {
      for (const Point& start : starts) {
        for (const Point& end : ends) path += Move(start) + Curve(start, end);
      }
      return path + last;
    }
    for (const Point& start : starts) path += Move(start) + Curve(start, way.front());
    path += Move(way.front());
    for (size_t i = 1; i < way.size(); ++i) path += i % 2 == 1 ? Line(way[i]) : Curve(way[i - 1], way[i]);
    for (const Point& end : ends) path += Move(way.back()) + Curve(way.back(), end);
    return path + last;
  }

  // Out at the bottom of the lower box, up along its right side, and down into the top of the upper one.
  std::string PathUp(const BoxEdge& edge, const std::vector<Point>& starts, const std::vector<Point>& ends,
                     const std::vector<Point>& way) const {
    const SceneBox& from = shown(edge.from);
    const SceneBox& to = shown(edge.to);
    const double from_side = from.x + from.width + kSideGap, to_side = to.x + to.width + kSideGap;
    const Point leave = {from_side, from.bottom()}, arrive = {to_side, to.y};
    std::string path;
    for (const Point& start : starts) path += Move(start) + Turn(start, leave, kTurn);
    path += Move(leave) + Line({from_side, from.y});
    Point last = {from_side, from.y};
    for (size_t i = 0; i < way.size(); ++i) {
      path += i % 2 == 1 ? Line(way[i]) : Curve(last, way[i]);
      last = way[i];
    }
    path += Curve(last, {to_side, to.bottom()}) + Line(arrive);
    for (const Point& end : ends) path += Move(arrive) + Turn(arrive, end, -kTurn);
    return path;
  }

  const BoxTree& tree_;
  const std::vector<bool>& open_;
  absl::FunctionRef<ItemSize(const Box& box)> size_of_;
  absl::node_hash_map<int32_t, Inside> insides_;  // Open boxes only.
  std::vector<int32_t> shown_;                    // By box: its place in the scene, or -1.
  Scene scene_;
};

}  // namespace

Scene BuildScene(const BoxTree& tree, const std::vector<bool>& open,
                 absl::FunctionRef<ItemSize(const Box& box)> size_of) {
  return SceneBuilder(tree, open, size_of).Build();
}

bool IsKeptClosed(const Box& box, absl::Span<const std::string> closed) {
  return box.parent == 0 && std::any_of(closed.begin(), closed.end(), [&box](const std::string& scope) {
           return box.label == scope || absl::StartsWith(box.label, absl::StrCat(scope, "/"));
         });
}

std::vector<bool> ChooseOpenBoxes(const BoxTree& tree, int budget, absl::Span<const std::string> closed) {
  const auto may_open = [&tree, closed](int32_t box) {
    const Box& what = tree.box(box);
    return what.kind == Box::Kind::kScope && !what.children.empty() && !IsKeptClosed(what, closed);
  };
  std::vector<bool> open(tree.boxes().size(), false);
  open[0] = true;
  int64_t seen = static_cast<int64_t>(tree.box(0).children.size());
  std::vector<int32_t> level = {0};
  while (!level.empty()) {
    std::vector<int32_t> candidates, next;
    for (const int32_t box : level) {
      for (const int32_t child : tree.box(box).children) {
        if (may_open(child)) candidates.push_back(child);
      }
    }
    std::stable_sort(candidates.begin(), candidates.end(), [&tree](int32_t a, int32_t b) {
      return tree.box(a).children.size() < tree.box(b).children.size();
    });
    for (const int32_t box : candidates) {
      const int64_t more = static_cast<int64_t>(tree.box(box).children.size());
      if (seen + more > budget) break;
      seen += more;
      open[Index(box)] = true;
      next.push_back(box);
    }
    level = std::move(next);
  }
  return open;
}

}  // namespace sluice

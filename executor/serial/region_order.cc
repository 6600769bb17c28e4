#include "executor/serial/region_order.h"

#include <deque>
#include <utility>

namespace sluice {
namespace {

// The units of all frames and their edges, and the walk that orders one frame after the other. Lives for one call.
class Builder {
 public:
  explicit Builder(const SerialStructure& structure) : s_(structure), graph_(structure.graph()) {}

  bool Build(std::vector<std::vector<RegionUnit>>* orders) {
    MakeUnits();
    MakeEdges();
    ready_.resize(s_.guards().size());
    const size_t num_frames = s_.loops().size();
    orders->resize(num_frames);
    size_t done = 0;
    for (size_t f = 0; f < num_frames; ++f) {
      OrderFrame(static_cast<int32_t>(f), &(*orders)[f]);
      done += (*orders)[f].size();
    }
    return done == units_.size();
  }

 private:
  static constexpr int32_t kNoUnit = -1;
  // What can be done under one guard.
  struct ReadyStack {
    std::vector<int32_t> units;
    bool is_listed = false;  // In guards_with_units_.
  };

  int32_t AddUnit(RegionUnit unit, int32_t frame) {
    units_.push_back(unit);
    frame_of_.push_back(frame);
    return static_cast<int32_t>(units_.size()) - 1;
  }

  // Nodes that never run are units too: what comes after them waits for what they wait for.
  void MakeUnits() {
    unit_of_.assign(static_cast<size_t>(graph_.id_limit()), kNoUnit);
    loop_unit_.assign(s_.loops().size(), kNoUnit);
    for (size_t f = 1; f < s_.loops().size(); ++f) {
      RegionUnit unit;
      unit.kind = RegionUnit::Kind::kLoop;
      unit.index = static_cast<int32_t>(f);
      unit.guard = s_.loops()[f].guard;
      loop_unit_[f] = AddUnit(unit, s_.frames().frames[f].parent);
    }
    for (const NodeId id : s_.order()) {
      if (s_.role(id) == SerialRole::kEnter) continue;
      RegionUnit unit;
      unit.node = id;
      unit.guard = s_.guard(id);
      unit_of_[static_cast<size_t>(id.value())] = AddUnit(unit, s_.frame(id));
      if (s_.role(id) != SerialRole::kMerge || s_.IsLoopMerge(id)) continue;
      const absl::Span<const Output> inputs = graph_.inputs(id);
      for (size_t i = 0; i < inputs.size(); ++i) {
        unit.guard = s_.output_guard(inputs[i]);
        if (unit.guard == kNever) continue;
        unit.kind = RegionUnit::Kind::kMergeMove;
        unit.index = static_cast<int32_t>(i);
        AddUnit(unit, s_.frame(id));
      }
    }
  }

  // The unit in `frame` after which the readers of `source` come, or kNoUnit.
  int32_t SourceUnit(const Output& source, int32_t frame) const {
    const int32_t at = s_.frame(source.node);
    if (s_.role(source.node) == SerialRole::kEnter) {
      if (at == frame) return kNoUnit;  // Done before the frame begins.
      return loop_unit_[static_cast<size_t>(at)];
    }
    if (at == frame) return unit_of_[static_cast<size_t>(source.node.value())];
    return loop_unit_[static_cast<size_t>(at)];  // An Exit of an inner loop.
  }

  void AddEdge(const Output& source, int32_t unit) {
    const int32_t from = SourceUnit(source, frame_of_[static_cast<size_t>(unit)]);
    if (from != kNoUnit) edges_.emplace_back(from, unit);
  }

  void MakeEdges() {
    for (size_t u = 0; u < units_.size(); ++u) {
      const RegionUnit& unit = units_[u];
      const int32_t index = static_cast<int32_t>(u);
      if (unit.kind == RegionUnit::Kind::kMergeMove) {
        AddEdge(graph_.inputs(unit.node)[static_cast<size_t>(unit.index)], index);
        for (const Output& control : graph_.controls(unit.node)) AddEdge(control, index);
        edges_.emplace_back(index, unit_of_[static_cast<size_t>(unit.node.value())]);
      } else if (unit.kind == RegionUnit::Kind::kNode) {
        const bool is_merge = s_.role(unit.node) == SerialRole::kMerge;
        for (const Output& source : is_merge ? graph_.controls(unit.node) : graph_.all_inputs(unit.node)) {
          AddEdge(source, index);
        }
      } else {
        for (const NodeId enter : s_.frames().frames[static_cast<size_t>(unit.index)].enters) {
          for (const Output& source : graph_.all_inputs(enter)) AddEdge(source, index);
        }
      }
    }
    starts_.assign(units_.size() + 1, 0);
    pending_.assign(units_.size(), 0);
    for (const auto& [from, to] : edges_) {
      ++starts_[static_cast<size_t>(from) + 1];
      ++pending_[static_cast<size_t>(to)];
    }
    for (size_t u = 0; u < units_.size(); ++u) starts_[u + 1] += starts_[u];
    targets_.resize(edges_.size());
    std::vector<uint32_t> next(starts_.begin(), starts_.end() - 1);
    for (const auto& [from, to] : edges_) targets_[next[static_cast<size_t>(from)]++] = to;
    // Backwards, as they are used as stacks.
    roots_.resize(s_.loops().size());
    for (size_t u = units_.size(); u-- > 0;) {
      if (pending_[u] == 0) roots_[static_cast<size_t>(frame_of_[u])].push_back(static_cast<int32_t>(u));
    }
  }

  void PushReady(int32_t unit) {
    const GuardId guard = units_[static_cast<size_t>(unit)].guard;
    ReadyStack& stack = ready_[static_cast<size_t>(guard.value())];
    if (!stack.is_listed) guards_with_units_[s_.guard_length(guard)].push_back(guard);
    stack.is_listed = true;
    stack.units.push_back(unit);
  }

  // Shorter guards first, and a block is not left while something in it can be done.
  void OrderFrame(int32_t frame, std::vector<RegionUnit>* order) {
    for (const int32_t unit : roots_[static_cast<size_t>(frame)]) PushReady(unit);
    GuardId current = kAlways;
    while (true) {
      if (ready_[static_cast<size_t>(current.value())].units.empty() && !NextGuard(&current)) return;
      std::vector<int32_t>& stack = ready_[static_cast<size_t>(current.value())].units;
      const int32_t unit = stack.back();
      stack.pop_back();
      order->push_back(units_[static_cast<size_t>(unit)]);
      for (uint32_t e = starts_[static_cast<size_t>(unit)]; e < starts_[static_cast<size_t>(unit) + 1]; ++e) {
        if (--pending_[static_cast<size_t>(targets_[e])] == 0) PushReady(targets_[e]);
      }
    }
  }

  // A guard of the smallest length with something ready, the first that was listed. Each guard that is passed over
  // goes from its list. False: nothing is ready.
  bool NextGuard(GuardId* next) {
    for (std::deque<GuardId>& guards : guards_with_units_) {
      while (!guards.empty()) {
        ReadyStack& stack = ready_[static_cast<size_t>(guards.front().value())];
        *next = guards.front();
        if (!stack.units.empty()) return true;
        stack.is_listed = false;
        guards.pop_front();
      }
    }
    return false;
  }

  const SerialStructure& s_;
  const Graph& graph_;
  std::vector<RegionUnit> units_;
  std::vector<int32_t> frame_of_;   // By unit.
  std::vector<int32_t> unit_of_;    // By node.
  std::vector<int32_t> loop_unit_;  // By frame.
  std::vector<std::pair<int32_t, int32_t>> edges_;
  std::vector<uint32_t> starts_;
  std::vector<int32_t> targets_;
  std::vector<int32_t> pending_;
  std::vector<std::vector<int32_t>> roots_;  // By frame: units that wait for nothing.
  std::vector<ReadyStack> ready_;            // By guard. Empty between frames.
  // By length; some of these guards may have no units left.
  std::deque<GuardId> guards_with_units_[GuardTable::kMaxLiterals + 1];
};

}  // namespace

bool RegionOrders::Create(const SerialStructure& structure, RegionOrders* orders) {
  return Builder(structure).Build(&orders->orders_);
}

}  // namespace sluice

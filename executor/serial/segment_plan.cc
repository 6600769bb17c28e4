#include "executor/serial/segment_plan.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "graph/ir/op_class.h"

namespace sluice {

// Finds the stops before each unit of the root frame, and sorts units with the same ones together. Lives for one call.
class SegmentPlanner {
 public:
  SegmentPlanner(const SerialStructure& structure, SegmentPlan* plan, std::string* why_not)
      : s_(structure), graph_(structure.graph()), plan_(*plan), why_not_(*why_not) {}

  bool Plan(const RegionOrders* orders) {
    if (!NumberStops()) return false;
    if (orders == nullptr) MakeUnits();
    const absl::Span<const RegionUnit> units = orders != nullptr ? orders->of(0) : absl::MakeConstSpan(own_units_);
    before_node_.assign(static_cast<size_t>(graph_.id_limit()), kNoStops);
    before_loop_.assign(s_.loops().size(), kNoStops);
    SortNodesOfLoops();
    for (const RegionUnit& unit : units) {
      if (!Visit(unit)) return false;
      if (plan_.sets_.size() <= SegmentPlan::kMaxSets) continue;
      why_not_ = "it waits in very many ways";
      return false;
    }
    MakeSegments(units);
    return true;
  }

 private:
  bool Refuse(NodeId id, absl::string_view why) {
    why_not_ = absl::StrCat(graph_.op_name(id), " '", graph_.name(id), "' ", why);
    return false;
  }

  bool NumberStops() {
    plan_.stop_of_.assign(static_cast<size_t>(graph_.id_limit()), -1);
    for (const NodeId id : s_.order()) {
      const SerialRole role = s_.role(id);
      if (role != SerialRole::kStart && role != SerialRole::kSend) continue;
      if (s_.frame(id) != 0) return Refuse(id, "waits or sends in a loop");
      if (IsTransfer(graph_.op(id).op_class) && s_.guard(id) != kAlways) {
        return Refuse(id, "transfers under a condition");
      }
      if (role == SerialRole::kSend || s_.guard(id) == kNever) continue;
      if (plan_.stops_.size() == SegmentPlan::kMaxStops) return Refuse(id, "waits, and so do very many");
      plan_.stop_of_[static_cast<size_t>(id.value())] = static_cast<int32_t>(plan_.stops_.size());
      plan_.stops_.push_back(id);
    }
    if (!NumberOutcomes()) return false;
    plan_.sets_ = StopSets(static_cast<int32_t>(plan_.stops_.size()));
    return true;
  }

  // Gives the outputs of stops numbers of their own where one may be dead and another edge not, see Note [Segments].
  bool NumberOutcomes() {
    struct Readers {
      bool has_data = false, has_control = false;
    };
    const size_t num_stops = plan_.stops_.size();
    std::vector<Readers> readers(num_stops);
    for (const NodeId id : s_.order()) {
      for (const Output& source : graph_.all_inputs(id)) {
        const int32_t stop = plan_.stop_of(source.node);
        if (stop < 0) continue;
        Readers& of = readers[static_cast<size_t>(stop)];
        (source.is_control() ? of.has_control : of.has_data) = true;
      }
    }
    plan_.first_outcome_.assign(num_stops, -1);
    for (size_t stop = 0; stop < num_stops; ++stop) {
      if (!readers[stop].has_data) continue;
      const NodeId id = plan_.stops_[stop];
      const size_t num_outputs = static_cast<size_t>(graph_.num_outputs(id)), all = plan_.stops_.size();
      const bool is_its_own = num_outputs == 1 && !readers[stop].has_control;
      plan_.first_outcome_[stop] = static_cast<int32_t>(is_its_own ? stop : all);
      if (is_its_own) continue;
      if (all + num_outputs > static_cast<size_t>(SegmentPlan::kMaxStops)) {
        return Refuse(id, "waits for many outputs, and so do very many");
      }
      plan_.stops_.insert(plan_.stops_.end(), num_outputs, id);
    }
    plan_.first_outcome_.resize(plan_.stops_.size(), -1);
    return true;
  }

  void MakeUnits() {
    for (const NodeId id : s_.order()) {
      own_units_.emplace_back();
      own_units_.back().node = id;
    }
  }

  // The nodes of all loops of the root frame, each with those of the loops in it, in order.
  void SortNodesOfLoops() {
    const size_t num_frames = s_.loops().size();
    outermost_.assign(num_frames, 0);
    for (size_t f = 1; f < num_frames; ++f) {  // Parents come before children.
      const int32_t parent = s_.frames().frames[f].parent;
      outermost_[f] = parent == 0 ? static_cast<int32_t>(f) : outermost_[static_cast<size_t>(parent)];
    }
    nodes_of_loop_.resize(num_frames);
    if (num_frames <= 1) return;
    for (const NodeId id : s_.order()) {
      if (s_.frame(id) != 0) nodes_of_loop_[static_cast<size_t>(OutermostLoop(s_.frame(id)))].push_back(id);
    }
  }

  // The loop of the root frame that static frame `frame` is in.
  int32_t OutermostLoop(int32_t frame) const { return outermost_[static_cast<size_t>(frame)]; }

  // The stops before what reads `source` in the root frame.
  StopSetId After(const Output& source) {
    const int32_t frame = s_.frame(source.node);
    if (frame != 0) return before_loop_[static_cast<size_t>(OutermostLoop(frame))];
    const StopSetId before = before_node_[static_cast<size_t>(source.node.value())];
    const int32_t stop = plan_.stop_of(source.node);
    if (stop < 0) return before;
    const StopSetId ended = plan_.sets_.With(before, stop);
    const int32_t first = plan_.first_outcome(stop);
    return source.is_control() || first < 0 ? ended : plan_.sets_.With(ended, first + source.index);
  }
  StopSetId After(absl::Span<const Output> sources) {
    StopSetId all = kNoStops;
    for (const Output& source : sources) all = plan_.sets_.Union(all, After(source));
    return all;
  }

  bool Visit(const RegionUnit& unit) {
    if (unit.kind == RegionUnit::Kind::kLoop) return VisitLoop(unit.index);
    if (unit.kind == RegionUnit::Kind::kMergeMove) return true;  // Goes with its Merge.
    StopSetId& before = before_node_[static_cast<size_t>(unit.node.value())];
    before = After(graph_.all_inputs(unit.node));
    const SerialRole role = s_.role(unit.node);
    if (role == SerialRole::kMerge) return CheckMerge(unit.node, before);
    if (role == SerialRole::kTrigger && before != kNoStops) {
      return Refuse(unit.node, "may run after a wait whose outcome is dead");
    }
    return true;
  }

  // See Note [Segments]: which input is taken must tell which stops run at all.
  bool CheckMerge(NodeId id, StopSetId before) {
    const StopSetId controls = After(graph_.controls(id));
    for (const Output& source : graph_.inputs(id)) {
      const GuardId guard = s_.output_guard(source);
      if (guard == kNever) continue;
      const StopSetId mine = plan_.sets_.Union(controls, After(source));
      if (mine == before) continue;
      for (const int32_t stop : plan_.sets_.Members(before)) {
        if (plan_.sets_.Contains(mine, stop)) continue;
        if (s_.guards().Excludes(s_.guard(plan_.stops_[static_cast<size_t>(stop)]), guard)) continue;
        return Refuse(id, "may run before a wait that precedes another of its inputs");
      }
    }
    return true;
  }

  bool VisitLoop(int32_t frame) {
    StopSetId& all = before_loop_[static_cast<size_t>(frame)];
    for (const NodeId enter : s_.frames().frames[static_cast<size_t>(frame)].enters) {
      all = plan_.sets_.Union(all, After(graph_.all_inputs(enter)));
    }
    if (all == kNoStops) return true;
    const std::vector<NodeId>& nodes = nodes_of_loop_[static_cast<size_t>(frame)];
    if (!FindOwnStops(nodes, all))
      return Refuse(nodes[0], "enters a loop in which waits matter only after many rounds");
    for (const NodeId id : nodes) {
      if (before_node_[static_cast<size_t>(id.value())] == all) continue;
      if (graph_.op(id).is_stateful || IsUsedExit(id, frame)) {
        return Refuse(id, "does not depend on all values that enter its loop, and some of them wait");
      }
    }
    return true;
  }

  // The stops that are before each of the `nodes` of a loop in any run, however often the loop goes around: what the
  // propagators wait for at least. `all` are those before the loop. False: it would take too long.
  bool FindOwnStops(absl::Span<const NodeId> nodes, StopSetId all) {
    for (const NodeId id : nodes) before_node_[static_cast<size_t>(id.value())] = all;
    for (int round = 0; round < SegmentPlan::kMaxRounds; ++round) {
      bool has_changed = false;
      for (const NodeId id : nodes) {
        const StopSetId own = OwnStops(id);
        has_changed = own != std::exchange(before_node_[static_cast<size_t>(id.value())], own) || has_changed;
      }
      if (!has_changed) return true;
    }
    return false;
  }

  StopSetId OwnStops(NodeId id) {
    const auto after = [&](const Output& source) {
      return s_.frame(source.node) != 0 ? before_node_[static_cast<size_t>(source.node.value())] : After(source);
    };
    const bool is_merge = s_.role(id) == SerialRole::kMerge;
    StopSetId own = kNoStops;
    for (const Output& source : is_merge ? graph_.controls(id) : graph_.all_inputs(id)) {
      own = plan_.sets_.Union(own, after(source));
    }
    if (!is_merge) return own;
    // One of its inputs comes.
    StopSetId common = after(graph_.inputs(id)[0]);
    for (const Output& source : graph_.inputs(id)) common = plan_.sets_.Intersection(common, after(source));
    return plan_.sets_.Union(own, common);
  }

  bool IsUsedExit(NodeId id, int32_t loop) {
    if (s_.role(id) != SerialRole::kExit || s_.frame(id) != loop) return false;
    if (is_read_.empty()) {
      is_read_.resize(before_node_.size());
      for (const NodeId reader : s_.order()) {
        for (const Output& source : graph_.all_inputs(reader))
          is_read_[static_cast<size_t>(source.node.value())] = true;
      }
    }
    return is_read_[static_cast<size_t>(id.value())];
  }

  StopSetId Before(const RegionUnit& unit) const {
    return unit.kind == RegionUnit::Kind::kLoop ? before_loop_[static_cast<size_t>(unit.index)]
                                                : before_node_[static_cast<size_t>(unit.node.value())];
  }

  void MakeSegments(absl::Span<const RegionUnit> units) {
    std::vector<StopSetId>& segments = plan_.segments_;
    std::vector<int32_t> segment_of(plan_.sets_.size(), -1);
    const auto add = [&](StopSetId set) {
      if (std::exchange(segment_of[static_cast<size_t>(set.value())], 0) < 0) segments.push_back(set);
    };
    add(kNoStops);
    for (const RegionUnit& unit : units) add(Before(unit));
    std::stable_sort(segments.begin(), segments.end(),
                     [&](StopSetId a, StopSetId b) { return plan_.sets_.Count(a) < plan_.sets_.Count(b); });
    for (size_t i = 0; i < segments.size(); ++i) {
      segment_of[static_cast<size_t>(segments[i].value())] = static_cast<int32_t>(i);
    }
    plan_.units_.resize(segments.size());
    for (const RegionUnit& unit : units) {
      plan_.units_[static_cast<size_t>(segment_of[static_cast<size_t>(Before(unit).value())])].push_back(unit);
    }
    for (const NodeId stop : plan_.stops_) {
      const StopSetId before = before_node_[static_cast<size_t>(stop.value())];
      plan_.starts_in_.push_back(segment_of[static_cast<size_t>(before.value())]);
    }
  }

  const SerialStructure& s_;
  const Graph& graph_;
  SegmentPlan& plan_;
  std::string& why_not_;
  std::vector<RegionUnit> own_units_;               // Of graphs without control flow.
  std::vector<StopSetId> before_node_;              // By node.
  std::vector<StopSetId> before_loop_;              // By frame, of loops of the root frame.
  std::vector<int32_t> outermost_;                  // By frame.
  std::vector<std::vector<NodeId>> nodes_of_loop_;  // By frame, of loops of the root frame.
  std::vector<bool> is_read_;                       // By node, once asked for.
};

bool SegmentPlan::Create(const SerialStructure& structure, const RegionOrders* orders, SegmentPlan* plan,
                         std::string* why_not) {
  return SegmentPlanner(structure, plan, why_not).Plan(orders);
}

}  // namespace sluice

#include "executor/serial/serial_code.h"

#include <utility>

#include "executor/serial/region_order.h"
#include "graph/base/hash_table.h"

namespace sluice {

// Writes the steps of all regions, the bodies of loops where the loops stand. Lives for one call.
class SerialCodeWriter {
 public:
  explicit SerialCodeWriter(const SerialStructure& structure, SerialCode* code)
      : s_(structure), graph_(structure.graph()), code_(*code) {
    code_.structure_ = &structure;
    code_.num_values_ = structure.values().size();
  }

  bool Write(std::string* why_not) {
    RegionOrders orders;
    if (s_.has_control_flow() && !RegionOrders::Create(s_, &orders)) {
      *why_not = "a loop depends on itself from outside";
      return false;
    }
    if (s_.has_waits()) return WriteSegments(orders, why_not);
    if (!s_.has_control_flow()) {
      for (const NodeId id : s_.order()) WriteNode(id);
    } else {
      WriteRegions(orders, orders.of(0));
    }
    return true;
  }

 private:
  bool WriteSegments(const RegionOrders& orders, std::string* why_not) {
    SegmentPlan& segments = code_.segments_.emplace();
    if (!SegmentPlan::Create(s_, s_.has_control_flow() ? &orders : nullptr, &segments, why_not)) return false;
    for (int32_t i = 0; i < segments.num_segments(); ++i) {
      code_.segment_begins_.push_back(static_cast<int32_t>(code_.steps_.size()));
      if (s_.has_control_flow()) {
        WriteRegions(orders, segments.units(i));
      } else {
        for (const RegionUnit& unit : segments.units(i)) WriteNode(unit.node);
      }
    }
    code_.segment_begins_.push_back(static_cast<int32_t>(code_.steps_.size()));
    return true;
  }

  // `roots` are the units of the root frame, or some of them, which stand by themselves.
  void WriteRegions(const RegionOrders& orders, absl::Span<const RegionUnit> roots) {
    // Loops within loops, without recursion: what is left to do of each open region.
    stack_.push_back({0, 0, {}});
    while (!stack_.empty()) {
      Region& region = stack_.back();
      const absl::Span<const RegionUnit> units = region.frame == 0 ? roots : orders.of(region.frame);
      if (region.next == units.size()) {
        EndRegion();
      } else {
        WriteUnit(units[region.next++]);
      }
    }
  }

  struct Region {
    int32_t frame;
    size_t next;                     // Unit.
    std::vector<GuardLiteral> open;  // Blocks, outermost first.
    std::vector<NodeId> switches = {};
    // The blocks that were ever opened, each with those around it, its port left out.
    HashSet<std::vector<GuardLiteral>> tried = {};
  };

  void Add(SerialOp op, NodeId node, int32_t a = -1, int32_t b = -1, int32_t input = -1) {
    SerialStep step;
    step.op = op;
    step.node = node;
    step.a = a;
    step.b = b;
    step.input = input;
    step.guard = here_;
    code_.steps_.push_back(step);
  }

  // Closes and opens blocks until those of `guard` are open.
  void GoTo(GuardId guard) {
    Region& region = stack_.back();
    const absl::Span<const GuardLiteral> wanted = s_.guards().literals(guard);
    // Predicates are read in front of their blocks, whichever those before were.
    here_ = kAlways;
    size_t common = 0;
    while (common < region.open.size() && common < wanted.size() && region.open[common] == wanted[common]) ++common;
    while (region.open.size() > common) {
      Add(SerialOp::kClose, NodeId());
      region.open.pop_back();
    }
    while (region.open.size() < wanted.size()) {
      const GuardLiteral literal = wanted[region.open.size()];
      region.tried.insert(BlocksOf(region.open, literal.pred));
      Add(SerialOp::kOpen, s_.switch_of(literal.pred), literal.pred, literal.port);
      region.open.push_back(literal);
    }
    here_ = guard;
  }

  static std::vector<GuardLiteral> BlocksOf(absl::Span<const GuardLiteral> around, int32_t pred) {
    std::vector<GuardLiteral> blocks(around.begin(), around.end());
    blocks.push_back(GuardLiteral{pred, -1});
    return blocks;
  }

  // A block reports a predicate that is not a scalar. A Switch without a block, since nothing needs what it sends, gets
  // an empty one: the propagators report its predicate too.
  void TrySwitches() {
    for (const NodeId id : std::exchange(stack_.back().switches, {})) {
      const int32_t pred = s_.value(graph_.inputs(id)[1]);
      if (stack_.back().tried.contains(BlocksOf(s_.guards().literals(s_.guard(id)), pred))) continue;
      GoTo(s_.guard(id));
      stack_.back().tried.insert(BlocksOf(stack_.back().open, pred));
      Add(SerialOp::kOpen, id, pred, 0);
      Add(SerialOp::kClose, NodeId());
    }
  }

  void WriteUnit(const RegionUnit& unit) {
    if (unit.kind == RegionUnit::Kind::kLoop) {
      GoTo(unit.guard);
      BeginLoop(unit.index);
    } else if (unit.kind == RegionUnit::Kind::kMergeMove) {
      WriteMergeMove(unit);
    } else {
      if (IsLiveSwitch(unit.node)) stack_.back().switches.push_back(unit.node);
      if (!EmitsCode(unit.node)) return;
      GoTo(unit.guard);
      WriteNode(unit.node);
    }
  }

  bool IsLiveSwitch(NodeId id) const { return s_.role(id) == SerialRole::kSwitch && s_.guard(id) != kNever; }

  // Whether the node needs a block to stand in: most of control flow does not.
  bool EmitsCode(NodeId id) const {
    if (s_.guard(id) == kNever) return false;
    const SerialRole role = s_.role(id);
    if (CallsKernel(role) || role == SerialRole::kReturn) return true;
    return DereferencesAny(id);
  }

  static bool CallsKernel(SerialRole role) {
    return role == SerialRole::kCompute || role == SerialRole::kStart || role == SerialRole::kSend;
  }

  bool DereferencesAny(NodeId id) const {
    const SerialRole role = s_.role(id);
    const bool hands_on =
        role == SerialRole::kAlias || role == SerialRole::kSwitch || role == SerialRole::kNextIteration;
    const size_t count = role == SerialRole::kSwitch ? 1 : hands_on ? graph_.inputs(id).size() : 0;
    for (size_t i = 0; i < count; ++i) {
      if (s_.Dereferences(id, static_cast<int32_t>(i))) return true;
    }
    return false;
  }

  void WriteNode(NodeId id) {
    const absl::Span<const Output> inputs = graph_.inputs(id);
    const SerialRole role = s_.role(id);
    if (CallsKernel(role)) {
      for (size_t i = 0; i < inputs.size(); ++i) {
        const int32_t index = static_cast<int32_t>(i);
        if (!s_.Dereferences(id, index)) continue;
        const int32_t copy = static_cast<int32_t>(code_.num_values_++);
        code_.dereferenced_.emplace(std::make_pair(id.value(), index), copy);
        Add(SerialOp::kMove, id, copy, s_.value(inputs[i]), index);
      }
      Add(role == SerialRole::kStart ? SerialOp::kStart : SerialOp::kCompute, id);
    } else if (role == SerialRole::kReturn) {
      const int64_t index = graph_.GetInt(id, "index").value_or(0);
      int32_t value = s_.value(inputs[0]);
      if (s_.Dereferences(id, 0)) {
        const int32_t copy = static_cast<int32_t>(code_.num_values_++);
        Add(SerialOp::kMove, id, copy, value, 0);
        value = copy;
      }
      Add(SerialOp::kReturn, id, static_cast<int32_t>(index), value);
    } else if (DereferencesAny(id)) {
      for (size_t i = 0; i < (role == SerialRole::kSwitch ? 1 : inputs.size()); ++i) {
        const int32_t index = static_cast<int32_t>(i);
        if (s_.Dereferences(id, index)) Add(SerialOp::kMove, id, OutputValue(id, index), s_.value(inputs[i]), index);
      }
    }
  }

  // The value that input `i` of a node that hands on becomes. All ports of a Switch have the same, but those that are
  // never taken.
  int32_t OutputValue(NodeId id, int32_t i) const {
    int32_t value = s_.value({id, i});
    for (int32_t port = 1; s_.role(id) == SerialRole::kSwitch && value < 0 && port < graph_.num_outputs(id); ++port) {
      value = s_.value({id, port});
    }
    return value;
  }

  void WriteMergeMove(const RegionUnit& unit) {
    GoTo(unit.guard);
    const Output& source = graph_.inputs(unit.node)[static_cast<size_t>(unit.index)];
    Add(SerialOp::kMove, unit.node, s_.value({unit.node, 0}), s_.value(source), unit.index);
    const int32_t index = s_.value({unit.node, 1});
    if (s_.values()[static_cast<size_t>(index)].is_used) Add(SerialOp::kIndex, unit.node, index, unit.index);
  }

  void BeginLoop(int32_t frame) {
    for (const LoopVariable& variable : s_.loops()[static_cast<size_t>(frame)].variables) {
      Add(SerialOp::kMove, variable.enter, variable.value, s_.value(variable.initial));
    }
    Add(SerialOp::kLoop, NodeId(), frame);
    guards_.push_back(here_);
    stack_.push_back({frame, 0, {}});
    here_ = kAlways;
  }

  void EndRegion() {
    const int32_t frame = stack_.back().frame;
    if (frame == 0) {
      TrySwitches();
      GoTo(kAlways);
      stack_.pop_back();
      return;
    }
    const SerialLoop& loop = s_.loops()[static_cast<size_t>(frame)];
    // The guard of all NextIterations; see SerialStructure::CheckLoops.
    const GuardId goes_on = s_.guard(loop.variables[0].next_iteration);
    GoTo(goes_on);
    TrySwitches();
    GoTo(goes_on);
    MoveToNextIteration(loop, frame);
    Add(SerialOp::kRepeat, loop.variables[0].merge, frame);
    GoTo(kAlways);
    Add(SerialOp::kEnd, NodeId(), frame);
    stack_.pop_back();
    here_ = guards_.back();
    guards_.pop_back();
  }

  // All at once: what another loop variable held is saved before it is overwritten.
  void MoveToNextIteration(const SerialLoop& loop, int32_t frame) {
    std::vector<std::pair<const LoopVariable*, int32_t>> moves;
    for (const LoopVariable& variable : loop.variables) {
      // A NextIteration that reads through a reference has made a value of its own.
      int32_t next = s_.value({variable.next_iteration, 0});
      if (next == variable.value) continue;
      if (s_.values()[static_cast<size_t>(next)].carried_by == frame) {
        const int32_t saved = static_cast<int32_t>(code_.num_values_++);
        Add(SerialOp::kMove, variable.next_iteration, saved, next);
        next = saved;
      }
      moves.emplace_back(&variable, next);
    }
    for (const auto& [variable, next] : moves) {
      Add(SerialOp::kMove, variable->next_iteration, variable->value, next);
    }
  }

  const SerialStructure& s_;
  const Graph& graph_;
  SerialCode& code_;
  std::vector<Region> stack_;
  std::vector<GuardId> guards_;  // Of the regions around the innermost one, where they go on.
  GuardId here_ = kAlways;
};

bool SerialCode::Write(const SerialStructure& structure, SerialCode* code, std::string* why_not) {
  if (!structure.is_structured()) {
    *why_not = structure.why_not();
    return false;
  }
  return SerialCodeWriter(structure, code).Write(why_not);
}

int32_t SerialCode::InputValue(NodeId node, int32_t i) const {
  if (!dereferenced_.empty()) {
    const auto found = dereferenced_.find({node.value(), i});
    if (found != dereferenced_.end()) return found->second;
  }
  return structure_->value(structure_->graph().inputs(node)[static_cast<size_t>(i)]);
}

}  // namespace sluice

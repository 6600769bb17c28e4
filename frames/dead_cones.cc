#include "frames/dead_cones.h"

#include <algorithm>

#include "graph/base/status_macros.h"
#include "graph/ir/op_class.h"
#include "graph/ir/topo_order.h"

namespace sluice {

absl::Status DeadConeFinder::Find() {
  bool has_switch = false;
  for (uint32_t i = 0; i < view_.num_items_ && !has_switch; ++i) {
    has_switch = item(i).kind == NodeKind::kSwitch || item(i).kind == NodeKind::kSwitchN;
  }
  if (!has_switch) return absl::OkStatus();
  SLUICE_ASSIGN_OR_RETURN(const std::vector<NodeId> order, TopologicalOrder(graph_));
  order_.reserve(order.size());
  for (const NodeId id : order) order_.push_back(item_of(id));
  loops_.assign(view_.frames_.size(), Loop());
  // Each failed walk drops at least one loop; graphs that need more than a few walks get no cones.
  for (int walks = 0; !ComputeGuards(); ++walks) {
    if (walks == 4) return absl::OkStatus();
  }
  MarkInner();
  CollectBorders();
  return absl::OkStatus();
}

bool DeadConeFinder::ComputeGuards() {
  guards_.assign(view_.num_items_, Guard());
  sets_.assign(1, Set());
  set_ids_ = {{Set(), kEmpty}};
  united_.clear();
  literals_.clear();
  first_literals_.clear();
  first_literal_.assign(view_.num_items_, -1);
  for (Loop& loop : loops_) loop.has_enter = loop.has_next = false;
  bool held = true;
  for (const uint32_t index : order_) {
    ComputeGuard(index);
    const NodeKind kind = item(index).kind;
    const NodeExtra& extra = view_.extras_[index];
    if (kind == NodeKind::kEnter) {
      Loop& loop = this->loop(extra.child_frame);
      if (!loop.is_uniform || Agrees(&loop.has_enter, &loop.enter, guards_[index])) continue;
      loop.is_uniform = held = false;
    } else if (kind == NodeKind::kNextIteration) {
      Loop& loop = this->loop(extra.frame);
      if (!loop.is_uniform) continue;
      if (IsLoopCond(guards_[index].set, 1) && Agrees(&loop.has_next, &loop.next, guards_[index])) continue;
      loop.is_uniform = held = false;
    }
  }
  return held;
}

bool DeadConeFinder::Agrees(bool* has_one, Guard* first, const Guard& guard) {
  if (!guard.is_certain || (*has_one && first->set != guard.set)) return false;
  *has_one = true;
  *first = guard;
  return true;
}

void DeadConeFinder::ComputeGuard(uint32_t index) {
  const NodeItem& item = this->item(index);
  Guard& guard = guards_[index];
  switch (item.kind) {
    case NodeKind::kControlTrigger:
      return;  // Always live.
    case NodeKind::kMerge:
    case NodeKind::kGradSum:
      guard = JoinOfMerge(index);
      if (item.kind == NodeKind::kGradSum) guard.is_certain = false;
      return;
    default:
      guard = JoinOfAll(index);
      break;
  }
  // A received value, or an asynchronous kernel's output, may be dead for reasons that are not known here.
  if (item.kind == NodeKind::kAsyncKernel || item.is(NodeItem::kTransfer)) guard.is_certain = false;
  const bool chooses = item.kind == NodeKind::kSwitch || item.kind == NodeKind::kSwitchN;
  if (chooses && item.io.num_outputs > 0) TryMember(index);  // Without ports it has no literal.
}

// Dead when one of the inputs is.
DeadConeFinder::Guard DeadConeFinder::JoinOfAll(uint32_t index) {
  Guard guard;
  for (const Output& input : graph_.all_inputs(nodes_[index])) guard = Unite(guard, OutputGuard(input));
  return guard;
}

// Dead when all data inputs are; control inputs do not matter.
DeadConeFinder::Guard DeadConeFinder::JoinOfMerge(uint32_t index) {
  const absl::Span<const Output> inputs = graph_.inputs(nodes_[index]);
  for (const Output& input : inputs) {
    if (item(item_of(input.node)).kind == NodeKind::kNextIteration) {
      return Guard{kEmpty, loop(view_.extras_[index].frame).is_uniform};
    }
  }
  if (inputs.empty()) return Guard{kEmpty, false};
  std::vector<Guard> of_inputs;
  bool is_certain = true;
  for (const Output& input : inputs) {
    of_inputs.push_back(OutputGuard(input));
    is_certain = is_certain && of_inputs.back().is_certain;
  }
  Guard guard{of_inputs[0].set, false};
  for (const Guard& of_input : of_inputs) guard.set = Intersect(guard.set, of_input.set);
  if (!is_certain) return guard;
  // Certain when the inputs are all the ports of one predicate.
  const size_t depth = sets_[static_cast<size_t>(guard.set)].size();
  std::vector<int32_t> ports;
  uint32_t leader = 0;
  for (const Guard& of_input : of_inputs) {
    const Set& set = sets_[static_cast<size_t>(of_input.set)];
    if (set.size() != depth + 1) return guard;
    const Literal& literal = literals_[static_cast<size_t>(set.back())];
    if (!ports.empty() && literal.leader != leader) return guard;
    leader = literal.leader;
    ports.push_back(literal.port);
  }
  std::sort(ports.begin(), ports.end());
  const bool are_distinct = std::adjacent_find(ports.begin(), ports.end()) == ports.end();
  guard.is_certain = are_distinct && ports.size() == item(leader).io.num_outputs;
  return guard;
}

DeadConeFinder::Guard DeadConeFinder::OutputGuard(const Output& output) {
  const uint32_t index = item_of(output.node);
  const NodeExtra& extra = view_.extras_[index];
  const Guard& own = guards_[index];
  switch (item(index).kind) {
    case NodeKind::kEnter:
      return Guard{kEmpty, loop(extra.child_frame).is_uniform};
    case NodeKind::kExit: {
      const Loop& left = loop(extra.frame);
      if (!left.is_uniform || !own.is_certain || !IsLoopCond(own.set, 0)) return Guard{kEmpty, false};
      return left.enter;
    }
    case NodeKind::kNextIteration:
      return Guard{kEmpty, false};
    case NodeKind::kSwitch:
    case NodeKind::kSwitchN: {
      if (output.is_control()) return own;
      if (first_literal_[index] < 0) return Guard{own.set, false};
      return Unite(own, Guard{Intern({LiteralOf(index, output.index)}), true});
    }
    default:
      return own;
  }
}

int32_t DeadConeFinder::LiteralOf(uint32_t index, int32_t port) const { return first_literal_[index] + port; }

void DeadConeFinder::TryMember(uint32_t index) {
  const absl::Span<const Output> inputs = graph_.all_inputs(nodes_[index]);
  const Output predicate = inputs[1];
  const Guard of_predicate = OutputGuard(predicate);
  Guard others;
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (i != 1) others = Unite(others, OutputGuard(inputs[i]));
  }
  if (!others.is_certain || Intersect(others.set, of_predicate.set) != others.set) return;
  const auto key = std::make_pair(predicate.node.value(), predicate.index);
  const auto inserted = first_literals_.emplace(key, static_cast<int32_t>(literals_.size()));
  const int32_t first = inserted.first->second;
  const uint32_t num_ports = item(index).io.num_outputs;
  if (inserted.second) {
    for (uint32_t port = 0; port < num_ports; ++port) {
      literals_.push_back(Literal{index, static_cast<int32_t>(port), predicate.node, of_predicate.set});
    }
  } else if (item(literals_[static_cast<size_t>(first)].leader).io.num_outputs != num_ports) {
    return;  // Switches of different width decide differently.
  }
  first_literal_[index] = first;
}

bool DeadConeFinder::IsLoopCond(int32_t set, int32_t port) const {
  const Set& literals = sets_[static_cast<size_t>(set)];
  if (literals.size() != 1) return false;
  const Literal& literal = literals_[static_cast<size_t>(literals[0])];
  return literal.port == port && graph_.op(literal.predicate).op_class == OpClass::kLoopCond;
}

int32_t DeadConeFinder::Intern(const Set& set) {
  const auto inserted = set_ids_.emplace(set, static_cast<int32_t>(sets_.size()));
  if (inserted.second) sets_.push_back(set);
  return inserted.first->second;
}

// Whether each predicate is guarded by the literals before it.
bool DeadConeFinder::Nests(const Set& set) const {
  for (size_t i = 1; i < set.size(); ++i) {
    const Set& around = sets_[static_cast<size_t>(literals_[static_cast<size_t>(set[i])].predicate_set)];
    for (size_t j = 0; j < i; ++j) {
      if (std::find(around.begin(), around.end(), set[j]) == around.end()) return false;
    }
  }
  return true;
}

DeadConeFinder::Guard DeadConeFinder::Unite(const Guard& a, const Guard& b) {
  const bool is_certain = a.is_certain && b.is_certain;
  if (a.set == b.set || b.set == kEmpty) return Guard{a.set, is_certain};
  if (a.set == kEmpty) return Guard{b.set, is_certain};
  const auto inserted = united_.try_emplace(std::make_pair(a.set, b.set));
  if (inserted.second) {
    Set both = sets_[static_cast<size_t>(a.set)];
    for (const int32_t literal : sets_[static_cast<size_t>(b.set)]) {
      if (std::find(both.begin(), both.end(), literal) == both.end()) both.push_back(literal);
    }
    const auto depth = [this](int32_t literal) {
      return sets_[static_cast<size_t>(literals_[static_cast<size_t>(literal)].predicate_set)].size();
    };
    std::sort(both.begin(), both.end(),
              [&](int32_t x, int32_t y) { return std::make_pair(depth(x), x) < std::make_pair(depth(y), y); });
    inserted.first->second =
        both.size() <= kMaxLiterals && Nests(both) ? Guard{Intern(both), true} : Guard{kEmpty, false};
  }
  const Guard& united = inserted.first->second;
  return Guard{united.set, united.is_certain && is_certain};
}

int32_t DeadConeFinder::Intersect(int32_t a, int32_t b) {
  if (a == b) return a;
  Set common;
  const Set& other = sets_[static_cast<size_t>(b)];
  for (const int32_t literal : sets_[static_cast<size_t>(a)]) {
    if (std::find(other.begin(), other.end(), literal) != other.end()) common.push_back(literal);
  }
  return Intern(common);
}

bool DeadConeFinder::CanBeInner(const NodeItem& item) const {
  return item.kind != NodeKind::kControlTrigger && item.kind != NodeKind::kEnter && !item.is(NodeItem::kTransfer);
}

int DeadConeFinder::Position(uint32_t index, int32_t literal) const {
  const Set& set = sets_[static_cast<size_t>(guards_[index].set)];
  const auto found = std::find(set.begin(), set.end(), literal);
  return found == set.end() ? -1 : static_cast<int>(found - set.begin());
}

void DeadConeFinder::MarkInner() {
  inner_.assign(view_.num_items_, 0);
  const auto mark = [this](uint32_t dst, int32_t literal) {
    const int position = CanBeInner(item(dst)) ? Position(dst, literal) : -1;
    if (position >= 0) inner_[dst] = static_cast<uint8_t>(inner_[dst] | 1 << position);
  };
  for (const uint32_t src : order_) {
    const NodeItem& source = item(src);
    // Dead NextIterations and Exits deliver nothing; the outer frame is notified when the loop ends.
    if (source.kind == NodeKind::kNextIteration || source.kind == NodeKind::kExit) continue;
    const Set& set = sets_[static_cast<size_t>(guards_[src].set)];
    for (const EdgeInfo& edge : view_.edges(source)) {
      for (size_t i = 0; i < set.size(); ++i) {
        if ((inner_[src] >> i & 1) != 0) mark(edge.dst, set[i]);
      }
      if (first_literal_[src] >= 0 && !edge.is_control()) mark(edge.dst, LiteralOf(src, edge.output));
    }
  }
}

void DeadConeFinder::CollectBorders() {
  std::vector<GraphView::Cone>& cones = view_.cones_;
  std::vector<std::vector<BorderEdge>> borders(literals_.size());
  cones.resize(literals_.size());
  for (const uint32_t src : order_) {
    NodeItem& source = view_.items_[src];
    const bool is_member = first_literal_[src] >= 0;
    const bool tells = source.kind != NodeKind::kNextIteration && source.kind != NodeKind::kExit;
    const Set& set = sets_[static_cast<size_t>(guards_[src].set)];
    for (uint32_t i = 0; i < source.num_edges; ++i) {
      EdgeInfo& edge = view_.edges_[source.first_edge + i];
      const int32_t own = is_member && !edge.is_control() ? LiteralOf(src, edge.output) : -1;
      if (own >= 0 && IsInner(edge.dst, own)) edge.is_inner = 1;
      for (size_t k = 0; k < set.size() && tells; ++k) {
        if ((inner_[src] >> k & 1) == 0 || IsInner(edge.dst, set[k])) continue;
        borders[static_cast<size_t>(set[k])].push_back(BorderEdge{src, source.first_edge + i});
      }
      // A value from outside the cone that a node in it will not read.
      for (const int32_t literal : sets_[static_cast<size_t>(guards_[edge.dst].set)]) {
        if (edge.is_control() || literal == own || !IsInner(edge.dst, literal) || IsInner(src, literal)) continue;
        cones[static_cast<size_t>(literal)].leaves_values = true;
      }
    }
    if (is_member && literals_[static_cast<size_t>(first_literal_[src])].leader == src) {
      source.flags |= NodeItem::kLeadsCones;
      view_.extras_[src].first_cone = static_cast<uint32_t>(first_literal_[src]);
    }
  }
  for (size_t i = 0; i < borders.size(); ++i) {
    cones[i].first = static_cast<uint32_t>(view_.border_.size());
    cones[i].count = static_cast<uint32_t>(borders[i].size());
    view_.border_.insert(view_.border_.end(), borders[i].begin(), borders[i].end());
  }
}

}  // namespace sluice

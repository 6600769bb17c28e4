#include "frames/graph_view_builder.h"

#include <algorithm>
#include <memory>
#include <optional>

#include "absl/strings/str_cat.h"
#include "frames/dead_cones.h"
#include "graph/base/error.h"
#include "graph/base/status_macros.h"
#include "graph/ir/op_class.h"

namespace sluice {
namespace {

constexpr uint64_t kMaxItems = uint64_t{1} << 31;

// The kind of a node that its class alone decides, whatever kernel there is.
std::optional<NodeKind> ReservedKind(OpClass op_class) {
  switch (op_class) {
    case OpClass::kNoOp:
      return NodeKind::kNoOp;
    case OpClass::kControlTrigger:
      return NodeKind::kControlTrigger;
    case OpClass::kSwitch:
      return NodeKind::kSwitch;
    case OpClass::kSwitchN:
      return NodeKind::kSwitchN;
    case OpClass::kMerge:
      return NodeKind::kMerge;
    case OpClass::kEnter:
      return NodeKind::kEnter;
    case OpClass::kExit:
      return NodeKind::kExit;
    case OpClass::kNextIteration:
      return NodeKind::kNextIteration;
    case OpClass::kLoopCond:
      return NodeKind::kForward;
    case OpClass::kGradSum:
      return NodeKind::kGradSum;
    default:
      return std::nullopt;
  }
}

}  // namespace

template <typename Visit>
absl::Status GraphViewBuilder::ForEachItem(const Visit& visit) {
  for (uint32_t i = 0; i < view_.num_items_; ++i) {
    SLUICE_RETURN_IF_ERROR(PollStop(stop_));
    visit(i);
  }
  return absl::OkStatus();
}

absl::StatusOr<GraphView> GraphViewBuilder::Build() {
  IndexNodes();
  SLUICE_RETURN_IF_ERROR(CheckSizes());
  SLUICE_RETURN_IF_ERROR(Allocate());
  MakeFrames();
  if (has_grad_sum_) MarkSlotConsts();
  SLUICE_RETURN_IF_ERROR(ForEachItem([this](uint32_t i) { MakeItem(i); }));
  MarkCountedConsts();
  uses_.assign(num_outputs_, 0);
  for (const NodeId id : nodes_) {
    for (const Output& input : graph_.inputs(id)) ++uses(input);
  }
  std::copy(uses_.begin(), uses_.end(), view_.uses_);
  SLUICE_RETURN_IF_ERROR(ForEachItem([this](uint32_t i) { PlaceOutputs(i); }));
  SLUICE_RETURN_IF_ERROR(ForEachItem([this](uint32_t i) { PlaceInputs(i); }));
  num_in_edges_.assign(view_.num_items_, 0);
  num_controls_in_.assign(view_.num_items_, 0);
  output_seen_by_.assign(num_outputs_, ~uint32_t{0});
  node_seen_by_.assign(view_.num_items_, ~uint32_t{0});
  placed_.reserve(num_inputs_ + num_controls_);
  SLUICE_RETURN_IF_ERROR(ForEachItem([this](uint32_t i) { CollectEdges(i); }));
  SortEdges();
  SLUICE_RETURN_IF_ERROR(ForEachItem([this](uint32_t i) { MakeCounter(i); }));
  for (FrameInfo& frame : view_.frames_) frame.counts = PendingCounts(frame.layout);
  SLUICE_RETURN_IF_ERROR(ForEachItem([this](uint32_t i) { SetFlags(i); }));
  SLUICE_RETURN_IF_ERROR(DeadConeFinder(graph_, nodes_, item_of_, &view_).Find());
  SLUICE_RETURN_IF_ERROR(PollStop(stop_, view_.num_items_));
  return std::move(view_);
}

void GraphViewBuilder::IndexNodes() {
  item_of_.assign(static_cast<size_t>(graph_.id_limit()), ~uint32_t{0});
  nodes_.reserve(graph_.num_nodes());
  for (int32_t i = 0; i < graph_.id_limit(); ++i) {
    const NodeId id(i);
    if (!graph_.Contains(id)) continue;
    item_of_[static_cast<size_t>(i)] = static_cast<uint32_t>(nodes_.size());
    nodes_.push_back(id);
    num_inputs_ += graph_.inputs(id).size();
    num_controls_ += graph_.controls(id).size();
    num_outputs_ += graph_.signature(id).outputs.size();
    if (facts_[static_cast<size_t>(i)].constant != nullptr) ++num_constants_;
    if (graph_.op(id).op_class == OpClass::kGradSum) has_grad_sum_ = true;
  }
  view_.num_items_ = static_cast<uint32_t>(nodes_.size());
}

absl::Status GraphViewBuilder::CheckSizes() const {
  if (num_outputs_ < Operand::kMaxIndex && num_inputs_ + num_controls_ < kMaxItems) return absl::OkStatus();
  return Error(ErrorCode::kOpTooLarge)
      .Text("the graph has too many edges to run")
      .Found(absl::StrCat(num_inputs_ + num_controls_, " edges, ", num_outputs_, " outputs"));
}

absl::Status GraphViewBuilder::Allocate() {
  const uint64_t num_operands = num_inputs_ + num_outputs_;
  size_t bytes = 0;
  // Everything is aligned to 64 bytes.
  const auto place = [&bytes](uint64_t count, size_t size) {
    const size_t at = bytes;
    bytes += (static_cast<size_t>(count) * size + 63) & ~size_t{63};
    return at;
  };
  const size_t items = place(view_.num_items_, sizeof(NodeItem));
  const size_t constants = place(num_constants_, sizeof(Entry));
  const size_t edges = place(num_inputs_ + num_controls_, sizeof(EdgeInfo));
  const size_t operands = place(num_operands, sizeof(Operand));
  const size_t extras = place(view_.num_items_, sizeof(NodeExtra));
  const size_t uses = place(num_outputs_, sizeof(uint32_t));
  char* const block = static_cast<char*>(HostAllocator().Allocate(bytes, kHostStream));
  if (block == nullptr) {
    return Error(ErrorCode::kOutOfMemory).Text(absl::StrCat("a graph that is to run needs ", bytes, " bytes"));
  }
  view_.items_ = reinterpret_cast<NodeItem*>(block + items);
  view_.constants_ = reinterpret_cast<Entry*>(block + constants);
  view_.edges_ = reinterpret_cast<EdgeInfo*>(block + edges);
  view_.operands_ = reinterpret_cast<Operand*>(block + operands);
  view_.extras_ = reinterpret_cast<NodeExtra*>(block + extras);
  view_.uses_ = reinterpret_cast<uint32_t*>(block + uses);
  std::uninitialized_default_construct_n(view_.items_, view_.num_items_);
  std::uninitialized_default_construct_n(view_.constants_, num_constants_);
  std::uninitialized_default_construct_n(view_.operands_, num_operands);
  std::uninitialized_default_construct_n(view_.extras_, view_.num_items_);
  view_.block_ =
      std::unique_ptr<char, GraphView::FreeBlock>(block, GraphView::FreeBlock(view_.constants_, num_constants_, bytes));
  return absl::OkStatus();
}

void GraphViewBuilder::MakeFrames() {
  for (const StaticFrame& frame : info_.frames) {
    FrameInfo made;
    made.name = frame.name;
    made.parent = frame.parent;
    made.parallel_iterations = static_cast<uint32_t>(frame.parallel_iterations);
    if (frame.parent >= 0) made.ordinal = view_.frames_[static_cast<size_t>(frame.parent)].num_children++;
    view_.frames_.push_back(std::move(made));
  }
}

// A GradSum checks in each input's slot whether it is dead, and entries of the constants table are never dead. So a
// constant that may be dead (it has control inputs) runs as a kernel if a GradSum reads it.
void GraphViewBuilder::MarkSlotConsts() {
  is_slot_const_.assign(view_.num_items_, false);
  for (const NodeId id : nodes_) {
    if (graph_.op(id).op_class != OpClass::kGradSum) continue;
    for (const Output& input : graph_.inputs(id)) {
      if (!graph_.controls(input.node).empty()) is_slot_const_[item_of(input.node)] = true;
    }
  }
}

// Kind, types and frames; the input and output lists get their places.
void GraphViewBuilder::MakeItem(uint32_t index) {
  const NodeId id = node(index);
  const NodeFacts& given = facts(index);
  const OpSchema& op = graph_.op(id);
  const std::optional<NodeKind> reserved = ReservedKind(op.op_class);
  const Signature& signature = graph_.signature(id);
  NodeItem& item = this->item(index);
  item.kind = reserved.value_or(NodeKind::kKernel);
  if (!reserved.has_value()) {
    if (given.constant != nullptr) {
      item.kind = has_grad_sum_ && is_slot_const_[index] ? NodeKind::kKernel : NodeKind::kConst;
    } else if (given.is_async) {
      item.kind = NodeKind::kAsyncKernel;
    } else if (given.is_forward) {
      item.kind = NodeKind::kForward;
    }
  }
  item.kernel = given.kernel;
  item.cost_hint = given.cost_hint;
  if (IsTransfer(op.op_class)) item.flags |= NodeItem::kTransfer;
  if (op.allows_uninitialized_input) item.flags |= NodeItem::kTakesUninitialized;
  item.io.num_inputs = static_cast<uint32_t>(graph_.inputs(id).size());
  item.io.num_outputs = static_cast<uint32_t>(signature.outputs.size());
  item.io.input_types = signature.inputs.data();
  item.io.output_types = signature.outputs.data();
  item.io.id = id.value();

  NodeExtra& extra = view_.extras_[index];
  extra.frame = info_.frame(id);
  const NodeItem* const before = index > 0 ? &item - 1 : nullptr;
  extra.first_output = before != nullptr ? view_.extras_[index - 1].first_output + before->io.num_outputs : 0;
  item.io.operands =
      before != nullptr ? before->io.operands + before->io.num_inputs + before->io.num_outputs : view_.operands_;
  FrameInfo& frame = view_.frames_[static_cast<size_t>(extra.frame)];
  if (item.kind == NodeKind::kExit) {
    extra.exit_number = static_cast<uint32_t>(frame.exits.size());
    frame.exits.push_back(index);
  } else if (item.kind == NodeKind::kNextIteration) {
    extra.next_iteration_number = frame.num_next_iterations++;
  } else if (item.kind == NodeKind::kEnter) {
    ++frame.num_enters;
    extra.child_frame = extra.frame;
    extra.frame = frame.parent;
    const absl::StatusOr<bool> is_constant = graph_.GetBool(id, "is_constant");
    if (is_constant.ok() && *is_constant) item.flags |= NodeItem::kConstantEnter;
  }
}

void GraphViewBuilder::MarkCountedConsts() {
  is_counted_const_.assign(view_.num_items_, false);
  for (uint32_t i = 0; i < view_.num_items_; ++i) {
    if (!graph_.controls(node(i)).empty()) is_counted_const_[i] = true;
    if (item(i).kind != NodeKind::kMerge) continue;
    for (const Output& input : graph_.inputs(node(i))) is_counted_const_[item_of(input.node)] = true;
  }
}

// Assigns a slot to each output. See Note [Slots].
void GraphViewBuilder::PlaceOutputs(uint32_t index) {
  const NodeItem& item = this->item(index);
  const NodeExtra& extra = view_.extras_[index];
  Operand* const outputs = const_cast<Operand*>(item.io.operands) + item.io.num_inputs;
  if (item.kind == NodeKind::kConst) {
    const uint32_t at = constants_placed_++;
    view_.constants_[at].SetValue(*facts(index).constant);
    outputs[0] = Operand(Operand::Table::kConstants, at);
    return;
  }
  int32_t frame = extra.frame;
  if (item.kind == NodeKind::kExit) frame = view_.frames_[static_cast<size_t>(frame)].parent;
  if (item.kind == NodeKind::kEnter) frame = extra.child_frame;
  FrameInfo& owner = view_.frames_[static_cast<size_t>(frame)];
  if (item.kind == NodeKind::kNextIteration) return;  // Its value goes to the Merges themselves.
  if (item.is(NodeItem::kConstantEnter)) {
    outputs[0] = Operand(Operand::Table::kInvariants, owner.num_invariants++);
    return;
  }
  for (uint32_t i = 0; i < item.io.num_outputs; ++i) {
    outputs[i] = Operand(Operand::Table::kSlots, owner.num_slots++, uses_[extra.first_output + i] == 1);
  }
}

}  // namespace sluice

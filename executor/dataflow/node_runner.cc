#include "executor/dataflow/node_runner.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "executor/plan/node_error.h"
#include "graph/base/error.h"

namespace sluice {

absl::Status NodeRunner::Located(const NodeItem& item, const absl::Status& status) const {
  return AtNode(graph_, IdOf(item), status);
}

absl::Status NodeRunner::FaultStatus(const PropagationFault& fault) const {
  const int32_t input = static_cast<int32_t>(fault.input);
  switch (fault.kind) {
    case PropagationFault::Kind::kMergeTwice:
      return Located(*fault.item, Error(ErrorCode::kMergeTwice)
                                      .Input(input)
                                      .Text("is live, and so is another one: a Merge takes one valid input at most"));
    case PropagationFault::Kind::kPredicate:
      return Located(*fault.item,
                     Error(ErrorCode::kOpShape).Input(input).Expected("a scalar").Text("must be a scalar"));
    case PropagationFault::Kind::kUninitialized:
      return Located(*fault.item, UninitializedInput(input));
    case PropagationFault::Kind::kExitTwice:
      return Located(*fault.item, Error(ErrorCode::kMergeTwice)
                                      .Input(input)
                                      .Text("leaves the loop in two iterations: it needs a Switch on the loop's end"));
    case PropagationFault::Kind::kNone:
      break;
  }
  return absl::OkStatus();
}

// Inputs that are not read where they lie: `space.io` says where they are.
absl::Status NodeRunner::PrepareInputsElsewhere(const TaggedNode& node, KernelContext& context,
                                                CallSpace& space) const {
  const NodeItem& item = node.item();
  space.io = item.io;
  context.tables().table[static_cast<size_t>(Operand::Table::kScratch)] = space.scratch.data();
  if (!node.is_dead()) {
    absl::Status status = CheckReferences(item, context.tables());
    if (status.ok()) status = Dereference(item, context, space);
    if (!status.ok() || item.kind != NodeKind::kGradSum) return status;
  }
  space.operands.clear();
  space.io.num_inputs = 0;
  for (uint32_t i = 0; i < item.io.num_inputs; ++i) {
    const Operand input = item.io.input(i);
    if (node.is_dead()) {
      space.operands.emplace_back(Operand::Table::kScratch, space.empty);
    } else if (context.tables().at(input).has_value()) {
      space.operands.push_back(input);
    } else {
      continue;
    }
    ++space.io.num_inputs;
  }
  for (uint32_t i = 0; i < item.io.num_outputs; ++i) space.operands.push_back(item.io.output(i));
  space.io.operands = space.operands.data();
  return absl::OkStatus();
}

absl::Status NodeRunner::CheckReferences(const NodeItem& item, const EntryTables& tables) const {
  if (!item.is(NodeItem::kHasRefInputs)) return absl::OkStatus();
  for (uint32_t i = 0; i < item.io.num_inputs; ++i) {
    const DType type = item.io.input_types[i];
    if (!IsRef(type)) continue;
    const Entry& entry = tables.at(item.io.input(i));
    const int32_t input = static_cast<int32_t>(i);
    if (!entry.is_ref()) return Error(ErrorCode::kRefExpected).Input(input).Text("is not a reference to a variable");
    if (entry.ref()->dtype() != BaseType(type)) {
      return Error(ErrorCode::kInputType)
          .Input(input)
          .Found(DTypeName(entry.ref()->dtype()))
          .Expected(DTypeName(BaseType(type)))
          .Text("refers to a variable of another dtype");
    }
    if (!item.is(NodeItem::kTakesUninitialized) && !entry.ref()->Read().has_value()) return UninitializedInput(input);
  }
  return absl::OkStatus();
}

absl::Status NodeRunner::Dereference(const NodeItem& item, KernelContext& context, CallSpace& space) const {
  for (const Deref& deref : view_.derefs(item)) {
    const Entry& source = context.tables().at(deref.source);
    if (source.is_dead()) continue;  // Of a GradSum: its scratch entry stays empty.
    Tensor value = source.is_ref() ? source.ref()->Read() : source.value();
    const DType wanted = item.io.input_types[deref.input];
    if (!value.has_value()) {
      if (!item.is(NodeItem::kTakesUninitialized)) return UninitializedInput(static_cast<int32_t>(deref.input));
    } else if (value.dtype() != wanted) {
      return Error(ErrorCode::kInputType)
          .Input(static_cast<int32_t>(deref.input))
          .Found(DTypeName(value.dtype()))
          .Expected(DTypeName(wanted))
          .Text("refers to a variable of another dtype");
    }
    space.scratch[deref.scratch].SetValue(std::move(value));
  }
  return absl::OkStatus();
}

void NodeRunner::ClearScratch(const NodeItem& item, KernelContext& context) const {
  Entry* const scratch = context.tables().table[static_cast<size_t>(Operand::Table::kScratch)];
  for (const Deref& deref : view_.derefs(item)) scratch[deref.scratch].Clear();
}

absl::Status NodeRunner::CheckOutput(const NodeItem& item, uint32_t i, const Entry& output, bool* all_live) const {
  // Synchronous kernels that are not transfers have no right to: see Note [Dead cones] in frames/dead_cones.h.
  if (output.state() == Entry::State::kDead && (item.kind != NodeKind::kKernel || item.is(NodeItem::kTransfer))) {
    *all_live = false;
    return absl::OkStatus();
  }
  const bool is_read = view_.uses(item, i) > 0;
  return Located(item, sluice::CheckOutput(i, output, item.io.output_types[i], is_read));
}

}  // namespace sluice

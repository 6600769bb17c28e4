// Assignments to variables.

#include <utility>

#include "absl/strings/str_cat.h"
#include "executor/tape/common_ops.h"
#include "executor/tape/grad_mode.h"
#include "executor/tape/ops.h"
#include "executor/tape/record.h"
#include "executor/tape/tape_core.h"
#include "executor/tape/var.h"
#include "executor/tape/var_state.h"
#include "graph/base/as_status.h"
#include "graph/base/error.h"
#include "graph/base/status_macros.h"

namespace sluice {
namespace {

// Whether broadcasting `from` and `to` gives `to`.
bool BroadcastsTo(const Shape& from, const Shape& to) {
  const int missing = to.rank() - from.rank();
  if (missing < 0) return false;
  for (int axis = 0; axis < from.rank(); ++axis) {
    if (from.dim(axis) != 1 && from.dim(axis) != to.dim(missing + axis)) return false;
  }
  return true;
}

}  // namespace

absl::Status Var::CheckAssigned(const Var& other) const {
  SLUICE_RETURN_IF_ERROR(CheckDefined(*this));
  SLUICE_RETURN_IF_ERROR(CheckDefined(other));
  SLUICE_RETURN_IF_ERROR(CheckTape(*state_->core, other));
  if (IsRecording() && is_leaf() && requires_grad()) {
    return Error(ErrorCode::kTapeLeafAssigned)
        .Text("a leaf that requires a gradient cannot be assigned to while ops are recorded")
        .Help("do so under a NoGradScope");
  }
  if (other.dtype() != dtype()) {
    return Error(ErrorCode::kInputType)
        .Text("an assignment must keep the type of the variable")
        .Found(DTypeName(other.dtype()))
        .Expected(DTypeName(dtype()))
        .Help("use Cast");
  }
  if (BroadcastsTo(other.shape(), shape())) return absl::OkStatus();
  return Error(ErrorCode::kOpShape)
      .Text("what is assigned cannot be broadcast to the shape of the variable, which stays")
      .Found(other.shape().ToString())
      .Expected(shape().ToString());
}

absl::Status Var::Replace(const Tensor& value, TapeEdge history) {
  state_->value = value;
  state_->version.fetch_add(1, std::memory_order_relaxed);
  if (!IsRecording()) return absl::OkStatus();
  const bool retains = retains_grad();
  const TapeEdge before = std::exchange(state_->history, std::move(history));
  state_->is_leaf = !state_->history.is_set();
  if (!retains) return absl::OkStatus();
  ForgetRetained(before);
  return requires_grad() ? RetainGrad() : absl::OkStatus();
}

absl::Status Var::Assign(const Var& other) {
  SLUICE_RETURN_IF_ERROR(CheckAssigned(other));
  return AsStatus([&] {
    if (other.shape() != shape()) return Assign(BroadcastTo(other, shape().dims()));
    if (!IsRecording() || (!requires_grad() && !other.requires_grad())) return Replace(other.value(), TapeEdge());
    TapeCore& core = *state_->core;
    SLUICE_ASSIGN_OR_RETURN(const std::shared_ptr<const EagerOp>* const assign,
                            core.common_ops().Find(CommonOp::kAssign, dtype(), 2));
    const Tensor condition = Tensor::Scalar(false);
    const OpInput inputs[] = {{&condition}, OpInput::Of(*this), OpInput::Of(other)};
    TapeValue assigned;
    SLUICE_RETURN_IF_ERROR(CallOp(core, *assign, inputs, absl::MakeSpan(&assigned, 1)));
    return Replace(assigned.value, std::move(assigned.history));
  });
}

absl::Status Var::Assign(Var&& other) {
  if (this == &other) return Assign(std::as_const(other));
  SLUICE_RETURN_IF_ERROR(CheckAssigned(other));
  const Var taken = std::move(other);
  // The assigned value needs no node of its own if no other handle can reach it and the value before has no gradient.
  const bool is_last = taken.state_->has_one_handle() && !taken.is_leaf() && !requires_grad();
  if (!is_last || taken.shape() != shape()) return Assign(taken);
  return Replace(taken.value(), taken.state_->history);
}

absl::Status Var::AssignOp(CommonOp op, const Var& other) {
  SLUICE_RETURN_IF_ERROR(CheckAssigned(other));
  return AsStatus([&] {
    const bool is_recorded = IsRecording() && (requires_grad() || other.requires_grad());
    if (!is_recorded && !SameVar(*this, other)) return AssignOpInPlace(op, other);
    TapeCore& core = *state_->core;
    SLUICE_ASSIGN_OR_RETURN(const std::shared_ptr<const EagerOp>* const called, core.common_ops().Find(op, dtype(), 2));
    // Save the value before without its variable: later assignments do not modify it.
    OpInput before = OpInput::Of(*this);
    before.var = nullptr;
    TapeValue result;
    SLUICE_RETURN_IF_ERROR(CallOp(core, *called, {before, OpInput::Of(other)}, absl::MakeSpan(&result, 1)));
    return Replace(result.value, std::move(result.history));
  });
}

absl::Status Var::AssignOpInPlace(CommonOp op, const Var& other) {
  TapeCore& core = *state_->core;
  SLUICE_ASSIGN_OR_RETURN(const std::shared_ptr<const EagerOp>* const called, core.common_ops().Find(op, dtype(), 2));
  Entry slots[3];
  Tensor kept = state_->value.IsUniquelyOwned() ? Tensor() : state_->value;
  slots[0].SetValue(std::move(state_->value));
  slots[1].SetValue(other.value());
  const absl::Status status = (*called)->Run(core.run(), slots);
  state_->version.fetch_add(1, std::memory_order_relaxed);
  if (status.ok()) {
    state_->value = std::move(slots[2].value());
  } else if (kept.has_value()) {
    state_->value = std::move(kept);
  } else {
    // An op that fails after it took the memory has left no tensor in its input. Keep its output, whatever it holds: a
    // variable must have a value.
    Entry& left = slots[slots[0].value().has_value() ? 0 : 2];
    if (left.has_value()) state_->value = std::move(left.value());
  }
  return status;
}

absl::Status Var::AssignAdd(const Var& other) { return AssignOp(CommonOp::kAddV2, other); }
absl::Status Var::AssignSub(const Var& other) { return AssignOp(CommonOp::kSub, other); }
absl::Status Var::AssignMul(const Var& other) { return AssignOp(CommonOp::kMul, other); }
absl::Status Var::AssignDiv(const Var& other) { return AssignOp(CommonOp::kRealDiv, other); }
absl::Status Var::AssignAdd(double other) { return AssignAdd(NumberLike(*this, other)); }
absl::Status Var::AssignSub(double other) { return AssignSub(NumberLike(*this, other)); }
absl::Status Var::AssignMul(double other) { return AssignMul(NumberLike(*this, other)); }
absl::Status Var::AssignDiv(double other) { return AssignDiv(NumberLike(*this, other)); }

absl::Status Var::Fill(const Var& number) {
  SLUICE_RETURN_IF_ERROR(CheckAssigned(number));
  if (number.shape().rank() == 0) return Assign(number);
  return Error(ErrorCode::kOpShape)
      .Text("only a variable without axes fills another")
      .Found(number.shape().ToString())
      .Expected("[]");
}
absl::Status Var::Fill(double number) { return Fill(NumberLike(*this, number)); }

}  // namespace sluice

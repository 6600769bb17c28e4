#include "kernels/optimizers/slot_cells.h"

#include <algorithm>
#include <functional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "graph/base/error.h"
#include "graph/base/status_macros.h"
#include "kernels/input_error.h"
#include "kernels/state/cell_ops.h"
#include "kernels/state/handles.h"
#include "kernels/state/tensor_update.h"

namespace sluice {

SlotCells::SlotCells(const KernelContext& context, int num_slots) : context_(context), num_slots_(num_slots) {}

SlotCells::~SlotCells() {
  for (int i = 0; i < num_locked_; ++i) locked_[static_cast<size_t>(i)]->mu.Unlock();
}

absl::Status SlotCells::Find() {
  for (int slot = 0; slot < num_slots_; ++slot) {
    const size_t i = static_cast<size_t>(slot);
    if (context_.input_type(slot) != DType::kResource) {
      is_ref_ = true;
      SLUICE_ASSIGN_OR_RETURN(cells_[i], InputCell(context_, slot));
      continue;
    }
    absl::StatusOr<CountedPtr<Variable>> variable = LookupInput<Variable>(context_, slot);
    if (absl::IsNotFound(variable.status())) {
      return Error(ErrorCode::kOpBroken).Input(slot).Text("is the handle of a variable that has no value yet");
    }
    if (!variable.ok()) return variable.status();
    variables_[i] = *std::move(variable);
    cells_[i] = &variables_[i]->cell();
  }
  return absl::OkStatus();
}

absl::Status SlotCells::Lock(DType dtype) {
  SLUICE_RETURN_IF_ERROR(Find());
  locked_ = cells_;
  const auto end = locked_.begin() + num_slots_;
  std::sort(locked_.begin(), end, std::less<RefCell*>());
  const auto count = std::unique(locked_.begin(), end) - locked_.begin();
  for (; num_locked_ < count; ++num_locked_) locked_[static_cast<size_t>(num_locked_)]->mu.Lock();
  return CheckValues(dtype);
}

absl::Status SlotCells::CheckValues(DType dtype) const {
  for (int slot = 0; slot < num_slots_; ++slot) {
    if (value(slot).has_value()) continue;
    return Error(ErrorCode::kUninitialized).Input(slot).Text("is a variable that has no value yet");
  }
  for (int slot = 0; slot < num_slots_; ++slot) {
    if (value(slot).dtype() != dtype) {
      return Error(ErrorCode::kResourceType)
          .Input(slot)
          .Found(DTypeName(value(slot).dtype()))
          .Expected(DTypeName(dtype));
    }
    if (value(slot).shape() != shape()) {
      return ShapesError(slot, "", value(slot).shape(), absl::StrCat(shape().ToString(), ", the variable's shape"));
    }
  }
  return absl::OkStatus();
}

absl::Status SlotCells::Prepare(bool keep_elements, UpdateSpan* span) {
  std::array<Tensor, kMaxUpdateSlots> fresh;
  for (int slot = 0; slot < num_slots_; ++slot) {
    const Tensor& tensor = value(slot);
    if (is_ref_ || tensor.IsUniquelyOwned()) continue;
    SLUICE_ASSIGN_OR_RETURN(fresh[static_cast<size_t>(slot)],
                            keep_elements ? CopyOf(tensor, context_.allocator())
                                          : Tensor::Make(tensor.dtype(), tensor.shape(), context_.allocator()));
  }
  // From here on nothing fails: all variables are changed, or none.
  for (int slot = 0; slot < num_slots_; ++slot) {
    const size_t i = static_cast<size_t>(slot);
    const size_t first = static_cast<size_t>(std::find(cells_.begin(), cells_.end(), cells_[i]) - cells_.begin());
    Tensor& tensor = cells_[i]->tensor;
    if (first == i && fresh[i].has_value()) old_[i] = std::exchange(tensor, std::move(fresh[i]));
    span->to[i] = tensor.mutable_raw_data();
    span->from[i] = old_[first].has_value() && !keep_elements ? old_[first].raw_data() : span->to[i];
  }
  return absl::OkStatus();
}

}  // namespace sluice

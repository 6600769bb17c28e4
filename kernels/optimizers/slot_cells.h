#ifndef SLUICE_KERNELS_OPTIMIZERS_SLOT_CELLS_H_
#define SLUICE_KERNELS_OPTIMIZERS_SLOT_CELLS_H_

#include <array>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "graph/value/ref_cell.h"
#include "kernels/kernel_context.h"
#include "kernels/optimizers/update_loop.h"
#include "kernels/resources/variable.h"

namespace sluice {

// The variable and the slots that one update changes: the first inputs of its op, references or handles. Their locks
// are held from Lock() on as long as this lives; what the variables held before is freed after that. All locks are
// taken in one order for all updates, whatever use_locking says, and one variable that stands for two slots once.
// One thread's, on the stack.
class SlotCells {
 public:
  SlotCells(const KernelContext& context, int num_slots);
  SlotCells(const SlotCells&) = delete;
  SlotCells& operator=(const SlotCells&) = delete;
  ~SlotCells() ABSL_NO_THREAD_SAFETY_ANALYSIS;

  // Finds the variables and locks them. kUninitialized for one without a value, but kOpBroken for a handle that leads
  // to none, as TensorFlow has it. kResourceType for a variable of another dtype, kOpShapes for slots of another shape
  // than the variable's. `dtype`: that of the node.
  absl::Status Lock(DType dtype) ABSL_NO_THREAD_SAFETY_ANALYSIS;

  // REQUIRES for all that follows: Lock() was OK.
  const Shape& shape() const { return value(0).shape(); }
  bool is_ref() const { return is_ref_; }
  RefCell* cell(int slot) const { return cells_[static_cast<size_t>(slot)]; }

  // Sets `from` and `to` of all slots to their elements: the same if the slot is the only holder of its buffer, else
  // `to` is a new buffer, not filled yet. REQUIRES: all of `to` is written then.
  absl::Status WriteAll(UpdateSpan* span) { return Prepare(/*keep_elements=*/false, span); }
  // Sets `from` and `to` of all slots to elements that may be changed here and there.
  absl::Status WriteSome(UpdateSpan* span) { return Prepare(/*keep_elements=*/true, span); }

 private:
  const Tensor& value(int slot) const ABSL_NO_THREAD_SAFETY_ANALYSIS { return cell(slot)->tensor; }
  absl::Status Find();
  absl::Status CheckValues(DType dtype) const;
  absl::Status Prepare(bool keep_elements, UpdateSpan* span) ABSL_NO_THREAD_SAFETY_ANALYSIS;

  const KernelContext& context_;
  const int num_slots_;
  bool is_ref_ = false;
  std::array<CountedPtr<Variable>, kMaxUpdateSlots> variables_;  // Behind handles.
  std::array<Tensor, kMaxUpdateSlots> old_;                      // Freed after the locks.
  std::array<RefCell*, kMaxUpdateSlots> cells_ = {};
  std::array<RefCell*, kMaxUpdateSlots> locked_ = {};
  int num_locked_ = 0;
};

}  // namespace sluice

#endif  // SLUICE_KERNELS_OPTIMIZERS_SLOT_CELLS_H_

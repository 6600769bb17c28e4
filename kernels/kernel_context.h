#ifndef SLUICE_KERNELS_KERNEL_CONTEXT_H_
#define SLUICE_KERNELS_KERNEL_CONTEXT_H_

#include <cstdint>
#include <exception>
#include <utility>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "graph/base/check.h"
#include "graph/base/error.h"
#include "graph/base/status_macros.h"
#include "graph/value/entry.h"
#include "graph/value/ref_cell.h"
#include "kernels/run_context.h"

namespace sluice {

// Ends a kernel whose run was cancelled or is too late: its results are not needed. Thrown by ParallelFor and caught
// where kernels are called, as std::bad_alloc is (StatusOfException in executor/plan/node_error.h).
class KernelCancelled : public std::exception {
 public:
  const char* what() const noexcept override { return "the run was cancelled"; }
};

// One call of a kernel: its inputs and outputs, and the facilities of the run. Made by the code that runs nodes and
// reused for each; inputs and outputs are read and written in place (Note [Slots] in graph/value/entry.h).
// One thread's at a time.
class KernelContext {
 public:
  KernelContext(const RunContext& run, const EntryTables& tables) : run_(&run), tables_(tables) {}
  KernelContext(const KernelContext&) = default;
  KernelContext& operator=(const KernelContext&) = default;

  // --- Inputs ----------------------------------------------------------------------------------------------------
  int num_inputs() const { return static_cast<int>(io_->num_inputs); }
  DType input_type(int i) const { return io_->input_types[i]; }
  // The value of input `i`. Of kInvalid only where has_input(i) is false.
  const Tensor& input(int i) const { return input_entry(i).value(); }
  // False for inputs of transfer nodes that are dead.
  bool has_input(int i) const { return input_entry(i).has_value(); }
  // Whether input `i` may be overwritten: this is its last reader, and nothing else holds its buffer.
  bool InputIsWritable(int i) const { return IsLastUse(i) && input(i).IsUniquelyOwned(); }
  // Input `i` itself: moved out when this is its last reader (input(i) has no value then), else a second handle.
  Tensor TakeInput(int i) {
    Entry& entry = input_entry(i);
    return IsLastUse(i) ? std::move(entry.value()) : Tensor(entry.value());
  }
  // The variable that input `i`, of a reference type, refers to. Null: the input is not a reference.
  RefCell* input_ref(int i) const { return input_entry(i).is_ref() ? input_entry(i).ref() : nullptr; }

  // --- Outputs ---------------------------------------------------------------------------------------------------
  int num_outputs() const { return static_cast<int>(io_->num_outputs); }
  // As declared by the signature; references as RefType.
  DType output_type(int i) const { return io_->output_types[i]; }
  // Whether anything reads output `i`: a kernel need not compute unread ones. True if unknown.
  bool IsOutputUsed(int i) const { return io_->IsOutputUsed(static_cast<uint32_t>(i)); }
  void SetOutput(int i, Tensor value) { output_entry(i).SetValue(std::move(value)); }
  template <typename T>
  void SetScalar(int i, T value) {
    output_entry(i).SetScalar(value);
  }
  // Output `i` becomes a reference to `cell`, which must live as long as the run.
  void SetRefOutput(int i, RefCell* cell) { output_entry(i).SetRef(cell); }
  // Leaves output `i` dead (received dead values).
  void SetDeadOutput(int i) { output_entry(i).SetDead(); }
  // A fresh value of the declared dtype for output `i`, elements uninitialised. RESOURCE_EXHAUSTED when memory is
  // short. The pointer is valid until the kernel returns.
  absl::StatusOr<Tensor*> AllocateOutput(int i, const Shape& shape);
  // The same in the memory of the first of `candidates` (inputs) that is writable and has the dtype and the number of
  // elements; that input is without a value then, so take pointers to its elements before. Results may be written
  // element by element over the inputs.
  absl::StatusOr<Tensor*> ForwardOrAllocate(int i, const Shape& shape, absl::Span<const int> candidates);
  // Memory for the kernel's own use.
  absl::StatusOr<Tensor> AllocateTemp(DType dtype, const Shape& shape) {
    return Tensor::Make(dtype, shape, allocator());
  }

  // --- The run ---------------------------------------------------------------------------------------------------
  const RunContext& run() const { return *run_; }
  Allocator& allocator() const { return run_->allocator != nullptr ? *run_->allocator : HostAllocator(); }
  // Calls `work(begin, end)` for parts that make up [0, total), on several threads if that pays: `unit_ns` is the time
  // of one unit. In deterministic runs the parts are the same for any number of threads. Returns when all is done.
  // Throws KernelCancelled, after all started parts have ended, if the run was cancelled or its deadline has passed.
  void ParallelFor(int64_t total, double unit_ns, absl::FunctionRef<void(int64_t, int64_t)> work) const;
  bool IsCancelled() const;
  // Id (TensorFlow's hash) and iteration of the frame that the node runs in. 0, 0 outside of loops.
  uint64_t frame_id() const { return frame_id_; }
  int64_t iteration() const { return iteration_; }
  // Whether the node runs for a dead input (transfer nodes only).
  bool is_input_dead() const { return is_input_dead_; }

  // --- For the code that runs nodes ------------------------------------------------------------------------------
  void SetNode(const NodeIo& io) { io_ = &io; }
  const NodeIo& io() const { return *io_; }
  EntryTables& tables() { return tables_; }
  void SetPlace(uint64_t frame_id, int64_t iteration) {
    frame_id_ = frame_id;
    iteration_ = iteration;
  }
  void SetInputDead(bool dead) { is_input_dead_ = dead; }
  Entry& input_entry(int i) const {
    SLUICE_DCHECK(i >= 0 && i < num_inputs());
    return tables_.at(io_->input(static_cast<uint32_t>(i)));
  }
  Entry& output_entry(int i) const {
    SLUICE_DCHECK(i >= 0 && i < num_outputs());
    return tables_.at(io_->output(static_cast<uint32_t>(i)));
  }

 private:
  bool IsLastUse(int i) const {
    const Operand operand = io_->input(static_cast<uint32_t>(i));
    if (operand.is_last_use()) return true;
    return operand.table() == Operand::Table::kSlots && tables_.at(operand).uses() == 1;
  }

  // ParallelFor without checking the cancellation.
  void Share(int64_t total, double unit_ns, absl::FunctionRef<void(int64_t, int64_t)> work) const;

  const RunContext* run_;
  EntryTables tables_;
  const NodeIo* io_ = nullptr;
  uint64_t frame_id_ = 0;
  int64_t iteration_ = 0;
  bool is_input_dead_ = false;
};

}  // namespace sluice

#endif  // SLUICE_KERNELS_KERNEL_CONTEXT_H_

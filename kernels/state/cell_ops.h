#ifndef SLUICE_KERNELS_STATE_CELL_OPS_H_
#define SLUICE_KERNELS_STATE_CELL_OPS_H_

// Operations on the values of both kinds of variables: those used through references (Variable, VariableV2) and those
// used through handles (VarHandleOp).
//
// Note [Values of variables]
// A variable's value is an ordinary tensor: readers get a handle to its buffer, not a copy, and keep what they read
// whatever happens to the variable afterwards. Hence writers write in place only when the variable is the buffer's only
// holder, which under the cell's lock cannot change, and else put a new buffer into the cell. Assigning copies nothing:
// the cell shares the buffer of the new value.
//
// Note [References alias]
// The above holds for variables used through handles. A value read through a reference is the variable's own memory, as
// in TensorFlow, and old graphs rely on that: it shows every later change, even in a tensor that was read long before
// (a loop constant, a fetched value until the end of the step). Hence a cell with references always has a buffer, also
// for a scalar, and is overwritten in place; only an Assign of another size replaces the buffer.

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "graph/value/ref_cell.h"
#include "kernels/kernel_context.h"
#include "kernels/state/tensor_update.h"

namespace sluice {

// What a tensor that was read from a cell shows after the cell's value changes.
enum class VariableReadMode {
  kSnapshot,  // The value at the time of the read. See Note [Values of variables].
  kAlias,     // The new value. See Note [References alias].
};

// The cell that input `i` refers to. kRefExpected when the input is a value.
absl::StatusOr<RefCell*> InputCell(const KernelContext& context, int i);

// kResourceType unless `update` can go into the variable's `value`.
absl::Status CheckSameType(const Tensor& value, const Tensor& update);

// kUninitialized for a variable without a value, which input 0 of the node leads to.
absl::Status NotInitialized();

// Sets the cell's value. Shares its buffer, but copies it if it is the host program's memory, or if the value is a
// small part of a larger buffer, which the variable would keep alive. With `same_shape`, returns kOpShapes if the shape
// differs from that of the previous value, or of the declaration if there is none.
absl::Status StoreValue(RefCell& cell, Tensor value, bool same_shape, Allocator& allocator, VariableReadMode mode)
    ABSL_LOCKS_EXCLUDED(cell.mu);

// value += delta or value -= delta. kUninitialized, kResourceType or kOpShapes unless dtypes and shapes are equal.
// REQUIRES: a dtype of kNumberTypes.
absl::Status UpdateDense(RefCell& cell, DenseUpdate update, Tensor delta, Allocator& allocator, VariableReadMode mode)
    ABSL_LOCKS_EXCLUDED(cell.mu);

// Calls `change` with the value, which it may overwrite, under the cell's lock. Returns kUninitialized, or the error of
// `change`, whose writes until then remain.
absl::Status ChangeValue(RefCell& cell, Allocator& allocator, VariableReadMode mode,
                         absl::FunctionRef<absl::Status(Tensor& value)> change) ABSL_LOCKS_EXCLUDED(cell.mu);

// Returns the value, and then adds one to it. kOpShape unless it is a scalar of int32 or int64; kOpRange at `limit`.
absl::StatusOr<Tensor> CountUp(RefCell& cell, int64_t limit, VariableReadMode mode) ABSL_LOCKS_EXCLUDED(cell.mu);

}  // namespace sluice

#endif  // SLUICE_KERNELS_STATE_CELL_OPS_H_

#ifndef SLUICE_EXECUTOR_TAPE_TAPE_H_
#define SLUICE_EXECUTOR_TAPE_TAPE_H_

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "executor/tape/custom_function.h"
#include "executor/tape/eager_op.h"
#include "executor/tape/grad_mode.h"
#include "executor/tape/tape_options.h"
#include "executor/tape/var.h"
#include "graph/value/tensor_numbers.h"

namespace sluice {

class TapeCore;

// Define-by-run differentiation: ops run at once, on variables that remember how they were computed (Note [The record]
// in tape_node.h), and a backward pass computes gradients along that record.
//
//   Tape tape;
//   Var w = tape.Leaf(weights), b = tape.Leaf(bias);
//   for (const Batch& batch : batches) {
//     Var loss = Mean(Square(MatMul(tape.Constant(batch.x), w) + b - tape.Constant(batch.y)));
//     SLUICE_RETURN_IF_ERROR(loss.Backward());
//     const NoGradScope no_grad;
//     for (Var* v : {&w, &b}) {
//       SLUICE_RETURN_IF_ERROR(v->AssignSub(v->grad() * 0.1));
//       v->ClearGrad();
//     }
//   }
//
// Functions that return a Var report failures in it (Var::status); all others return a Status or a StatusOr.
// ErrorCodeOf (graph/base/error_code_of.h) gives the number of a Status, so that programs can tell kinds of errors
// apart: kTapeUndefined, kTapeForeign (another tape's variable), kTapeNeedsNoGrad, kTapeRoot, kTapeUnused, kTapeFreed,
// kTapeModified, kTapeLeafAssigned, kTapeHook, kTapeFunction, kTapeNoDerivative (`sluice explain SLC8001` to 8011 has
// causes and ways out), and those of ops (kInputType, kOpShape, ...).
//
//   const absl::Status status = loss.Backward();
//   if (ErrorCodeOf(status) == ErrorCode::kTapeModified) ...
//
// Thread-safe; must outlive its variables.
class Tape {
 public:
  explicit Tape(const TapeOptions& options = {});
  Tape(const Tape&) = delete;
  Tape& operator=(const Tape&) = delete;
  ~Tape();

  // Makes a variable that requires a gradient; failed if its type has none.
  Var Leaf(Tensor value);
  // Makes one that requires none; failed for a tensor without a value.
  Var Constant(Tensor value);
  // The same from a number or nested lists of numbers (TensorOf in graph/value/tensor_numbers.h):
  //   Var w = tape.Leaf<float>({{1, 2}, {3, 4}});
  template <typename T>
  Var Leaf(const NestedList<T>& lists) {
    absl::StatusOr<Tensor> value = TensorOf<T>(lists);
    return value.ok() ? Leaf(*std::move(value)) : Var::Failed(value.status());
  }
  template <typename T>
  Var Constant(const NestedList<T>& lists) {
    absl::StatusOr<Tensor> value = TensorOf<T>(lists);
    return value.ok() ? Constant(*std::move(value)) : Var::Failed(value.status());
  }
  // Calls any op, even one without inputs. See CallOps in ops.h.
  std::vector<Var> Op(absl::string_view op, absl::Span<const Var> inputs, const EagerOp::Attrs& attrs = {});
  // Calls a custom function. Returns its outputs, or one failed variable, as their number is not known then.
  std::vector<Var> Apply(const std::shared_ptr<CustomFunction>& function, absl::Span<const Var> inputs);

  // Adds the derivatives of the sum of `roots`, each weighted by its gradient, to the gradients of the leaves.
  // `grad_roots`: empty, or one for each root; undefined means 1, and is allowed for roots of one element. Without
  // roots there is nothing to do.
  // May be called from hooks and custom functions. Returns when the pass and its final callbacks have run, with the
  // first error; gradients accumulated before it stay.
  // Errors: kTapeNeedsNoGrad, kTapeRoot and kTapeForeign of roots and inputs, kTapeFreed and kTapeModified of saved
  // values, kTapeNoDerivative (before anything runs, unless the op has several outputs and a gradient for others of
  // them), kOpShape and kInputType of gradients, kTapeHook, kTapeFunction, those of kernels, hooks and custom
  // functions.
  absl::Status Backward(absl::Span<const Var> roots, absl::Span<const Var> grad_roots = {},
                        const BackwardOptions& options = {});
  // The same derivatives with respect to `inputs`, which may be any variables that require a gradient; accumulates
  // nothing. kTapeUnused if the outputs do not depend on an input, unless the options allow that.
  absl::StatusOr<std::vector<Var>> Grad(absl::Span<const Var> outputs, absl::Span<const Var> inputs,
                                        absl::Span<const Var> grad_outputs = {}, const GradOptions& options = {});

  // For hooks and custom functions: calls `callback` when the pass that this thread is in has run all its nodes. It may
  // queue more. kTapeHook outside of passes.
  static absl::Status QueueCallback(absl::AnyInvocable<absl::Status()> callback);

  // For tests and reports: how many structures were compiled, how many passes found theirs, and how many nodes the last
  // pass visited.
  int64_t NumCompiledStructures() const;
  int64_t NumPassesOfKnownStructure() const;
  int64_t NodesSeenByLastPass() const;
  TapeCore& core() { return *core_; }

 private:
  const std::unique_ptr<TapeCore> core_;
};

}  // namespace sluice

#endif  // SLUICE_EXECUTOR_TAPE_TAPE_H_

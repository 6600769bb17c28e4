#ifndef SLUICE_EXECUTOR_TAPE_TAPE_H_
#define SLUICE_EXECUTOR_TAPE_TAPE_H_

#include <cstdint>
#include <memory>
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

namespace sluice {

class TapeCore;

// Define-by-run differentiation: ops run at once, on variables that remember how they came about (Note [The record] in
// tape_node.h), and a backward pass computes gradients along that.
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
// Thread-safe; must outlive its variables.
class Tape {
 public:
  explicit Tape(const TapeOptions& options = {});
  Tape(const Tape&) = delete;
  Tape& operator=(const Tape&) = delete;
  ~Tape();

  // A variable that requires a gradient; failed where its type has none.
  Var Leaf(Tensor value);
  // One that requires none; failed for a tensor without a value.
  Var Constant(Tensor value);
  // Any op; also one without inputs. See CallOps in ops.h.
  std::vector<Var> Op(absl::string_view op, absl::Span<const Var> inputs, const EagerOp::Attrs& attrs = {});
  // A call of a custom function: its outputs, or one variable that has failed, since how many it has is not known then.
  std::vector<Var> Apply(const std::shared_ptr<CustomFunction>& function, absl::Span<const Var> inputs);

  // Adds the derivatives of the sum of `roots`, each weighted by its gradient, to the gradients of the leaves.
  // `grad_roots`: none at all, or one for each root; where it is undefined the root has one element, and it is one.
  // May be called from hooks and custom functions. Returns when the pass and its final callbacks are through, with the
  // first error; what was accumulated until then stays.
  // Errors: kWrongUse (no root requires a gradient, an undefined seed, saved values that were given up or whose
  // variable has changed), kOpShape and kInputType of gradients, kUnsupported (an op without a gradient: before
  // anything runs, unless it has several outputs and a gradient for others of them), those of kernels, hooks and custom
  // functions.
  absl::Status Backward(absl::Span<const Var> roots, absl::Span<const Var> grad_roots = {},
                        const BackwardOptions& options = {});
  // The same derivatives with respect to `inputs`, which may be any variables that require a gradient; nothing is
  // accumulated.
  absl::StatusOr<std::vector<Var>> Grad(absl::Span<const Var> outputs, absl::Span<const Var> inputs,
                                        absl::Span<const Var> grad_outputs = {}, const GradOptions& options = {});

  // From hooks and custom functions: has `callback` called when the pass that this thread is in has run all its nodes.
  // It may queue more. kWrongUse outside of passes.
  static absl::Status QueueCallback(absl::AnyInvocable<absl::Status()> callback);

  // For tests and reports: structures that were compiled, and passes that found theirs; how many nodes the pass that
  // was begun last has looked at.
  int64_t NumCompiledStructures() const;
  int64_t NumPassesOfKnownStructure() const;
  int64_t NodesSeenByLastPass() const;
  TapeCore& core() { return *core_; }

 private:
  const std::unique_ptr<TapeCore> core_;
};

}  // namespace sluice

#endif  // SLUICE_EXECUTOR_TAPE_TAPE_H_

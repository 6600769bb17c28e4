#ifndef SLUICE_EXECUTOR_TAPE_EAGER_OP_H_
#define SLUICE_EXECUTOR_TAPE_EAGER_OP_H_

#include <atomic>
#include <cstdint>
#include <list>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "graph/base/hash_table.h"
#include "graph/base/mutex.h"
#include "graph/gradients/gradient_row.h"
#include "graph/ir/attr.h"
#include "graph/ir/loose_node.h"
#include "graph/ir/op_registry.h"
#include "graph/value/entry.h"
#include "kernels/kernel.h"
#include "kernels/kernel_registry.h"

namespace sluice {

class GradientTemplate;

// Whether gradients of values of this type are recorded: of numbers, and of variants, which may hold some (lists).
bool HasGradient(DType type);

// One op with attrs and input types, and its kernel, for calls outside of any graph. Made once for all such calls
// (EagerOps). Immutable, but for the gradients that it keeps; thread-safe.
class EagerOp {
 public:
  using Attrs = std::vector<std::pair<std::string, AttrValue>>;

  EagerOp(std::unique_ptr<LooseNode> node, std::unique_ptr<Kernel> kernel, const GradientRow* row);
  EagerOp(const EagerOp&) = delete;
  EagerOp& operator=(const EagerOp&) = delete;
  ~EagerOp();

  const LooseNode& node() const { return *node_; }
  absl::string_view name() const { return node_->op().name; }
  uint32_t num_inputs() const { return io_.num_inputs; }
  uint32_t num_outputs() const { return io_.num_outputs; }
  DType input_type(uint32_t i) const { return io_.input_types[i]; }
  DType output_type(uint32_t i) const { return io_.output_types[i]; }
  // Null: no gradient is registered.
  const GradientRow* row() const { return row_; }
  // Whether gradients may flow from some output to some input; true even if that fails later.
  bool is_differentiable() const { return is_differentiable_; }

  // Whether a call has shown that the gradient of all outputs does not serve when only some have one (Record). Relaxed:
  // it only spares later calls the check.
  bool lacks_joint_gradient() const { return lacks_joint_gradient_.load(std::memory_order_relaxed); }
  void SetLacksJointGradient() const { lacks_joint_gradient_.store(true, std::memory_order_relaxed); }

  // Calls the kernel. `slots`: the inputs, whose values are consumed and may be overwritten, then the outputs. Errors
  // name the op; exceptions of the kernel become statuses.
  absl::Status Run(const RunContext& run, Entry* slots) const;
  // The same for inputs and outputs in the tables of `context`, at the places in `io`.
  absl::Status RunIn(KernelContext& context, const NodeIo& io) const;

  // Returns the first kept gradient for which `fits` holds, or null. KeepGradient adds one, in place of the oldest if
  // there are many.
  std::shared_ptr<const GradientTemplate> FindGradient(absl::FunctionRef<bool(const GradientTemplate&)> fits) const
      ABSL_LOCKS_EXCLUDED(mu_);
  void KeepGradient(std::shared_ptr<const GradientTemplate> gradient) const ABSL_LOCKS_EXCLUDED(mu_);
  // Drops the kept gradients; others may be kept later.
  void DropGradients() const ABSL_LOCKS_EXCLUDED(mu_);
  // Drops the kept gradients and keeps no more. A gradient holds the ops of its steps, often its own op: retire an op
  // before dropping it, to break that cycle.
  void Retire() const ABSL_LOCKS_EXCLUDED(mu_);

 private:
  absl::Status Compute(KernelContext& context) const;

  const std::unique_ptr<LooseNode> node_;
  const std::unique_ptr<Kernel> kernel_;
  const AsyncKernel* const async_;
  const GradientRow* const row_;
  bool is_differentiable_ = false;
  std::vector<Operand> operands_;
  NodeIo io_;
  mutable Mutex mu_;
  mutable std::list<std::shared_ptr<const GradientTemplate>> gradients_ ABSL_GUARDED_BY(mu_);
  mutable bool is_retired_ ABSL_GUARDED_BY(mu_) = false;
  mutable std::atomic<bool> lacks_joint_gradient_{false};
};

// The ops that a tape has called so far: at most kMaxOps, and with attrs of at most kMaxKeyBytes together or one op.
// Borrows the registries. Thread-safe.
class EagerOps {
 public:
  static constexpr size_t kMaxOps = 4096;
  static constexpr size_t kMaxKeyBytes = size_t{16} << 20;

  EagerOps(const OpRegistry& ops, const KernelRegistry& kernels, std::vector<GradientRow> rows, Device* device)
      : ops_(ops), kernels_(kernels), rows_(std::move(rows)), device_(device) {}
  EagerOps(const EagerOps&) = delete;
  EagerOps& operator=(const EagerOps&) = delete;
  ~EagerOps();

  // Errors: those of LooseNode::Make; kNoKernel and others of KernelRegistry::Create; kUnsupported for an op that takes
  // references or is control flow.
  absl::StatusOr<std::shared_ptr<const EagerOp>> Find(absl::string_view op, const EagerOp::Attrs& attrs,
                                                      absl::Span<const DType> inputs) ABSL_LOCKS_EXCLUDED(mu_);
  // Makes an op that the caller keeps, no longer than this lives, and retires. Its gradients are made of ops that are
  // kept here, and are dropped with those.
  absl::StatusOr<std::shared_ptr<const EagerOp>> MakeLasting(absl::string_view op, const EagerOp::Attrs& attrs,
                                                             absl::Span<const DType> inputs) ABSL_LOCKS_EXCLUDED(mu_);
  const OpRegistry& registry() const { return ops_; }
  size_t size() const ABSL_LOCKS_EXCLUDED(mu_);

 private:
  absl::StatusOr<std::shared_ptr<const EagerOp>> Make(absl::string_view op, const EagerOp::Attrs& attrs,
                                                      absl::Span<const DType> inputs) const;
  void RetireAllLocked() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  const GradientRow* FindRow(absl::string_view op) const;

  const OpRegistry& ops_;
  const KernelRegistry& kernels_;
  const std::vector<GradientRow> rows_;
  Device* const device_;
  mutable Mutex mu_;
  HashMap<std::string, std::shared_ptr<const EagerOp>> by_key_ ABSL_GUARDED_BY(mu_);
  size_t key_bytes_ ABSL_GUARDED_BY(mu_) = 0;  // Of by_key_: as many as the attrs of its ops have, at least.
  std::vector<std::shared_ptr<const EagerOp>> lasting_ ABSL_GUARDED_BY(mu_);
};

}  // namespace sluice

#endif  // SLUICE_EXECUTOR_TAPE_EAGER_OP_H_

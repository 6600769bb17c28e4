#include "executor/tape/common_ops.h"

#include <utility>

#include "graph/base/status_macros.h"
#include "graph/gradients/expr.h"
#include "graph/gradients/gradient_context.h"
#include "graph/gradients/gradient_row.h"
#include "kernels/kernel.h"
#include "kernels/kernel_context.h"

namespace sluice {
namespace {

constexpr absl::string_view kNames[kNumCommonOps] = {"AddV2",   "Sub", "Mul", "RealDiv", "Neg",    "Pow",  "Maximum",
                                                     "Minimum", "Exp", "Log", "Sqrt",    "Square", "Tanh", "Sigmoid",
                                                     "Relu",    "Sin", "Cos", "Abs",     "Assign"};

// Gives the value assigned. Stateless, thread-safe.
class AssignKernel final : public Kernel {
 public:
  absl::Status Compute(KernelContext& context) const override {
    context.SetOutput(0, context.input(2));
    return absl::OkStatus();
  }
};

absl::Status AssignGradient(GradientContext& c) {
  if (c.Wants(1)) c.SetInput(1, ZerosLike(c.dy()));
  if (c.Wants(2)) c.SetInput(2, c.DyAsIs());
  return absl::OkStatus();
}

constexpr GradientRow kRow("SelectV2", &AssignGradient);

// Var::Assign as an op, for its node in the record ("AssignBackward"): of a condition that is false, the value before
// and the value assigned, which is the result. No op of TensorFlow's does this without references, so it is a SelectV2
// with another gradient: zeros for the value before, all for the other, nothing saved. Retired by its keeper.
absl::StatusOr<std::shared_ptr<const EagerOp>> MakeAssignOp(const OpRegistry& ops, DType type) {
  LooseNode::Spec spec;
  spec.op = "SelectV2";
  spec.name = "Assign";
  spec.inputs = {DType::kBool, type, type};
  SLUICE_ASSIGN_OR_RETURN(std::unique_ptr<LooseNode> node, LooseNode::Make(ops, std::move(spec)));
  return std::make_shared<const EagerOp>(std::move(node), std::make_unique<AssignKernel>(), &kRow);
}

}  // namespace

absl::string_view CommonOpName(CommonOp op) { return kNames[static_cast<size_t>(op)]; }

CommonOps::~CommonOps() {
  MutexLock lock(&mu_);
  for (const auto& op : kept_) (*op)->Retire();
}

absl::StatusOr<const std::shared_ptr<const EagerOp>*> CommonOps::Find(CommonOp op, DType type, size_t num_inputs) {
  const size_t place = static_cast<size_t>(op) * kNumTypes + static_cast<size_t>(type);
  const bool has_place = static_cast<size_t>(type) < kNumTypes;
  if (has_place) {
    const std::shared_ptr<const EagerOp>* const known = found_[place].load(std::memory_order_acquire);
    if (known != nullptr) return known;
  }
  const std::vector<DType> types(num_inputs, type);
  SLUICE_ASSIGN_OR_RETURN(std::shared_ptr<const EagerOp> made, op == CommonOp::kAssign
                                                                   ? MakeAssignOp(ops_.registry(), type)
                                                                   : ops_.MakeLasting(CommonOpName(op), {}, types));
  MutexLock lock(&mu_);
  if (has_place && found_[place].load(std::memory_order_relaxed) != nullptr) return found_[place].load();
  kept_.push_back(std::make_unique<const std::shared_ptr<const EagerOp>>(std::move(made)));
  if (has_place) found_[place].store(kept_.back().get(), std::memory_order_release);
  return kept_.back().get();
}

}  // namespace sluice

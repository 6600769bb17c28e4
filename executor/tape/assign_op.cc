#include "executor/tape/assign_op.h"

#include <utility>

#include "graph/base/status_macros.h"
#include "graph/gradients/expr.h"
#include "graph/gradients/gradient_context.h"
#include "graph/gradients/gradient_row.h"
#include "kernels/kernel.h"
#include "kernels/kernel_context.h"

namespace sluice {
namespace {

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

}  // namespace

absl::StatusOr<std::shared_ptr<const EagerOp>> MakeAssignOp(const OpRegistry& ops, DType type) {
  LooseNode::Spec spec;
  spec.op = "SelectV2";
  spec.name = "Assign";
  spec.inputs = {DType::kBool, type, type};
  SLUICE_ASSIGN_OR_RETURN(std::unique_ptr<LooseNode> node, LooseNode::Make(ops, std::move(spec)));
  return std::make_shared<const EagerOp>(std::move(node), std::make_unique<AssignKernel>(), &kRow);
}

}  // namespace sluice

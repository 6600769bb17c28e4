#include "executor/tape/common_ops.h"

#include <utility>

#include "executor/tape/assign_op.h"
#include "graph/base/status_macros.h"

namespace sluice {
namespace {

constexpr absl::string_view kNames[kNumCommonOps] = {"AddV2",   "Sub", "Mul", "RealDiv", "Neg",    "Pow",  "Maximum",
                                                     "Minimum", "Exp", "Log", "Sqrt",    "Square", "Tanh", "Sigmoid",
                                                     "Relu",    "Sin", "Cos", "Abs",     "Assign"};

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

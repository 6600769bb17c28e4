#include "executor/tape/eager_op.h"

#include <algorithm>

#include "absl/base/optimization.h"
#include "absl/strings/str_cat.h"
#include "executor/async_call.h"
#include "executor/kernel_call.h"
#include "executor/plan/node_error.h"
#include "executor/tape/gradient_template.h"
#include "executor/threads/flush_denormals.h"
#include "graph/base/error.h"
#include "graph/base/status_macros.h"
#include "graph/gradients/gradient.h"
#include "graph/gradients/gradient_table.h"
#include "graph/ir/op_class.h"

namespace sluice {
namespace {

constexpr size_t kMaxGradients = 64;

// The key that calls of one op, with equal attrs and input types, share.
std::string KeyOf(absl::string_view op, const EagerOp::Attrs& attrs, absl::Span<const DType> inputs) {
  std::string key(op);
  for (const DType type : inputs) key.push_back(static_cast<char>(type));
  for (const auto& [name, value] : attrs) {
    absl::StrAppend(&key, "|", name, "=", value.bytes().size(), ":", value.bytes());
  }
  return key;
}

// An asynchronous call whose thread waits for its end.
class WaitedCall final : public AsyncCallOwner {
 public:
  explicit WaitedCall(const KernelContext& context) : call_(context.run()) { call_.context = context; }

  absl::Status Run(const AsyncKernel& kernel) {
    absl::Status failed;
    if (!StartAsyncCall(this, &call_, kernel, &failed)) return failed;
    done_.WaitForNotification();
    return std::move(status_);
  }
  void EndAsync(NodeCall&, const absl::Status& status) noexcept override {
    status_ = status;
    done_.Notify();
  }

 private:
  NodeCall call_;
  absl::Status status_;  // Written by the thread that ends the call, then read by the one that waits.
  Notification done_;
};

}  // namespace

bool HasGradient(DType type) { return IsDifferentiable(type) && type != DType::kResource; }

EagerOp::EagerOp(std::unique_ptr<LooseNode> node, std::unique_ptr<Kernel> kernel, const GradientRow* row)
    : node_(std::move(node)), kernel_(std::move(kernel)), async_(kernel_->AsAsync()), row_(row) {
  const Signature& signature = node_->signature();
  io_.num_inputs = static_cast<uint32_t>(signature.inputs.size());
  io_.num_outputs = static_cast<uint32_t>(signature.outputs.size());
  for (uint32_t i = 0; i < io_.num_inputs; ++i) {
    operands_.emplace_back(Operand::Table::kSlots, i, /*is_last_use=*/true);
  }
  for (uint32_t i = 0; i < io_.num_outputs; ++i) operands_.emplace_back(Operand::Table::kSlots, io_.num_inputs + i);
  io_.operands = operands_.data();
  io_.input_types = signature.inputs.data();
  io_.output_types = signature.outputs.data();
  is_differentiable_ = (row_ == nullptr || row_->kind != GradientRow::Kind::kNone) &&
                       std::any_of(signature.inputs.begin(), signature.inputs.end(), &HasGradient) &&
                       std::any_of(signature.outputs.begin(), signature.outputs.end(), &HasGradient);
}

EagerOp::~EagerOp() = default;

absl::Status EagerOp::Compute(KernelContext& context) const {
  try {
    if (ABSL_PREDICT_TRUE(async_ == nullptr)) return kernel_->Compute(context);
    return WaitedCall(context).Run(*async_);
  } catch (...) {
    return StatusOfException();
  }
}

absl::Status EagerOp::RunIn(KernelContext& context, const NodeIo& io) const {
  PrepareCall(context, io);
  const auto check = [&](uint32_t i, const Entry& output) -> absl::Status {
    if (output.is_dead()) return Error(ErrorCode::kOutputMissing).Text(absl::StrCat("output ", i, " was not set"));
    return CheckOutput(i, output, io.output_types[i], /*is_read=*/true);
  };
  absl::Status status = Compute(context);
  if (ABSL_PREDICT_TRUE(status.ok())) status = CheckOutputs(context.tables(), io, check);
  return ABSL_PREDICT_TRUE(status.ok()) ? status : WithNode(status, node_->name(), name());
}

absl::Status EagerOp::Run(const RunContext& run, Entry* slots) const {
  const FlushDenormals flush;
  EntryTables tables;
  tables.table[0] = slots;
  KernelContext context(run, tables);
  return RunIn(context, io_);
}

std::shared_ptr<const GradientTemplate> EagerOp::FindGradient(
    absl::FunctionRef<bool(const GradientTemplate&)> fits) const {
  MutexLock lock(&mu_);
  for (auto at = gradients_.begin(); at != gradients_.end(); ++at) {
    if (!fits(**at)) continue;
    if (at != gradients_.begin()) gradients_.splice(gradients_.begin(), gradients_, at);
    return gradients_.front();
  }
  return nullptr;
}

void EagerOp::KeepGradient(std::shared_ptr<const GradientTemplate> gradient) const {
  std::shared_ptr<const GradientTemplate> oldest;  // Freed without the lock: it may hold the last op of a kind.
  MutexLock lock(&mu_);
  if (is_retired_) return;
  gradients_.push_front(std::move(gradient));
  if (gradients_.size() <= kMaxGradients) return;
  oldest = std::move(gradients_.back());
  gradients_.pop_back();
}

void EagerOp::DropGradients() const {
  std::list<std::shared_ptr<const GradientTemplate>> dropped;
  MutexLock lock(&mu_);
  dropped.swap(gradients_);
}

void EagerOp::Retire() const {
  std::list<std::shared_ptr<const GradientTemplate>> dropped;
  MutexLock lock(&mu_);
  is_retired_ = true;
  dropped.swap(gradients_);
}

const GradientRow* EagerOps::FindRow(absl::string_view op) const {
  for (const GradientRow& row : rows_) {
    if (row.op == op) return &row;
  }
  return FindGradientRow(op);
}

absl::StatusOr<std::shared_ptr<const EagerOp>> EagerOps::Make(absl::string_view op, const EagerOp::Attrs& attrs,
                                                              absl::Span<const DType> inputs) const {
  LooseNode::Spec spec;
  spec.op = std::string(op);
  spec.attrs = attrs;
  spec.inputs.assign(inputs.begin(), inputs.end());
  SLUICE_ASSIGN_OR_RETURN(std::unique_ptr<LooseNode> node, LooseNode::Make(ops_, std::move(spec)));
  const Signature& signature = node->signature();
  const bool has_refs = std::any_of(signature.inputs.begin(), signature.inputs.end(), &IsRef) ||
                        std::any_of(signature.outputs.begin(), signature.outputs.end(), &IsRef);
  if (has_refs || IsControlFlow(node->op().op_class)) {
    return node->Locate(Error(ErrorCode::kUnsupported)
                            .Text(has_refs ? "takes or gives references to variables, which no tape has"
                                           : "is control flow, for which the program's own is used"));
  }
  SLUICE_ASSIGN_OR_RETURN(std::unique_ptr<Kernel> kernel,
                          kernels_.Create(KernelConstruction(*node, device_), DeviceKind::kCpu));
  return std::make_shared<const EagerOp>(std::move(node), std::move(kernel), FindRow(op));
}

absl::StatusOr<std::shared_ptr<const EagerOp>> EagerOps::Find(absl::string_view op, const EagerOp::Attrs& attrs,
                                                              absl::Span<const DType> inputs) {
  std::string key = KeyOf(op, attrs, inputs);
  {
    MutexLock lock(&mu_);
    const auto found = by_key_.find(key);
    if (found != by_key_.end()) return found->second;
  }
  SLUICE_ASSIGN_OR_RETURN(std::shared_ptr<const EagerOp> made, Make(op, attrs, inputs));
  MutexLock lock(&mu_);
  // Nodes keep the ops that they need.
  if (by_key_.size() >= kMaxOps || key_bytes_ + key.size() > kMaxKeyBytes) RetireAllLocked();
  key_bytes_ += key.size();
  return by_key_.try_emplace(std::move(key), std::move(made)).first->second;
}

void EagerOps::RetireAllLocked() {
  for (const auto& [key, op] : by_key_) op->Retire();
  by_key_.clear();
  key_bytes_ = 0;
  // Drop their gradients too: made of retired ops, they would be made anew at each recorded call.
  for (const auto& op : lasting_) op->DropGradients();
}

absl::StatusOr<std::shared_ptr<const EagerOp>> EagerOps::MakeLasting(absl::string_view op, const EagerOp::Attrs& attrs,
                                                                     absl::Span<const DType> inputs) {
  SLUICE_ASSIGN_OR_RETURN(std::shared_ptr<const EagerOp> made, Make(op, attrs, inputs));
  MutexLock lock(&mu_);
  lasting_.push_back(made);
  return made;
}

EagerOps::~EagerOps() {
  MutexLock lock(&mu_);
  RetireAllLocked();
}

size_t EagerOps::size() const {
  MutexLock lock(&mu_);
  return by_key_.size();
}

}  // namespace sluice

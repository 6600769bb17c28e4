#include "kernels/owned_kernel_row.h"

#include <utility>

namespace sluice {
namespace {

absl::StatusOr<std::unique_ptr<Kernel>> CallFunction(const KernelConstruction& construction, const void* data) {
  return (*static_cast<const KernelFunction*>(data))(construction);
}

}  // namespace

OwnedKernelRow::OwnedKernelRow(absl::string_view op, KernelFunction make)
    : owner_(std::make_shared<const KernelFunction>(std::move(make))),
      row_(Keep(op), KernelFactory(&CallFunction, owner_.get())) {
  row_.Shared(Sharing::kNone);
}

OwnedKernelRow::OwnedKernelRow(absl::string_view op, KernelFactory factory, std::shared_ptr<const void> owner)
    : owner_(std::move(owner)), row_(Keep(op), factory) {}

absl::string_view OwnedKernelRow::Keep(absl::string_view text) {
  texts_.emplace_back(text);
  return texts_.back();
}

OwnedKernelRow& OwnedKernelRow::On(DeviceKind device) & {
  row_.On(device);
  return *this;
}

OwnedKernelRow& OwnedKernelRow::Types(absl::string_view attr, DTypeSet types) & {
  types_.push_back({Keep(attr), types});
  row_.AllTypes(types_);
  return *this;
}

OwnedKernelRow& OwnedKernelRow::HostInput(absl::string_view name) & {
  host_inputs_.push_back(Keep(name));
  row_.HostInputs(host_inputs_);
  return *this;
}

OwnedKernelRow& OwnedKernelRow::HostOutput(absl::string_view name) & {
  host_outputs_.push_back(Keep(name));
  row_.HostOutputs(host_outputs_);
  return *this;
}

OwnedKernelRow& OwnedKernelRow::Cost(CostHint hint) & {
  row_.Cost(hint);
  return *this;
}

OwnedKernelRow& OwnedKernelRow::Shared(Sharing sharing) & {
  row_.Shared(sharing);
  return *this;
}

OwnedKernelRow& OwnedKernelRow::Priority(int8_t priority) & {
  row_.Priority(priority);
  return *this;
}

OwnedKernelRow& OwnedKernelRow::Label(absl::string_view label) & {
  row_.Label(Keep(label));
  return *this;
}

OwnedKernelRow& OwnedKernelRow::From(absl::string_view origin) & {
  origin_ = Keep(origin);
  return *this;
}

}  // namespace sluice

#ifndef SLUICE_KERNELS_OWNED_KERNEL_ROW_H_
#define SLUICE_KERNELS_OWNED_KERNEL_ROW_H_

#include <list>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/functional/any_invocable.h"
#include "absl/strings/string_view.h"
#include "kernels/kernel.h"
#include "kernels/kernel_construction.h"
#include "kernels/kernel_row.h"

namespace sluice {

// A factory that is an object: a lambda with what it captured. Called from any thread.
using KernelFunction = absl::AnyInvocable<absl::StatusOr<std::unique_ptr<Kernel>>(const KernelConstruction&) const>;

// A row that is made at run time, by a host program or for a plug-in, with the memory of its texts and of its factory.
//
//   registry.Add(OwnedKernelRow("Neg", [&](const KernelConstruction&) { return std::make_unique<Mine>(calls); }));
//
// A value that can be moved. Not thread-safe.
class OwnedKernelRow {
 public:
  // Captured state may differ from call to call: by default each node gets a kernel of its own.
  OwnedKernelRow(absl::string_view op, KernelFunction make);
  // `owner` keeps the factory's data alive, and with it the library that holds its code; may be null.
  OwnedKernelRow(absl::string_view op, KernelFactory factory, std::shared_ptr<const void> owner);
  OwnedKernelRow(OwnedKernelRow&&) = default;
  OwnedKernelRow& operator=(OwnedKernelRow&&) = default;

  // As in KernelRow; any number of each. Texts are copied. Each in two forms: for rows with a name, and for those that
  // are made where they are added.
  OwnedKernelRow& On(DeviceKind device) &;
  OwnedKernelRow& Types(absl::string_view attr, DTypeSet types) &;
  OwnedKernelRow& HostInput(absl::string_view name) &;
  OwnedKernelRow& HostOutput(absl::string_view name) &;
  OwnedKernelRow& Cost(CostHint hint) &;
  OwnedKernelRow& Shared(Sharing sharing) &;
  OwnedKernelRow& Priority(int8_t priority) &;
  OwnedKernelRow& Label(absl::string_view label) &;
  // The origin of the row, for messages and lists of ops. Empty means "the host program".
  OwnedKernelRow& From(absl::string_view origin) &;
  OwnedKernelRow&& On(DeviceKind device) && { return std::move(On(device)); }
  OwnedKernelRow&& Types(absl::string_view attr, DTypeSet types) && { return std::move(Types(attr, types)); }
  OwnedKernelRow&& HostInput(absl::string_view name) && { return std::move(HostInput(name)); }
  OwnedKernelRow&& HostOutput(absl::string_view name) && { return std::move(HostOutput(name)); }
  OwnedKernelRow&& Cost(CostHint hint) && { return std::move(Cost(hint)); }
  OwnedKernelRow&& Shared(Sharing sharing) && { return std::move(Shared(sharing)); }
  OwnedKernelRow&& Priority(int8_t priority) && { return std::move(Priority(priority)); }
  OwnedKernelRow&& Label(absl::string_view label) && { return std::move(Label(label)); }
  OwnedKernelRow&& From(absl::string_view origin) && { return std::move(From(origin)); }

  // Valid as long as this object, or the one that it was moved into.
  const KernelRow& row() const { return row_; }
  absl::string_view origin() const { return origin_; }

 private:
  absl::string_view Keep(absl::string_view text);

  std::shared_ptr<const void> owner_;
  std::list<std::string> texts_;  // Their addresses stay when the row is moved.
  std::vector<TypeConstraint> types_;
  std::vector<absl::string_view> host_inputs_;
  std::vector<absl::string_view> host_outputs_;
  absl::string_view origin_ = "the host program";
  KernelRow row_;
};

}  // namespace sluice

#endif  // SLUICE_KERNELS_OWNED_KERNEL_ROW_H_

#ifndef SLUICE_KERNELS_PLUGIN_PLUGIN_REGISTRATION_H_
#define SLUICE_KERNELS_PLUGIN_PLUGIN_REGISTRATION_H_

// Collects a plug-in's descriptions until all of them are checked: the functions of SluiceApi over a
// SluiceRegistration.

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "graph/ir/op_registry.h"
#include "graph/ir/op_schema.h"
#include "kernels/kernel_registry.h"
#include "kernels/owned_kernel_row.h"
#include "kernels/plugin/plugin_api.h"

// One load of one plug-in. Lives until SluicePlugin::add has returned, on one thread.
struct SluiceRegistration {
  struct Op {
    sluice::OpSchema schema;
    SluiceOpDef def;  // For its shape function only: the texts are the plug-in's.
  };

  std::string origin;  // "plug-in 'scale' (/lib/libscale.so)".
  // Describes, for messages, the origin of an op in `ops`.
  absl::AnyInvocable<std::string(absl::string_view op) const> owner_of;
  const sluice::OpRegistry* known_ops = nullptr;
  std::vector<Op> ops;
  std::vector<sluice::OwnedKernelRow> rows;
  std::vector<std::pair<std::string, SluiceGradientDef>> gradients;  // By op.
  absl::Status first_error;  // A load with an error fails, though the plug-in may overlook it.
};

namespace sluice {

SluiceStatus* RegistrationAddOp(SluiceRegistration* registration, const SluiceOpDef* op) noexcept;
SluiceStatus* RegistrationAddKernel(SluiceRegistration* registration, const SluiceKernelDef* kernel) noexcept;
SluiceStatus* RegistrationAddGradient(SluiceRegistration* registration, const SluiceGradientDef* gradient) noexcept;

// Adds what was described to the registries: all of it, or nothing and the reason. (Part of it may stay only where the
// host adds the same op or kernel on another thread at the same time, or memory runs out at the end.) One call at a
// time.
absl::Status Commit(SluiceRegistration* registration, const std::shared_ptr<OpRegistry>& ops, KernelRegistry& kernels);

}  // namespace sluice

#endif  // SLUICE_KERNELS_PLUGIN_PLUGIN_REGISTRATION_H_

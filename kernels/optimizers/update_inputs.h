#ifndef SLUICE_KERNELS_OPTIMIZERS_UPDATE_INPUTS_H_
#define SLUICE_KERNELS_OPTIMIZERS_UPDATE_INPUTS_H_

#include <array>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "kernels/kernel_construction.h"
#include "kernels/kernel_context.h"
#include "kernels/optimizers/update_kernel.h"

namespace sluice {

// Which inputs of a node are what, and its attr. Immutable.
class UpdateInputs {
 public:
  // `spec` must outlive this. kHostKernel when the op's schema has other names.
  static absl::StatusOr<UpdateInputs> Make(const KernelConstruction& construction, const UpdateSpec& spec);

  int grad() const { return grad_; }
  // The hyperparameters and the attr. kOpShape for one that is not a scalar, kOpValue for one against its rule.
  absl::StatusOr<UpdateSetting> Read(const KernelContext& context) const;

 private:
  explicit UpdateInputs(const UpdateSpec& spec) : spec_(&spec) {}

  const UpdateSpec* spec_;
  std::array<int, kMaxUpdateScalars> scalars_ = {};
  int grad_ = 0;
  bool flag_ = false;
};

}  // namespace sluice

#endif  // SLUICE_KERNELS_OPTIMIZERS_UPDATE_INPUTS_H_

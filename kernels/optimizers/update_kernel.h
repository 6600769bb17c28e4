#ifndef SLUICE_KERNELS_OPTIMIZERS_UPDATE_KERNEL_H_
#define SLUICE_KERNELS_OPTIMIZERS_UPDATE_KERNEL_H_

// The kernels of all updates: what an op's row needs is a constant.
//
//   constexpr UpdateSpec kMomentum = {2, {{"lr"}, {"momentum"}}, kAllUpdateLoops<MomentumUpdate>, 0.5f,
//   "use_nesterov"}; KernelRow("ApplyMomentum", DenseUpdate(kMomentum)).Types("T", ...),

#include <cstdint>
#include <memory>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "kernels/kernel_row.h"
#include "kernels/optimizers/update_loop.h"

namespace sluice {

// The values that TensorFlow allows for a hyperparameter. A NaN breaks all rules but kAny.
enum class ScalarRule : uint8_t {
  kAny,
  kPositive,
  kNotNegative,
  kNotPositive,
  kPositiveOrFlag,  // Positive, or 0 where the flag is set.
  kOneElement,      // Any number, in a tensor of any rank.
};

// A hyperparameter: its name in the op's signature. Constant data.
struct ScalarSpec {
  absl::string_view name;
  ScalarRule rule = ScalarRule::kAny;
};

// An update. Constant data.
struct UpdateSpec {
  int num_slots = 1;  // The first inputs: the variable and its slots.
  ScalarSpec scalars[kMaxUpdateScalars] = {};
  UpdateLoops loops;
  float unit_ns = 1;            // Of one float.
  absl::string_view flag = {};  // The attr behind UpdateSetting::flag, or empty.
  absl::string_view grad = "grad";
  // Sparse updates, as TensorFlow has them:
  bool refuses_empty_rows = false;     // A row must have elements.
  bool keeps_before_error = false;     // Rows before an index that is out of range have been updated by then.
  UpdateLoop of_single_row = nullptr;  // Instead of loops.of_rounded for rows of one element; null: the same.
};

// `spec`: an UpdateSpec.
absl::StatusOr<std::unique_ptr<Kernel>> NewDenseUpdate(const KernelConstruction& construction, const void* spec);
absl::StatusOr<std::unique_ptr<Kernel>> NewSparseUpdate(const KernelConstruction& construction, const void* spec);

// For rows of [Resource]Apply... and of [Resource]SparseApply... ops. `spec` must outlive the row.
constexpr KernelFactory DenseUpdate(const UpdateSpec& spec) { return KernelFactory(&NewDenseUpdate, &spec); }
constexpr KernelFactory SparseUpdate(const UpdateSpec& spec) { return KernelFactory(&NewSparseUpdate, &spec); }

}  // namespace sluice

#endif  // SLUICE_KERNELS_OPTIMIZERS_UPDATE_KERNEL_H_

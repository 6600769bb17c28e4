#include "kernels/math/l2_loss.h"

#include "kernels/math/elementwise.h"

namespace sluice {
namespace {

// Half the sum of the squares. Summed in double, so that the order of the elements does not show.
template <typename T>
class L2LossKernel : public Kernel {
 public:
  absl::Status Compute(KernelContext& context) const override {
    const absl::Span<const T> values = context.input(0).flat<T>();
    double sum = 0;
    for (const T value : values) {
      const double wide = static_cast<double>(static_cast<ComputeType<T>>(value));
      sum += wide * wide;
    }
    context.SetScalar(0, T(static_cast<ComputeType<T>>(0.5 * sum)));
    return absl::OkStatus();
  }
};

constexpr KernelDef kKernels[] = {
    {"L2Loss", &MakeByInput0<L2LossKernel, FloatCppTypes>, {{"T", kFloatTypes}}},
};

}  // namespace

absl::Span<const KernelDef> L2LossKernels() { return kKernels; }

}  // namespace sluice

#include <memory>
#include <vector>

#include "absl/strings/str_cat.h"
#include "kernels/input_error.h"
#include "kernels/kernel.h"
#include "kernels/math/arithmetic_ops.h"
#include "kernels/math/channels.h"
#include "kernels/math/elementwise.h"
#include "kernels/math/families.h"

namespace sluice {
namespace {

absl::Status NotAMatrix(const Shape& shape) { return ShapeError(0, "", shape, "at least 2 axes"); }

// A number for each channel is added.
template <typename T>
class BiasAddKernel : public Kernel {
 public:
  explicit BiasAddKernel(bool channels_come_second) : channels_come_second_(channels_come_second) {}
  absl::Status Compute(KernelContext& context) const override {
    const Shape& value = context.input(0).shape();
    const Shape& bias = context.input(1).shape();
    if (value.rank() < 2) return NotAMatrix(value);
    const int axis = channels_come_second_ ? 1 : value.rank() - 1;
    if (bias.rank() != 1 || bias.dim(0) != value.dim(axis)) {
      return ShapesError(absl::StrCat(value.ToString(), " and a bias of ", bias.ToString()),
                         absl::StrCat("a bias of [", value.dim(axis), "]"));
    }
    std::vector<int64_t> sizes(static_cast<size_t>(value.rank()), 1);
    sizes[static_cast<size_t>(axis)] = bias.dim(0);
    SLUICE_ASSIGN_OR_RETURN(const Shape aligned, Shape::Make(sizes));
    return ComputeBroadcast(context, BinaryLoopsFor<AddOp, T>(), value, aligned);
  }

 private:
  const bool channels_come_second_;
};

constexpr KernelRow kRows[] = {
    KernelRow("BiasAdd", &NewByTypeWith<BiasAddKernel, NumberCppTypes, ReadChannelsComeSecond>)
        .Types("T", kNumberTypes),
    KernelRow("BiasAddV1", &NewByTypeWith<BiasAddKernel, NumberCppTypes, ReadChannelsComeSecond>)
        .Types("T", kNumberTypes),
};

}  // namespace

absl::Span<const KernelRow> BiasKernels() { return kRows; }

}  // namespace sluice

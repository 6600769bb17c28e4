#include "kernels/math/bias.h"

#include <algorithm>
#include <memory>
#include <string>
#include <type_traits>
#include <vector>

#include "absl/strings/str_cat.h"
#include "graph/base/error.h"
#include "kernels/math/arithmetic_ops.h"
#include "kernels/math/elementwise.h"

namespace sluice {
namespace {

// Where the channels are: the last axis, or the second ("NCHW").
absl::StatusOr<bool> ChannelsComeSecond(const KernelConstruction& construction) {
  if (!construction.HasAttr("data_format")) return false;
  SLUICE_ASSIGN_OR_RETURN(const std::string format, construction.GetString("data_format"));
  if (format == "NHWC") return false;
  if (format == "NCHW") return true;
  return Error(ErrorCode::kOpAttr).Attr("data_format").Found(format).Expected("NHWC or NCHW");
}

absl::Status NotAMatrix(const Shape& shape) {
  return Error(ErrorCode::kOpShape).Input(0).Found(shape.ToString()).Expected("at least 2 axes");
}

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
      return Error(ErrorCode::kOpShapes)
          .Found(absl::StrCat(value.ToString(), " and a bias of ", bias.ToString()))
          .Expected(absl::StrCat("a bias of [", value.dim(axis), "]"));
    }
    std::vector<int64_t> sizes(static_cast<size_t>(value.rank()), 1);
    sizes[static_cast<size_t>(axis)] = bias.dim(0);
    SLUICE_ASSIGN_OR_RETURN(const Shape aligned, Shape::Make(sizes));
    return ComputeBroadcast(context, BinaryLoopsFor<AddOp, T>(), value, aligned);
  }

 private:
  const bool channels_come_second_;
};

// The sum over all axes but that of the channels. Floats are summed in double, integers wrap.
template <typename T>
class BiasAddGradKernel : public Kernel {
 public:
  explicit BiasAddGradKernel(bool channels_come_second) : channels_come_second_(channels_come_second) {}
  absl::Status Compute(KernelContext& context) const override {
    const Shape& shape = context.input(0).shape();
    if (shape.rank() < 2) return NotAMatrix(shape);
    const int axis = channels_come_second_ ? 1 : shape.rank() - 1;
    const int64_t channels = shape.dim(axis);
    int64_t inner = 1;
    for (int k = axis + 1; k < shape.rank(); ++k) inner *= shape.dim(k);
    std::vector<Sum> sums(static_cast<size_t>(channels));
    const absl::Span<const T> values = context.input(0).flat<T>();
    for (size_t at = 0; at < values.size();) {
      for (Sum& sum : sums) {
        for (int64_t i = 0; i < inner; ++i) sum = Add(sum, Widen(values[at++]));
      }
    }
    SLUICE_ASSIGN_OR_RETURN(Tensor* const y, context.AllocateOutput(0, Shape::Of({channels})));
    std::transform(sums.begin(), sums.end(), y->flat<T>().begin(), &Narrow);
    return absl::OkStatus();
  }

 private:
  static constexpr bool kIsReal = kIsHalf<T> || std::is_floating_point<T>::value;
  using Wide = std::conditional_t<std::is_integral<T>::value, T, std::complex<double>>;
  using Sum = std::conditional_t<kIsReal, double, Wide>;

  static Sum Widen(T value) {
    if constexpr (kIsReal) {
      return static_cast<double>(static_cast<ComputeType<T>>(value));
    } else {
      return Sum(value);
    }
  }
  static T Narrow(Sum sum) {
    if constexpr (kIsReal) {
      return T(static_cast<ComputeType<T>>(sum));
    } else {
      return T(sum);
    }
  }

  const bool channels_come_second_;
};

template <template <typename> class KernelOf>
absl::StatusOr<std::unique_ptr<Kernel>> MakeForChannels(const KernelConstruction& construction) {
  SLUICE_ASSIGN_OR_RETURN(const bool channels_come_second, ChannelsComeSecond(construction));
  std::unique_ptr<Kernel> made;
  DispatchDType<NumberCppTypes>(construction.input_type(0), [&](auto type) {
    made = std::make_unique<KernelOf<typename decltype(type)::Type>>(channels_come_second);
  });
  if (made == nullptr) return NoSuchType(construction.input_type(0));
  return made;
}

constexpr KernelDef kKernels[] = {
    {"BiasAdd", &MakeForChannels<BiasAddKernel>, {{"T", kNumberTypes}}},
    {"BiasAddV1", &MakeForChannels<BiasAddKernel>, {{"T", kNumberTypes}}},
    {"BiasAddGrad", &MakeForChannels<BiasAddGradKernel>, {{"T", kNumberTypes}}},
};

}  // namespace

absl::Span<const KernelDef> BiasKernels() { return kKernels; }

}  // namespace sluice

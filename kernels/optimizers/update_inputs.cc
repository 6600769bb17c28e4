#include "kernels/optimizers/update_inputs.h"

#include <complex>

#include "graph/base/status_macros.h"
#include "kernels/dispatch.h"
#include "kernels/element_type.h"
#include "kernels/input_error.h"

namespace sluice {
namespace {

using Complex = std::complex<double>;

// Element 0 of a tensor with one: a number of the variable's dtype, or a count of steps.
Complex NumberOf(const Tensor& tensor) {
  using Types = Join<Join<FloatCppTypes, ComplexCppTypes>, TypeList<int64_t>>;
  Complex number;
  DispatchDType<Types>(tensor.dtype(), [&](auto type) {
    using T = typename decltype(type)::Type;
    const T value = tensor.flat<T>()[0];
    if constexpr (std::is_same_v<T, std::complex<float>> || std::is_same_v<T, Complex>) {
      number = Complex(value);
    } else if constexpr (kIsHalf<T>) {
      number = static_cast<double>(static_cast<float>(value));
    } else {
      number = static_cast<double>(value);
    }
  });
  return number;
}

// What a number against the rule should have been, or null.
const char* WantedInstead(ScalarRule rule, double value, bool flag) {
  switch (rule) {
    case ScalarRule::kPositive:
      return value > 0 ? nullptr : "a positive number";
    case ScalarRule::kPositiveOrFlag:
      return value > 0 || (flag && value == 0) ? nullptr : "a positive number";
    case ScalarRule::kNotNegative:
      return value >= 0 ? nullptr : "0 or more";
    case ScalarRule::kNotPositive:
      return value <= 0 ? nullptr : "0 or less";
    default:
      return nullptr;
  }
}

}  // namespace

absl::StatusOr<UpdateInputs> UpdateInputs::Make(const KernelConstruction& construction, const UpdateSpec& spec) {
  UpdateInputs inputs(spec);
  for (size_t i = 0; i < kMaxUpdateScalars && !spec.scalars[i].name.empty(); ++i) {
    SLUICE_ASSIGN_OR_RETURN(const ArgRange range, construction.InputRange(spec.scalars[i].name));
    inputs.scalars_[i] = range.first;
  }
  SLUICE_ASSIGN_OR_RETURN(const ArgRange grad, construction.InputRange(spec.grad));
  inputs.grad_ = grad.first;
  if (!spec.flag.empty()) {
    SLUICE_ASSIGN_OR_RETURN(inputs.flag_, construction.Get<bool>(spec.flag));
  }
  return inputs;
}

absl::StatusOr<UpdateSetting> UpdateInputs::Read(const KernelContext& context) const {
  UpdateSetting setting;
  setting.flag = flag_;
  for (size_t i = 0; i < kMaxUpdateScalars && !spec_->scalars[i].name.empty(); ++i) {
    const ScalarSpec& spec = spec_->scalars[i];
    const Tensor& input = context.input(scalars_[i]);
    const bool is_scalar = spec.rule == ScalarRule::kOneElement ? input.num_elements() == 1 : input.shape().IsScalar();
    if (!is_scalar) return ShapeError(scalars_[i], spec.name, input.shape(), "a scalar");
    setting.scalars[i] = NumberOf(input);
    if (const char* const wanted = WantedInstead(spec.rule, setting.scalars[i].real(), flag_)) {
      return ValueError(scalars_[i], spec.name, setting.scalars[i].real(), wanted);
    }
  }
  return setting;
}

}  // namespace sluice

#include <cmath>
#include <utility>

#include "graph/value/tstring.h"
#include "kernels/kernel.h"
#include "kernels/kernel_construction.h"
#include "kernels/math/arithmetic_ops.h"
#include "kernels/math/broadcast.h"
#include "kernels/math/elementwise.h"
#include "kernels/math/families.h"

namespace sluice {
namespace {

using StringType = TypeList<TString>;
using QuantizedTypes = TypeList<QInt8, QUInt8, QInt32, QInt16, QUInt16>;
using EqualTypes = Join<NumberCppTypes, TypeList<bool>>;

struct QuantizedEqualOp {
  template <typename T>
  static bool Apply(const T& a, const T& b) {
    return a.value == b.value;
  }
};
struct QuantizedNotEqualOp {
  template <typename T>
  static bool Apply(const T& a, const T& b) {
    return a.value != b.value;
  }
};
struct StringEqualOp {
  static constexpr float kUnitNs = 5.0f;
  template <typename T>
  static bool Apply(const T& a, const T& b) {
    return a.view() == b.view();
  }
};
struct StringNotEqualOp {
  static constexpr float kUnitNs = 5.0f;
  template <typename T>
  static bool Apply(const T& a, const T& b) {
    return a.view() != b.view();
  }
};

// Equal or NotEqual with incompatible_shape_error = false: shapes that do not broadcast give one answer.
class LenientEqualKernel : public Kernel {
 public:
  LenientEqualKernel(std::unique_ptr<Kernel> strict, bool answer) : strict_(std::move(strict)), answer_(answer) {}
  absl::Status Compute(KernelContext& context) const override {
    if (!BroadcastShapes(context.input(0).shape(), context.input(1).shape()).ok()) {
      context.SetScalar(0, answer_);
      return absl::OkStatus();
    }
    return strict_->Compute(context);
  }

 private:
  const std::unique_ptr<Kernel> strict_;
  const bool answer_;
};

// `kAnswer`: for shapes that do not broadcast, where that is no error.
template <typename Op, typename CppTypes, bool kAnswer>
absl::StatusOr<std::unique_ptr<Kernel>> MakeEqual(const KernelConstruction& construction) {
  SLUICE_ASSIGN_OR_RETURN(const bool is_strict, construction.Get<bool>("incompatible_shape_error"));
  SLUICE_ASSIGN_OR_RETURN(std::unique_ptr<Kernel> made, (MakeBinary<Op, CppTypes>(construction)));
  if (is_strict) return made;
  return std::make_unique<LenientEqualKernel>(std::move(made), kAnswer);
}

template <typename Op, typename CppTypes, bool kAnswer>
constexpr KernelRow EqualRow(absl::string_view op) {
  return KernelRow(op, &MakeEqual<Op, CppTypes, kAnswer>).Types("T", SetOf(CppTypes()));
}

using FloatAndDouble = TypeList<float, double>;

// Whether |a - b| is below the attr `tolerance`.
template <typename T>
class ApproximateEqualKernel : public Kernel {
 public:
  explicit ApproximateEqualKernel(float tolerance) : tolerance_(static_cast<T>(tolerance)) {}
  absl::Status Compute(KernelContext& context) const override {
    const Tensor& a = context.input(0);
    const Tensor& b = context.input(1);
    if (a.shape() != b.shape()) return NotSameShape(a.shape(), b.shape());
    const absl::Span<const T> x = a.flat<T>();
    const absl::Span<const T> y = b.flat<T>();
    SLUICE_ASSIGN_OR_RETURN(Tensor* const out, context.AllocateOutput(0, a.shape()));
    const absl::Span<bool> answers = out->flat<bool>();
    for (size_t i = 0; i < x.size(); ++i) answers[i] = std::abs(x[i] - y[i]) < tolerance_;
    return absl::OkStatus();
  }

 private:
  const T tolerance_;
};

absl::StatusOr<float> ReadTolerance(const KernelConstruction& construction) {
  return construction.Get<float>("tolerance");
}

constexpr KernelRow kRows[] = {
    BinaryRow<LessOp, RealCppTypes>("Less"),
    BinaryRow<LessEqualOp, RealCppTypes>("LessEqual"),
    BinaryRow<GreaterOp, RealCppTypes>("Greater"),
    BinaryRow<GreaterEqualOp, RealCppTypes>("GreaterEqual"),
    EqualRow<EqualOp, EqualTypes, false>("Equal"),
    EqualRow<NotEqualOp, EqualTypes, true>("NotEqual"),
    EqualRow<StringEqualOp, StringType, false>("Equal"),
    EqualRow<StringNotEqualOp, StringType, true>("NotEqual"),
    EqualRow<QuantizedEqualOp, QuantizedTypes, false>("Equal"),
    EqualRow<QuantizedNotEqualOp, QuantizedTypes, true>("NotEqual"),
    KernelRow("ApproximateEqual", &NewByTypeWith<ApproximateEqualKernel, FloatAndDouble, ReadTolerance>)
        .Types("T", SetOf(FloatAndDouble())),
};

}  // namespace

absl::Span<const KernelRow> ComparisonKernels() { return kRows; }

}  // namespace sluice

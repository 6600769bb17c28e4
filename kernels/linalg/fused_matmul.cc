#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "graph/base/error.h"
#include "graph/value/float16.h"
#include "kernels/dispatch.h"
#include "kernels/kernel.h"
#include "kernels/kernel_construction.h"
#include "kernels/linalg/families.h"
#include "kernels/linalg/matmul_call.h"
#include "kernels/math/activation_ops.h"
#include "kernels/math/arithmetic_ops.h"
#include "kernels/math/float_loops.h"
#include "kernels/math/float_ops.h"
#include "kernels/math/loops.h"

namespace sluice {
namespace {

// Elements that are worked on at once: they stay in the first-level cache.
constexpr int64_t kBlock = 512;
// Nanoseconds an element takes at most, for the cut into shards.
constexpr double kElementNs = 2;

// What follows the bias, in place on up to kBlock floats. `alpha` is LeakyRelu's slope.
using ActivationFn = void (*)(float* x, int64_t n, float alpha);

void Same(float*, int64_t, float) {}

template <typename Op>
void ApplyUnary(float* x, int64_t n, float) {
  UnaryLoopsFor<Op, float>().loop(x, x, n);
}

void LeakyRelu(float* x, int64_t n, float alpha) { BinaryLoopsFor<LeakyReluOp, float>().repeat_b(x, &alpha, x, n); }

// x/2 * (1 + function), the function's values at `y`.
void HalfTimes(float* x, const float* y, int64_t n) {
  for (int64_t i = 0; i < n; ++i) x[i] = 0.5f * x[i] * (1.0f + y[i]);
}

void GeluExact(float* x, int64_t n, float) {
  float y[kBlock];
  for (int64_t i = 0; i < n; ++i) y[i] = x[i] * 0.70710678f;
  ApplyUnary<ErfOp>(y, n, 0.0f);
  HalfTimes(x, y, n);
}

void GeluApproximate(float* x, int64_t n, float) {
  float y[kBlock];
  for (int64_t i = 0; i < n; ++i) y[i] = 0.79788456f * (x[i] + 0.044715f * x[i] * x[i] * x[i]);
  ApplyUnary<TanhOp>(y, n, 0.0f);
  HalfTimes(x, y, n);
}

// One activation by its name in attr 'fused_ops'.
struct NamedActivation {
  absl::string_view name;
  ActivationFn apply;
};

constexpr NamedActivation kActivations[] = {
    {"", &Same},
    {"Relu", &ApplyUnary<ReluOp>},
    {"Relu6", &ApplyUnary<Relu6Op>},
    {"Elu", &ApplyUnary<EluOp>},
    {"LeakyRelu", &LeakyRelu},
    {"Tanh", &ApplyUnary<TanhOp>},
    {"Sigmoid", &ApplyUnary<SigmoidOp>},
    {"GeluExact", &GeluExact},
    {"GeluApproximate", &GeluApproximate},
};

// MatMul, BiasAdd, activation.
class FusedMatMulKernel : public Kernel {
 public:
  FusedMatMulKernel(const KernelConstruction& construction, const MatMulForm& form, const NamedActivation& activation,
                    float alpha)
      : call_(construction, form, /*conjugate=*/false), activation_(activation), alpha_(alpha) {}

  absl::Status Compute(KernelContext& context) const override {
    const Tensor& bias = context.input(2);
    SLUICE_ASSIGN_OR_RETURN(Tensor* const output, call_.Compute(context));
    const int64_t n = output->dim(1);
    if (bias.rank() != 1 || bias.dim(0) != n) {
      return Error(ErrorCode::kOpShape).Input(2).Found(bias.shape().ToString()).Expected(absl::StrCat("[", n, "]"));
    }
    if (output->num_elements() == 0) return absl::OkStatus();
    DispatchDType<TypeList<float, Half, BFloat16>>(
        output->dtype(), [&](auto type) { Finish<typename decltype(type)::Type>(context, bias, output); });
    return absl::OkStatus();
  }

 private:
  template <typename T>
  void Finish(const KernelContext& context, const Tensor& bias, Tensor* output) const {
    const int64_t n = output->dim(1);
    const T* const bias_values = bias.flat<T>().data();
    T* const all = output->flat<T>().data();
    const double row_ns = kElementNs * static_cast<double>(n);
    context.ParallelFor(output->dim(0), row_ns, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        for (int64_t at = 0; at < n; at += kBlock) {
          FinishBlock(bias_values + at, std::min(kBlock, n - at), all + i * n + at);
        }
      }
    });
  }
  void FinishBlock(const float* bias, int64_t n, float* x) const {
    BinaryLoopsFor<AddOp, float>().both(x, bias, x, n);
    activation_.apply(x, n, alpha_);
  }
  // 16-bit floats are computed as floats and rounded once.
  template <typename T>
  void FinishBlock(const T* bias, int64_t n, T* x) const {
    float floats[kBlock];
    for (int64_t j = 0; j < n; ++j) floats[j] = static_cast<float>(x[j]) + static_cast<float>(bias[j]);
    activation_.apply(floats, n, alpha_);
    for (int64_t j = 0; j < n; ++j) x[j] = T(floats[j]);
  }

  const MatMulCall call_;
  const NamedActivation& activation_;
  const float alpha_;
};

absl::StatusOr<std::unique_ptr<Kernel>> MakeFusedMatMul(const KernelConstruction& construction) {
  MatMulForm form;
  SLUICE_ASSIGN_OR_RETURN(form.transpose_a, construction.Get<bool>("transpose_a"));
  SLUICE_ASSIGN_OR_RETURN(form.transpose_b, construction.Get<bool>("transpose_b"));
  SLUICE_ASSIGN_OR_RETURN(const float alpha, construction.Get<float>("leakyrelu_alpha"));
  SLUICE_ASSIGN_OR_RETURN(const std::vector<std::string> ops, construction.Get<std::vector<std::string>>("fused_ops"));
  const bool has_bias = !ops.empty() && ops[0] == "BiasAdd" && ops.size() <= 2 && construction.num_inputs() == 3;
  const absl::string_view name = ops.size() == 2 ? absl::string_view(ops[1]) : absl::string_view();
  for (const NamedActivation& activation : kActivations) {
    if (!has_bias || activation.name != name) continue;
    return std::make_unique<FusedMatMulKernel>(construction, form, activation, alpha);
  }
  return Error(ErrorCode::kOpAttr)
      .Attr("fused_ops")
      .Found(absl::StrCat("[", absl::StrJoin(ops, ", "), "] with ", construction.num_inputs() - 2, " arguments"))
      .Expected("BiasAdd, and perhaps an activation, with one argument");
}

constexpr KernelRow kRows[] = {
    KernelRow("_FusedMatMul", &MakeFusedMatMul).Types("T", {DType::kFloat, DType::kHalf, DType::kBFloat16}),
};

}  // namespace

absl::Span<const KernelRow> FusedMatMulKernels() { return kRows; }

}  // namespace sluice

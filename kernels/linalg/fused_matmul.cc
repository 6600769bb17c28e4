#include "kernels/linalg/fused_matmul.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "graph/base/error.h"
#include "graph/value/float16.h"
#include "kernels/dispatch.h"
#include "kernels/linalg/matmul_call.h"

namespace sluice {
namespace {

// What follows the bias. `alpha` is LeakyRelu's slope.
using Activation = float (*)(float x, float alpha);

float Same(float x, float) { return x; }
// NaN stays NaN: std::max(x, 0) gives its first argument unless the second is larger.
float Relu(float x, float) { return std::max(x, 0.0f); }
float Relu6(float x, float) { return std::min(std::max(x, 0.0f), 6.0f); }
float Elu(float x, float) { return x < 0 ? std::expm1(x) : x; }
float LeakyRelu(float x, float alpha) { return x < 0 ? alpha * x : x; }
float Tanh(float x, float) { return std::tanh(x); }
float Sigmoid(float x, float) { return 1 / (1 + std::exp(-x)); }
float GeluExact(float x, float) { return 0.5f * x * (1 + std::erf(x * 0.70710678f)); }
float GeluApproximate(float x, float) { return 0.5f * x * (1 + std::tanh(0.79788456f * (x + 0.044715f * x * x * x))); }

// One activation by its name in attr 'fused_ops', and its loop over a row.
struct NamedActivation {
  absl::string_view name;
  void (*apply)(float* row, const float* bias, int64_t n, float alpha);
};

template <Activation kActivation>
void Apply(float* row, const float* bias, int64_t n, float alpha) {
  for (int64_t j = 0; j < n; ++j) row[j] = kActivation(row[j] + bias[j], alpha);
}

constexpr NamedActivation kActivations[] = {
    {"", &Apply<Same>},           {"Relu", &Apply<Relu>},           {"Relu6", &Apply<Relu6>},
    {"Elu", &Apply<Elu>},         {"LeakyRelu", &Apply<LeakyRelu>}, {"Tanh", &Apply<Tanh>},
    {"Sigmoid", &Apply<Sigmoid>}, {"GeluExact", &Apply<GeluExact>}, {"GeluApproximate", &Apply<GeluApproximate>},
};

// Nanoseconds an element takes at most, for the cut into shards.
constexpr double kElementNs = 2;

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
  void Finish(KernelContext& context, const Tensor& bias, Tensor* output) const {
    const int64_t n = output->dim(1);
    const absl::Span<const T> bias_values = bias.flat<T>();
    std::vector<float> bias_floats(static_cast<size_t>(n));
    for (size_t j = 0; j < bias_floats.size(); ++j) bias_floats[j] = static_cast<float>(bias_values[j]);
    T* const all = output->flat<T>().data();
    const double row_ns = kElementNs * static_cast<double>(n);
    context.ParallelFor(output->dim(0), row_ns, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) FinishRow(bias_floats, all + i * n);
    });
  }
  void FinishRow(const std::vector<float>& bias, float* row) const {
    activation_.apply(row, bias.data(), static_cast<int64_t>(bias.size()), alpha_);
  }
  template <typename T>
  void FinishRow(const std::vector<float>& bias, T* row) const {
    std::vector<float> floats(bias.size());
    for (size_t j = 0; j < floats.size(); ++j) floats[j] = static_cast<float>(row[j]);
    FinishRow(bias, floats.data());
    for (size_t j = 0; j < floats.size(); ++j) row[j] = T(floats[j]);
  }

  const MatMulCall call_;
  const NamedActivation& activation_;
  const float alpha_;
};

absl::StatusOr<std::unique_ptr<Kernel>> MakeFusedMatMul(const KernelConstruction& construction) {
  MatMulForm form;
  SLUICE_ASSIGN_OR_RETURN(form.transpose_a, construction.GetBool("transpose_a"));
  SLUICE_ASSIGN_OR_RETURN(form.transpose_b, construction.GetBool("transpose_b"));
  SLUICE_ASSIGN_OR_RETURN(const float alpha, construction.GetFloat("leakyrelu_alpha"));
  SLUICE_ASSIGN_OR_RETURN(const AttrView attr, construction.graph().GetAttr(construction.node(), "fused_ops"));
  SLUICE_ASSIGN_OR_RETURN(const auto ops, attr.AsStringList());
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

constexpr KernelDef kKernels[] = {
    {"_FusedMatMul",
     &MakeFusedMatMul,
     {{"T", {DType::kFloat, DType::kHalf, DType::kBFloat16}}},
     DeviceKind::kCpu,
     /*is_shared=*/false},
};

}  // namespace

absl::Span<const KernelDef> FusedMatMulKernels() { return kKernels; }

}  // namespace sluice

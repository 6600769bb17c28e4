#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "graph/value/float16.h"
#include "kernels/dispatch.h"
#include "kernels/input_error.h"
#include "kernels/kernel.h"
#include "kernels/kernel_construction.h"
#include "kernels/linalg/bias_activation.h"
#include "kernels/linalg/families.h"
#include "kernels/linalg/matmul_call.h"
#include "kernels/linalg/matmul_shape.h"

namespace sluice {
namespace {

// Nanoseconds an element takes at most, for the cut into shards.
constexpr double kElementNs = 2;

// MatMul, BiasAdd, activation.
class FusedMatMulKernel : public Kernel {
 public:
  FusedMatMulKernel(const KernelConstruction& construction, const MatMulForm& form, const FusedActivation& activation,
                    float alpha)
      : form_(form), call_(construction, form, /*conjugate=*/false), activation_(activation), alpha_(alpha) {}

  absl::Status Compute(KernelContext& context) const override {
    MatMulShape shape;
    SLUICE_RETURN_IF_ERROR(ResolveMatMul(form_, context.input(0).shape(), context.input(1).shape(), &shape));
    const Tensor& bias = context.input(2);
    const int64_t n = shape.size.n;
    if (bias.rank() != 1 || bias.dim(0) != n) return ShapeError(2, "", bias.shape(), absl::StrCat("[", n, "]"));
    if (bias.dtype() == DType::kFloat) {
      const BiasActivation epilogue(bias.flat<float>().data(), activation_, alpha_);
      return call_.Compute(context, &epilogue).status();
    }
    SLUICE_ASSIGN_OR_RETURN(Tensor* const output, call_.Compute(context));
    if (output->num_elements() == 0) return absl::OkStatus();
    DispatchDType<TypeList<Half, BFloat16>>(
        output->dtype(), [&](auto type) { Finish<typename decltype(type)::Type>(context, bias, output); });
    return absl::OkStatus();
  }

 private:
  // 16-bit floats are finished as floats and rounded once more.
  template <typename T>
  void Finish(const KernelContext& context, const Tensor& bias, Tensor* output) const {
    const int64_t n = output->dim(1);
    const T* const bias_values = bias.flat<T>().data();
    T* const all = output->flat<T>().data();
    const double row_ns = kElementNs * static_cast<double>(n);
    context.ParallelFor(output->dim(0), row_ns, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        for (int64_t at = 0; at < n; at += FusedActivation::kBlock) {
          FinishBlock(bias_values + at, std::min(FusedActivation::kBlock, n - at), all + i * n + at);
        }
      }
    });
  }
  template <typename T>
  void FinishBlock(const T* bias, int64_t n, T* x) const {
    float floats[FusedActivation::kBlock];
    for (int64_t j = 0; j < n; ++j) floats[j] = static_cast<float>(x[j]) + static_cast<float>(bias[j]);
    activation_.apply(floats, n, alpha_);
    for (int64_t j = 0; j < n; ++j) x[j] = T(floats[j]);
  }

  const MatMulForm form_;
  const MatMulCall call_;
  const FusedActivation& activation_;
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
  const FusedActivation* const activation = has_bias ? FindFusedActivation(name) : nullptr;
  if (activation != nullptr) return std::make_unique<FusedMatMulKernel>(construction, form, *activation, alpha);
  return AttrError("fused_ops",
                   absl::StrCat("[", absl::StrJoin(ops, ", "), "] with ", construction.num_inputs() - 2, " arguments"),
                   "BiasAdd, and perhaps an activation, with one argument");
}

constexpr KernelRow kRows[] = {
    KernelRow("_FusedMatMul", &MakeFusedMatMul).Types("T", {DType::kFloat, DType::kHalf, DType::kBFloat16}),
};

}  // namespace

absl::Span<const KernelRow> FusedMatMulKernels() { return kRows; }

}  // namespace sluice

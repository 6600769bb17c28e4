#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "graph/base/error.h"
#include "graph/base/status_macros.h"
#include "kernels/array/index_values.h"
#include "kernels/input_error.h"
#include "kernels/kernel.h"
#include "kernels/kernel_construction.h"
#include "kernels/linalg/bias_activation.h"
#include "kernels/linalg/float_cast.h"
#include "kernels/linalg/gemm.h"
#include "kernels/new_kernel.h"
#include "kernels/nn/conv_geometry.h"
#include "kernels/nn/depthwise.h"
#include "kernels/nn/families.h"
#include "kernels/nn/norm_activation.h"
#include "kernels/worker_scratch.h"
#include "kernels/workers.h"

namespace sluice {
namespace {

constexpr ErrorCode kUnimplemented = ErrorCode::kOpUnimplemented;
constexpr ConvRules kRules = {2,     kUnimplemented,         ErrorCode::kOpAttr, kUnimplemented, kUnimplemented,
                              false, /*equal_strides=*/true, /*groups=*/false};

// As in TensorFlow for Linux, only float and bfloat16 are dilated.
absl::StatusOr<ConvForm> ReadForm(const KernelConstruction& construction) {
  ConvRules rules = RulesForType(kRules, construction, /*is_gradient=*/false);
  rules.dilates = !rules.equal_strides;
  rules.equal_strides = true;  // For all types: conformance case errors/attr_depthwise_strides.
  return ConvForm::Read(construction, rules);
}

// Dilations are refused: TensorFlow's gradients leave them unread, and are those of another function.
absl::StatusOr<ConvForm> ReadGradientForm(const KernelConstruction& construction) {
  return ConvForm::Read(construction, RulesForType(kRules, construction, /*is_gradient=*/true));
}

void FillZeros(Tensor* tensor) { std::memset(tensor->mutable_raw_data(), 0, tensor->total_bytes()); }

// Calls `run(a, b, output)` with values of floats for those of half and bfloat16, and rounds the result once.
absl::Status RunInFloats(const KernelContext& context, const Tensor& a, const Tensor& b, Tensor* output,
                         absl::FunctionRef<absl::Status(const Tensor&, const Tensor&, Tensor*)> run) {
  if (a.dtype() == DType::kFloat || a.dtype() == DType::kDouble) return run(a, b, output);
  SLUICE_ASSIGN_OR_RETURN(const Tensor a_floats, ToFloats(a, context.allocator()));
  SLUICE_ASSIGN_OR_RETURN(const Tensor b_floats, ToFloats(b, context.allocator()));
  SLUICE_ASSIGN_OR_RETURN(Tensor sums, Tensor::Make(DType::kFloat, output->shape(), context.allocator()));
  SLUICE_RETURN_IF_ERROR(run(a_floats, b_floats, &sums));
  RoundFloats(sums, output);
  return absl::OkStatus();
}

// A convolution of each channel alone. See Note [Depthwise convolutions].
class DepthwiseKernel : public Kernel {
 public:
  explicit DepthwiseKernel(const ConvForm& form) : form_(form) {}

  absl::Status Compute(KernelContext& context) const override {
    const Tensor& image = context.input(0);
    const Tensor& filter = context.input(1);
    SLUICE_ASSIGN_OR_RETURN(const ConvGeometry geometry, ResolveDepthwise(form_, image.shape(), filter.shape()));
    SLUICE_ASSIGN_OR_RETURN(Tensor* const result, context.AllocateOutput(0, geometry.output));
    return RunInFloats(context, image, filter, result, [&](const Tensor& a, const Tensor& b, Tensor* output) {
      return Convolve(context, geometry, a, b, nullptr, output);
    });
  }

 protected:
  const ConvForm& form() const { return form_; }

  // All of floats or of doubles. `epilogue` (may be null): of floats.
  absl::Status Convolve(const KernelContext& context, const ConvGeometry& geometry, const Tensor& image,
                        const Tensor& filter, const GemmEpilogue<float>* epilogue, Tensor* result) const {
    if (result->num_elements() == 0) return absl::OkStatus();
    if (image.num_elements() == 0 || filter.num_elements() == 0) {
      FillZeros(result);
      if (epilogue == nullptr) return absl::OkStatus();
      epilogue->Finish(result->flat<float>().data(), geometry.out_channels, geometry.pixels(), 0,
                       geometry.out_channels);
      return absl::OkStatus();
    }
    const Workers workers(context.run());
    if (image.dtype() == DType::kDouble) {
      return Depthwise<double>(geometry, workers, &scratch_)
          .Convolve(image.flat<double>().data(), filter.flat<double>().data(), result->flat<double>().data());
    }
    return Depthwise<float>(geometry, workers, &scratch_)
        .Convolve(image.flat<float>().data(), filter.flat<float>().data(), result->flat<float>().data(), epilogue);
  }

 private:
  const ConvForm form_;
  mutable ScratchKeeper scratch_;
};

// The same, a bias or a normalisation for each channel, and an activation. Half and bfloat16 are finished before they
// are rounded.
class FusedDepthwiseKernel : public DepthwiseKernel {
 public:
  static absl::StatusOr<std::unique_ptr<Kernel>> Make(const KernelConstruction& construction) {
    SLUICE_ASSIGN_OR_RETURN(const ConvForm form, ReadForm(construction));
    SLUICE_ASSIGN_OR_RETURN(const float alpha, construction.Get<float>("leakyrelu_alpha"));
    SLUICE_ASSIGN_OR_RETURN(const float epsilon, construction.Get<float>("epsilon"));
    SLUICE_ASSIGN_OR_RETURN(const std::vector<std::string> ops,
                            construction.Get<std::vector<std::string>>("fused_ops"));
    const int num_args = construction.num_inputs() - 2;
    const bool is_fit = !ops.empty() && ops.size() <= 2 &&
                        ((ops[0] == "BiasAdd" && num_args == 1) || (ops[0] == "FusedBatchNorm" && num_args == 4));
    const absl::string_view name = ops.size() == 2 ? absl::string_view(ops[1]) : absl::string_view();
    const FusedActivation* const activation = is_fit ? FindFusedActivation(name) : nullptr;
    if (activation != nullptr) return std::make_unique<FusedDepthwiseKernel>(form, *activation, alpha, epsilon);
    return AttrError("fused_ops", absl::StrCat("[", absl::StrJoin(ops, ", "), "] with ", num_args, " arguments"),
                     "BiasAdd with one argument or FusedBatchNorm with four, and perhaps an activation");
  }
  FusedDepthwiseKernel(const ConvForm& form, const FusedActivation& activation, float alpha, float epsilon)
      : DepthwiseKernel(form), activation_(activation), alpha_(alpha), epsilon_(epsilon) {}

  absl::Status Compute(KernelContext& context) const override {
    SLUICE_ASSIGN_OR_RETURN(const ConvGeometry geometry,
                            ResolveDepthwise(form(), context.input(0).shape(), context.input(1).shape()));
    std::vector<Tensor> args;
    for (int i = 2; i < context.num_inputs(); ++i) {
      if (context.input(i).shape() != Shape::Of({geometry.out_channels})) {
        return ShapeError(i, "", context.input(i).shape(), absl::StrCat("[", geometry.out_channels, "]"));
      }
      SLUICE_ASSIGN_OR_RETURN(args.emplace_back(), ToFloats(context.input(i), context.allocator()));
    }
    SLUICE_ASSIGN_OR_RETURN(Tensor* const result, context.AllocateOutput(0, geometry.output));
    if (args.size() == 1) {
      const BiasActivation epilogue(std::as_const(args[0]).flat<float>().data(), activation_, alpha_);
      return Run(context, geometry, epilogue, result);
    }
    SLUICE_ASSIGN_OR_RETURN(const NormActivation epilogue,
                            NormActivation::Make(args, epsilon_, activation_, alpha_, context.allocator()));
    return Run(context, geometry, epilogue, result);
  }

 private:
  absl::Status Run(const KernelContext& context, const ConvGeometry& geometry, const GemmEpilogue<float>& epilogue,
                   Tensor* result) const {
    return RunInFloats(context, context.input(0), context.input(1), result,
                       [&](const Tensor& a, const Tensor& b, Tensor* output) {
                         return Convolve(context, geometry, a, b, &epilogue, output);
                       });
  }

  const FusedActivation& activation_;
  const float alpha_;
  const float epsilon_;
};

// The gradient of the image (inputs: its sizes, the filter, the gradient of the result), or of the filter (inputs: the
// image, the filter's sizes, the gradient of the result).
class DepthwiseGradientKernel : public Kernel {
 public:
  static absl::StatusOr<std::unique_ptr<Kernel>> Make(const KernelConstruction& construction) {
    SLUICE_ASSIGN_OR_RETURN(const ConvForm form, ReadGradientForm(construction));
    return std::make_unique<DepthwiseGradientKernel>(form, construction.op() == "DepthwiseConv2dNativeBackpropFilter");
  }
  DepthwiseGradientKernel(const ConvForm& form, bool of_filter) : form_(form), of_filter_(of_filter) {}

  absl::Status Compute(KernelContext& context) const override {
    const int sizes = of_filter_ ? 1 : 0;
    SLUICE_ASSIGN_OR_RETURN(const Shape shape,
                            ReadShapeInput(context, sizes, of_filter_ ? "filter_sizes" : "input_sizes"));
    const Tensor& other = context.input(1 - sizes);
    const Tensor& result = context.input(2);
    SLUICE_ASSIGN_OR_RETURN(const ConvGeometry geometry, ResolveDepthwise(form_, of_filter_ ? other.shape() : shape,
                                                                          of_filter_ ? shape : other.shape()));
    SLUICE_RETURN_IF_ERROR(CheckResult(geometry, result.shape()));
    SLUICE_ASSIGN_OR_RETURN(Tensor* const output, context.AllocateOutput(0, shape));
    if (output->num_elements() == 0) return absl::OkStatus();
    if (other.num_elements() == 0 || result.num_elements() == 0) {
      FillZeros(output);
      return absl::OkStatus();
    }
    return RunInFloats(context, other, result, output, [&](const Tensor& a, const Tensor& b, Tensor* sums) {
      return a.dtype() == DType::kDouble ? RunOf<double>(context, geometry, a, b, sums)
                                         : RunOf<float>(context, geometry, a, b, sums);
    });
  }

 private:
  template <typename T>
  absl::Status RunOf(const KernelContext& context, const ConvGeometry& geometry, const Tensor& other,
                     const Tensor& result, Tensor* output) const {
    const Workers workers(context.run());
    const Depthwise<T> depthwise(geometry, workers, &scratch_);
    const T* const a = other.flat<T>().data();
    const T* const b = result.flat<T>().data();
    T* const to = output->flat<T>().data();
    return of_filter_ ? depthwise.FilterGradient(a, b, to) : depthwise.ImageGradient(a, b, to);
  }

  const ConvForm form_;
  const bool of_filter_;
  mutable ScratchKeeper scratch_;
};

constexpr KernelRow kRows[] = {
    KernelRow("DepthwiseConv2dNative", &NewWith<DepthwiseKernel, ReadForm>).Types("T", kFloatTypes),
    KernelRow("DepthwiseConv2dNativeBackpropFilter", &New<DepthwiseGradientKernel>).Types("T", kFloatTypes),
    KernelRow("DepthwiseConv2dNativeBackpropInput", &New<DepthwiseGradientKernel>).Types("T", kFloatTypes),
    KernelRow("_FusedDepthwiseConv2dNative", &New<FusedDepthwiseKernel>)
        .Types("T", {DType::kFloat, DType::kHalf, DType::kBFloat16}),
};

}  // namespace

absl::Span<const KernelRow> DepthwiseConv2DKernels() { return kRows; }

}  // namespace sluice

#include <algorithm>
#include <cmath>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "graph/base/error.h"
#include "graph/base/status_macros.h"
#include "kernels/input_error.h"
#include "kernels/kernel.h"
#include "kernels/kernel_construction.h"
#include "kernels/linalg/bias_activation.h"
#include "kernels/linalg/float_cast.h"
#include "kernels/nn/conv_geometry.h"
#include "kernels/nn/convolution_call.h"
#include "kernels/nn/families.h"
#include "kernels/nn/norm_activation.h"

namespace sluice {
namespace {

constexpr ConvRules kRules;
// Nanoseconds that a double takes at most, for the cut into shards.
constexpr double kDoubleNs = 4;

// Activations of doubles, by name: those that TensorFlow has for them.
struct DoubleActivation {
  absl::string_view name;
  double (*apply)(double x, double alpha);
};

constexpr DoubleActivation kDoubleActivations[] = {
    {"", [](double x, double) { return x; }},
    {"Relu", [](double x, double) { return x < 0 ? 0 : x; }},
    {"Relu6", [](double x, double) { return x < 0   ? 0
                                            : x > 6 ? 6
                                                    : x; }},
    {"Elu", [](double x, double) { return x < 0 ? std::expm1(x) : x; }},
    {"LeakyRelu", [](double x, double alpha) { return x < 0 ? alpha * x : x; }},
};

const DoubleActivation* FindDoubleActivation(absl::string_view name) {
  for (const DoubleActivation& activation : kDoubleActivations) {
    if (activation.name == name) return &activation;
  }
  return nullptr;
}

// What follows the convolution: attrs of the node.
struct FusedForm {
  enum class Way { kBias, kBiasAndAdd, kNorm };

  Way way = Way::kBias;
  const FusedActivation* activation = nullptr;   // Of floats, and half.
  const DoubleActivation* of_doubles = nullptr;  // Of doubles.
  float alpha = 0;
  float epsilon = 0;

  int num_args() const { return way == Way::kBias ? 1 : way == Way::kBiasAndAdd ? 2 : 4; }

  static absl::StatusOr<FusedForm> Read(const KernelConstruction& construction);
};

absl::StatusOr<FusedForm> FusedForm::Read(const KernelConstruction& construction) {
  FusedForm form;
  SLUICE_ASSIGN_OR_RETURN(form.alpha, construction.Get<float>("leakyrelu_alpha"));
  SLUICE_ASSIGN_OR_RETURN(form.epsilon, construction.Get<float>("epsilon"));
  SLUICE_ASSIGN_OR_RETURN(const std::vector<std::string> ops, construction.Get<std::vector<std::string>>("fused_ops"));
  size_t used = 0;
  if (!ops.empty() && (ops[0] == "BiasAdd" || ops[0] == "FusedBatchNorm")) {
    form.way = ops[0] == "BiasAdd" ? Way::kBias : Way::kNorm;
    used = 1;
    if (form.way == Way::kBias && ops.size() > 1 && ops[1] == "Add") {
      form.way = Way::kBiasAndAdd;
      used = 2;
    }
  }
  bool fits = used > 0 && ops.size() <= used + 1 && construction.num_inputs() == 2 + form.num_args();
  for (int i = 2; i < construction.num_inputs(); ++i) {
    fits = fits && construction.input_type(i) == construction.input_type(0);
  }
  const absl::string_view name = ops.size() > used ? absl::string_view(ops[used]) : absl::string_view();
  if (construction.input_type(0) == DType::kDouble) {
    form.of_doubles = FindDoubleActivation(name);
    fits = fits && form.of_doubles != nullptr;
  } else {
    form.activation = FindFusedActivation(name);
    fits = fits && form.activation != nullptr;
  }
  if (fits) return form;
  return AttrError(
      "fused_ops", absl::StrCat("[", absl::StrJoin(ops, ", "), "] with ", construction.num_inputs() - 2, " arguments"),
      "BiasAdd, BiasAdd and Add, or FusedBatchNorm, perhaps an activation, and their arguments of dtype T");
}

void Activate(const FusedForm& form, float* x, int64_t n) { form.activation->apply(x, n, form.alpha); }
void Activate(const FusedForm& form, double* x, int64_t n) {
  for (int64_t j = 0; j < n; ++j) x[j] = form.of_doubles->apply(x[j], form.alpha);
}

// The epilogue: (x - mean) * factor + shift for each channel (no factors: x + shift), plus an addend of the whole
// result's shape (null: none) that starts where `base` does, then the activation. Borrows everything. Immutable once it
// is in use.
template <typename T>
class ChannelEpilogue final : public GemmEpilogue<T> {
 public:
  ChannelEpilogue(const FusedForm& form, const T* means, const T* factors, const T* shifts)
      : form_(form), means_(means), factors_(factors), shifts_(shifts) {}

  void SetAddend(const T* addend, const T* base) {
    addend_ = addend;
    base_ = base;
  }

  void Finish(T* c, int64_t ldc, int64_t rows, int64_t first_col, int64_t cols) const override {
    for (int64_t i = 0; i < rows; ++i) {
      for (int64_t at = 0; at < cols; at += FusedActivation::kBlock) {
        FinishBlock(c + i * ldc + at, first_col + at, std::min(FusedActivation::kBlock, cols - at));
      }
    }
  }

 private:
  void FinishBlock(T* x, int64_t channel, int64_t n) const {
    const T* const shifts = shifts_ + channel;
    if (factors_ == nullptr) {
      for (int64_t j = 0; j < n; ++j) x[j] += shifts[j];
    } else {
      for (int64_t j = 0; j < n; ++j) x[j] = (x[j] - means_[channel + j]) * factors_[channel + j] + shifts[j];
    }
    if (addend_ != nullptr) {
      const T* const addend = addend_ + (x - base_);
      for (int64_t j = 0; j < n; ++j) x[j] += addend[j];
    }
    Activate(form_, x, n);
  }

  const FusedForm& form_;
  const T* const means_;
  const T* const factors_;
  const T* const shifts_;
  const T* addend_ = nullptr;
  const T* base_ = nullptr;
};

// Conv2D, then BiasAdd (and Add) or FusedBatchNorm, then an activation.
class FusedConv2DKernel : public Kernel {
 public:
  static absl::StatusOr<std::unique_ptr<Kernel>> Make(const KernelConstruction& construction) {
    SLUICE_ASSIGN_OR_RETURN(const ConvForm form,
                            ConvForm::Read(construction, RulesForType(kRules, construction, /*is_gradient=*/false)));
    SLUICE_ASSIGN_OR_RETURN(const std::string filter_format, construction.Get<std::string>("filter_format"));
    if (filter_format != "HWIO") {
      return Error(ErrorCode::kOpUnimplemented).Attr("filter_format").Found(filter_format).Expected("HWIO on a CPU");
    }
    SLUICE_ASSIGN_OR_RETURN(const FusedForm fused, FusedForm::Read(construction));
    return std::make_unique<FusedConv2DKernel>(construction, form, fused);
  }
  FusedConv2DKernel(const KernelConstruction& construction, const ConvForm& form, const FusedForm& fused)
      : call_(construction, form), fused_(fused) {}

  absl::Status Compute(KernelContext& context) const override {
    SLUICE_ASSIGN_OR_RETURN(const ConvGeometry geometry, call_.Resolve(context));
    SLUICE_RETURN_IF_ERROR(CheckArgs(context, geometry));
    SLUICE_ASSIGN_OR_RETURN(Tensor* const output, context.AllocateOutput(0, geometry.output));
    if (output->dtype() == DType::kDouble) return RunOf<double>(context, geometry, output);
    if (output->dtype() == DType::kFloat) return RunOf<float>(context, geometry, output);
    // Half is finished in float and rounded once.
    SLUICE_ASSIGN_OR_RETURN(Tensor sums, context.AllocateTemp(DType::kFloat, geometry.output));
    SLUICE_RETURN_IF_ERROR(RunOf<float>(context, geometry, &sums));
    RoundFloats(sums, output);
    return absl::OkStatus();
  }

 private:
  absl::Status CheckArgs(const KernelContext& context, const ConvGeometry& geometry) const {
    for (int i = 2; i < context.num_inputs(); ++i) {
      const Shape& shape = context.input(i).shape();
      const bool is_addend = fused_.way == FusedForm::Way::kBiasAndAdd && i == 3;
      const Shape wanted = is_addend ? geometry.output : Shape::Of({geometry.out_channels});
      if (shape == wanted) continue;
      return ShapeError(i, "", shape, wanted.ToString());
    }
    return absl::OkStatus();
  }

  // The whole op, in floats or doubles.
  template <typename T>
  absl::Status RunOf(const KernelContext& context, const ConvGeometry& geometry, Tensor* output) const {
    std::vector<Tensor> args;
    for (int i = 2; i < context.num_inputs(); ++i) {
      args.push_back(context.input(i));
      if (DTypeOf<T>::value == DType::kFloat) {
        SLUICE_ASSIGN_OR_RETURN(args.back(), ToFloats(context.input(i), context.allocator()));
      }
    }
    const auto values = [&args](size_t i) { return std::as_const(args[i]).template flat<T>().data(); };
    if constexpr (std::is_same_v<T, float>) {
      if (fused_.way == FusedForm::Way::kBias) {
        const BiasActivation epilogue(values(0), *fused_.activation, fused_.alpha);
        return call_.Run(context, geometry, &epilogue, output);
      }
      if (fused_.way == FusedForm::Way::kNorm) {
        SLUICE_ASSIGN_OR_RETURN(
            const NormActivation epilogue,
            NormActivation::Make(args, fused_.epsilon, *fused_.activation, fused_.alpha, context.allocator()));
        return call_.Run(context, geometry, &epilogue, output);
      }
    }
    if (fused_.way != FusedForm::Way::kNorm) {
      ChannelEpilogue<T> epilogue(fused_, nullptr, nullptr, values(0));
      if (args.size() > 1) epilogue.SetAddend(values(1), output->flat<T>().data());
      return Finish(context, geometry, epilogue, output);
    }
    // Scale, offset, mean, variance.
    SLUICE_ASSIGN_OR_RETURN(Tensor factors, Tensor::Make(DTypeOf<T>::value, args[0].shape(), context.allocator()));
    T* const factor = factors.flat<T>().data();
    for (int64_t i = 0; i < geometry.out_channels; ++i) {
      factor[i] = values(0)[i] / std::sqrt(values(3)[i] + static_cast<T>(fused_.epsilon));
    }
    return Finish(context, geometry, ChannelEpilogue<T>(fused_, values(2), factor, values(1)), output);
  }
  absl::Status Finish(const KernelContext& context, const ConvGeometry& geometry,
                      const ChannelEpilogue<float>& epilogue, Tensor* output) const {
    return call_.Run(context, geometry, &epilogue, output);
  }
  // Doubles are rare: the sums of all pixels come first.
  absl::Status Finish(const KernelContext& context, const ConvGeometry& geometry,
                      const ChannelEpilogue<double>& epilogue, Tensor* output) const {
    SLUICE_RETURN_IF_ERROR(call_.Run(context, geometry, nullptr, output));
    const int64_t channels = geometry.out_channels;
    double* const all = output->flat<double>().data();
    const double row_ns = kDoubleNs * static_cast<double>(channels);
    context.ParallelFor(geometry.pixels(), row_ns, [&](int64_t begin, int64_t end) {
      epilogue.Finish(all + begin * channels, channels, end - begin, 0, channels);
    });
    return absl::OkStatus();
  }

  const ConvolutionCall call_;
  const FusedForm fused_;
};

constexpr KernelRow kRows[] = {
    KernelRow("_FusedConv2D", &FusedConv2DKernel::Make).Types("T", {DType::kFloat, DType::kDouble, DType::kHalf}),
};

}  // namespace

absl::Span<const KernelRow> FusedConv2DKernels() { return kRows; }

}  // namespace sluice

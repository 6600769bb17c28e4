#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "graph/base/error.h"
#include "graph/base/mutex.h"
#include "graph/base/status_macros.h"
#include "kernels/kernel.h"
#include "kernels/kernel_construction.h"
#include "kernels/linalg/bias_activation.h"
#include "kernels/linalg/float_cast.h"
#include "kernels/linalg/packed_matrix.h"
#include "kernels/new_kernel.h"
#include "kernels/nn/conv2d_geometry.h"
#include "kernels/nn/convolution.h"
#include "kernels/nn/families.h"
#include "kernels/worker_scratch.h"
#include "kernels/workers.h"

namespace sluice {
namespace {

// The packed form of the filter of a kernel: kept where the filter is constant. Thread-safe.
class PackedFilter {
 public:
  explicit PackedFilter(bool is_constant) : is_constant_(is_constant) {}

  absl::StatusOr<PackedMatrix> Get(const Tensor& filter, const PackedLayout& layout, Allocator& allocator) const
      ABSL_LOCKS_EXCLUDED(mu_) {
    if (!is_constant_) return PackedMatrix::Pack(filter, layout, allocator);
    {
      MutexLock lock(&mu_);
      if (Holds(filter, layout)) return kept_->packed;
    }
    std::shared_ptr<const PackedConstant> made = SharedPackedConstant(filter, layout);
    if (made == nullptr) return PackedMatrix::Pack(filter, layout, allocator);
    PackedMatrix packed = made->packed;
    MutexLock lock(&mu_);
    kept_.swap(made);
    return packed;
  }

 private:
  bool Holds(const Tensor& filter, const PackedLayout& layout) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    return kept_ != nullptr && kept_->source.raw_data() == filter.raw_data() &&
           kept_->packed.layout().groups == layout.groups && kept_->source.shape() == filter.shape();
  }

  const bool is_constant_;
  mutable Mutex mu_;
  mutable std::shared_ptr<const PackedConstant> kept_ ABSL_GUARDED_BY(mu_);
};

// What the kernels of this file share. Part of a kernel. Thread-safe.
class Conv2DCall {
 public:
  Conv2DCall(const KernelConstruction& construction, const Conv2DForm& form)
      : form_(form), filter_(construction.InputIsConstant(1)) {}

  const Conv2DForm& form() const { return form_; }

  // Output 0: the convolution of inputs 0 and 1. REQUIRES: no epilogue where the output is not float.
  absl::Status Compute(KernelContext& context, const Conv2DGeometry& geometry,
                       const GemmEpilogue<float>* epilogue) const {
    const Tensor& image = context.input(0);
    SLUICE_ASSIGN_OR_RETURN(Tensor* const output, context.AllocateOutput(0, geometry.output));
    if (output->num_elements() == 0) return absl::OkStatus();
    if (image.num_elements() == 0) {
      FillWithoutImage(geometry, output, epilogue);
      return absl::OkStatus();
    }
    if (image.dtype() == DType::kInt32) {
      return ConvolveInts(geometry, image.flat<int32_t>().data(), context.input(1).flat<int32_t>().data(),
                          output->flat<int32_t>().data(), Workers(context.run()), &scratch_);
    }
    const PackedLayout layout = Convolution<float>::LayoutOf(geometry);
    SLUICE_ASSIGN_OR_RETURN(const PackedMatrix filter, filter_.Get(context.input(1), layout, context.allocator()));
    if (image.dtype() == DType::kDouble) return Run<double>(context, geometry, image, filter, output, nullptr);
    if (image.dtype() == DType::kFloat) return Run<float>(context, geometry, image, filter, output, epilogue);
    // Half and bfloat16: sums are made in float and rounded once.
    SLUICE_ASSIGN_OR_RETURN(const Tensor floats, ToFloats(image, context.allocator()));
    SLUICE_ASSIGN_OR_RETURN(Tensor sums, context.AllocateTemp(DType::kFloat, geometry.output));
    SLUICE_RETURN_IF_ERROR(Run<float>(context, geometry, floats, filter, &sums, nullptr));
    RoundFloats(sums, output);
    return absl::OkStatus();
  }

 private:
  // All windows are in the padding. As in TensorFlow the sums are zero then, even where the filter has a NaN.
  static void FillWithoutImage(const Conv2DGeometry& geometry, Tensor* output, const GemmEpilogue<float>* epilogue) {
    std::memset(output->mutable_raw_data(), 0, output->total_bytes());
    if (epilogue == nullptr) return;
    const int64_t channels = geometry.out_channels;
    epilogue->Finish(output->flat<float>().data(), channels, geometry.pixels(), 0, channels);
  }

  template <typename T>
  absl::Status Run(const KernelContext& context, const Conv2DGeometry& geometry, const Tensor& image,
                   const PackedMatrix& filter, Tensor* output, const GemmEpilogue<T>* epilogue) const {
    const Convolution<T> convolution(geometry, image.flat<T>().data(), filter, output->flat<T>().data(), epilogue);
    return convolution.Run(Workers(context.run()), &scratch_);
  }

  const Conv2DForm form_;
  const PackedFilter filter_;
  mutable ScratchKeeper scratch_;
};

// A convolution of images. See Note [Convolution by products].
class Conv2DKernel : public Kernel {
 public:
  static absl::StatusOr<std::unique_ptr<Kernel>> Make(const KernelConstruction& construction) {
    SLUICE_ASSIGN_OR_RETURN(const Conv2DForm form, Conv2DForm::Read(construction));
    return std::make_unique<Conv2DKernel>(construction, form);
  }
  Conv2DKernel(const KernelConstruction& construction, const Conv2DForm& form) : call_(construction, form) {}

  absl::Status Compute(KernelContext& context) const override {
    SLUICE_ASSIGN_OR_RETURN(const Conv2DGeometry geometry,
                            Conv2DGeometry::Resolve(call_.form(), context.input(0).shape(), context.input(1).shape()));
    return call_.Compute(context, geometry, nullptr);
  }

 private:
  const Conv2DCall call_;
};

// Conv2D, BiasAdd, activation.
class FusedConv2DKernel : public Kernel {
 public:
  static absl::StatusOr<std::unique_ptr<Kernel>> Make(const KernelConstruction& construction) {
    SLUICE_ASSIGN_OR_RETURN(const Conv2DForm form, Conv2DForm::Read(construction));
    SLUICE_ASSIGN_OR_RETURN(const float alpha, construction.Get<float>("leakyrelu_alpha"));
    SLUICE_ASSIGN_OR_RETURN(const std::string filter_format, construction.Get<std::string>("filter_format"));
    if (filter_format != "HWIO") {
      return Error(ErrorCode::kOpUnimplemented).Attr("filter_format").Found(filter_format).Expected("HWIO on a CPU");
    }
    SLUICE_ASSIGN_OR_RETURN(const std::vector<std::string> ops,
                            construction.Get<std::vector<std::string>>("fused_ops"));
    const bool has_bias = !ops.empty() && ops[0] == "BiasAdd" && ops.size() <= 2 && construction.num_inputs() == 3 &&
                          construction.input_type(2) == DType::kFloat;
    const absl::string_view name = ops.size() == 2 ? absl::string_view(ops[1]) : absl::string_view();
    const FusedActivation* const activation = has_bias ? FindFusedActivation(name) : nullptr;
    if (activation != nullptr) return std::make_unique<FusedConv2DKernel>(construction, form, *activation, alpha);
    return Error(ErrorCode::kOpAttr)
        .Attr("fused_ops")
        .Found(absl::StrCat("[", absl::StrJoin(ops, ", "), "] with ", construction.num_inputs() - 2, " arguments"))
        .Expected("BiasAdd, and perhaps an activation, with one argument of floats");
  }
  FusedConv2DKernel(const KernelConstruction& construction, const Conv2DForm& form, const FusedActivation& activation,
                    float alpha)
      : call_(construction, form), activation_(activation), alpha_(alpha) {}

  absl::Status Compute(KernelContext& context) const override {
    SLUICE_ASSIGN_OR_RETURN(const Conv2DGeometry geometry,
                            Conv2DGeometry::Resolve(call_.form(), context.input(0).shape(), context.input(1).shape()));
    const Tensor& bias = context.input(2);
    if (bias.rank() != 1 || bias.dim(0) != geometry.out_channels) {
      return Error(ErrorCode::kOpShape)
          .Input(2)
          .Found(bias.shape().ToString())
          .Expected(absl::StrCat("[", geometry.out_channels, "]"));
    }
    const BiasActivation epilogue(bias.flat<float>().data(), activation_, alpha_);
    return call_.Compute(context, geometry, &epilogue);
  }

 private:
  const Conv2DCall call_;
  const FusedActivation& activation_;
  const float alpha_;
};

constexpr KernelRow kRows[] = {
    KernelRow("Conv2D", &New<Conv2DKernel>)
        .Types("T", {DType::kFloat, DType::kDouble, DType::kHalf, DType::kBFloat16, DType::kInt32}),
    KernelRow("_FusedConv2D", &New<FusedConv2DKernel>).Types("T", {DType::kFloat}),
};

}  // namespace

absl::Span<const KernelRow> Conv2DKernels() { return kRows; }

}  // namespace sluice

#include <cstring>
#include <memory>
#include <vector>

#include "graph/base/status_macros.h"
#include "kernels/array/index_values.h"
#include "kernels/kernel.h"
#include "kernels/kernel_construction.h"
#include "kernels/linalg/float_cast.h"
#include "kernels/new_kernel.h"
#include "kernels/nn/conv_geometry.h"
#include "kernels/nn/families.h"
#include "kernels/nn/filter_gradient.h"
#include "kernels/nn/image_gradient.h"
#include "kernels/nn/winograd.h"
#include "kernels/worker_scratch.h"
#include "kernels/workers.h"

namespace sluice {
namespace {

constexpr ErrorCode kAttr = ErrorCode::kOpAttr;
constexpr ErrorCode kUnimplemented = ErrorCode::kOpUnimplemented;
constexpr ConvRules kImageRules2D = {2, kAttr, kUnimplemented, kUnimplemented, kAttr, true, false, /*groups=*/false};
constexpr ConvRules kFilterRules2D = {2, kAttr, kAttr, kAttr, kAttr, true, false, /*groups=*/false};
constexpr ConvRules kRules3D = {3, kAttr, kAttr, kAttr, kAttr, /*dilates=*/false, false, /*groups=*/false};

void FillZeros(Tensor* tensor) { std::memset(tensor->mutable_raw_data(), 0, tensor->total_bytes()); }

// The gradient of the image of a convolution (inputs: the image's sizes, or an image; the filter; the gradient of the
// result). See Note [Gradients of images].
class ImageGradientKernel : public Kernel {
 public:
  static absl::StatusOr<std::unique_ptr<Kernel>> Make(const KernelConstruction& construction) {
    const ConvRules& rules = construction.op() == "Conv2DBackpropInput" ? kImageRules2D : kRules3D;
    SLUICE_ASSIGN_OR_RETURN(const ConvForm form,
                            ConvForm::Read(construction, RulesForType(rules, construction, /*is_gradient=*/true)));
    return std::make_unique<ImageGradientKernel>(construction, form);
  }
  ImageGradientKernel(const KernelConstruction& construction, const ConvForm& form)
      : form_(form),
        takes_image_(construction.op() == "Conv3DBackpropInput"),
        filter_(construction.InputIsConstant(1)),
        minimal_filter_(construction.InputIsConstant(1)) {}

  absl::Status Compute(KernelContext& context) const override {
    const Tensor& filter = context.input(1);
    const Tensor& result = context.input(2);
    SLUICE_ASSIGN_OR_RETURN(const Shape shape, ImageShape(context));
    SLUICE_ASSIGN_OR_RETURN(const ConvGeometry geometry,
                            ConvGeometry::ResolveGradient(form_, shape, filter.shape(), result.shape()));
    SLUICE_ASSIGN_OR_RETURN(Tensor* const image, context.AllocateOutput(0, shape));
    if (image->num_elements() == 0) return absl::OkStatus();
    if (result.num_elements() == 0 || filter.num_elements() == 0) {
      FillZeros(image);
      return absl::OkStatus();
    }
    if (result.dtype() == DType::kInt32) {
      return ImageGradientOfInts(context, geometry, filter.flat<int32_t>().data(), result.flat<int32_t>().data(),
                                 image->flat<int32_t>().data(), &scratch_);
    }
    if (result.dtype() == DType::kDouble) {
      return RunPlain(context, geometry, result.flat<double>().data(), image->flat<double>().data());
    }
    if (result.dtype() == DType::kFloat) return RunFloats(context, geometry, result, image);
    // Half and bfloat16: sums are made in float and rounded once.
    SLUICE_ASSIGN_OR_RETURN(const Tensor floats, ToFloats(result, context.allocator()));
    SLUICE_ASSIGN_OR_RETURN(Tensor sums, context.AllocateTemp(DType::kFloat, shape));
    SLUICE_RETURN_IF_ERROR(RunFloats(context, geometry, floats, &sums));
    RoundFloats(sums, image);
    return absl::OkStatus();
  }

 private:
  absl::StatusOr<Shape> ImageShape(const KernelContext& context) const {
    if (takes_image_) return context.input(0).shape();
    SLUICE_ASSIGN_OR_RETURN(const Shape sizes, ReadShapeInput(context, 0, "input_sizes"));
    if (form_.spaces != 2 || sizes.rank() != 2) return sizes;
    // Rows and columns alone: the rest follows from the other inputs.
    SLUICE_RETURN_IF_ERROR(CheckRank(1, context.input(1).shape(), form_.rank()));
    SLUICE_RETURN_IF_ERROR(CheckRank(2, context.input(2).shape(), form_.rank()));
    const int64_t dims[] = {context.input(2).dim(0), sizes.dim(0), sizes.dim(1), context.input(1).dim(2)};
    return MakeShape(dims);
  }

  absl::Status RunFloats(const KernelContext& context, const ConvGeometry& geometry, const Tensor& result,
                         Tensor* image) const {
    const float* const from = result.flat<float>().data();
    float* const to = image->flat<float>().data();
    SLUICE_ASSIGN_OR_RETURN(
        const std::vector<ImageRange> rest,
        MinimalImageGradient(context, geometry, minimal_filter_, context.input(1), from, to, &scratch_));
    const int64_t taken = result.num_elements() / geometry.batch, made = image->num_elements() / geometry.batch;
    for (const ImageRange& images : rest) {
      SLUICE_RETURN_IF_ERROR(
          RunPlain(context, OfImages(geometry, images.count), from + images.first * taken, to + images.first * made));
    }
    return absl::OkStatus();
  }
  template <typename T>
  absl::Status RunPlain(const KernelContext& context, const ConvGeometry& geometry, const T* result, T* image) const {
    SLUICE_ASSIGN_OR_RETURN(const Tensor packed, filter_.Get(context, geometry, context.input(1)));
    return ImageGradient<T>(context, geometry, packed, result, image, &scratch_);
  }

  const ConvForm form_;
  const bool takes_image_;
  const PhaseFilter filter_;
  const MinimalFilter minimal_filter_;
  mutable ScratchKeeper scratch_;
};

// The gradient of the filter of a convolution (inputs: the image; the filter's sizes, or a filter; the gradient of the
// result). See Note [Gradients of filters].
class FilterGradientKernel : public Kernel {
 public:
  static absl::StatusOr<std::unique_ptr<Kernel>> Make(const KernelConstruction& construction) {
    const ConvRules& rules = construction.op() == "Conv2DBackpropFilter" ? kFilterRules2D : kRules3D;
    SLUICE_ASSIGN_OR_RETURN(const ConvForm form,
                            ConvForm::Read(construction, RulesForType(rules, construction, /*is_gradient=*/true)));
    return std::make_unique<FilterGradientKernel>(form, construction.op() == "Conv3DBackpropFilter");
  }
  FilterGradientKernel(const ConvForm& form, bool takes_filter) : form_(form), takes_filter_(takes_filter) {}

  absl::Status Compute(KernelContext& context) const override {
    const Tensor& image = context.input(0);
    const Tensor& result = context.input(2);
    Shape shape = context.input(1).shape();
    if (!takes_filter_) {
      SLUICE_ASSIGN_OR_RETURN(shape, ReadShapeInput(context, 1, "filter_sizes"));
    }
    SLUICE_ASSIGN_OR_RETURN(const ConvGeometry geometry,
                            ConvGeometry::ResolveGradient(form_, image.shape(), shape, result.shape()));
    SLUICE_ASSIGN_OR_RETURN(Tensor* const filter, context.AllocateOutput(0, shape));
    if (filter->num_elements() == 0) return absl::OkStatus();
    if (result.num_elements() == 0 || image.num_elements() == 0) {
      FillZeros(filter);
      return absl::OkStatus();
    }
    if (image.dtype() == DType::kDouble) return Run<double>(context, geometry, image, result, filter);
    if (image.dtype() == DType::kFloat) return Run<float>(context, geometry, image, result, filter);
    // Half and bfloat16: sums are made in float and rounded once.
    SLUICE_ASSIGN_OR_RETURN(const Tensor image_floats, ToFloats(image, context.allocator()));
    SLUICE_ASSIGN_OR_RETURN(const Tensor result_floats, ToFloats(result, context.allocator()));
    SLUICE_ASSIGN_OR_RETURN(Tensor sums, context.AllocateTemp(DType::kFloat, shape));
    SLUICE_RETURN_IF_ERROR(Run<float>(context, geometry, image_floats, result_floats, &sums));
    RoundFloats(sums, filter);
    return absl::OkStatus();
  }

 private:
  template <typename T>
  absl::Status Run(const KernelContext& context, const ConvGeometry& geometry, const Tensor& image,
                   const Tensor& result, Tensor* filter) const {
    return FilterGradient<T>(geometry, image.flat<T>().data(), result.flat<T>().data(), filter->flat<T>().data(),
                             Workers(context.run()), &scratch_);
  }

  const ConvForm form_;
  const bool takes_filter_;
  mutable ScratchKeeper scratch_;
};

constexpr DTypeSet kFirstFloats = {DType::kFloat, DType::kDouble, DType::kHalf};  // Of the ops that came first.

constexpr KernelRow kRows[] = {
    KernelRow("Conv2DBackpropFilter", &New<FilterGradientKernel>).Types("T", kFloatTypes),
    KernelRow("Conv2DBackpropInput", &New<ImageGradientKernel>)
        .Types("T", {DType::kFloat, DType::kDouble, DType::kHalf, DType::kBFloat16, DType::kInt32}),
    KernelRow("Conv3DBackpropFilter", &New<FilterGradientKernel>).Types("T", kFirstFloats),
    KernelRow("Conv3DBackpropFilterV2", &New<FilterGradientKernel>).Types("T", kFloatTypes),
    KernelRow("Conv3DBackpropInput", &New<ImageGradientKernel>).Types("T", kFirstFloats),
    KernelRow("Conv3DBackpropInputV2", &New<ImageGradientKernel>).Types("T", kFloatTypes),
};

}  // namespace

absl::Span<const KernelRow> ConvGradientKernels() { return kRows; }

}  // namespace sluice

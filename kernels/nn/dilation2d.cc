#include <cstring>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "graph/base/error.h"
#include "graph/base/status_macros.h"
#include "kernels/dispatch.h"
#include "kernels/input_error.h"
#include "kernels/kernel.h"
#include "kernels/kernel_construction.h"
#include "kernels/new_kernel.h"
#include "kernels/nn/conv_geometry.h"
#include "kernels/nn/families.h"
#include "kernels/nn/morphology.h"

namespace sluice {
namespace {

absl::StatusOr<ConvForm> ReadForm(const KernelConstruction& construction) {
  ConvForm form;
  SLUICE_ASSIGN_OR_RETURN(const std::vector<int64_t> strides,
                          ReadPerDimension(construction, "strides", 4, ErrorCode::kOpUnimplemented));
  SLUICE_ASSIGN_OR_RETURN(const std::vector<int64_t> rates,
                          ReadPerDimension(construction, "rates", 4, ErrorCode::kOpUnimplemented));
  SLUICE_ASSIGN_OR_RETURN(const std::string padding, construction.Get<std::string>("padding"));
  for (int i = 0; i < form.spaces; ++i) {
    WindowAxis& axis = form.axes[form.AxisOf(i)];
    axis.padding = padding == "SAME" ? WindowAxis::Padding::kSame : WindowAxis::Padding::kValid;
    axis.stride = strides[static_cast<size_t>(i) + 1];
    axis.dilation = rates[static_cast<size_t>(i) + 1];
  }
  return form;
}

// What results begin with, for values of dtype `dtype` that stand in a T.
template <typename T>
T LowestOf(DType dtype) {
  if (dtype == DType::kHalf) return static_cast<T>(-65504.0f);
  if (dtype == DType::kBFloat16) return static_cast<T>(-3.3895314e38f);
  return std::numeric_limits<T>::lowest();
}

// Greyscale dilation, or its gradient with respect to the image (the filter). See Note [Greyscale dilation].
class Dilation2DKernel : public Kernel {
 public:
  static absl::StatusOr<std::unique_ptr<Kernel>> Make(const KernelConstruction& construction) {
    SLUICE_ASSIGN_OR_RETURN(const ConvForm form, ReadForm(construction));
    const Way way = construction.op() == "Dilation2D"                ? Way::kForward
                    : construction.op() == "Dilation2DBackpropInput" ? Way::kImage
                                                                     : Way::kFilter;
    return std::make_unique<Dilation2DKernel>(form, way);
  }
  enum class Way { kForward, kImage, kFilter };
  Dilation2DKernel(const ConvForm& form, Way way) : form_(form), way_(way) {}

  absl::Status Compute(KernelContext& context) const override {
    SLUICE_ASSIGN_OR_RETURN(const ConvGeometry geometry, Resolve(context));
    const Shape& shape = way_ == Way::kForward ? geometry.output
                         : way_ == Way::kImage ? context.input(0).shape()
                                               : context.input(1).shape();
    SLUICE_ASSIGN_OR_RETURN(Tensor* const output, context.AllocateOutput(0, shape));
    if (output->num_elements() == 0) return absl::OkStatus();
    Allocator& allocator = context.allocator();
    const bool is_forward = way_ == Way::kForward;
    SLUICE_ASSIGN_OR_RETURN(const Tensor image, WidenForDilation(context.input(0), true, allocator));
    SLUICE_ASSIGN_OR_RETURN(const Tensor filter, WidenForDilation(context.input(1), false, allocator));
    Tensor gradient;
    if (!is_forward) {
      SLUICE_ASSIGN_OR_RETURN(gradient, WidenForDilation(context.input(2), false, allocator));
    }
    const bool in_place = image.dtype() == output->dtype();
    Tensor wide;
    if (!in_place) {
      SLUICE_ASSIGN_OR_RETURN(wide, Tensor::Make(image.dtype(), shape, allocator));
    }
    Tensor* const to = in_place ? output : &wide;
    using Types = TypeList<float, double, int32_t, int64_t>;
    DispatchDType<Types>(image.dtype(), [&](auto type) {
      Run<typename decltype(type)::Type>(context, geometry, image, filter, gradient, output->dtype(), to);
    });
    if (!in_place) NarrowFromDilation(wide, is_forward, output);
    return absl::OkStatus();
  }

 private:
  absl::StatusOr<ConvGeometry> Resolve(const KernelContext& context) const {
    const Shape& image = context.input(0).shape();
    const Shape& filter = context.input(1).shape();
    SLUICE_RETURN_IF_ERROR(CheckRank(0, image, 4));
    SLUICE_RETURN_IF_ERROR(CheckRank(1, filter, 3));
    if (image.dim(3) != filter.dim(2)) {
      return ShapesError(absl::StrCat(image.ToString(), " with filter ", filter.ToString()),
                         "as many channels in the filter as in the image");
    }
    ConvGeometry geometry;
    geometry.channels = geometry.group_channels = geometry.out_channels = image.dim(3);
    SLUICE_RETURN_IF_ERROR(geometry.SlideOver(form_, image, filter));
    if (way_ != Way::kForward) SLUICE_RETURN_IF_ERROR(CheckResult(geometry, context.input(2).shape()));
    return geometry;
  }

  template <typename T>
  void Run(const KernelContext& context, const ConvGeometry& geometry, const Tensor& image, const Tensor& filter,
           const Tensor& gradient, DType dtype, Tensor* output) const {
    const Dilation<T> dilation(geometry, image.flat<T>().data(), filter.flat<T>().data(), LowestOf<T>(dtype), dtype);
    T* const to = output->flat<T>().data();
    if (way_ == Way::kForward) return dilation.Run(context, to);
    std::memset(output->mutable_raw_data(), 0, output->total_bytes());
    if (gradient.num_elements() == 0) return;
    if (way_ == Way::kImage) return dilation.AddToImage(context, gradient.flat<T>().data(), to);
    dilation.AddToFilter(context, gradient.flat<T>().data(), to);
  }

  const ConvForm form_;
  const Way way_;
};

constexpr KernelRow kRows[] = {
    KernelRow("Dilation2D", &New<Dilation2DKernel>).Types("T", kRealTypes),
    KernelRow("Dilation2DBackpropFilter", &New<Dilation2DKernel>).Types("T", kRealTypes),
    KernelRow("Dilation2DBackpropInput", &New<Dilation2DKernel>).Types("T", kRealTypes),
};

}  // namespace

absl::Span<const KernelRow> Dilation2DKernels() { return kRows; }

}  // namespace sluice

// Maxima over windows of images and volumes, and over groups of channels.

#include <algorithm>
#include <limits>
#include <memory>

#include "absl/strings/str_cat.h"
#include "graph/base/error.h"
#include "graph/base/status_macros.h"
#include "graph/value/float16.h"
#include "kernels/input_error.h"
#include "kernels/kernel.h"
#include "kernels/kernel_construction.h"
#include "kernels/new_kernel.h"
#include "kernels/pool/families.h"
#include "kernels/pool/pool_geometry.h"
#include "kernels/pool/pool_rows.h"
#include "kernels/pool/wide_output.h"
#include "kernels/pool/wide_values.h"
#include "kernels/worker_scratch.h"
#include "kernels/workers.h"

namespace sluice {
namespace {

// The lowest number of `dtype`, in its wide type: what a window of NaNs or infinities gives, as in TensorFlow.
template <typename W>
W LowestOf(DType dtype) {
  switch (dtype) {
    case DType::kHalf:
      return static_cast<W>(-65504);
    case DType::kBFloat16:
      return static_cast<W>(static_cast<float>(BFloat16::FromBits(0xff7f)));
    case DType::kInt8:
      return static_cast<W>(-128);
    case DType::kInt16:
      return static_cast<W>(-32768);
    case DType::kUInt8:
    case DType::kUInt16:
    case DType::kUInt32:
      return 0;
    default:
      return std::numeric_limits<W>::lowest();
  }
}

// Minus infinity, or the lowest number of a type without one.
template <typename W>
W MinusInfinity() {
  return std::numeric_limits<W>::has_infinity ? -std::numeric_limits<W>::infinity() : std::numeric_limits<W>::lowest();
}

// The maximum of each window. See Note [Rows of windows].
class MaxPoolKernel : public Kernel {
 public:
  static absl::StatusOr<std::unique_ptr<Kernel>> Make(const KernelConstruction& construction) {
    SLUICE_ASSIGN_OR_RETURN(const PoolForm form, PoolForm::Read(construction));
    return std::make_unique<MaxPoolKernel>(form, construction.HasAttr("ksize"));
  }
  MaxPoolKernel(const PoolForm& form, bool is_complete) : form_(form), is_complete_(is_complete) {}

  absl::Status Compute(KernelContext& context) const override {
    if (is_complete_) return Pool(context, form_);
    SLUICE_ASSIGN_OR_RETURN(const PoolForm form, form_.WithInputs(context, 1));
    return Pool(context, form);
  }

 private:
  absl::Status Pool(KernelContext& context, const PoolForm& form) const {
    if (form.IsOverChannels()) return PoolChannels(context, form);
    SLUICE_RETURN_IF_ERROR(form.CheckSpatial());
    const Tensor& input = context.input(0);
    SLUICE_ASSIGN_OR_RETURN(const PoolGeometry geometry, PoolGeometry::Resolve(form, input.shape(), 0));
    SLUICE_ASSIGN_OR_RETURN(Tensor* const output, context.AllocateOutput(0, geometry.output));
    if (output->num_elements() == 0) return absl::OkStatus();
    absl::Status status;
    DispatchDType<WideCppTypes>(WideTypeOf(input.dtype()), [&](auto type) {
      using W = typename decltype(type)::Type;
      // Windows of volumes start with minus infinity, those of images with the lowest number, as in TensorFlow.
      const W start = form.num_axes == 3 ? MinusInfinity<W>() : LowestOf<W>(input.dtype());
      status = PoolRows<W, false>(geometry, input, output, start).Run(Workers(context.run()), &scratch_);
    });
    return status;
  }

  static absl::Status CheckGroups(const PoolForm& form, const Shape& shape) {
    const bool is_plain = form.window[1] == 1 && form.window[2] == 1 && form.stride[1] == 1 && form.stride[2] == 1 &&
                          form.num_axes == 2 && !form.channels_second && form.padding != PoolForm::Padding::kExplicit;
    if (!is_plain || form.stride[3] != form.window[3]) {
      return Error(ErrorCode::kOpUnimplemented)
          .Text("a window over channels that is not a group of them")
          .Expected("in NHWC, window and stride [1,1,1,n], without explicit padding");
    }
    if (shape.rank() != 4) return ShapeError(0, "", shape, "4 dimensions");
    if (shape.dim(3) % form.window[3] == 0) return absl::OkStatus();
    return Error(ErrorCode::kOpUnimplemented)
        .Input(0)
        .Found(absl::StrCat(shape.dim(3), " channels"))
        .Expected(absl::StrCat("a multiple of ", form.window[3]));
  }

  // Each group of channels becomes one.
  static absl::Status PoolChannels(KernelContext& context, const PoolForm& form) {
    const Shape& shape = context.input(0).shape();
    SLUICE_RETURN_IF_ERROR(CheckGroups(form, shape));
    const int64_t size = form.window[3];
    SLUICE_ASSIGN_OR_RETURN(const Shape pooled,
                            Shape::Make({shape.dim(0), shape.dim(1), shape.dim(2), shape.dim(3) / size}));
    SLUICE_ASSIGN_OR_RETURN(const Tensor wide, Widened(context.input(0), WideUse::kOrder, context.allocator()));
    SLUICE_ASSIGN_OR_RETURN(WideOutput output, WideOutput::Make(context, 0, pooled));
    DispatchDType<WideCppTypes>(wide.dtype(), [&](auto type) {
      using W = typename decltype(type)::Type;
      const W* const x = wide.flat<W>().data();
      W* const y = output.data<W>();
      context.ParallelFor(pooled.num_elements(), static_cast<double>(size), [=](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) {
          W largest = x[i * size];
          for (int64_t k = 1; k < size; ++k) largest = PoolMaximum::Combine(largest, x[i * size + k]);
          y[i] = largest;
        }
      });
    });
    output.Finish(WideUse::kOrder);
    return absl::OkStatus();
  }

  const PoolForm form_;
  const bool is_complete_;  // Else window and stride are inputs.
  mutable ScratchKeeper scratch_;
};

constexpr KernelRow kRows[] = {
    KernelRow("MaxPool", &New<MaxPoolKernel>).Types("T", kRealTypes),
    KernelRow("MaxPool3D", &New<MaxPoolKernel>).Types("T", {DType::kFloat, DType::kHalf, DType::kBFloat16}),
    KernelRow("MaxPoolV2", &New<MaxPoolKernel>).Types("T", kRealTypes).HostInput("ksize").HostInput("strides"),
};

}  // namespace

absl::Span<const KernelRow> MaxPoolKernels() { return kRows; }

}  // namespace sluice

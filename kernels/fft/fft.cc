// FFT, IFFT, RFFT, IRFFT over the last one, two or three dimensions: one pass for each dimension.

#include <algorithm>
#include <complex>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "graph/base/status_macros.h"
#include "kernels/array/index_values.h"
#include "kernels/fft/families.h"
#include "kernels/fft/fft_lines.h"
#include "kernels/fft/fourier_plan.h"
#include "kernels/input_error.h"
#include "kernels/kernel.h"
#include "kernels/kernel_construction.h"
#include "kernels/new_kernel.h"
#include "kernels/worker_scratch.h"

namespace sluice {
namespace {

absl::Status CheckRank(const KernelContext& context, int dims) {
  const Shape& shape = context.input(0).shape();
  if (shape.rank() >= dims) return absl::OkStatus();
  return ShapeError(0, "", shape, absl::StrCat("at least ", dims, " dimensions"));
}

// The lines along dimension `axis` of the last sizes.size() dimensions of tensors of `batch` such parts. `counted`: the
// sizes by which lines are counted, `stored` those of the memory.
FftLines LinesAlong(int axis, int64_t batch, const IndexVector& counted, const IndexVector& stored) {
  FftLines lines;
  int64_t stride = 1;
  IndexVector strides(stored.size());
  for (size_t i = stored.size(); i-- > 0;) {
    strides[i] = stride;
    stride *= stored[i];
  }
  lines.sizes.push_back(batch);
  lines.strides.push_back(stride);
  for (size_t i = 0; i < counted.size(); ++i) {
    if (static_cast<int>(i) == axis) continue;
    lines.sizes.push_back(counted[i]);
    lines.strides.push_back(strides[i]);
  }
  lines.step = strides[static_cast<size_t>(axis)];
  return lines;
}

// The last `dims` sizes of a shape, and the product of the others.
IndexVector LastSizes(const Shape& shape, int dims) {
  const absl::Span<const int64_t> all = shape.dims();
  return IndexVector(all.end() - dims, all.end());
}
int64_t BatchOf(const Shape& shape, int dims) { return SizeOfAxes(shape, 0, shape.rank() - dims); }

// Transforms along all dimensions from `first_axis` down to 0, in place after the first pass. `from` has lines of the
// sizes `stored`, `to` of `sizes`.
template <typename T>
absl::Status TransformComplex(KernelContext& context, int first_axis, bool inverse, int64_t batch,
                              const IndexVector& sizes, const IndexVector& stored, const T* from, T* to,
                              ScratchKeeper* keeper) {
  for (int axis = first_axis; axis >= 0; --axis) {
    const int64_t length = sizes[static_cast<size_t>(axis)];
    SLUICE_ASSIGN_OR_RETURN(const FourierPlan plan, FourierPlan::Make(context, length));
    const bool is_first = axis == first_axis && from != to;
    FftPass pass{&plan, inverse, {}, LinesAlong(axis, batch, sizes, sizes), length, false};
    pass.from = is_first ? LinesAlong(axis, batch, sizes, stored) : pass.to;
    SLUICE_RETURN_IF_ERROR((RunFftPass<T, false, false>(context, pass, is_first ? from : to, to, keeper)));
  }
  return absl::OkStatus();
}

// Elements of a complex or real tensor as its numbers.
template <typename T>
const T* Numbers(const Tensor& tensor) {
  return static_cast<const T*>(tensor.raw_data());
}
template <typename T>
T* Numbers(Tensor& tensor) {
  return static_cast<T*>(tensor.mutable_raw_data());
}

// --- Complex -------------------------------------------------------------------------------------------------------

// FFT or IFFT over the last dimensions.
class FftKernel final : public Kernel {
 public:
  FftKernel(int dims, bool inverse) : dims_(dims), inverse_(inverse) {}

  absl::Status Compute(KernelContext& context) const override {
    SLUICE_RETURN_IF_ERROR(CheckRank(context, dims_));
    const Shape shape = context.input(0).shape();
    const void* const from = context.input(0).raw_data();
    SLUICE_ASSIGN_OR_RETURN(Tensor* const output, context.ForwardOrAllocate(0, shape, {0}));
    if (shape.num_elements() == 0) return absl::OkStatus();
    return output->dtype() == DType::kComplex64 ? Run<float>(context, shape, from, output)
                                                : Run<double>(context, shape, from, output);
  }

 private:
  template <typename T>
  absl::Status Run(KernelContext& context, const Shape& shape, const void* from, Tensor* output) const {
    const IndexVector sizes = LastSizes(shape, dims_);
    // A line is read whole before it is written, so that the first pass, too, may work in place.
    return TransformComplex<T>(context, dims_ - 1, inverse_, BatchOf(shape, dims_), sizes, sizes,
                               static_cast<const T*>(from), Numbers<T>(*output), &scratch_);
  }

  const int dims_;
  const bool inverse_;
  mutable ScratchKeeper scratch_;
};

// --- Real ----------------------------------------------------------------------------------------------------------

// The sizes of one call of a real transform: of the input's and the output's last dimensions, and of the transform.
struct RealSizes {
  int64_t batch = 0;
  IndexVector input;
  IndexVector lengths;
  IndexVector half;  // Of the complex side.
  Shape output;
};

// RFFT or IRFFT over the last dimensions, of the lengths in input 1.
class RealFftKernel final : public Kernel {
 public:
  RealFftKernel(int dims, bool inverse) : dims_(dims), inverse_(inverse) {}

  absl::Status Compute(KernelContext& context) const override {
    SLUICE_RETURN_IF_ERROR(CheckRank(context, dims_));
    RealSizes sizes;
    SLUICE_RETURN_IF_ERROR(Resolve(context, &sizes));
    SLUICE_ASSIGN_OR_RETURN(Tensor* const output, context.AllocateOutput(0, sizes.output));
    if (output->num_elements() == 0) return absl::OkStatus();
    const bool is_float = output->dtype() == DType::kFloat || output->dtype() == DType::kComplex64;
    if (is_float) return inverse_ ? Backward<float>(context, sizes, output) : Forward<float>(context, sizes, output);
    return inverse_ ? Backward<double>(context, sizes, output) : Forward<double>(context, sizes, output);
  }

 private:
  absl::Status Resolve(const KernelContext& context, RealSizes* sizes) const {
    const Shape& shape = context.input(0).shape();
    const Tensor& length = context.input(1);
    if (length.rank() != 1 || length.dim(0) != dims_) {
      return ShapeError(1, "fft_length", length.shape(), absl::StrCat("[", dims_, "]"));
    }
    SLUICE_ASSIGN_OR_RETURN(sizes->lengths, ReadIndexVector(context, 1, "fft_length"));
    sizes->input = LastSizes(shape, dims_);
    sizes->half = sizes->lengths;
    for (size_t i = 0; i < sizes->lengths.size(); ++i) {
      const int64_t wanted = sizes->lengths[i];
      if (wanted < 0) return ValueError(1, "fft_length", wanted, "0 or more");
      const bool is_last = i + 1 == sizes->lengths.size();
      if (is_last && wanted > 0) sizes->half[i] = wanted / 2 + 1;
      const int64_t needed = inverse_ ? sizes->half[i] : wanted;
      // As in TensorFlow, an input without elements need not be long enough; where there would be something to answer
      // all the same, it must.
      const bool is_empty = shape.num_elements() == 0 && BatchOf(shape, dims_) == 0;
      if (sizes->input[i] < needed && !is_empty) {
        return ShapeError(
            0, "", shape,
            absl::StrCat("at least ", needed, " elements in dimension ", shape.rank() - dims_ + static_cast<int>(i)));
      }
    }
    sizes->batch = BatchOf(shape, dims_);
    IndexVector dims(shape.dims().begin(), shape.dims().end() - dims_);
    const IndexVector& last = inverse_ ? sizes->lengths : sizes->half;
    dims.insert(dims.end(), last.begin(), last.end());
    SLUICE_ASSIGN_OR_RETURN(sizes->output, MakeShape(dims));
    return absl::OkStatus();
  }

  // Real lines become halves of complex ones; the other dimensions follow in place.
  template <typename T>
  absl::Status Forward(KernelContext& context, const RealSizes& sizes, Tensor* output) const {
    const int last = dims_ - 1;
    SLUICE_ASSIGN_OR_RETURN(const FourierPlan plan, FourierPlan::Make(context, sizes.lengths.back()));
    const FftPass pass{&plan,
                       false,
                       LinesAlong(last, sizes.batch, sizes.half, sizes.input),
                       LinesAlong(last, sizes.batch, sizes.half, sizes.half),
                       sizes.half.back(),
                       false};
    T* const to = Numbers<T>(*output);
    SLUICE_RETURN_IF_ERROR((RunFftPass<T, true, false>(context, pass, Numbers<T>(context.input(0)), to, &scratch_)));
    return TransformComplex<T>(context, last - 1, false, sizes.batch, sizes.half, sizes.half, to, to, &scratch_);
  }

  // The other dimensions first, aside, then halves of complex lines become real ones.
  template <typename T>
  absl::Status Backward(KernelContext& context, const RealSizes& sizes, Tensor* output) const {
    const int last = dims_ - 1;
    const T* from = Numbers<T>(context.input(0));
    IndexVector stored = sizes.input;
    Tensor aside;
    if (dims_ > 1) {
      IndexVector dims = {sizes.batch};
      dims.insert(dims.end(), sizes.half.begin(), sizes.half.end());
      SLUICE_ASSIGN_OR_RETURN(const Shape shape, MakeShape(dims));
      SLUICE_ASSIGN_OR_RETURN(aside, context.AllocateTemp(context.input(0).dtype(), shape));
      T* const to = Numbers<T>(aside);
      SLUICE_RETURN_IF_ERROR(
          TransformComplex<T>(context, last - 1, true, sizes.batch, sizes.half, stored, from, to, &scratch_));
      from = to;
      stored = sizes.half;
    }
    SLUICE_ASSIGN_OR_RETURN(const FourierPlan plan, FourierPlan::Make(context, sizes.lengths.back()));
    const FftPass pass{&plan,
                       true,
                       LinesAlong(last, sizes.batch, sizes.lengths, stored),
                       LinesAlong(last, sizes.batch, sizes.lengths, sizes.lengths),
                       sizes.lengths.back(),
                       true};
    return RunFftPass<T, false, true>(context, pass, from, Numbers<T>(*output), &scratch_);
  }

  const int dims_;
  const bool inverse_;
  mutable ScratchKeeper scratch_;
};

template <int kDims, bool kInverse>
absl::StatusOr<std::unique_ptr<Kernel>> MakeFft(const KernelConstruction&) {
  return std::make_unique<FftKernel>(kDims, kInverse);
}

template <int kDims, bool kInverse>
absl::StatusOr<std::unique_ptr<Kernel>> MakeRealFft(const KernelConstruction& construction) {
  SLUICE_ASSIGN_OR_RETURN(const DType real, construction.Get<DType>("Treal"));
  SLUICE_ASSIGN_OR_RETURN(const DType complex, construction.Get<DType>("Tcomplex"));
  if ((real == DType::kFloat) != (complex == DType::kComplex64)) {
    return AttrError("Tcomplex", absl::StrCat(DTypeName(complex), " for ", DTypeName(real)),
                     "a complex number of as many bits");
  }
  return std::make_unique<RealFftKernel>(kDims, kInverse);
}

template <int kDims, bool kInverse>
constexpr KernelRow ComplexRow(absl::string_view op) {
  return KernelRow(op, &MakeFft<kDims, kInverse>).Types("Tcomplex", kComplexTypes);
}
template <int kDims, bool kInverse>
constexpr KernelRow RealRow(absl::string_view op) {
  return KernelRow(op, &MakeRealFft<kDims, kInverse>)
      .Types("Treal", {DType::kFloat, DType::kDouble})
      .Types("Tcomplex", kComplexTypes)
      .HostInput("fft_length");
}

constexpr KernelRow kRows[] = {
    ComplexRow<1, false>("FFT"),   ComplexRow<1, true>("IFFT"),   ComplexRow<2, false>("FFT2D"),
    ComplexRow<2, true>("IFFT2D"), ComplexRow<3, false>("FFT3D"), ComplexRow<3, true>("IFFT3D"),
    RealRow<1, false>("RFFT"),     RealRow<1, true>("IRFFT"),     RealRow<2, false>("RFFT2D"),
    RealRow<2, true>("IRFFT2D"),   RealRow<3, false>("RFFT3D"),   RealRow<3, true>("IRFFT3D"),
};

}  // namespace

absl::Span<const KernelRow> FftKernels() { return kRows; }

}  // namespace sluice

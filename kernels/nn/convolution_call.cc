#include "kernels/nn/convolution_call.h"

#include <cstring>
#include <vector>

#include "graph/base/status_macros.h"
#include "kernels/linalg/float_cast.h"
#include "kernels/nn/convolution.h"
#include "kernels/workers.h"

namespace sluice {
namespace {

// All windows are in the padding. As in TensorFlow the sums are zero then, even where the filter has a NaN.
void FillWithoutImage(const ConvGeometry& geometry, const GemmEpilogue<float>* epilogue, Tensor* output) {
  std::memset(output->mutable_raw_data(), 0, output->total_bytes());
  if (epilogue == nullptr) return;
  const int64_t channels = geometry.out_channels;
  epilogue->Finish(output->flat<float>().data(), channels, geometry.pixels(), 0, channels);
}

}  // namespace

absl::StatusOr<PackedMatrix> PackedFilter::Get(const Tensor& filter, const PackedLayout& layout,
                                               Allocator& allocator) const {
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

bool PackedFilter::Holds(const Tensor& filter, const PackedLayout& layout) const {
  return kept_ != nullptr && kept_->source.raw_data() == filter.raw_data() &&
         kept_->packed.layout().groups == layout.groups && kept_->source.shape() == filter.shape();
}

// See Note [Convolution by products].
template <typename T>
absl::Status ConvolutionCall::RunPlain(const KernelContext& context, const ConvGeometry& geometry, const T* image,
                                       const GemmEpilogue<T>* epilogue, T* output) const {
  const PackedLayout layout = Convolution<T>::LayoutOf(geometry);
  SLUICE_ASSIGN_OR_RETURN(const PackedMatrix filter, filter_.Get(context.input(1), layout, context.allocator()));
  const Convolution<T> convolution(geometry, image, filter.group<T>(0), output, epilogue);
  return convolution.Run(Workers(context.run()), &scratch_);
}

absl::Status ConvolutionCall::RunFloats(const KernelContext& context, const ConvGeometry& geometry, const Tensor& image,
                                        const GemmEpilogue<float>* epilogue, Tensor* output) const {
  const float* const from = image.flat<float>().data();
  float* const to = output->flat<float>().data();
  if (!HasMinimalFilter(geometry)) return RunPlain(context, geometry, from, epilogue, to);
  SLUICE_ASSIGN_OR_RETURN(const Tensor filter, minimal_filter_.Get(context.input(1), false, context.allocator()));
  if (!filter.has_value()) return RunPlain(context, geometry, from, epilogue, to);
  const MinimalConvolution convolution(geometry, from, filter.flat<float>().data(), to, epilogue);
  SLUICE_ASSIGN_OR_RETURN(const std::vector<ImageRange> rest, convolution.Run(Workers(context.run()), &scratch_));
  const int64_t taken = image.num_elements() / geometry.batch, made = output->num_elements() / geometry.batch;
  for (const ImageRange& images : rest) {
    SLUICE_RETURN_IF_ERROR(RunPlain(context, OfImages(geometry, images.count), from + images.first * taken, epilogue,
                                    to + images.first * made));
  }
  return absl::OkStatus();
}

absl::Status ConvolutionCall::Run(const KernelContext& context, const ConvGeometry& geometry,
                                  const GemmEpilogue<float>* epilogue, Tensor* output) const {
  const Tensor& image = context.input(0);
  if (output->num_elements() == 0) return absl::OkStatus();
  if (image.num_elements() == 0) {
    FillWithoutImage(geometry, epilogue, output);
    return absl::OkStatus();
  }
  if (image.dtype() == DType::kInt32) {
    return ConvolveInts(geometry, image.flat<int32_t>().data(), context.input(1).flat<int32_t>().data(),
                        output->flat<int32_t>().data(), nullptr, Workers(context.run()), &scratch_);
  }
  if (image.dtype() == DType::kDouble) {
    return RunPlain<double>(context, geometry, image.flat<double>().data(), nullptr, output->flat<double>().data());
  }
  // Half and bfloat16: sums are made in float and rounded once.
  SLUICE_ASSIGN_OR_RETURN(const Tensor floats, ToFloats(image, context.allocator()));
  if (output->dtype() == DType::kFloat) return RunFloats(context, geometry, floats, epilogue, output);
  SLUICE_ASSIGN_OR_RETURN(Tensor sums, Tensor::Make(DType::kFloat, geometry.output, context.allocator()));
  SLUICE_RETURN_IF_ERROR(RunFloats(context, geometry, floats, nullptr, &sums));
  RoundFloats(sums, output);
  return absl::OkStatus();
}

}  // namespace sluice

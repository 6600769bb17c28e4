// Normalisation of the channels of images: by the statistics of the images themselves, or by given ones.

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <optional>

#include "absl/strings/str_cat.h"
#include "graph/base/error.h"
#include "graph/base/status_macros.h"
#include "kernels/kernel.h"
#include "kernels/new_kernel.h"
#include "kernels/norm/channel_loops.h"
#include "kernels/norm/channel_planes.h"
#include "kernels/norm/families.h"
#include "kernels/norm/norm_form.h"
#include "kernels/norm/norm_passes.h"
#include "kernels/pool/wide_values.h"
#include "kernels/worker_scratch.h"

namespace sluice {
namespace {

enum Input { kX, kScale, kOffset, kMean, kVariance, kSide };
// Statistics for averages over batches, then those that gradients need, then what no CPU needs.
enum Output { kY, kBatchMean, kBatchVariance, kSavedMean, kSavedVariance, kReserve };

// Nanoseconds to add up a block for one channel.
constexpr double kCombineNs = 3;

// FusedBatchNorm in all versions, and with what is done after it.
class FusedBatchNormKernel : public Kernel {
 public:
  explicit FusedBatchNormKernel(const NormForm& form) : form_(form) {}

  absl::Status Compute(KernelContext& context) const override {
    SLUICE_RETURN_IF_ERROR(CheckImages(context, kX));
    const Shape shape = context.input(kX).shape();
    const ChannelPlanes planes = ChannelPlanes::Of(shape, form_.channels_second);
    SLUICE_RETURN_IF_ERROR(CheckVectors(context, planes.channels));
    const bool has_side = context.num_inputs() > kSide;
    if (has_side) SLUICE_RETURN_IF_ERROR(CheckSameShape(context, kSide, shape));

    SLUICE_ASSIGN_OR_RETURN(const Shape vector, Shape::Make({planes.channels}));
    Statistics statistics;
    for (int i = kBatchMean; i <= kSavedVariance; ++i) {
      SLUICE_ASSIGN_OR_RETURN(Tensor* const output, context.AllocateOutput(i, vector));
      statistics.outputs[i - kBatchMean] = output->flat<float>().data();
    }
    if (context.num_outputs() > kReserve) context.SetScalar(kReserve, 0.0f);
    const WideReader<float> x(context.input(kX), WideUse::kSum);
    std::optional<WideReader<float>> side;
    if (has_side) side.emplace(context.input(kSide), WideUse::kSum);
    SLUICE_ASSIGN_OR_RETURN(ChannelNumbers<float> numbers, ChannelNumbers<float>::Make(context, planes, 3));
    if (shape.num_elements() == 0) {
      // As TensorFlow: no batch, no statistics.
      for (float* const output : statistics.outputs) {
        std::fill_n(output, planes.channels, std::numeric_limits<float>::quiet_NaN());
      }
    } else if (form_.is_training) {
      SLUICE_RETURN_IF_ERROR(MeasureBatch(context, planes, x, statistics));
    } else {
      UseGiven(context, planes.channels, statistics);
    }
    const float* const scale = context.input(kScale).flat<float>().data();
    for (int64_t c = 0; c < planes.channels; ++c) {
      numbers.of(0)[c] = statistics.outputs[kSavedMean - kBatchMean][c];
      numbers.of(1)[c] = scale[c] / std::sqrt(statistics.outputs[kSavedVariance - kBatchMean][c] + form_.epsilon);
    }
    std::copy_n(context.input(kOffset).flat<float>().data(), planes.channels, numbers.of(2));
    numbers.Finish();
    SLUICE_ASSIGN_OR_RETURN(Tensor* const y, context.ForwardOrAllocate(kY, shape, {kX}));
    if (shape.num_elements() == 0) return absl::OkStatus();
    return NormPasses<float>(context, planes, &scratch_)
        .Normalize(x, numbers, {has_side ? &*side : nullptr, form_.is_relu}, y);
  }

 private:
  // Outputs kBatchMean to kSavedVariance.
  struct Statistics {
    float* outputs[4];
  };

  // Means and variances are looked at where they are used: elsewhere they may have any number of elements.
  absl::Status CheckVectors(const KernelContext& context, int64_t channels) const {
    const bool needs_given = !form_.is_training || form_.average_factor != 1;
    for (const int input : {kScale, kOffset, kMean, kVariance}) {
      const bool is_needed = input == kScale || input == kOffset || needs_given;
      const Shape& shape = context.input(input).shape();
      if (is_needed || shape.rank() != 1) SLUICE_RETURN_IF_ERROR(CheckPerChannel(context, input, channels));
    }
    return absl::OkStatus();
  }

  // The batch's own mean and variance for this call and its gradient; for the averages the variance of what the batch
  // is a sample of, mixed with the given ones.
  absl::Status MeasureBatch(KernelContext& context, const ChannelPlanes& planes, const WideReader<float>& x,
                            const Statistics& to) const {
    SLUICE_ASSIGN_OR_RETURN(const Tensor sums, NormPasses<float>(context, planes, &scratch_).Moments(x));
    const double* const from = sums.flat<double>().data();
    const bool mixes = form_.average_factor != 1;
    const float* const old_mean = mixes ? context.input(kMean).flat<float>().data() : nullptr;
    const float* const old_variance = mixes ? context.input(kVariance).flat<float>().data() : nullptr;
    const double count = static_cast<double>(planes.count());
    const double channel_ns = kCombineNs * static_cast<double>(planes.blocks_of_channel());
    context.ParallelFor(planes.channels, channel_ns, [&](int64_t begin, int64_t end) {
      for (int64_t c = begin; c < end; ++c) {
        const ChannelMoments moments = CombineMoments(planes, from, c);
        const float mean = static_cast<float>(moments.mean);
        const float sampled = static_cast<float>(moments.squares / std::max(count - 1, 1.0));
        to.outputs[0][c] = mixes ? Mix(old_mean[c], mean) : mean;
        to.outputs[1][c] = mixes ? Mix(old_variance[c], sampled) : sampled;
        to.outputs[2][c] = mean;
        to.outputs[3][c] = static_cast<float>(moments.squares / count);
      }
    });
    return absl::OkStatus();
  }
  float Mix(float old_value, float value) const {
    return (1.0f - form_.average_factor) * old_value + form_.average_factor * value;
  }

  static void UseGiven(const KernelContext& context, int64_t channels, const Statistics& to) {
    for (int i = 0; i < 4; ++i) {
      std::copy_n(context.input(i % 2 == 0 ? kMean : kVariance).flat<float>().data(), channels, to.outputs[i]);
    }
  }

  const NormForm form_;
  mutable ScratchKeeper scratch_;
};

constexpr DTypeSet kTypes{DType::kFloat, DType::kHalf, DType::kBFloat16};

constexpr KernelRow kRows[] = {
    KernelRow("FusedBatchNorm", &NewWith<FusedBatchNormKernel, &NormForm::Read>).Types("T", {DType::kFloat}),
    KernelRow("FusedBatchNormV2", &NewWith<FusedBatchNormKernel, &NormForm::Read>)
        .Types("T", kTypes)
        .Types("U", {DType::kFloat}),
    KernelRow("FusedBatchNormV3", &NewWith<FusedBatchNormKernel, &NormForm::Read>)
        .Types("T", kTypes)
        .Types("U", {DType::kFloat}),
    KernelRow("_FusedBatchNormEx", &NewWith<FusedBatchNormKernel, &NormForm::Read>)
        .Types("T", kTypes)
        .Types("U", {DType::kFloat}),
};

}  // namespace

absl::Span<const KernelRow> FusedBatchNormKernels() { return kRows; }

}  // namespace sluice

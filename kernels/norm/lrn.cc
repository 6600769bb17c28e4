// Local response normalisation: each channel of a pixel is divided by a power of the sum of the squares of its
// neighbours among the channels.

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>

#include "graph/base/status_macros.h"
#include "kernels/input_error.h"
#include "kernels/kernel.h"
#include "kernels/kernel_construction.h"
#include "kernels/math/float_loops.h"
#include "kernels/new_kernel.h"
#include "kernels/norm/families.h"
#include "kernels/norm/norm_form.h"
#include "kernels/pool/wide_values.h"
#include "kernels/worker_scratch.h"
#include "kernels/workers.h"

namespace sluice {
namespace {

// Nanoseconds for an element.
constexpr double kElementNs = 4;

struct LrnForm {
  int64_t radius = 0;
  float bias = 0;
  float alpha = 0;
  float beta = 0;

  static absl::StatusOr<LrnForm> Read(const KernelConstruction& construction) {
    LrnForm form;
    SLUICE_ASSIGN_OR_RETURN(form.radius, construction.Get<int64_t>("depth_radius"));
    if (form.radius < 0 || form.radius >= std::numeric_limits<int32_t>::max()) {
      return AttrError("depth_radius", form.radius, "0 or more, and less than 2147483647");
    }
    SLUICE_ASSIGN_OR_RETURN(form.bias, construction.Get<float>("bias"));
    SLUICE_ASSIGN_OR_RETURN(form.alpha, construction.Get<float>("alpha"));
    SLUICE_ASSIGN_OR_RETURN(form.beta, construction.Get<float>("beta"));
    return form;
  }

  // x[i] to the power of -beta, in place.
  void Power(float* x, int64_t n) const {
    if (beta == 0.5f) {
      for (int64_t i = 0; i < n; ++i) x[i] = 1.0f / std::sqrt(x[i]);
    } else if (beta == 0.75f) {
      for (int64_t i = 0; i < n; ++i) {
        const float root = std::sqrt(x[i]);
        x[i] = 1.0f / (root * std::sqrt(root));
      }
    } else if (beta == 1.0f) {
      for (int64_t i = 0; i < n; ++i) x[i] = 1.0f / x[i];
    } else {
      UnaryLoopsFor<LogOp, float>().loop(x, x, n);
      for (int64_t i = 0; i < n; ++i) x[i] *= -beta;
      UnaryLoopsFor<ExpOp, float>().loop(x, x, n);
    }
  }
};

// Sums over the channels from `radius` before to `radius` after each one, in a number of additions that grows with the
// logarithm of the radius only, and none is taken away again: a NaN or an infinity stays within its windows.
class NeighbourSums {
 public:
  NeighbourSums(int64_t channels, int64_t radius) : channels_(channels), radius_(std::min(radius, channels - 1)) {}

  // Elements of memory that Of needs.
  int64_t scratch_elements() const { return channels_ + 2 * radius_; }
  // Where the addends go: `channels` of them.
  float* Addends(float* scratch) const { return scratch + radius_; }
  // Adds up what is in Addends(scratch), and overwrites it.
  void Of(float* scratch, float* sums) const {
    const int64_t size = scratch_elements();
    std::fill_n(scratch, radius_, 0.0f);
    std::fill_n(scratch + radius_ + channels_, radius_, 0.0f);
    std::fill_n(sums, channels_, 0.0f);
    const int64_t window = 2 * radius_ + 1;
    // Bit by bit of the window's size: scratch[i] is the sum of `width` addends from the i-th on.
    int64_t offset = 0;
    for (int64_t width = 1; width <= window; width *= 2) {
      if ((window & width) != 0) {
        for (int64_t i = 0; i < channels_; ++i) sums[i] += scratch[i + offset];
        offset += width;
      }
      for (int64_t i = 0; i + width < size; ++i) scratch[i] += scratch[i + width];
    }
  }

 private:
  const int64_t channels_;
  const int64_t radius_;
};

// Rows of channels, several at a time.
struct LrnRows {
  int64_t channels;
  int64_t rows;
  int64_t rows_per_shard;

  explicit LrnRows(const Shape& shape)
      : channels(shape.dim(3)),
        rows(shape.num_elements() / channels),
        rows_per_shard(std::max<int64_t>(1, 4096 / channels)) {}

  // Calls `work(row, scratch)` for all rows, with `elements` floats for each worker.
  template <typename Work>
  absl::Status ForEach(const Workers& workers, int64_t elements, ScratchKeeper* keeper, const Work& work) const {
    const int64_t shards = (rows + rows_per_shard - 1) / rows_per_shard;
    SLUICE_ASSIGN_OR_RETURN(
        const WorkerScratch scratch,
        WorkerScratch::Make(workers, shards, elements * static_cast<int64_t>(sizeof(float)), keeper));
    const double shard_ns = kElementNs * static_cast<double>(rows_per_shard * channels);
    return workers.ForEachShard(shards, shard_ns, [&](int64_t shard, int worker) {
      const int64_t end = std::min(rows, (shard + 1) * rows_per_shard);
      for (int64_t row = shard * rows_per_shard; row < end; ++row) work(row, static_cast<float*>(scratch.of(worker)));
      return absl::OkStatus();
    });
  }
};

absl::Status CheckImagesOf4(const KernelContext& context) {
  const Shape& shape = context.input(0).shape();
  if (shape.rank() == 4) return absl::OkStatus();
  return ShapeError(0, "", shape, "4 dimensions");
}

// x / (bias + alpha * sum of squares) ^ beta.
class LrnKernel : public Kernel {
 public:
  explicit LrnKernel(const LrnForm& form) : form_(form) {}

  absl::Status Compute(KernelContext& context) const override {
    SLUICE_RETURN_IF_ERROR(CheckImagesOf4(context));
    const Shape shape = context.input(0).shape();
    const WideReader<float> input(context.input(0), WideUse::kSum);
    SLUICE_ASSIGN_OR_RETURN(Tensor* const output, context.ForwardOrAllocate(0, shape, {0}));
    if (shape.num_elements() == 0) return absl::OkStatus();
    const LrnRows rows(shape);
    const int64_t n = rows.channels;
    const NeighbourSums neighbours(n, form_.radius);
    const WideWriter<float> writer(output, WideUse::kSum);
    return rows.ForEach(Workers(context.run()), 2 * n + neighbours.scratch_elements(), &scratch_,
                        [&](int64_t row, float* norms) {
                          float* const scratch = norms + 2 * n;
                          const float* const x = input.Read(row * n, n, norms + n);
                          float* const squares = neighbours.Addends(scratch);
                          for (int64_t i = 0; i < n; ++i) squares[i] = x[i] * x[i];
                          neighbours.Of(scratch, norms);
                          for (int64_t i = 0; i < n; ++i) norms[i] = form_.bias + form_.alpha * norms[i];
                          form_.Power(norms, n);
                          for (int64_t i = 0; i < n; ++i) norms[i] *= x[i];
                          writer.Store(row * n, n, norms);
                        });
  }

 private:
  const LrnForm form_;
  mutable ScratchKeeper scratch_;
};

// The gradient of the image, from that of the result, the image and the result.
class LrnGradKernel : public Kernel {
 public:
  explicit LrnGradKernel(const LrnForm& form) : form_(form) {}

  absl::Status Compute(KernelContext& context) const override {
    SLUICE_RETURN_IF_ERROR(CheckImagesOf4(context));
    const Shape shape = context.input(0).shape();
    SLUICE_RETURN_IF_ERROR(CheckSameShape(context, 1, shape));
    SLUICE_RETURN_IF_ERROR(CheckSameShape(context, 2, shape));
    const WideReader<float> gradient(context.input(0), WideUse::kSum);
    const WideReader<float> image(context.input(1), WideUse::kSum);
    const WideReader<float> result(context.input(2), WideUse::kSum);
    SLUICE_ASSIGN_OR_RETURN(Tensor* const output, context.ForwardOrAllocate(0, shape, {0, 1, 2}));
    if (shape.num_elements() == 0) return absl::OkStatus();
    const LrnRows rows(shape);
    const int64_t n = rows.channels;
    const NeighbourSums neighbours(n, form_.radius);
    const WideWriter<float> writer(output, WideUse::kSum);
    const float slope = -2.0f * form_.alpha * form_.beta;
    return rows.ForEach(Workers(context.run()), 5 * n + neighbours.scratch_elements(), &scratch_,
                        [&](int64_t row, float* norms) {
                          float* const sums = norms + n;
                          float* const scratch = norms + 5 * n;
                          const float* const dy = gradient.Read(row * n, n, norms + 2 * n);
                          const float* const x = image.Read(row * n, n, norms + 3 * n);
                          const float* const y = result.Read(row * n, n, norms + 4 * n);
                          float* const addends = neighbours.Addends(scratch);
                          for (int64_t i = 0; i < n; ++i) addends[i] = x[i] * x[i];
                          neighbours.Of(scratch, norms);
                          for (int64_t i = 0; i < n; ++i) norms[i] = form_.bias + form_.alpha * norms[i];
                          // No gradient adds nothing, though a norm of zero would make a NaN of it. So in TensorFlow.
                          for (int64_t i = 0; i < n; ++i) addends[i] = dy[i] == 0.0f ? 0.0f : dy[i] * y[i] / norms[i];
                          neighbours.Of(scratch, sums);
                          form_.Power(norms, n);
                          for (int64_t i = 0; i < n; ++i) {
                            norms[i] = (dy[i] == 0.0f ? 0.0f : dy[i] * norms[i]) + slope * x[i] * sums[i];
                          }
                          writer.Store(row * n, n, norms);
                        });
  }

 private:
  const LrnForm form_;
  mutable ScratchKeeper scratch_;
};

constexpr DTypeSet kTypes{DType::kFloat, DType::kHalf, DType::kBFloat16};

constexpr KernelRow kRows[] = {
    KernelRow("LRN", &NewWith<LrnKernel, &LrnForm::Read>).Types("T", kTypes),
    KernelRow("LRNGrad", &NewWith<LrnGradKernel, &LrnForm::Read>).Types("T", kTypes),
};

}  // namespace

absl::Span<const KernelRow> LrnKernels() { return kRows; }

}  // namespace sluice

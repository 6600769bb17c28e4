// Maxima and means over windows cut at random, about as large as a ratio says.

#include <cmath>
#include <limits>
#include <memory>
#include <random>
#include <vector>

#include "absl/strings/str_cat.h"
#include "graph/base/error.h"
#include "graph/base/status_macros.h"
#include "kernels/input_error.h"
#include "kernels/kernel.h"
#include "kernels/kernel_construction.h"
#include "kernels/new_kernel.h"
#include "kernels/pool/families.h"
#include "kernels/pool/first_maxima.h"
#include "kernels/pool/fractional_sequence.h"
#include "kernels/pool/pool_geometry.h"
#include "kernels/pool/pool_rows.h"
#include "kernels/random/philox.h"
#include "kernels/worker_scratch.h"
#include "kernels/workers.h"

namespace sluice {
namespace {

// The attrs of both ops.
struct FractionalForm {
  float ratio[2] = {1, 1};  // Rows, columns.
  bool is_pseudo_random = false;
  bool is_overlapping = false;
  bool is_deterministic = false;
  bool is_mean = false;
  uint64_t seeds[2] = {0, 0};

  static absl::StatusOr<FractionalForm> Read(const KernelConstruction& construction) {
    FractionalForm form;
    SLUICE_RETURN_IF_ERROR(form.ReadRatios(construction));
    SLUICE_ASSIGN_OR_RETURN(form.is_pseudo_random, construction.Get<bool>("pseudo_random"));
    SLUICE_ASSIGN_OR_RETURN(form.is_overlapping, construction.Get<bool>("overlapping"));
    SLUICE_ASSIGN_OR_RETURN(form.is_deterministic, construction.Get<bool>("deterministic"));
    SLUICE_ASSIGN_OR_RETURN(const int64_t seed, construction.Get<int64_t>("seed"));
    SLUICE_ASSIGN_OR_RETURN(const int64_t seed2, construction.Get<int64_t>("seed2"));
    form.is_mean = construction.op() == "FractionalAvgPool";
    const bool has_seeds = seed != 0 || seed2 != 0;
    if (has_seeds && !form.is_deterministic) {
      return AttrError("seed", absl::StrCat(seed, " and seed2 ", seed2), "0 and 0 where deterministic is false");
    }
    form.seeds[0] = static_cast<uint64_t>(seed);
    form.seeds[1] = static_cast<uint64_t>(seed2);
    if (form.is_deterministic && !has_seeds) form.DrawSeeds();
    return form;
  }

  // Unpredictable seeds.
  void DrawSeeds() {
    std::random_device system;
    for (uint64_t& seed : seeds) seed = (uint64_t{system()} << 32) | system();
  }

 private:
  absl::Status ReadRatios(const KernelConstruction& construction) {
    constexpr char kName[] = "pooling_ratio";
    SLUICE_ASSIGN_OR_RETURN(const std::vector<float> ratios, construction.Get<std::vector<float>>(kName));
    if (ratios.size() != 4) return AttrError(kName, absl::StrCat(ratios.size(), " entries"), "4");
    for (const float value : ratios) {
      if (!(value >= 1)) return AttrError(kName, value, "1 or more");
    }
    if (ratios[0] != 1 || ratios[3] != 1) {
      return Error(ErrorCode::kOpUnimplemented)
          .Attr(kName)
          .Found(absl::StrCat(ratios[0], " for the batch, ", ratios[3], " for the channels"))
          .Expected("1 and 1");
    }
    ratio[0] = ratios[1];
    ratio[1] = ratios[2];
    return absl::OkStatus();
  }
};

// The maximum or the mean of each window, and the cuts.
class FractionalPoolKernel : public Kernel {
 public:
  explicit FractionalPoolKernel(const FractionalForm& form) : form_(form) {}

  absl::Status Compute(KernelContext& context) const override {
    const Tensor& input = context.input(0);
    SLUICE_ASSIGN_OR_RETURN(PoolGeometry geometry, Resolve(input.shape()));
    // Without seeds each call has its own.
    FractionalForm form = form_;
    if (!form.is_deterministic) form.DrawSeeds();
    FractionalSequence sequence(Philox(form.seeds[0], form.seeds[1]), form.is_pseudo_random);
    for (int i = 0; i < 2; ++i) {
      PoolAxis& axis = geometry.axes[static_cast<size_t>(i) + 1];
      SLUICE_ASSIGN_OR_RETURN(const Shape places, Shape::Make({axis.out + 1}));
      SLUICE_ASSIGN_OR_RETURN(Tensor* const bounds, context.AllocateOutput(i + 1, places));
      sequence.Cut(axis.in, bounds->flat<int64_t>());
      axis.bounds = bounds->flat<int64_t>().data();
      axis.overlap = form_.is_overlapping ? 1 : 0;
    }
    SLUICE_ASSIGN_OR_RETURN(Tensor* const output, context.AllocateOutput(0, geometry.output));
    absl::Status status;
    DispatchDType<WideCppTypes>(input.dtype(), [&](auto type) {
      using W = typename decltype(type)::Type;
      const Workers workers(context.run());
      status =
          form_.is_mean
              ? PoolRows<W, true>(geometry, input, output, W{0}).Run(workers, &scratch_)
              : PoolRows<W, false>(geometry, input, output, std::numeric_limits<W>::lowest()).Run(workers, &scratch_);
    });
    return status;
  }

 private:
  absl::StatusOr<PoolGeometry> Resolve(const Shape& image) const {
    if (image.rank() != 4) return ShapeError(0, "", image, "4 dimensions");
    const float least[] = {1, form_.ratio[0], form_.ratio[1], 1};
    for (int i = 0; i < 4; ++i) {
      const int64_t size = image.dim(i);
      if (static_cast<float>(size) >= least[i] && size <= std::numeric_limits<int32_t>::max()) continue;
      return ShapeError(0, "", absl::StrCat(size, " in dimension ", i),
                        absl::StrCat("at least the pooling ratio ", least[i], ", below 2^31"));
    }
    PoolGeometry g;
    g.images = image.dim(0);
    g.channels = image.dim(3);
    for (int i = 1; i < 3; ++i) {
      PoolAxis& axis = g.axes[static_cast<size_t>(i)];
      axis.in = image.dim(i);
      // In floats, as TensorFlow counts them.
      axis.out = static_cast<int64_t>(std::floor(static_cast<float>(axis.in) / form_.ratio[i - 1]));
      axis.out = std::min(axis.out, axis.in);
    }
    SLUICE_RETURN_IF_ERROR(CheckPixelCount(g));
    SLUICE_ASSIGN_OR_RETURN(g.output, Shape::Make({g.images, g.axes[1].out, g.axes[2].out, g.channels}));
    return g;
  }

  const FractionalForm form_;
  mutable ScratchKeeper scratch_;
};

constexpr DTypeSet kTypes{DType::kFloat, DType::kDouble, DType::kInt32, DType::kInt64};

// Without seeds the numbers are others in each call: nothing that may be shared or folded.
constexpr KernelRow kRows[] = {
    KernelRow("FractionalAvgPool", &NewWith<FractionalPoolKernel, &FractionalForm::Read>).Types("T", kTypes),
    KernelRow("FractionalMaxPool", &NewWith<FractionalPoolKernel, &FractionalForm::Read>).Types("T", kTypes),
};

}  // namespace

absl::Span<const KernelRow> FractionalPoolKernels() { return kRows; }

}  // namespace sluice

// ScaleAndTranslate: each axis is sampled at scaled and moved places through a kernel, and its gradient.

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "graph/base/status_macros.h"
#include "kernels/image/axis_taps.h"
#include "kernels/image/families.h"
#include "kernels/image/float_rows.h"
#include "kernels/image/resize_geometry.h"
#include "kernels/input_error.h"
#include "kernels/kernel.h"
#include "kernels/kernel_construction.h"
#include "kernels/new_kernel.h"
#include "kernels/row_work.h"
#include "kernels/worker_scratch.h"

namespace sluice {
namespace {

// Nanoseconds for an element and a tap.
constexpr double kTapNs = 0.3;

// A filter by its name in attr 'kernel_type': zero from `radius` on.
struct SamplingKernel {
  absl::string_view name;
  float radius;
  float (*weight)(float x, float radius);  // x >= 0
};

float Lanczos(float x, float radius) {
  constexpr float kPi = 3.14159265359f;
  if (x > radius) return 0;
  if (x <= 1e-3f) return 1;
  return radius * std::sin(kPi * x) * std::sin(kPi * x / radius) / (kPi * kPi * x * x);
}
float Gaussian(float x, float radius) {
  const float sigma = radius / 3.0f;
  return x >= radius ? 0 : std::exp(-x * x / (2 * sigma * sigma));
}
float Box(float x, float) { return x < 0.5f ? 1.0f : x == 0.5f ? 0.5f : 0.0f; }
float Triangle(float x, float) { return x < 1.0f ? 1.0f - x : 0.0f; }
float KeysCubic(float x, float) {
  if (x >= 2) return 0;
  if (x >= 1) return ((-0.5f * x + 2.5f) * x - 4) * x + 2;
  return ((1.5f * x - 2.5f) * x) * x + 1;
}
float MitchellCubic(float x, float) {
  if (x >= 2) return 0;
  if (x >= 1) return (((-7.0f / 18) * x + 2) * x - 10.0f / 3) * x + 16.0f / 9;
  return (((7.0f / 6) * x - 2) * x) * x + 8.0f / 9;
}

constexpr SamplingKernel kSamplingKernels[] = {
    {"lanczos1", 1, &Lanczos},
    {"lanczos3", 3, &Lanczos},
    {"lanczos5", 5, &Lanczos},
    {"gaussian", 1.5f, &Gaussian},
    {"box", 1, &Box},
    {"triangle", 1, &Triangle},
    {"keyscubic", 2, &KeysCubic},
    {"mitchellcubic", 2, &MitchellCubic},
};

// Attrs of both ops. A value type.
struct SamplingForm {
  const SamplingKernel* kernel = nullptr;
  bool antialias = true;

  static absl::StatusOr<SamplingForm> Read(const KernelConstruction& construction) {
    SamplingForm form;
    SLUICE_ASSIGN_OR_RETURN(form.antialias, construction.Get<bool>("antialias"));
    SLUICE_ASSIGN_OR_RETURN(const std::string name, construction.Get<std::string>("kernel_type"));
    for (const SamplingKernel& kernel : kSamplingKernels) {
      if (kernel.name == name) form.kernel = &kernel;
    }
    if (form.kernel != nullptr) return form;
    return AttrError("kernel_type", name, "the name of a sampling kernel");
  }
};

// Two floats for the two axes.
struct PerAxis {
  float y = 0;
  float x = 0;
};

absl::StatusOr<PerAxis> ReadPerAxis(const KernelContext& context, int input, absl::string_view name) {
  const Tensor& tensor = context.input(input);
  if (tensor.rank() != 1 || tensor.dim(0) != 2) return ShapeError(input, name, tensor.shape(), "[2]");
  const absl::Span<const float> values = tensor.flat<float>();
  return PerAxis{values[0], values[1]};
}

absl::StatusOr<PerAxis> ReadScale(const KernelContext& context) {
  SLUICE_ASSIGN_OR_RETURN(const PerAxis scale, ReadPerAxis(context, 2, "scale"));
  if (scale.y > 0 && scale.x > 0) return scale;
  return ValueError(2, "scale", absl::StrCat("[", scale.y, ",", scale.x, "]"), "numbers above 0");
}

// The samples of one axis.
class Sampling {
 public:
  Sampling(const SamplingForm& form, float scale, float translation, int64_t size)
      : kernel_(*form.kernel),
        inverse_scale_(1.0f / scale),
        shift_(-inverse_scale_ * translation),
        kernel_scale_(form.antialias ? std::max(inverse_scale_, 1.0f) : 1.0f),
        size_(size) {}

  // The pixels [*begin, *end) that are in reach of sample `i`; none where it is outside of the image.
  void Reach(int64_t i, int64_t* begin, int64_t* end) const {
    *begin = *end = 0;
    const float place = Place(i);
    if (!(place >= 0 && place <= static_cast<float>(size_))) return;
    const float reach = kernel_.radius * kernel_scale_;
    *begin = Clamp(std::ceil(place - reach - 0.5f));
    *end = Clamp(std::floor(place + reach - 0.5f)) + 1;
  }
  float Weight(int64_t i, int64_t pixel) const {
    const float distance = static_cast<float>(pixel) + 0.5f - Place(i);
    return kernel_.weight(std::abs(distance * (1.0f / kernel_scale_)), kernel_.radius);
  }

 private:
  float Place(int64_t i) const { return (static_cast<float>(i) + 0.5f) * inverse_scale_ + shift_; }
  // In floats first, as the reach may be infinite; then in integers, as the last pixel may be rounded up in floats.
  int64_t Clamp(float pixel) const {
    const float last = static_cast<float>(size_ - 1);
    return std::min(static_cast<int64_t>(std::min(std::max(pixel, 0.0f), last)), size_ - 1);
  }

  const SamplingKernel& kernel_;
  const float inverse_scale_;
  const float shift_;
  const float kernel_scale_;
  const int64_t size_;
};

absl::StatusOr<AxisTaps> SampleAxis(KernelContext& context, const Sampling& sampling, int64_t samples) {
  int64_t begin, end, count = 0;
  for (int64_t i = 0; i < samples; ++i) {
    sampling.Reach(i, &begin, &end);
    count += end - begin;  // Below 2^62: both sizes are below 2^31.
  }
  SLUICE_ASSIGN_OR_RETURN(AxisTaps taps, AxisTaps::Make(context, samples, count));
  for (int64_t i = 0; i < samples; ++i) {
    sampling.Reach(i, &begin, &end);
    float sum = 0;
    for (int64_t k = begin; k < end; ++k) {
      const float weight = sampling.Weight(i, k);
      taps.Add({k, weight});
      sum += weight;
    }
    if (std::abs(sum) >= 1000.0f * std::numeric_limits<float>::min()) {
      taps.ScalePixel(1.0f / sum);
    } else {
      taps.DropPixel();
    }
    taps.EndPixel();
  }
  return taps;
}

// The tables of a call.
struct Tables {
  AxisTaps rows;
  AxisTaps columns;
};

absl::StatusOr<Tables> MakeTables(KernelContext& context, const SamplingForm& form, const ResizeGeometry& geometry,
                                  const PerAxis& scale, const PerAxis& translation) {
  Tables tables;
  const ResizeAxis &y = geometry.y, &x = geometry.x;
  SLUICE_ASSIGN_OR_RETURN(tables.rows,
                          SampleAxis(context, Sampling(form, scale.y, translation.y, y.original), y.resized));
  SLUICE_ASSIGN_OR_RETURN(tables.columns,
                          SampleAxis(context, Sampling(form, scale.x, translation.x, x.original), x.resized));
  return tables;
}

// `out_rows` rows from images of `in_height` rows of `in_width` pixels: mixed along y, then along x.
struct MixCall {
  const Tables& tables;
  const FloatRows images;
  int64_t batch;
  int64_t in_height;
  int64_t in_width;
  int64_t channels;
  float* output;
};

absl::Status Mix(const KernelContext& context, const MixCall& call, ScratchKeeper* keeper) {
  const AxisTaps& rows = call.tables.rows;
  const AxisTaps& columns = call.tables.columns;
  const int64_t width = call.in_width * call.channels, out_width = columns.size() * call.channels;
  const double taps_each = static_cast<double>(rows.num_taps()) / static_cast<double>(rows.size()) + 1;
  const double row_ns = kTapNs * (static_cast<double>(width) * taps_each +
                                  static_cast<double>(columns.num_taps()) * static_cast<double>(call.channels));
  const int64_t converted = call.images.is_direct() ? 0 : width;
  const RowWork work{call.batch * rows.size(), row_ns, converted + width};
  return ForEachRowRange(context, work, keeper, [&](int64_t begin, int64_t end, float* scratch) {
    float* const mixed = scratch + converted;
    for (int64_t i = begin; i < end; ++i) {
      const int64_t y = i % rows.size(), first = i / rows.size() * call.in_height;
      if (rows.begins()[y] == rows.begins()[y + 1]) std::fill_n(mixed, width, 0.0f);
      for (int64_t k = rows.begins()[y]; k < rows.begins()[y + 1]; ++k) {
        const AxisTaps::Tap& tap = rows.taps()[k];
        const float* const row = call.images.Get((first + tap.index) * width, width, scratch);
        MixRow(row, tap.weight, width, k > rows.begins()[y], mixed);
      }
      MixColumns(columns, mixed, call.channels, call.output + i * out_width);
    }
  });
}

// Samples the images in input 0.
class ScaleAndTranslateKernel final : public Kernel {
 public:
  explicit ScaleAndTranslateKernel(const SamplingForm& form) : form_(form) {}

  absl::Status Compute(KernelContext& context) const override {
    SLUICE_ASSIGN_OR_RETURN(const ResizeGeometry geometry, ResolveResize(context, ResizeForm()));
    SLUICE_ASSIGN_OR_RETURN(const PerAxis scale, ReadScale(context));
    SLUICE_ASSIGN_OR_RETURN(const PerAxis translation, ReadPerAxis(context, 3, "translation"));
    SLUICE_ASSIGN_OR_RETURN(Tensor* const output, context.AllocateOutput(0, geometry.resized));
    if (output->num_elements() == 0) return absl::OkStatus();
    SLUICE_ASSIGN_OR_RETURN(const Tables tables, MakeTables(context, form_, geometry, scale, translation));
    const MixCall call{tables,
                       FloatRows(context.input(0)),
                       geometry.batch,
                       geometry.y.original,
                       geometry.x.original,
                       geometry.channels,
                       output->flat<float>().data()};
    return Mix(context, call, &scratch_);
  }

 private:
  const SamplingForm form_;
  mutable ScratchKeeper scratch_;
};

// The gradient of the images.
class ScaleAndTranslateGradKernel final : public Kernel {
 public:
  explicit ScaleAndTranslateGradKernel(const SamplingForm& form) : form_(form) {}

  absl::Status Compute(KernelContext& context) const override {
    Shape original;
    SLUICE_ASSIGN_OR_RETURN(const ResizeGeometry geometry, ResolveSampledGrad(context, &original));
    SLUICE_ASSIGN_OR_RETURN(const PerAxis scale, ReadScale(context));
    SLUICE_ASSIGN_OR_RETURN(const PerAxis translation, ReadPerAxis(context, 3, "translation"));
    SLUICE_ASSIGN_OR_RETURN(Tensor* const output, context.AllocateOutput(0, original));
    if (context.input(0).num_elements() == 0) {
      std::memset(output->mutable_raw_data(), 0, output->total_bytes());
      return absl::OkStatus();
    }
    if (output->num_elements() == 0) return absl::OkStatus();
    Tables back;
    {
      SLUICE_ASSIGN_OR_RETURN(const Tables tables, MakeTables(context, form_, geometry, scale, translation));
      SLUICE_ASSIGN_OR_RETURN(back.rows, tables.rows.Transposed(context, geometry.y.original));
      SLUICE_ASSIGN_OR_RETURN(back.columns, tables.columns.Transposed(context, geometry.x.original));
    }
    const MixCall call{back,
                       FloatRows(context.input(0)),
                       geometry.batch,
                       geometry.y.resized,
                       geometry.x.resized,
                       geometry.channels,
                       output->flat<float>().data()};
    return Mix(context, call, &scratch_);
  }

 private:
  const SamplingForm form_;
  mutable ScratchKeeper scratch_;
};

constexpr KernelRow kRows[] = {
    KernelRow("ScaleAndTranslate", &NewWith<ScaleAndTranslateKernel, &SamplingForm::Read>)
        .Types("T", kPixelTypes)
        .HostInput("size"),
    KernelRow("ScaleAndTranslateGrad", &NewWith<ScaleAndTranslateGradKernel, &SamplingForm::Read>)
        .Types("T", {DType::kFloat}),
};

}  // namespace

absl::Span<const KernelRow> ScaleAndTranslateKernels() { return kRows; }

}  // namespace sluice

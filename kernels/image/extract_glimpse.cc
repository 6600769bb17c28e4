// ExtractGlimpse, both versions: a window of each image, and noise where the window lies beyond its edges. TensorFlow
// draws that noise from the state of the process; here it depends on nothing but the number of the image, so that equal
// inputs give equal outputs.

#include <algorithm>
#include <cmath>
#include <cstring>
#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "graph/base/status_macros.h"
#include "kernels/array/index_values.h"
#include "kernels/image/families.h"
#include "kernels/image/resize_geometry.h"
#include "kernels/input_error.h"
#include "kernels/kernel.h"
#include "kernels/kernel_construction.h"
#include "kernels/new_kernel.h"
#include "kernels/random/normal_pair.h"
#include "kernels/random/philox_words.h"

namespace sluice {
namespace {

// Nanoseconds for an element that is copied or drawn.
constexpr double kElementNs = 2;
constexpr uint64_t kNoiseKey = 0x676c696d70736573;

enum class Noise { kZero, kUniform, kGaussian };

absl::StatusOr<Noise> ReadNoise(const KernelConstruction& construction) {
  SLUICE_ASSIGN_OR_RETURN(const bool is_uniform, construction.Get<bool>("uniform_noise"));
  SLUICE_ASSIGN_OR_RETURN(const std::string name, construction.Get<std::string>("noise"));
  if (name.empty()) return is_uniform ? Noise::kUniform : Noise::kGaussian;
  if (name == "uniform") return Noise::kUniform;
  if (is_uniform) return AttrError("noise", name, "uniform, as uniform_noise says");
  if (name == "gaussian") return Noise::kGaussian;
  if (name == "zero") return Noise::kZero;
  return AttrError("noise", name, "uniform, gaussian or zero");
}

// Attrs. A value type.
struct GlimpseForm {
  bool is_first_version = false;
  bool centered = false;
  bool normalized = false;
  Noise noise = Noise::kUniform;

  static absl::StatusOr<GlimpseForm> Read(const KernelConstruction& construction) {
    GlimpseForm form;
    form.is_first_version = construction.op() == "ExtractGlimpse";
    SLUICE_ASSIGN_OR_RETURN(form.centered, construction.Get<bool>("centered"));
    SLUICE_ASSIGN_OR_RETURN(form.normalized, construction.Get<bool>("normalized"));
    SLUICE_ASSIGN_OR_RETURN(form.noise, ReadNoise(construction));
    return form;
  }

  // The pixel at which a window of `window` pixels begins. The first version takes windows that are not normalized, or
  // not centered, half their size further, and divides offsets that are not normalized by two.
  int64_t Begin(float offset, int64_t size, int64_t window) const {
    const float half_window = static_cast<float>(window) / 2.0f, half_size = static_cast<float>(size) / 2.0f;
    float place = normalized ? offset * static_cast<float>(size) : offset;
    if (centered) place = (normalized || is_first_version ? place / 2.0f : place) + half_size;
    if (is_first_version || (normalized && centered)) place -= half_window;
    constexpr float kFar = 0x1p62f;
    if (!(std::abs(place) < kFar)) return static_cast<int64_t>(place > 0 && !std::isinf(place) ? kFar : -kFar);
    return static_cast<int64_t>(place);
  }
};

// The part of a window that lies in the image, along one axis.
struct Overlap {
  int64_t from = 0;   // In the image.
  int64_t to = 0;     // In the window.
  int64_t count = 0;  // Pixels.
  bool is_whole = true;

  Overlap(int64_t begin, int64_t size, int64_t window) : from(std::max<int64_t>(begin, 0)), count(window) {
    if (begin < 0) {
      to = std::min(-begin, window);
      count = window - to;
    }
    is_whole = begin >= 0 && begin <= size - window;
    count = std::max<int64_t>(0, std::min(count, size - from));
  }
};

// One call. Sizes in pixels.
struct GlimpseCall {
  const GlimpseForm& form;
  int64_t height, width, channels;
  int64_t window_height, window_width;
  const float* offsets;  // Two for each image: y and x.

  int64_t image_size() const { return height * width * channels; }
  int64_t window_size() const { return window_height * window_width * channels; }
};

// Numbers between the least and the greatest of all elements.
void FillUniform(const float* image, int64_t size, PhiloxWords words, float* out, int64_t count) {
  const auto range = std::minmax_element(image, image + size);
  const float least = *range.first, width = *range.second - least;
  for (int64_t i = 0; i < count; ++i) out[i] = least + words.NextFloat() * width;
}

// Numbers with the mean and the deviation of channel `c`, and none beyond its least and its greatest.
void FillGaussian(const GlimpseCall& call, const float* image, int64_t c, PhiloxWords* words, float* out) {
  float least = image[c], most = image[c];
  double sum = 0, squares = 0;
  for (int64_t i = c; i < call.image_size(); i += call.channels) {
    least = std::min(least, image[i]);
    most = std::max(most, image[i]);
    sum += static_cast<double>(image[i]);
  }
  const double pixels = static_cast<double>(call.height * call.width), mean = sum / pixels;
  for (int64_t i = c; i < call.image_size(); i += call.channels) {
    squares += (static_cast<double>(image[i]) - mean) * (static_cast<double>(image[i]) - mean);
  }
  const float center = static_cast<float>(mean), deviation = static_cast<float>(std::sqrt(squares / pixels));
  float pair[2] = {};
  for (int64_t i = c, drawn = 0; i < call.window_size(); i += call.channels, ++drawn) {
    if (drawn % 2 == 0) {
      const uint32_t first = words->Next32();
      NormalPair(first, words->Next32(), pair);
    }
    out[i] = std::max(std::min(center + pair[drawn % 2] * deviation, most), least);
  }
}

void FillNoise(const GlimpseCall& call, int64_t number, const float* image, float* out) {
  PhiloxWords words(Philox(kNoiseKey, static_cast<uint64_t>(number)));
  if (call.form.noise == Noise::kZero || call.image_size() == 0) {
    std::fill_n(out, call.window_size(), 0.0f);
  } else if (call.form.noise == Noise::kUniform) {
    FillUniform(image, call.image_size(), words, out, call.window_size());
  } else {
    for (int64_t c = 0; c < call.channels; ++c) FillGaussian(call, image, c, &words, out);
  }
}

void TakeGlimpse(const GlimpseCall& call, int64_t number, const float* image, float* out) {
  const GlimpseForm& form = call.form;
  const Overlap y(form.Begin(call.offsets[2 * number], call.height, call.window_height), call.height,
                  call.window_height);
  const Overlap x(form.Begin(call.offsets[2 * number + 1], call.width, call.window_width), call.width,
                  call.window_width);
  if (!y.is_whole || !x.is_whole) FillNoise(call, number, image, out);
  if (x.count == 0) return;
  const size_t bytes = static_cast<size_t>(x.count * call.channels) * sizeof(float);
  for (int64_t row = 0; row < y.count; ++row) {
    std::memcpy(out + ((y.to + row) * call.window_width + x.to) * call.channels,
                image + ((y.from + row) * call.width + x.from) * call.channels, bytes);
  }
}

absl::Status CheckInputs(const Tensor& images, const Tensor& offsets) {
  if (images.rank() != 4) return ShapeError(0, "input", images.shape(), "4 dimensions");
  if (offsets.rank() == 2 && offsets.dim(0) == images.dim(0) && offsets.dim(1) == 2) return absl::OkStatus();
  return ShapeError(2, "offsets", offsets.shape(), absl::StrCat("[", images.dim(0), ",2]"));
}

// Windows of the images in input 0, of the size in input 1, at the offsets in input 2.
class ExtractGlimpseKernel final : public Kernel {
 public:
  explicit ExtractGlimpseKernel(const GlimpseForm& form) : form_(form) {}

  absl::Status Compute(KernelContext& context) const override {
    const Tensor& images = context.input(0);
    SLUICE_RETURN_IF_ERROR(CheckInputs(images, context.input(2)));
    SLUICE_ASSIGN_OR_RETURN(const IndexVector size, ReadHeightAndWidth(context, 1, "size", 0));
    SLUICE_ASSIGN_OR_RETURN(const Shape shape, MakeShape({images.dim(0), size[0], size[1], images.dim(3)}));
    SLUICE_ASSIGN_OR_RETURN(Tensor* const output, context.AllocateOutput(0, shape));
    if (shape.num_elements() == 0) return absl::OkStatus();
    const GlimpseCall call{
        form_, images.dim(1), images.dim(2), images.dim(3), size[0], size[1], context.input(2).flat<float>().data()};
    const float* const from = images.flat<float>().data();
    float* const to = output->flat<float>().data();
    const double image_ns = kElementNs * static_cast<double>(call.window_size());
    context.ParallelFor(images.dim(0), image_ns, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        TakeGlimpse(call, i, from + i * call.image_size(), to + i * call.window_size());
      }
    });
    return absl::OkStatus();
  }

 private:
  const GlimpseForm form_;
};

constexpr KernelRow kRows[] = {
    KernelRow("ExtractGlimpse", &NewWith<ExtractGlimpseKernel, &GlimpseForm::Read>).HostInput("size"),
    KernelRow("ExtractGlimpseV2", &NewWith<ExtractGlimpseKernel, &GlimpseForm::Read>).HostInput("size"),
};

}  // namespace

absl::Span<const KernelRow> ExtractGlimpseKernels() { return kRows; }

}  // namespace sluice

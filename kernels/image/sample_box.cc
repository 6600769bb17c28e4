// SampleDistortedBoundingBox, both versions and the stateless one: a random part of an image that covers enough of one
// of its boxes. The same numbers as TensorFlow's for the same seeds.

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "graph/base/error.h"
#include "graph/base/status_macros.h"
#include "kernels/dispatch.h"
#include "kernels/image/families.h"
#include "kernels/input_error.h"
#include "kernels/kernel.h"
#include "kernels/kernel_construction.h"
#include "kernels/new_kernel.h"
#include "kernels/random/philox_words.h"
#include "kernels/random/seeded_generator.h"
#include "kernels/random/stateless_generator.h"
#include "kernels/temp_array.h"
#include "kernels/workers.h"

namespace sluice {
namespace {

// Blocks of the sequence that a call takes for each attempt, as in TensorFlow: what comes next depends on it.
constexpr uint64_t kBlocksPerAttempt = 1;

// Pixels [x1, x2) of columns and [y1, y2) of rows.
struct Rectangle {
  int64_t x1, y1, x2, y2;

  float Area() const { return x1 > x2 || y1 > y2 ? 0.0f : static_cast<float>((x2 - x1) * (y2 - y1)); }
};

Rectangle Shared(const Rectangle& a, const Rectangle& b) {
  const Rectangle shared{std::max(a.x1, b.x1), std::max(a.y1, b.y1), std::min(a.x2, b.x2), std::min(a.y2, b.y2)};
  return shared.x1 > shared.x2 || shared.y1 > shared.y2 ? Rectangle{0, 0, 0, 0} : shared;
}

struct Range {
  float low = 0;
  float high = 0;
};

// Attrs. A value type.
struct SampleForm {
  SeededGenerator::Seeds seeds;
  float min_object_covered = 0;  // Version 2 has it as an input.
  Range aspect_ratio;
  Range area;
  int64_t max_attempts = 0;
  bool use_image_without_boxes = false;

  static absl::StatusOr<SampleForm> Read(const KernelConstruction& construction);
};

absl::StatusOr<Range> ReadRange(const KernelConstruction& construction, const char* attr, float high) {
  SLUICE_ASSIGN_OR_RETURN(const std::vector<float> values, construction.Get<std::vector<float>>(attr));
  if (values.size() == 2 && values[0] > 0 && values[1] > 0 && values[0] <= high && values[1] <= high) {
    return Range{values[0], values[1]};
  }
  return Error(ErrorCode::kOpAttr).Attr(attr).Expected("two numbers above 0, parts of an image at most 1");
}

absl::StatusOr<SampleForm> SampleForm::Read(const KernelConstruction& construction) {
  SampleForm form;
  if (!absl::StartsWith(construction.op(), "Stateless")) {
    SLUICE_ASSIGN_OR_RETURN(form.seeds, SeededGenerator::ReadSeeds(construction));
  }
  SLUICE_ASSIGN_OR_RETURN(form.min_object_covered, construction.GetOr<float>("min_object_covered", 0.0f));
  constexpr float kAny = std::numeric_limits<float>::infinity();
  SLUICE_ASSIGN_OR_RETURN(form.aspect_ratio, ReadRange(construction, "aspect_ratio_range", kAny));
  SLUICE_ASSIGN_OR_RETURN(form.area, ReadRange(construction, "area_range", 1.0f));
  SLUICE_ASSIGN_OR_RETURN(form.max_attempts, construction.Get<int64_t>("max_attempts"));
  SLUICE_ASSIGN_OR_RETURN(form.use_image_without_boxes, construction.Get<bool>("use_image_if_no_bounding_boxes"));
  if (!(form.min_object_covered >= 0)) {
    return Error(ErrorCode::kOpAttr).Attr("min_object_covered").Expected("0 or more");
  }
  if (form.max_attempts <= 0 || form.max_attempts > std::numeric_limits<int32_t>::max()) {
    return AttrError("max_attempts", form.max_attempts, "1 or more, as an int32");
  }
  return form;
}

// Rounds. Values beyond any image size are clamped to 2^40; NaN becomes 0, which callers refuse as a height or width.
int64_t Rounded(float value) {
  constexpr float kLarge = 0x1p40f;
  return std::isnan(value) ? 0 : std::lrint(std::min(std::max(value, -kLarge), kLarge));
}

// One attempt: a part of the image with that aspect ratio. False: none was found.
bool DrawPart(int64_t image_width, int64_t image_height, const Range& area_range, float aspect_ratio,
              PhiloxWords* numbers, Rectangle* part) {
  if (image_width <= 0 || image_height <= 0 || !(area_range.low <= area_range.high)) return false;
  const float image_area = 1.0f * static_cast<float>(image_width) * static_cast<float>(image_height);
  const float min_area = area_range.low * static_cast<float>(image_width) * static_cast<float>(image_height);
  const float max_area = area_range.high * static_cast<float>(image_width) * static_cast<float>(image_height);
  if (!(image_area > 0) || !(aspect_ratio > 0)) return false;
  int64_t height = Rounded(std::sqrt(min_area / aspect_ratio));
  int64_t max_height = Rounded(std::sqrt(max_area / aspect_ratio));
  if (Rounded(static_cast<float>(max_height) * aspect_ratio) > image_width) {
    constexpr float kEpsilon = 0.0000001f;
    const double most = static_cast<double>(image_width) + 0.5 - static_cast<double>(kEpsilon);
    max_height = static_cast<int64_t>(std::min(most / static_cast<double>(aspect_ratio), 0x1p40));
  }
  max_height = std::min(max_height, image_height);
  height = std::min(height, max_height);
  if (height < max_height) height += numbers->Below32(static_cast<uint32_t>(max_height - height + 1));
  int64_t width = Rounded(static_cast<float>(height) * aspect_ratio);
  const auto area = [&] { return static_cast<float>(width * height); };
  // Rounding may have made the area a little too small or too large: correct the height by 1, once, as TensorFlow does.
  if (area() < min_area) width = Rounded(static_cast<float>(++height) * aspect_ratio);
  if (area() > max_area) width = Rounded(static_cast<float>(--height) * aspect_ratio);
  const bool fits = area() >= min_area && area() <= max_area && width <= image_width && height <= image_height &&
                    width > 0 && height > 0;
  if (!fits) return false;
  int64_t y = 0, x = 0;
  if (height < image_height) y = numbers->Below32(static_cast<uint32_t>(image_height - height));
  if (width < image_width) x = numbers->Below32(static_cast<uint32_t>(image_width - width));
  *part = {x, y, x + width, y + height};
  return true;
}

bool CoversEnough(const Rectangle& part, float min_covered, const TempArray<Rectangle>& boxes) {
  constexpr float kMinArea = 1;
  if (part.Area() < kMinArea) return false;
  for (int64_t i = 0; i < boxes.size(); ++i) {
    const float area = boxes[i].Area();
    if (area >= kMinArea && Shared(part, boxes[i]).Area() / area >= min_covered) return true;
  }
  return false;
}

// --- Inputs and outputs --------------------------------------------------------------------------------------------

struct ImageSize {
  int64_t height = 0;
  int64_t width = 0;
};

absl::StatusOr<ImageSize> ReadImageSize(const Tensor& tensor) {
  if (tensor.rank() != 1 || tensor.dim(0) != 3) return ShapeError(0, "image_size", tensor.shape(), "[3]");
  uint64_t sizes[2] = {};
  DispatchDType<IntegerCppTypes>(tensor.dtype(), [&](auto type) {
    using T = typename decltype(type)::Type;
    for (size_t i = 0; i < 2; ++i) sizes[i] = static_cast<uint64_t>(tensor.flat<T>()[i]);
  });
  constexpr uint64_t kMax = std::numeric_limits<int32_t>::max();
  if (sizes[0] < kMax && sizes[1] < kMax) {
    return ImageSize{static_cast<int64_t>(sizes[0]), static_cast<int64_t>(sizes[1])};
  }
  return ValueError(0, "image_size", tensor.ToString(), absl::StrCat("sizes of 0 or more, below ", kMax));
}

// The boxes in input 1, in pixels; the whole image if there are no boxes and that is allowed.
absl::StatusOr<TempArray<Rectangle>> ReadBoxes(KernelContext& context, const ImageSize& size, bool use_image) {
  const Tensor& tensor = context.input(1);
  if (tensor.rank() != 3 || tensor.dim(2) != 4) {
    return ShapeError(1, "bounding_boxes", tensor.shape(), "[batch, boxes, 4]");
  }
  const absl::Span<const float> corners = tensor.flat<float>();
  for (const float corner : corners) {
    if (corner >= 0 && corner <= 1) continue;
    return ValueError(1, "bounding_boxes", corner, "coordinates of 0 to 1");
  }
  if (corners.empty() && !use_image) {
    return Error(ErrorCode::kOpValue)
        .Input(1, "bounding_boxes")
        .Text("has no boxes, and use_image_if_no_bounding_boxes is false");
  }
  const int64_t count = std::max<int64_t>(1, tensor.num_elements() / 4);
  SLUICE_ASSIGN_OR_RETURN(TempArray<Rectangle> boxes, TempArray<Rectangle>::Make(context, count));
  boxes[0] = {0, 0, size.width, size.height};
  const float width = static_cast<float>(size.width), height = static_cast<float>(size.height);
  for (size_t i = 0; i + 3 < corners.size(); i += 4) {
    const auto pixel = [](float part, float whole) { return static_cast<int64_t>(part * whole); };
    boxes[static_cast<int64_t>(i / 4)] = {pixel(corners[i + 1], width), pixel(corners[i], height),
                                          pixel(corners[i + 3], width), pixel(corners[i + 2], height)};
  }
  return boxes;
}

absl::Status SetOutputs(KernelContext& context, const ImageSize& size, const Rectangle& part) {
  SLUICE_ASSIGN_OR_RETURN(Tensor* const begin, context.AllocateOutput(0, Shape::Of({3})));
  SLUICE_ASSIGN_OR_RETURN(Tensor* const extent, context.AllocateOutput(1, Shape::Of({3})));
  SLUICE_ASSIGN_OR_RETURN(Tensor* const box, context.AllocateOutput(2, Shape::Of({1, 1, 4})));
  DispatchDType<IntegerCppTypes>(begin->dtype(), [&](auto type) {
    using T = typename decltype(type)::Type;
    T* const first = begin->flat<T>().data();
    T* const count = extent->flat<T>().data();
    first[0] = static_cast<T>(part.y1);
    first[1] = static_cast<T>(part.x1);
    first[2] = 0;
    count[0] = static_cast<T>(part.y2 - part.y1);
    count[1] = static_cast<T>(part.x2 - part.x1);
    count[2] = static_cast<T>(-1);  // All channels.
  });
  const float width = static_cast<float>(size.width), height = static_cast<float>(size.height);
  float* const corners = box->flat<float>().data();
  corners[0] = static_cast<float>(part.y1) / height;
  corners[1] = static_cast<float>(part.x1) / width;
  corners[2] = static_cast<float>(part.y2) / height;
  corners[3] = static_cast<float>(part.x2) / width;
  return absl::OkStatus();
}

absl::StatusOr<float> ReadMinCovered(const KernelContext& context, const SampleForm& form) {
  if (context.num_inputs() < 3) return form.min_object_covered;
  const Tensor& tensor = context.input(2);
  SLUICE_RETURN_IF_ERROR(CheckScalar(context, 2, "min_object_covered"));
  const float value = tensor.flat<float>()[0];
  if (value >= 0) return value;
  return ValueError(2, "min_object_covered", value, "0 or more");
}

// Draws by the numbers that `take` gives once the inputs have been checked: a StatusOr<Philox>.
template <typename Take>
absl::Status SampleBox(KernelContext& context, const SampleForm& form, const Take& take) {
  constexpr int64_t kPollEvery = 1024;  // Attempts.
  SLUICE_ASSIGN_OR_RETURN(const ImageSize size, ReadImageSize(context.input(0)));
  SLUICE_ASSIGN_OR_RETURN(const float min_covered, ReadMinCovered(context, form));
  SLUICE_ASSIGN_OR_RETURN(const TempArray<Rectangle> boxes, ReadBoxes(context, size, form.use_image_without_boxes));
  SLUICE_ASSIGN_OR_RETURN(const Philox first, take());
  const Workers workers(context.run());
  PhiloxWords numbers(first);
  Rectangle part{0, 0, size.width, size.height};
  for (int64_t attempt = 0; attempt < form.max_attempts; ++attempt) {
    if (attempt % kPollEvery == kPollEvery - 1 && workers.MustStop()) return workers.WhyStopped();
    const Range& ratios = form.aspect_ratio;
    const float ratio = numbers.NextFloat() * (ratios.high - ratios.low) + ratios.low;
    Rectangle drawn;
    if (!DrawPart(size.width, size.height, form.area, ratio, &numbers, &drawn)) continue;
    if (!CoversEnough(drawn, min_covered, boxes)) continue;
    part = drawn;
    break;
  }
  return SetOutputs(context, size, part);
}

// Draws a part of an image; which numbers it has drawn is its state.
class SampleBoxKernel final : public GeneratorKernel {
 public:
  explicit SampleBoxKernel(const SampleForm& form) : GeneratorKernel(form.seeds), form_(form) {}

  absl::Status Compute(KernelContext& context) const override {
    return SampleBox(context, form_, [this]() -> absl::StatusOr<Philox> {
      return generator_.Reserve(static_cast<uint64_t>(form_.max_attempts) * kBlocksPerAttempt);
    });
  }

 private:
  const SampleForm form_;
};

// The same by the seed in input 3.
class StatelessSampleBoxKernel final : public Kernel {
 public:
  explicit StatelessSampleBoxKernel(const SampleForm& form) : form_(form) {}

  absl::Status Compute(KernelContext& context) const override {
    return SampleBox(context, form_, [&context] { return ReadSeedGenerator(context, 3); });
  }

 private:
  const SampleForm form_;
};

constexpr KernelRow kRows[] = {
    KernelRow("SampleDistortedBoundingBox", &NewWith<SampleBoxKernel, &SampleForm::Read>)
        .Types("T", kSignedTypes | DTypeSet{DType::kUInt8}),
    KernelRow("SampleDistortedBoundingBoxV2", &NewWith<SampleBoxKernel, &SampleForm::Read>)
        .Types("T", kSignedTypes | DTypeSet{DType::kUInt8}),
    KernelRow("StatelessSampleDistortedBoundingBox", &NewWith<StatelessSampleBoxKernel, &SampleForm::Read>)
        .Types("T", kSignedTypes | DTypeSet{DType::kUInt8})
        .HostInput("seed"),
};

}  // namespace

absl::Span<const KernelRow> SampleBoxKernels() { return kRows; }

}  // namespace sluice

// ImageProjectiveTransformV2 and V3: each pixel of the result comes from the place of the image to which a projective
// transform takes it. The arithmetic is TensorFlow's, in float, for all dtypes.

#include <algorithm>
#include <cmath>
#include <cstring>
#include <iterator>
#include <limits>
#include <memory>
#include <string>
#include <type_traits>

#include "absl/strings/str_cat.h"
#include "graph/base/status_macros.h"
#include "graph/value/float16.h"
#include "kernels/array/index_values.h"
#include "kernels/dispatch.h"
#include "kernels/image/families.h"
#include "kernels/image/resize_geometry.h"
#include "kernels/input_error.h"
#include "kernels/kernel.h"
#include "kernels/kernel_construction.h"
#include "kernels/new_kernel.h"
#include "kernels/row_work.h"
#include "kernels/temp_array.h"

namespace sluice {
namespace {

// Nanoseconds for a pixel of the result, and for each of its channels.
constexpr double kPixelNs = 10;
constexpr double kChannelNs = 2;

// What lies beyond the edges: the image turned around, or again and again, one value, or the pixels of the edges.
enum class Beyond { kReflect, kWrap, kConstant, kNearest };

// Attrs. A value type.
struct TransformForm {
  bool is_bilinear = false;
  Beyond beyond = Beyond::kConstant;

  static absl::StatusOr<TransformForm> Read(const KernelConstruction& construction) {
    TransformForm form;
    SLUICE_ASSIGN_OR_RETURN(const std::string interpolation, construction.Get<std::string>("interpolation"));
    SLUICE_ASSIGN_OR_RETURN(const std::string mode, construction.Get<std::string>("fill_mode"));
    form.is_bilinear = interpolation == "BILINEAR";
    if (!form.is_bilinear && interpolation != "NEAREST") {
      return AttrError("interpolation", interpolation, "NEAREST or BILINEAR");
    }
    constexpr absl::string_view kModes[] = {"REFLECT", "WRAP", "CONSTANT", "NEAREST"};
    const auto* const found = std::find(std::begin(kModes), std::end(kModes), mode);
    if (found == std::end(kModes)) return AttrError("fill_mode", mode, "REFLECT, WRAP, CONSTANT or NEAREST");
    form.beyond = static_cast<Beyond>(found - std::begin(kModes));
    return form;
  }
};

// The whole part of a number that may be anything. NaN is far away, too.
int64_t Whole(float x) {
  constexpr float kFar = 0x1p40f;
  return std::abs(x) < kFar ? static_cast<int64_t>(x) : static_cast<int64_t>(x > 0 ? kFar : -kFar);
}

// Maps a coordinate into an image of `size` pixels that is continued by its mirror image on both sides, again and
// again.
float Reflected(float place, int64_t size) {
  if (size <= 1) return 0;
  const float twice = static_cast<float>(2 * size);
  if (place < 0) {
    place += twice * static_cast<float>(Whole(-place / twice));
    return place < -static_cast<float>(size) ? place + twice : -place - 1;
  }
  place -= twice * static_cast<float>(Whole(place / twice));
  return place >= static_cast<float>(size) ? twice - place - 1 : place;
}

// The same where the image itself comes again and again.
float Wrapped(float place, int64_t size) {
  if (size <= 1) return 0;
  const float length = static_cast<float>(size), last = static_cast<float>(size - 1);
  if (place < 0) return place + length * static_cast<float>(Whole(-place / last) + 1);
  return place - length * static_cast<float>(Whole(place / last));
}

// Where a place is looked up along an axis.
float Mapped(Beyond beyond, float place, int64_t size) {
  if (beyond == Beyond::kConstant) return place;
  const float last = static_cast<float>(size - 1);
  if (place < 0 || place > last) {
    if (beyond == Beyond::kReflect) place = Reflected(place, size);
    if (beyond == Beyond::kWrap) place = Wrapped(place, size);
  }
  return std::min(std::max(place, 0.0f), last);
}

// Rounded as C++ does; what an integer cannot hold becomes the nearest number that it can.
template <typename T>
T FromFloat(float value) {
  if constexpr (std::is_integral_v<T>) {
    if (std::isnan(value)) return 0;
    if (value <= static_cast<float>(std::numeric_limits<T>::lowest())) return std::numeric_limits<T>::lowest();
    if (value >= static_cast<float>(std::numeric_limits<T>::max())) return std::numeric_limits<T>::max();
  }
  return static_cast<T>(value);
}

// The four pixels around a place, and how far it is from each pair of them. Two of a pair add up to 1.
struct Corners {
  const char *top_left, *top_right, *bottom_left, *bottom_right;
  float to_top, to_bottom, to_left, to_right;
};

template <typename T>
void MixPixels(const Corners& corners, int64_t channels, char* out) {
  const auto number = [](const char* pixel, int64_t c) {
    return static_cast<float>(reinterpret_cast<const T*>(pixel)[c]);
  };
  for (int64_t c = 0; c < channels; ++c) {
    const float above = corners.to_right * number(corners.top_left, c) + corners.to_left * number(corners.top_right, c);
    const float below =
        corners.to_right * number(corners.bottom_left, c) + corners.to_left * number(corners.bottom_right, c);
    reinterpret_cast<T*>(out)[c] = FromFloat<T>(corners.to_bottom * above + corners.to_top * below);
  }
}

// One call. Sizes in pixels.
struct TransformCall {
  const TransformForm& form;
  int64_t height, width, channels;  // Of the images.
  int64_t out_height, out_width;
  const float* transforms;     // Eight numbers for each image, or for all of them.
  int64_t transform_step = 0;  // From one image's to the next one's.
  size_t pixel_bytes = 0;
  const char* images = nullptr;
  const char* fill = nullptr;  // A pixel.
  void (*mix)(const Corners& corners, int64_t channels, char* out) = nullptr;

  // A pixel of an image, or what there is beyond its edges.
  const char* Find(int64_t image, int64_t y, int64_t x) const {
    if (y < 0 || y >= height || x < 0 || x >= width) return fill;
    return images + static_cast<size_t>((image * height + y) * width + x) * pixel_bytes;
  }
};

// The pixel of the result for a place of an image.
void LookUp(const TransformCall& call, int64_t image, float y, float x, char* out) {
  if (!call.form.is_bilinear) {
    std::memcpy(out, call.Find(image, Whole(std::round(y)), Whole(std::round(x))), call.pixel_bytes);
    return;
  }
  const float top = std::floor(y), left = std::floor(x), bottom = top + 1, right = left + 1;
  const Corners corners{call.Find(image, Whole(top), Whole(left)),
                        call.Find(image, Whole(top), Whole(right)),
                        call.Find(image, Whole(bottom), Whole(left)),
                        call.Find(image, Whole(bottom), Whole(right)),
                        y - top,
                        bottom - y,
                        x - left,
                        right - x};
  call.mix(corners, call.channels, out);
}

// A row of the result.
void TransformRow(const TransformCall& call, int64_t row, char* out) {
  const int64_t image = row / call.out_height;
  const float* const t = call.transforms + image * call.transform_step;
  const float y = static_cast<float>(row % call.out_height);
  for (int64_t column = 0; column < call.out_width; ++column, out += call.pixel_bytes) {
    const float x = static_cast<float>(column);
    const float projection = t[6] * x + t[7] * y + 1.0f;
    if (projection == 0) {
      std::memcpy(out, call.fill, call.pixel_bytes);
      continue;
    }
    const float from_x = Mapped(call.form.beyond, (t[0] * x + t[1] * y + t[2]) / projection, call.width);
    const float from_y = Mapped(call.form.beyond, (t[3] * x + t[4] * y + t[5]) / projection, call.height);
    LookUp(call, image, from_y, from_x, out);
  }
}

using PixelCppTypes = Join<FloatCppTypes, TypeList<uint8_t, int32_t, int64_t>>;

absl::Status CheckTransforms(const Tensor& images, const Tensor& transforms) {
  if (images.rank() != 4) return ShapeError(0, "images", images.shape(), "4 dimensions");
  const bool fits = transforms.rank() == 2 && transforms.dim(1) == 8 &&
                    (transforms.dim(0) == images.dim(0) || transforms.dim(0) == 1);
  if (fits) return absl::OkStatus();
  return ShapeError(1, "transforms", transforms.shape(), absl::StrCat("[", images.dim(0), ",8] or [1,8]"));
}

// What lies beyond the edges: input 3 of version 3.
absl::StatusOr<float> ReadFill(const KernelContext& context) {
  if (context.num_inputs() < 4) return 0.0f;
  const Tensor& fill = context.input(3);
  if (fill.rank() == 0) return fill.flat<float>()[0];
  return ShapeError(3, "fill_value", fill.shape(), "a scalar");
}

// Transforms the images in input 0 to the size in input 2.
class ProjectiveTransformKernel final : public Kernel {
 public:
  explicit ProjectiveTransformKernel(const TransformForm& form) : form_(form) {}

  absl::Status Compute(KernelContext& context) const override {
    const Tensor& images = context.input(0);
    SLUICE_RETURN_IF_ERROR(CheckTransforms(images, context.input(1)));
    SLUICE_ASSIGN_OR_RETURN(const IndexVector size, ReadHeightAndWidth(context, 2, "output_shape"));
    TransformCall call{
        form_, images.dim(1), images.dim(2), images.dim(3), size[0], size[1], context.input(1).flat<float>().data()};
    if (context.input(1).dim(0) > 1) call.transform_step = 8;
    SLUICE_ASSIGN_OR_RETURN(const float fill, ReadFill(context));
    SLUICE_ASSIGN_OR_RETURN(const Shape shape, MakeShape({images.dim(0), size[0], size[1], images.dim(3)}));
    SLUICE_ASSIGN_OR_RETURN(Tensor* const output, context.AllocateOutput(0, shape));
    if (shape.num_elements() == 0) return absl::OkStatus();
    const double row_ns =
        static_cast<double>(call.out_width) * (kPixelNs + kChannelNs * static_cast<double>(call.channels));
    call.pixel_bytes = DTypeSize(images.dtype()) * static_cast<size_t>(call.channels);
    call.images = static_cast<const char*>(images.raw_data());
    SLUICE_ASSIGN_OR_RETURN(TempArray<char> fill_pixel,
                            TempArray<char>::Make(context, static_cast<int64_t>(call.pixel_bytes)));
    call.fill = fill_pixel.data();
    DispatchDType<PixelCppTypes>(images.dtype(), [&](auto type) {
      using T = typename decltype(type)::Type;
      call.mix = &MixPixels<T>;
      std::fill_n(reinterpret_cast<T*>(fill_pixel.data()), call.channels, FromFloat<T>(fill));
    });
    char* const to = static_cast<char*>(output->mutable_raw_data());
    const size_t row_bytes = static_cast<size_t>(call.out_width) * call.pixel_bytes;
    return ForEachRowRange(context, {images.dim(0) * call.out_height, row_ns, 0}, nullptr,
                           [&](int64_t begin, int64_t end, float*) {
                             for (int64_t i = begin; i < end; ++i) {
                               TransformRow(call, i, to + static_cast<size_t>(i) * row_bytes);
                             }
                           });
  }

 private:
  const TransformForm form_;
};

constexpr DTypeSet kTypes = kFloatTypes | DTypeSet{DType::kUInt8, DType::kInt32, DType::kInt64};

constexpr KernelRow kRows[] = {
    KernelRow("ImageProjectiveTransformV2", &NewWith<ProjectiveTransformKernel, &TransformForm::Read>)
        .Types("dtype", kTypes)
        .HostInput("output_shape"),
    KernelRow("ImageProjectiveTransformV3", &NewWith<ProjectiveTransformKernel, &TransformForm::Read>)
        .Types("dtype", kTypes)
        .HostInput("output_shape"),
};

}  // namespace

absl::Span<const KernelRow> ProjectiveTransformKernels() { return kRows; }

}  // namespace sluice

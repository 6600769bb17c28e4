// Shapes of image, box and audio ops.

#include "graph/base/status_macros.h"
#include "graph/shapes/families.h"
#include "graph/shapes/shape_rules.h"

namespace sluice {
namespace {

absl::Status CheckResizeFlags(const InferenceContext& c) {
  if (!c.Bool("align_corners") || !c.Bool("half_pixel_centers")) return absl::OkStatus();
  return c.AttrError("align_corners", "cannot go together with half_pixel_centers");
}

// `batch` images like those in input 0, of the height and width in input `size_input`.
absl::Status ImagesOfSize(InferenceContext& c, int64_t batch, int size_input) {
  SLUICE_RETURN_IF_ERROR(c.RequireRank(0, 4));
  Dims dims = {batch, kUnknownDim, kUnknownDim, c.dim(0, 3)};
  const ShapeValue* size = c.value(size_input);
  for (size_t i = 0; size != nullptr && size->size() == 2 && i < 2; ++i) dims[i + 1] = size->SizeAt(i);
  c.Set(0, dims);
  return absl::OkStatus();
}

// Images in input 0 take the height and width in input 1, or 2.
absl::Status Resize(InferenceContext& c) {
  SLUICE_RETURN_IF_ERROR(CheckResizeFlags(c));
  return ImagesOfSize(c, c.dim(0, 0), 1);
}
absl::Status ProjectiveTransform(InferenceContext& c) { return ImagesOfSize(c, c.dim(0, 0), 2); }

absl::Status ResizeGrad(InferenceContext& c) {
  SLUICE_RETURN_IF_ERROR(CheckResizeFlags(c));
  return SameAsInput1(c);
}

// A box of an image each, all of one size.
absl::Status CropAndResize(InferenceContext& c) { return ImagesOfSize(c, EitherDim(c.dim(1, 0), c.dim(2, 0)), 3); }

absl::Status CropAndResizeGradImage(InferenceContext& c) {
  PartialShape shape;
  SLUICE_RETURN_IF_ERROR(c.ShapeFromValue(3, false, &shape));
  c.Set(0, shape);
  return absl::OkStatus();
}

// Attr channels, 0 for as many as the file has.
absl::Status DecodeImageFile(InferenceContext& c) {
  const int64_t channels = c.Int("channels");
  c.Set(0, Dims{kUnknownDim, kUnknownDim, channels > 0 ? channels : kUnknownDim});
  return absl::OkStatus();
}

absl::Status DecodeGif(InferenceContext& c) {
  c.Set(0, Dims{kUnknownDim, kUnknownDim, kUnknownDim, 3});
  return absl::OkStatus();
}

absl::Status ExtractJpegShape(InferenceContext& c) {
  c.SetVector(0, 3);
  return absl::OkStatus();
}

absl::Status EncodePng(InferenceContext& c) {
  if (c.rank(0) >= 3) c.Set(0, SubShape(c.input(0), 0, c.rank(0) - 3));
  return absl::OkStatus();
}

// Indices of the boxes that are kept; V4 and V5 fill up to the number asked for if told so, and count.
absl::Status NonMaxSuppression(InferenceContext& c) {
  const int64_t kept = c.Bool("pad_to_max_output_size") ? c.scalar_size(2) : kUnknownDim;
  for (int i = 0; i < c.num_outputs(); ++i) c.SetVector(i, kept);
  if (c.num_outputs() > 1) c.SetScalar(c.num_outputs() - 1);
  return absl::OkStatus();
}

absl::Status CombinedNonMaxSuppression(InferenceContext& c) {
  const int64_t batch = c.dim(0, 0);
  c.Set(0, Dims{batch, kUnknownDim, 4});
  c.Set(1, Dims{batch, kUnknownDim});
  c.Set(2, Dims{batch, kUnknownDim});
  c.SetVector(3, batch);
  return absl::OkStatus();
}

// Begin, size, and the box as coordinates.
absl::Status SampleDistortedBoundingBox(InferenceContext& c) {
  c.SetVector(0, 3);
  c.SetVector(1, 3);
  c.Set(2, Dims{1, 1, 4});
  return absl::OkStatus();
}

absl::Status DecodeWav(InferenceContext& c) {
  const int64_t channels = c.Int("desired_channels", -1), samples = c.Int("desired_samples", -1);
  c.Set(0, Dims{DimOrUnknown(samples), DimOrUnknown(channels)});
  c.SetScalar(1);
  return absl::OkStatus();
}

// Samples [length, channels] to [channels, windows, frequencies]: a power of two of them, half, and one.
absl::Status AudioSpectrogram(InferenceContext& c) {
  const int64_t window = c.Int("window_size"), stride = c.Int("stride"), length = c.dim(0, 0);
  c.Set(0, PartialShape::OfRank(3));
  if (window <= 1 || stride <= 0 || window > (int64_t{1} << 30)) return absl::OkStatus();
  int64_t power = 1;
  while (power < window) power *= 2;
  int64_t windows = kUnknownDim;
  if (length >= 0) windows = length < window ? 0 : 1 + (length - window) / stride;
  c.Set(0, Dims{c.dim(0, 1), windows, power / 2 + 1});
  return absl::OkStatus();
}

absl::Status Mfcc(InferenceContext& c) {
  c.Set(0, Dims{c.dim(0, 0), c.dim(0, 1), DimOrUnknown(c.Int("dct_coefficient_count", -1))});
  return absl::OkStatus();
}

constexpr ShapeRow kRows[] = {
    {"AdjustContrastv2", &SameAsInput0},
    {"AdjustHue", &SameAsInput0},
    {"AdjustSaturation", &SameAsInput0},
    {"AudioSpectrogram", &AudioSpectrogram},
    {"CombinedNonMaxSuppression", &CombinedNonMaxSuppression},
    {"CropAndResize", &CropAndResize},
    {"CropAndResizeGradBoxes", &SameAsInput2},
    {"CropAndResizeGradImage", &CropAndResizeGradImage},
    {"DecodeAndCropJpeg", &DecodeImageFile},
    {"DecodeBmp", &DecodeImageFile},
    {"DecodeGif", &DecodeGif},
    {"DecodeJpeg", &DecodeImageFile},
    {"DecodePng", &DecodeImageFile},
    {"DecodeWav", &DecodeWav},
    {"DrawBoundingBoxes", &SameAsInput0},
    {"DrawBoundingBoxesV2", &SameAsInput0},
    {"EncodeJpeg", &ScalarOutputs},
    {"EncodeJpegVariableQuality", &ScalarOutputs},
    {"EncodePng", &EncodePng},
    {"EncodeWav", &ScalarOutputs},
    {"ExtractGlimpse", &Resize},
    {"ExtractGlimpseV2", &Resize},
    {"ExtractJpegShape", &ExtractJpegShape},
    {"HSVToRGB", &SameAsInput0},
    {"ImageProjectiveTransformV2", &ProjectiveTransform},
    {"ImageProjectiveTransformV3", &ProjectiveTransform},
    {"Mfcc", &Mfcc},
    {"NonMaxSuppression", &NonMaxSuppression},
    {"NonMaxSuppressionV2", &NonMaxSuppression},
    {"NonMaxSuppressionV3", &NonMaxSuppression},
    {"NonMaxSuppressionV4", &NonMaxSuppression},
    {"NonMaxSuppressionV5", &NonMaxSuppression},
    {"NonMaxSuppressionWithOverlaps", &NonMaxSuppression},
    {"RGBToHSV", &SameAsInput0},
    {"ResizeArea", &Resize},
    {"ResizeBicubic", &Resize},
    {"ResizeBicubicGrad", &ResizeGrad},
    {"ResizeBilinear", &Resize},
    {"ResizeBilinearGrad", &ResizeGrad},
    {"ResizeNearestNeighbor", &Resize},
    {"ResizeNearestNeighborGrad", &Resize},
    {"SampleDistortedBoundingBox", &SampleDistortedBoundingBox},
    {"SampleDistortedBoundingBoxV2", &SampleDistortedBoundingBox},
    {"ScaleAndTranslate", &Resize},
    {"ScaleAndTranslateGrad", &ResizeGrad},
    {"StatelessSampleDistortedBoundingBox", &SampleDistortedBoundingBox},
};
static_assert(RowsAscend(kRows), "rows are sorted by op");

}  // namespace

absl::Span<const ShapeRow> ImageRows() { return kRows; }

}  // namespace sluice

// Shapes of biases, normalisations and losses.

#include "absl/strings/str_cat.h"
#include "graph/base/status_macros.h"
#include "graph/shapes/families.h"
#include "graph/shapes/shape_rules.h"
#include "graph/shapes/windows.h"

namespace sluice {
namespace {

// Where the channels of a biased tensor stand: the last dimension, or the second of NCHW (rank 4 only, where all
// versions agree). -1 when that is not known.
int ChannelAxis(const InferenceContext& c, int i) {
  if (c.String("data_format", "NHWC") != "NCHW") return c.rank(i) - 1;
  return c.rank(i) == 4 ? 1 : -1;
}

absl::Status BiasAdd(InferenceContext& c) {
  SLUICE_RETURN_IF_ERROR(c.RequireRankAtLeast(0, 2));
  SLUICE_RETURN_IF_ERROR(c.RequireRank(1, 1));
  const int channel = ChannelAxis(c, 0);
  if (channel >= 0) SLUICE_RETURN_IF_ERROR(c.RequireSameDim(0, channel, 1, 0, nullptr));
  return SameAsInput0(c);
}

absl::Status BiasAddGrad(InferenceContext& c) {
  SLUICE_RETURN_IF_ERROR(c.RequireRankAtLeast(0, 2));
  const int channel = ChannelAxis(c, 0);
  c.SetVector(0, channel >= 0 ? c.dim(0, channel) : kUnknownDim);
  return absl::OkStatus();
}

// The channels of image input `image`, told also by the vectors in inputs [begin, end).
absl::Status Channels(InferenceContext& c, int image, int begin, int end, int64_t* channels) {
  ImageLayout layout;
  *channels = kUnknownDim;
  if (c.input(image).has_rank() && ReadLayout(c, c.rank(image), &layout)) *channels = c.dim(image, layout.channel);
  for (int i = begin; i < end; ++i) {
    SLUICE_RETURN_IF_ERROR(c.RequireRank(i, 1));
    if (DimsDiffer(*channels, c.dim(i, 0))) {
      return c.MismatchError(i, absl::StrCat("one element for each of ", *channels, " channels"), c.input(i),
                             ShapeOf({*channels}));
    }
    *channels = EitherDim(*channels, c.dim(i, 0));
  }
  return absl::OkStatus();
}

// y, then statistics of each channel; the third reserve of V3 is the implementation's own.
absl::Status FusedBatchNorm(InferenceContext& c) {
  const bool takes_volumes = c.op() == "FusedBatchNormV3" || c.op() == "_FusedBatchNormEx";
  SLUICE_RETURN_IF_ERROR(c.RequireRankAtLeast(0, 4));
  SLUICE_RETURN_IF_ERROR(c.RequireRankAtMost(0, takes_volumes ? 5 : 4));
  int64_t channels;
  SLUICE_RETURN_IF_ERROR(Channels(c, 0, 1, 3, &channels));
  c.Set(0, c.input(0));
  for (int i = 1; i < 5; ++i) c.SetVector(i, channels);
  return absl::OkStatus();
}

// dx, dscale, doffset and two unused outputs.
absl::Status FusedBatchNormGrad(InferenceContext& c) {
  int64_t channels;
  SLUICE_RETURN_IF_ERROR(Channels(c, 1, 2, 3, &channels));
  absl::StatusOr<PartialShape> merged = c.input(0).MergeWith(c.input(1));
  c.Set(0, merged.ok() ? *merged : c.input(1));
  c.SetVector(1, channels);
  c.SetVector(2, channels);
  c.SetVector(3, kUnknownDim);
  c.SetVector(4, kUnknownDim);
  return absl::OkStatus();
}

absl::Status GlobalNormalizationGrad(InferenceContext& c) {
  c.Set(0, c.input(0));
  for (int i = 1; i < 5; ++i) c.SetVector(i, c.dim(0, -1));
  return absl::OkStatus();
}

absl::Status Lrn(InferenceContext& c) {
  SLUICE_RETURN_IF_ERROR(c.RequireRank(0, 4));
  return SameAsInput0(c);
}

// One loss per row of logits and labels, which broadcast; and the gradient with respect to the logits.
absl::Status SoftmaxCrossEntropy(InferenceContext& c) {
  SLUICE_RETURN_IF_ERROR(BroadcastInputs01(c));
  const PartialShape both = c.output(0);
  if (both.has_rank() && both.rank() != 2) return c.RankError(0, "rank 2 for logits and labels together");
  c.SetVector(0, both.has_rank() ? both.dim(0) : kUnknownDim);
  c.Set(1, both.has_rank() ? both : PartialShape::OfRank(2));
  return absl::OkStatus();
}

absl::Status SparseSoftmaxCrossEntropy(InferenceContext& c) {
  SLUICE_RETURN_IF_ERROR(c.RequireRank(0, 2));
  SLUICE_RETURN_IF_ERROR(c.RequireRank(1, 1));
  int64_t batch;
  SLUICE_RETURN_IF_ERROR(c.RequireSameDim(0, 0, 1, 0, &batch));
  c.SetVector(0, batch);
  c.Set(1, Dims{batch, c.dim(0, 1)});
  return absl::OkStatus();
}

// Inputs are [time, batch, classes]: a loss per sequence and the gradient.
absl::Status CtcLoss(InferenceContext& c) {
  SLUICE_RETURN_IF_ERROR(c.RequireRank(0, 3));
  c.SetVector(0, EitherDim(c.dim(0, 1), c.dim(3, 0)));
  c.Set(1, c.input(0));
  return absl::OkStatus();
}

// For each path a sparse matrix (indices, values, shape), and the log probabilities.
absl::Status CtcDecoder(InferenceContext& c, int paths) {
  SLUICE_RETURN_IF_ERROR(c.RequireRank(0, 3));
  for (int i = 0; i < paths; ++i) {
    c.Set(i, Dims{kUnknownDim, 2});
    c.SetVector(paths + i, kUnknownDim);
    c.SetVector(2 * paths + i, 2);
  }
  c.Set(3 * paths, Dims{EitherDim(c.dim(0, 1), c.dim(1, 0)), paths});
  return absl::OkStatus();
}

absl::Status CtcGreedyDecoder(InferenceContext& c) { return CtcDecoder(c, 1); }
absl::Status CtcBeamSearchDecoder(InferenceContext& c) { return CtcDecoder(c, (c.num_outputs() - 1) / 3); }

constexpr ShapeRow kRows[] = {
    {"BatchNormWithGlobalNormalization", &SameAsInput0},
    {"BatchNormWithGlobalNormalizationGrad", &GlobalNormalizationGrad},
    {"BiasAdd", &BiasAdd},
    {"BiasAddGrad", &BiasAddGrad},
    {"BiasAddV1", &BiasAdd},
    {"CTCBeamSearchDecoder", &CtcBeamSearchDecoder},
    {"CTCGreedyDecoder", &CtcGreedyDecoder},
    {"CTCLoss", &CtcLoss},
    {"CTCLossV2", &CtcLoss},
    {"FusedBatchNorm", &FusedBatchNorm},
    {"FusedBatchNormGrad", &FusedBatchNormGrad},
    {"FusedBatchNormGradV2", &FusedBatchNormGrad},
    {"FusedBatchNormGradV3", &FusedBatchNormGrad},
    {"FusedBatchNormV2", &FusedBatchNorm},
    {"FusedBatchNormV3", &FusedBatchNorm},
    {"L2Loss", &ScalarOutputs},
    {"LRN", &Lrn},
    {"LRNGrad", &Lrn},
    {"SoftmaxCrossEntropyWithLogits", &SoftmaxCrossEntropy},
    {"SparseSoftmaxCrossEntropyWithLogits", &SparseSoftmaxCrossEntropy},
    {"_FusedBatchNormEx", &FusedBatchNorm},
};
static_assert(RowsAscend(kRows), "rows are sorted by op");

}  // namespace

absl::Span<const ShapeRow> NormalizationRows() { return kRows; }

}  // namespace sluice

// Shapes of ops that draw random numbers.

#include "graph/base/status_macros.h"
#include "graph/shapes/families.h"
#include "graph/shapes/shape_rules.h"

namespace sluice {
namespace {

// A sample of the shape in input 0 for each element of input `parameter`.
absl::Status SamplesPerParameter(InferenceContext& c, int parameter) {
  PartialShape shape;
  SLUICE_RETURN_IF_ERROR(c.ShapeFromValue(0, false, &shape));
  c.Set(0, ConcatShapes(shape, c.input(parameter)));
  return absl::OkStatus();
}

absl::Status SamplesPerInput1(InferenceContext& c) { return SamplesPerParameter(c, 1); }

absl::Status ShapeInInput2(InferenceContext& c) {
  PartialShape shape;
  SLUICE_RETURN_IF_ERROR(c.ShapeFromValue(2, false, &shape));
  c.Set(0, shape);
  return absl::OkStatus();
}

// Samples per row of logits.
absl::Status Multinomial(InferenceContext& c) {
  SLUICE_RETURN_IF_ERROR(c.RequireRank(0, 2));
  c.Set(0, Dims{c.dim(0, 0), c.scalar_size(1)});
  return absl::OkStatus();
}

// Classes drawn, expected counts of the true ones and of those drawn.
absl::Status CandidateSampler(InferenceContext& c) {
  const int64_t sampled = DimOrUnknown(c.Int("num_sampled", -1));
  c.SetVector(0, sampled);
  c.Set(1, Dims{c.dim(0, 0), DimOrUnknown(c.Int("num_true", -1))});
  c.SetVector(2, sampled);
  return absl::OkStatus();
}

// Hits: a row, a place and a weight each; how many is not known.
absl::Status AccidentalHits(InferenceContext& c) {
  SLUICE_RETURN_IF_ERROR(c.RequireRank(0, 2));
  SLUICE_RETURN_IF_ERROR(c.RequireRank(1, 1));
  for (int i = 0; i < 3; ++i) c.SetVector(i, kUnknownDim);
  return absl::OkStatus();
}

// A scalar of scalars and one seed, else a vector of as many as the first list has.
absl::Status IndexShuffle(InferenceContext& c) {
  if (c.rank(0) < 0 || c.rank(1) < 0 || c.rank(2) < 0) return absl::OkStatus();
  if (c.rank(0) == 0 && c.rank(1) == 1 && c.rank(2) == 0) {
    c.SetScalar(0);
  } else {
    c.SetVector(0, kUnknownDim);
  }
  return absl::OkStatus();
}

// The key and counter of a generator; one element and two.
absl::Status KeyCounter(InferenceContext& c) {
  c.SetVector(0, 1);
  c.SetVector(1, 2);
  if (c.num_outputs() > 2) c.SetScalar(2);
  return absl::OkStatus();
}

constexpr ShapeRow kRows[] = {
    {"AllCandidateSampler", &CandidateSampler},
    {"ComputeAccidentalHits", &AccidentalHits},
    {"FixedUnigramCandidateSampler", &CandidateSampler},
    {"LearnedUnigramCandidateSampler", &CandidateSampler},
    {"LogUniformCandidateSampler", &CandidateSampler},
    {"Multinomial", &Multinomial},
    {"NonDeterministicInts", &ShapeInInput0},
    {"ParameterizedTruncatedNormal", &ShapeInInput0},
    {"RandomGamma", &SamplesPerInput1},
    {"RandomIndexShuffle", &IndexShuffle},
    {"RandomPoisson", &SamplesPerInput1},
    {"RandomPoissonV2", &SamplesPerInput1},
    {"RandomShuffle", &SameAsInput0},
    {"RandomStandardNormal", &ShapeInInput0},
    {"RandomUniform", &ShapeInInput0},
    {"RandomUniformInt", &ShapeInInput0},
    {"RngReadAndSkip", &VectorOutputs},
    {"StatefulRandomBinomial", &ShapeInInput2},
    {"StatefulStandardNormalV2", &ShapeInInput2},
    {"StatefulTruncatedNormal", &ShapeInInput2},
    {"StatefulUniform", &ShapeInInput2},
    {"StatefulUniformFullInt", &ShapeInInput2},
    {"StatefulUniformInt", &ShapeInInput2},
    {"StatelessMultinomial", &Multinomial},
    {"StatelessParameterizedTruncatedNormal", &ShapeInInput0},
    {"StatelessRandomBinomial", &ShapeInInput0},
    {"StatelessRandomGammaV2", &ShapeInInput0},
    {"StatelessRandomGammaV3", &ShapeInInput0},
    {"StatelessRandomGetAlg", &ScalarOutputs},
    {"StatelessRandomGetKeyCounter", &KeyCounter},
    {"StatelessRandomGetKeyCounterAlg", &KeyCounter},
    {"StatelessRandomNormal", &ShapeInInput0},
    {"StatelessRandomNormalV2", &ShapeInInput0},
    {"StatelessRandomPoisson", &ShapeInInput0},
    {"StatelessRandomUniform", &ShapeInInput0},
    {"StatelessRandomUniformFullInt", &ShapeInInput0},
    {"StatelessRandomUniformFullIntV2", &ShapeInInput0},
    {"StatelessRandomUniformInt", &ShapeInInput0},
    {"StatelessRandomUniformIntV2", &ShapeInInput0},
    {"StatelessRandomUniformV2", &ShapeInInput0},
    {"StatelessShuffle", &SameAsInput0},
    {"StatelessTruncatedNormal", &ShapeInInput0},
    {"StatelessTruncatedNormalV2", &ShapeInInput0},
    {"ThreadUnsafeUnigramCandidateSampler", &CandidateSampler},
    {"TruncatedNormal", &ShapeInInput0},
    {"UniformCandidateSampler", &CandidateSampler},
};
static_assert(RowsAscend(kRows), "rows are sorted by op");

}  // namespace

absl::Span<const ShapeRow> RandomRows() { return kRows; }

}  // namespace sluice

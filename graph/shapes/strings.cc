// Shapes of string ops, files, summaries and checkpoints.

#include <algorithm>
#include <vector>

#include "graph/base/status_macros.h"
#include "graph/shapes/families.h"
#include "graph/shapes/shape_rules.h"
#include "graph/value/dtype.h"

namespace sluice {
namespace {

// Operands are scalars or have one shape.
absl::Status StringJoin(InferenceContext& c) {
  PartialShape shape = PartialShape::Scalar();
  for (int i = 0; i < c.num_inputs(); ++i) {
    if (!c.input(i).has_rank()) {
      if (shape.rank() == 0) shape = PartialShape();
      continue;
    }
    SLUICE_RETURN_IF_ERROR(MergeOperand(c, i, &shape));
  }
  c.Set(0, shape);
  return absl::OkStatus();
}

absl::Status AsString(InferenceContext& c) {
  const absl::string_view fill = c.String("fill");
  if (fill.size() > 1) return c.AttrError("fill", "expected one character or none");
  return SameAsInput0(c);
}

// Positions and lengths have one shape; it broadcasts with that of the strings.
absl::Status Substr(InferenceContext& c) {
  bool differ = false;
  const PartialShape shape = BroadcastShapes(c.input(0), c.input(1), &differ);
  if (!differ) c.Set(0, shape);
  return absl::OkStatus();
}

// A sparse matrix of `rank` dimensions: indices, values, shape.
void SetSparse(InferenceContext& c, int64_t rank) {
  c.Set(0, Dims{kUnknownDim, rank});
  c.SetVector(1, kUnknownDim);
  c.SetVector(2, rank);
}

absl::Status StringSplit(InferenceContext& c) {
  SetSparse(c, 2);
  return absl::OkStatus();
}

// Where each string begins among the characters of all; characters; perhaps their byte offsets.
absl::Status UnicodeDecode(InferenceContext& c) {
  c.SetAll(PartialShape::OfRank(1));
  c.SetVector(0, AddDims(c.input(0).num_elements(), 1));
  return absl::OkStatus();
}

absl::Status UnicodeEncode(InferenceContext& c) {
  c.SetVector(0, SubDims(c.dim(1, 0), 1));
  return absl::OkStatus();
}

absl::Status StringNGrams(InferenceContext& c) {
  c.SetVector(0, kUnknownDim);
  c.Set(1, c.input(1));
  return absl::OkStatus();
}

absl::Status Fingerprint(InferenceContext& c) {
  c.Set(0, Dims{c.dim(0, 0), kUnknownDim});
  return absl::OkStatus();
}

// Each string gives a row of numbers.
absl::Status DecodeRaw(InferenceContext& c) {
  c.Set(0, ConcatShapes(c.input(0), PartialShape::OfRank(1)));
  return absl::OkStatus();
}

// Rows have a stated number of bytes.
absl::Status DecodePaddedRaw(InferenceContext& c) {
  const int64_t width = static_cast<int64_t>(DTypeSize(c.Type("out_type")));
  c.Set(0, ConcatShapes(c.input(0), ShapeOf({DivDims(c.scalar_size(1), width)})));
  return absl::OkStatus();
}

// One tensor per column, as long as the records.
absl::Status DecodeCsv(InferenceContext& c) { return AllAsInput0(c); }

// Lays out one dense output per entry of dense_shapes behind `batch`, from output `first` on.
void SetDense(InferenceContext& c, int first, const PartialShape& batch) {
  const std::vector<PartialShape> shapes = c.Shapes("dense_shapes");
  for (size_t i = 0; i < shapes.size(); ++i) {
    c.Set(first + static_cast<int>(i), ConcatShapes(batch, shapes[i]));
  }
}

// Sparse indices, values and shapes, `count` of each from output `first` on.
void SetSparseLists(InferenceContext& c, int first, int count, int64_t rank) {
  for (int i = 0; i < count; ++i) {
    c.Set(first + i, Dims{kUnknownDim, rank});
    c.SetVector(first + count + i, kUnknownDim);
    c.SetVector(first + 2 * count + i, rank);
  }
}

// `count` comes from an attr; outputs that a node does not have are left out.
int Count(const InferenceContext& c, absl::string_view attr) {
  return static_cast<int>(std::max(int64_t{0}, std::min(c.Int(attr), int64_t{c.num_outputs()})));
}

absl::Status ParseExample(InferenceContext& c) {
  const int sparse = Count(c, "Nsparse");
  SetSparseLists(c, 0, sparse, 2);
  SetDense(c, 3 * sparse, ShapeOf({c.dim(0, 0)}));
  return absl::OkStatus();
}

// Ragged outputs follow the dense ones and stay unknown.
absl::Status ParseExampleV2(InferenceContext& c) {
  if (!c.input(0).has_rank()) return absl::OkStatus();
  const int sparse = Count(c, "num_sparse");
  SetSparseLists(c, 0, sparse, c.rank(0) + 1);
  SetDense(c, 3 * sparse, c.input(0));
  return absl::OkStatus();
}

absl::Status ParseSingleExample(InferenceContext& c) {
  const int sparse = Count(c, "num_sparse");
  SetSparseLists(c, 0, sparse, 1);
  SetDense(c, 3 * sparse, PartialShape::Scalar());
  return absl::OkStatus();
}

// How many values each message has of each field, then the values: as many as the longest list has.
absl::Status DecodeProto(InferenceContext& c) {
  if (c.rank(0) < 0) return absl::OkStatus();
  Dims dims = DimsOf(c.input(0));
  dims.push_back(c.num_outputs() - 1);
  c.Set(0, dims);
  dims.back() = kUnknownDim;
  for (int i = 1; i < c.num_outputs(); ++i) c.Set(i, dims);
  return absl::OkStatus();
}

// A message for each row of sizes.
absl::Status EncodeProto(InferenceContext& c) {
  SLUICE_RETURN_IF_ERROR(c.RequireRankAtLeast(0, 1));
  if (c.rank(0) > 0) c.Set(0, SubShape(c.input(0), 0, c.rank(0) - 1));
  return absl::OkStatus();
}

constexpr ShapeRow kRows[] = {
    {"AsString", &AsString},
    {"AudioSummary", &ScalarOutputs},
    {"AudioSummaryV2", &ScalarOutputs},
    {"DecodeBase64", &SameAsInput0},
    {"DecodeCSV", &DecodeCsv},
    {"DecodeCompressed", &SameAsInput0},
    {"DecodeJSONExample", &SameAsInput0},
    {"DecodePaddedRaw", &DecodePaddedRaw},
    {"DecodeProtoV2", &DecodeProto},
    {"DecodeRaw", &DecodeRaw},
    {"EncodeBase64", &SameAsInput0},
    {"EncodeProto", &EncodeProto},
    {"Fingerprint", &Fingerprint},
    {"HistogramSummary", &ScalarOutputs},
    {"ImageSummary", &ScalarOutputs},
    {"MatchingFiles", &VectorOutputs},
    {"MergeSummary", &ScalarOutputs},
    {"ParseExample", &ParseExample},
    {"ParseExampleV2", &ParseExampleV2},
    {"ParseSingleExample", &ParseSingleExample},
    {"ParseTensor", &UnknownOutputs},
    {"ReadFile", &ScalarOutputs},
    {"RegexFullMatch", &SameAsInput0},
    {"RegexReplace", &SameAsInput0},
    {"RestoreV2", &UnknownOutputs},
    {"ScalarSummary", &ScalarOutputs},
    {"SerializeTensor", &ScalarOutputs},
    {"ShardedFilename", &ScalarOutputs},
    {"ShardedFilespec", &ScalarOutputs},
    {"StaticRegexFullMatch", &SameAsInput0},
    {"StaticRegexReplace", &SameAsInput0},
    {"StringFormat", &ScalarOutputs},
    {"StringJoin", &StringJoin},
    {"StringLength", &SameAsInput0},
    {"StringLower", &SameAsInput0},
    {"StringNGrams", &StringNGrams},
    {"StringSplit", &StringSplit},
    {"StringSplitV2", &StringSplit},
    {"StringStrip", &SameAsInput0},
    {"StringToHashBucket", &SameAsInput0},
    {"StringToHashBucketFast", &SameAsInput0},
    {"StringToHashBucketStrong", &SameAsInput0},
    {"StringToNumber", &SameAsInput0},
    {"StringUpper", &SameAsInput0},
    {"Substr", &Substr},
    {"TensorSummary", &ScalarOutputs},
    {"TensorSummaryV2", &ScalarOutputs},
    {"Timestamp", &ScalarOutputs},
    {"UnicodeDecode", &UnicodeDecode},
    {"UnicodeDecodeWithOffsets", &UnicodeDecode},
    {"UnicodeEncode", &UnicodeEncode},
    {"UnicodeScript", &SameAsInput0},
    {"UnicodeTranscode", &SameAsInput0},
};
static_assert(RowsAscend(kRows), "rows are sorted by op");

}  // namespace

absl::Span<const ShapeRow> StringsRows() { return kRows; }

}  // namespace sluice

// Shapes of ops that make tensors: constants, placeholders, ranges and fillers.

#include <cmath>
#include <optional>
#include <utility>
#include <vector>

#include "graph/base/checked_math.h"
#include "graph/base/status_macros.h"
#include "graph/shapes/const_value.h"
#include "graph/shapes/families.h"
#include "graph/shapes/shape_rules.h"

namespace sluice {
namespace {

absl::Status Const(InferenceContext& c) {
  AttrView value;
  if (c.graph().FindAttr(c.node(), "value", &value)) c.Set(0, ConstShape(value));
  return absl::OkStatus();
}

// Files older than this wrote an empty shape where none was known (TensorFlow's shape function has the same rule).
constexpr int32_t kPlaceholderShapesMeant = 24;

absl::Status Placeholder(InferenceContext& c) {
  const PartialShape shape = c.ShapeAttr("shape");
  const bool legacy = c.graph().versions().producer < kPlaceholderShapesMeant && shape.rank() == 0;
  if (!legacy) c.Set(0, shape);
  return absl::OkStatus();
}

absl::Status ShapeInAttr(InferenceContext& c) {
  c.Set(0, c.ShapeAttr("shape"));
  return absl::OkStatus();
}

absl::Status ImmutableConst(InferenceContext& c) { return ShapeInAttr(c); }

absl::Status Fill(InferenceContext& c) {
  SLUICE_RETURN_IF_ERROR(ShapeInInput0(c));
  const PartialShape& made = c.output(0);
  const int64_t element = c.scalar(1);
  const int64_t count = made.num_elements();
  if (made.rank() <= 1 && count >= 0 && count <= static_cast<int64_t>(kMaxValueElements) && element != kUnknownValue) {
    c.SetValue(0, ShapeValue{made.rank() == 0, std::vector<int64_t>(static_cast<size_t>(count), element), {}});
  }
  return absl::OkStatus();
}

// Elements of an integer range, unknown where the kernel would refuse it.
int64_t IntegerRangeSize(int64_t start, int64_t limit, int64_t delta) {
  int64_t span;
  if (delta == 0 || delta == kUnknownValue || !CheckedSub(limit, start, &span)) return kUnknownDim;
  if (span == 0) return 0;
  if ((span > 0) != (delta > 0)) return kUnknownDim;
  return span / delta + (span % delta != 0 ? 1 : 0);
}

// The same for floats, in the arithmetic of the kernel.
template <typename T>
int64_t RealRangeSize(double start, double limit, double delta) {
  const T size = std::ceil(std::abs((static_cast<T>(limit) - static_cast<T>(start)) / static_cast<T>(delta)));
  const bool forward = delta > 0 ? start <= limit : start >= limit;
  return forward && size >= 0 && size < static_cast<T>(1e15) ? static_cast<int64_t>(size) : kUnknownDim;
}

absl::Status Range(InferenceContext& c) {
  for (int i = 0; i < 3; ++i) SLUICE_RETURN_IF_ERROR(c.RequireRankAtMost(i, 1));
  c.SetVector(0, kUnknownDim);
  const DType type = c.input_type(0);
  if (type == DType::kInt32 || type == DType::kInt64) {
    const int64_t start = c.scalar(0), limit = c.scalar(1), delta = c.scalar(2);
    if (start == 0 && limit == kUnknownValue && delta == 1) c.SetVector(0, c.scalar_size(1));
    if (start == kUnknownValue || limit == kUnknownValue) return absl::OkStatus();
    const int64_t size = IntegerRangeSize(start, limit, delta);
    c.SetVector(0, size);
    if (size < 0 || size > static_cast<int64_t>(kMaxValueElements)) return absl::OkStatus();
    std::vector<int64_t> values;
    for (int64_t i = 0; i < size; ++i) values.push_back(start + i * delta);
    c.SetValue(0, ShapeValue::Vector(std::move(values)));
    return absl::OkStatus();
  }
  const std::optional<double> start = c.const_number(0), limit = c.const_number(1), delta = c.const_number(2);
  if (!start.has_value() || !limit.has_value() || !delta.has_value()) return absl::OkStatus();
  if (type == DType::kFloat) c.SetVector(0, RealRangeSize<float>(*start, *limit, *delta));
  if (type == DType::kDouble) c.SetVector(0, RealRangeSize<double>(*start, *limit, *delta));
  return absl::OkStatus();
}

absl::Status LinSpace(InferenceContext& c) {
  c.SetVector(0, c.scalar_size(2));
  return absl::OkStatus();
}

absl::Status FakeParam(InferenceContext& c) {
  c.Set(0, c.ShapeAttr("shape"));
  return absl::OkStatus();
}

constexpr ShapeRow kRows[] = {
    {"Const", &Const},
    {"DeviceIndex", &ScalarOutputs},
    {"Empty", &ShapeInInput0},
    {"FakeParam", &FakeParam},
    {"Fill", &Fill},
    {"ImmutableConst", &ImmutableConst},
    {"LinSpace", &LinSpace},
    {"Placeholder", &Placeholder},
    {"PlaceholderV2", &ShapeInAttr},
    {"PlaceholderWithDefault", &ShapeInAttr},
    {"Range", &Range},
};
static_assert(RowsAscend(kRows), "rows are sorted by op");

}  // namespace

absl::Span<const ShapeRow> CreationRows() { return kRows; }

}  // namespace sluice

// Shapes of quantized ops: a tensor, then the ends of the range it stands for.

#include "graph/base/status_macros.h"
#include "graph/shapes/families.h"
#include "graph/shapes/shape_rules.h"

namespace sluice {
namespace {

void SetRange(InferenceContext& c) {
  for (int i = 1; i < c.num_outputs(); ++i) c.SetScalar(i);
}

absl::Status SameAsInput0WithRange(InferenceContext& c) {
  c.Set(0, c.input(0));
  SetRange(c);
  return absl::OkStatus();
}

// Along an axis the range has one end per slice.
absl::Status Quantize(InferenceContext& c) {
  c.Set(0, c.input(0));
  const int64_t axis = c.Int("axis", -1);
  for (int i = 1; i < c.num_outputs(); ++i) {
    if (axis < 0)
      c.SetScalar(i);
    else
      c.SetVector(i, axis < c.rank(0) ? c.dim(0, static_cast<int>(axis)) : kUnknownDim);
  }
  return absl::OkStatus();
}

absl::Status Binary(InferenceContext& c) {
  bool differ = false;
  const PartialShape shape = BroadcastShapes(c.input(0), c.input(1), &differ);
  if (!differ) c.Set(0, shape);
  SetRange(c);
  return absl::OkStatus();
}

// The tensor's shape is in its second input, as in Reshape; only what does not need the elements counted is done.
absl::Status QuantizedReshape(InferenceContext& c) {
  PartialShape shape;
  SLUICE_RETURN_IF_ERROR(c.ShapeFromValue(1, true, &shape));
  c.Set(0, shape);
  SetRange(c);
  return absl::OkStatus();
}

absl::Status UnknownWithRange(InferenceContext& c) {
  SetRange(c);
  return absl::OkStatus();
}

constexpr ShapeRow kRows[] = {
    {"Dequantize", &SameAsInput0},
    {"QuantizeDownAndShrinkRange", &SameAsInput0WithRange},
    {"QuantizeV2", &Quantize},
    {"QuantizedAdd", &Binary},
    {"QuantizedBiasAdd", &SameAsInput0WithRange},
    {"QuantizedConcat", &UnknownWithRange},
    {"QuantizedMul", &Binary},
    {"QuantizedRelu", &SameAsInput0WithRange},
    {"QuantizedRelu6", &SameAsInput0WithRange},
    {"QuantizedReluX", &SameAsInput0WithRange},
    {"QuantizedReshape", &QuantizedReshape},
    {"RequantizationRange", &ScalarOutputs},
    {"Requantize", &SameAsInput0WithRange},
};
static_assert(RowsAscend(kRows), "rows are sorted by op");

}  // namespace

absl::Span<const ShapeRow> QuantizedRows() { return kRows; }

}  // namespace sluice

#include <algorithm>
#include <utility>
#include <vector>

#include "graph/base/checked_math.h"
#include "graph/base/hash_table.h"
#include "graph/shapes/shape_functions.h"
#include "graph/shapes/strided_slice.h"

namespace sluice {
namespace {

// --- Arithmetic. Overflow gives unknown. --------------------------------------------------------------------------

int64_t Add(int64_t a, int64_t b) {
  int64_t result;
  return CheckedAdd(a, b, &result) ? result : kUnknownValue;
}

int64_t Sub(int64_t a, int64_t b) {
  int64_t result;
  return CheckedSub(a, b, &result) ? result : kUnknownValue;
}

int64_t Mul(int64_t a, int64_t b) {
  int64_t result;
  return CheckedMul(a, b, &result) ? result : kUnknownValue;
}

int64_t FloorDiv(int64_t a, int64_t b) {
  if (b == 0) return kUnknownValue;
  const int64_t quotient = a / b;  // Neither is the lowest number: that one is unknown.
  return a % b != 0 && (a < 0) != (b < 0) ? quotient - 1 : quotient;
}

int64_t FloorMod(int64_t a, int64_t b) {
  if (b == 0) return kUnknownValue;
  const int64_t rest = a % b;
  return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
}

int64_t Div(int64_t a, int64_t b) { return b == 0 ? kUnknownValue : a / b; }
int64_t Max(int64_t a, int64_t b) { return std::max(a, b); }
int64_t Min(int64_t a, int64_t b) { return std::min(a, b); }

using Arithmetic = int64_t (*)(int64_t a, int64_t b);

// The size with an id that a function of sizes gives, or -1: x + 0, x - 0, x * 1, x / 1, and the larger or smaller of x
// and x.
int64_t IdOf(Arithmetic f, int64_t a, int64_t b) {
  if (f == &Add && a == 0) return UnknownOrId(b);
  if (f == &Mul && a == 1) return UnknownOrId(b);
  if ((f == &Add || f == &Sub) && b == 0) return UnknownOrId(a);
  if ((f == &Mul || f == &Div || f == &FloorDiv) && b == 1) return UnknownOrId(a);
  return (f == &Max || f == &Min) && a == b ? UnknownOrId(a) : kUnknownDim;
}

int64_t Apply(Arithmetic f, int64_t a, int64_t b) {
  return a == kUnknownValue || b == kUnknownValue ? kUnknownValue : f(a, b);
}

template <Arithmetic kFunction>
void Elementwise(InferenceContext& c) {
  const ShapeValue* a = c.value(0);
  const ShapeValue* b = c.value(1);
  if (a == nullptr || b == nullptr) return;
  if (a->size() != b->size() && a->size() != 1 && b->size() != 1) return;
  const size_t size = a->size() == 1 ? b->size() : a->size();
  ShapeValue results;
  results.is_scalar = a->is_scalar && b->is_scalar;
  for (size_t i = 0; i < size; ++i) {
    const size_t at_a = a->size() == 1 ? 0 : i, at_b = b->size() == 1 ? 0 : i;
    const int64_t result = Apply(kFunction, (*a)[at_a], (*b)[at_b]);
    if (result == kUnknownValue) {
      results.AppendSize(IdOf(kFunction, a->SizeAt(at_a), b->SizeAt(at_b)));
    } else {
      results.elements.push_back(result);
      if (!results.ids.empty()) results.ids.push_back(-1);
    }
  }
  c.SetValue(0, std::move(results));
}

void Neg(InferenceContext& c) {
  const ShapeValue* a = c.value(0);
  if (a == nullptr) return;
  ShapeValue result{a->is_scalar, a->elements, {}};
  for (int64_t& element : result.elements) element = Apply(&Sub, 0, element);
  c.SetValue(0, std::move(result));
}

// Reduces all of a vector (or a scalar) to a scalar. Which axes are named does not matter: there is one at most.
template <Arithmetic kFunction, int64_t kStart>
void ReduceVector(InferenceContext& c) {
  const ShapeValue* a = c.value(0);
  if (a == nullptr || c.output(0).rank() != 0) return;
  if (a->size() == 0 && (kFunction == &Max || kFunction == &Min)) return;
  int64_t result = kStart;
  if (a->size() == 1) return c.SetValue(0, ShapeValue{true, a->elements, a->ids});
  for (size_t i = 0; i < a->size(); ++i) {
    const bool first = i == 0 && (kFunction == &Max || kFunction == &Min);
    result = first ? (*a)[i] : Apply(kFunction, result, (*a)[i]);
  }
  c.SetValue(0, ShapeValue::Scalar(result));
}

// --- Putting together and taking apart -------------------------------------------------------------------------------

// Scalars side by side.
void Pack(InferenceContext& c) {
  if (c.output(0).rank() != 1 || c.num_inputs() > static_cast<int>(kMaxValueElements)) return;
  ShapeValue elements;
  bool any = false;
  for (int i = 0; i < c.num_inputs(); ++i) {
    const ShapeValue* const element = c.value(i);
    if (element != nullptr && element->size() == 1) {
      elements.Append(*element, 0);
      any = any || (*element)[0] != kUnknownValue || element->SizeAt(0) != kUnknownDim;
    } else {
      elements.AppendSize(kUnknownDim);
    }
  }
  if (any) c.SetValue(0, std::move(elements));
}

// Vectors end to end. The elements of vectors of which only the length is known are unknown.
void ConcatRange(InferenceContext& c, int begin, int end) {
  ShapeValue elements;
  if (c.output(0).rank() != 1) return;
  for (int i = begin; i < end; ++i) {
    const ShapeValue* part = c.value(i);
    const int64_t size = part != nullptr ? static_cast<int64_t>(part->size()) : c.dim(i, 0);
    if (size < 0 || size > static_cast<int64_t>(kMaxValueElements)) return;
    for (size_t k = 0; k < static_cast<size_t>(size); ++k) {
      part != nullptr ? elements.Append(*part, k) : elements.AppendSize(kUnknownDim);
    }
    if (elements.size() > kMaxValueElements) return;
  }
  c.SetValue(0, std::move(elements));
}

void ConcatV2(InferenceContext& c) { ConcatRange(c, 0, c.num_inputs() - 1); }
void Concat(InferenceContext& c) { ConcatRange(c, 1, c.num_inputs()); }

// Elements [begin, begin + size) of a vector.
ShapeValue PartOf(const ShapeValue& whole, int64_t begin, int64_t size) {
  ShapeValue part;
  for (int64_t i = begin; i < begin + size; ++i) part.Append(whole, static_cast<size_t>(i));
  return part;
}

void StridedSlice(InferenceContext& c) {
  const ShapeValue* whole = c.value(0);
  std::vector<SliceAxis> axes;
  bool known = false;
  if (whole == nullptr || whole->is_scalar || !ResolveStridedSlice(c, c.input(0), 1, &axes, &known).ok()) return;
  if (!known || axes.size() != 1 || axes[0].axis != 0) return;
  const SliceAxis& axis = axes[0];
  if (axis.begin == kUnknownValue || axis.stride == kUnknownValue || axis.size < 0) return;
  ShapeValue elements;
  elements.is_scalar = axis.shrunk;
  for (int64_t i = 0; i < axis.size; ++i) {
    const int64_t at = axis.begin + i * axis.stride;
    if (at < 0 || at >= static_cast<int64_t>(whole->size())) return;
    elements.Append(*whole, static_cast<size_t>(at));
  }
  c.SetValue(0, std::move(elements));
}

void Slice(InferenceContext& c) {
  const ShapeValue* whole = c.value(0);
  const int64_t begin = c.scalar(1), size = c.output(0).rank() == 1 ? c.output(0).dim(0) : -1;
  if (whole == nullptr || whole->is_scalar || begin < 0 || size < 0) return;
  if (begin + size > static_cast<int64_t>(whole->size())) return;
  c.SetValue(0, PartOf(*whole, begin, size));
}

// Elements of a vector by index; the axis can only be 0.
void Gather(InferenceContext& c) {
  const ShapeValue* whole = c.value(0);
  const ShapeValue* indices = c.value(1);
  if (whole == nullptr || whole->is_scalar || indices == nullptr) return;
  ShapeValue elements;
  elements.is_scalar = indices->is_scalar;
  for (const int64_t index : indices->elements) {
    const bool inside = index >= 0 && index < static_cast<int64_t>(whole->size());
    inside ? elements.Append(*whole, static_cast<size_t>(index)) : elements.AppendSize(kUnknownDim);
  }
  c.SetValue(0, std::move(elements));
}

// The same elements as a scalar or a vector, whichever the output is.
void SameElements(InferenceContext& c) {
  const ShapeValue* elements = c.value(0);
  if (elements == nullptr || c.output(0).rank() < 0 || c.output(0).rank() > 1) return;
  const bool scalar = c.output(0).rank() == 0;
  if (!scalar || elements->size() == 1) c.SetValue(0, ShapeValue{scalar, elements->elements, elements->ids});
}

// One scalar per element of a vector.
void Unpack(InferenceContext& c) {
  const ShapeValue* whole = c.value(0);
  if (whole == nullptr || whole->is_scalar || static_cast<int>(whole->size()) != c.num_outputs()) return;
  for (int i = 0; i < c.num_outputs(); ++i) {
    ShapeValue element;
    element.is_scalar = true;
    element.Append(*whole, static_cast<size_t>(i));
    c.SetValue(i, std::move(element));
  }
}

// Equal parts of a vector.
void Split(InferenceContext& c) {
  const ShapeValue* whole = c.value(1);
  const size_t parts = static_cast<size_t>(c.num_outputs());
  if (whole == nullptr || whole->is_scalar || parts == 0 || whole->size() % parts != 0) return;
  const int64_t size = static_cast<int64_t>(whole->size() / parts);
  for (int i = 0; i < c.num_outputs(); ++i) c.SetValue(i, PartOf(*whole, i * size, size));
}

// What two shape vectors broadcast to.
void BroadcastArgs(InferenceContext& c) {
  const ShapeValue* a = c.value(0);
  const ShapeValue* b = c.value(1);
  if (a == nullptr || b == nullptr) return;
  const size_t rank = std::max(a->size(), b->size());
  Dims sizes(rank, 1);
  bool differ = false;
  for (const ShapeValue* const side : {a, b}) {
    for (size_t i = 0; i < side->size(); ++i) {
      int64_t& size = sizes[rank - side->size() + i];
      size = BroadcastDim(size, side->SizeAt(i), &differ);
    }
  }
  if (!differ) c.SetValue(0, ShapeValue::OfSizes(false, sizes));
}

struct ValueRow {
  absl::string_view op;
  ValueFunction function;
};

constexpr ValueRow kRows[] = {
    {"Add", &Elementwise<&Add>},
    {"AddV2", &Elementwise<&Add>},
    {"BroadcastArgs", &BroadcastArgs},
    {"Concat", &Concat},
    {"ConcatV2", &ConcatV2},
    {"Div", &Elementwise<&Div>},
    {"ExpandDims", &SameElements},
    {"FloorDiv", &Elementwise<&FloorDiv>},
    {"FloorMod", &Elementwise<&FloorMod>},
    {"Gather", &Gather},
    {"GatherV2", &Gather},
    {"Max", &ReduceVector<&Max, 0>},
    {"Maximum", &Elementwise<&Max>},
    {"Min", &ReduceVector<&Min, 0>},
    {"Minimum", &Elementwise<&Min>},
    {"Mul", &Elementwise<&Mul>},
    {"Neg", &Neg},
    {"Pack", &Pack},
    {"Prod", &ReduceVector<&Mul, 1>},
    {"Reshape", &SameElements},
    {"Slice", &Slice},
    {"Split", &Split},
    {"Squeeze", &SameElements},
    {"StridedSlice", &StridedSlice},
    {"Sub", &Elementwise<&Sub>},
    {"Sum", &ReduceVector<&Add, 0>},
    {"TruncateDiv", &Elementwise<&Div>},
    {"Unpack", &Unpack},
};

}  // namespace

ValueFunction FindValueFunction(absl::string_view op) {
  static const auto index = [] {
    HashMap<absl::string_view, ValueFunction> rows;
    for (const ValueRow& row : kRows) rows.emplace(row.op, row.function);
    return rows;
  }();
  const auto it = index.find(op);
  return it == index.end() ? nullptr : it->second;
}

}  // namespace sluice

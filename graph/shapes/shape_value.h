#ifndef SLUICE_GRAPH_SHAPES_SHAPE_VALUE_H_
#define SLUICE_GRAPH_SHAPES_SHAPE_VALUE_H_

#include <cstddef>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

namespace sluice {

// Marks an element that is not known before the run. (-1 would not do: Reshape and Slice give it a meaning.)
inline constexpr int64_t kUnknownValue = std::numeric_limits<int64_t>::min();

// Longest tensor whose values are followed. Shapes have at most 254 dimensions.
inline constexpr size_t kMaxValueElements = 256;

// The elements that are known, before a run, of a small int32 or int64 tensor: a scalar or a vector. Follows the chains
// by which programs compute shapes (Shape, StridedSlice, Pack, ...). A value type.
struct ShapeValue {
  bool is_scalar = false;
  std::vector<int64_t> elements;
  // For each element that is not known, the id of the size that it is, or -1 (Note [Ids of sizes] in dims.h). Empty: no
  // element has an id.
  std::vector<int64_t> ids;

  size_t size() const { return elements.size(); }
  int64_t operator[](size_t i) const { return elements[i]; }
  // Element `i` as the size of a dimension: known, an id, or -1 where it is neither.
  int64_t SizeAt(size_t i) const {
    if (elements[i] != kUnknownValue) return elements[i] < 0 ? -1 : elements[i];
    return i < ids.size() ? ids[i] : -1;
  }
  // Appends element `i` of `from`, with its id.
  void Append(const ShapeValue& from, size_t i) {
    if (i < from.ids.size() && from.ids[i] != -1) {
      ids.resize(elements.size(), -1);
      ids.push_back(from.ids[i]);
    }
    elements.push_back(from[i]);
    if (!ids.empty()) ids.resize(elements.size(), -1);
  }
  // Appends the size of a dimension; a negative one is not known, and may be an id.
  void AppendSize(int64_t size) {
    if (size < -1) {
      ids.resize(elements.size(), -1);
      ids.push_back(size);
    }
    elements.push_back(size < 0 ? kUnknownValue : size);
    if (!ids.empty()) ids.resize(elements.size(), -1);
  }
  // Whether every element is known.
  bool IsKnown() const {
    for (const int64_t element : elements) {
      if (element == kUnknownValue) return false;
    }
    return true;
  }
  friend bool operator==(const ShapeValue& a, const ShapeValue& b) {
    return a.is_scalar == b.is_scalar && a.elements == b.elements && a.ids == b.ids;
  }
  static ShapeValue Scalar(int64_t value) { return ShapeValue{true, {value}, {}}; }
  static ShapeValue Vector(std::vector<int64_t> values) { return ShapeValue{false, std::move(values), {}}; }
  // A scalar or a vector of these sizes; negative ones are not known, and may be ids.
  static ShapeValue OfSizes(bool is_scalar, const std::vector<int64_t>& sizes) {
    ShapeValue value;
    value.is_scalar = is_scalar;
    for (const int64_t size : sizes) value.AppendSize(size);
    return value;
  }
};

}  // namespace sluice

#endif  // SLUICE_GRAPH_SHAPES_SHAPE_VALUE_H_

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

// What is known, before a run, of the elements of a small int32 or int64 tensor: a scalar or a vector.
// Follows the chains by which programs compute shapes (Shape, StridedSlice, Pack, ...). A value type.
struct ShapeValue {
  bool is_scalar = false;
  std::vector<int64_t> elements;

  size_t size() const { return elements.size(); }
  int64_t operator[](size_t i) const { return elements[i]; }
  // Whether every element is known.
  bool IsKnown() const {
    for (const int64_t element : elements) {
      if (element == kUnknownValue) return false;
    }
    return true;
  }
  static ShapeValue Scalar(int64_t value) { return ShapeValue{true, {value}}; }
  static ShapeValue Vector(std::vector<int64_t> values) { return ShapeValue{false, std::move(values)}; }
};

}  // namespace sluice

#endif  // SLUICE_GRAPH_SHAPES_SHAPE_VALUE_H_

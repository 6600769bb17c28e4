#ifndef SLUICE_GRAPH_GRADIENTS_GRADIENT_H_
#define SLUICE_GRAPH_GRADIENTS_GRADIENT_H_

#include <cstdint>

#include "graph/ir/graph.h"

namespace sluice {

inline constexpr Output kNoOutput = {NodeId(-1), 0};

// The gradient of one output: none, a tensor of its shape, or some rows of such a tensor, the others being zero
// (IndexedSlices: rows may repeat, and then add up). A value type.
struct Gradient {
  enum class Kind : uint8_t { kNone, kDense, kSlices };

  Kind kind = Kind::kNone;
  Output value = kNoOutput;        // kDense: the tensor. kSlices: the rows.
  Output indices = kNoOutput;      // kSlices: a vector with the number of each row.
  Output dense_shape = kNoOutput;  // kSlices: the shape of the whole tensor, a vector; unset if unknown.

  bool is_set() const { return kind != Kind::kNone; }
  bool is_slices() const { return kind == Kind::kSlices; }
  static Gradient Dense(Output value) { return {Kind::kDense, value, kNoOutput, kNoOutput}; }
  static Gradient Slices(Output values, Output indices, Output dense_shape) {
    return {Kind::kSlices, values, indices, dense_shape};
  }
};

// Whether gradients flow through values of this type: real and complex numbers, and the handles and lists that stand
// for some.
constexpr bool IsDifferentiable(DType type) {
  switch (BaseType(type)) {
    case DType::kFloat:
    case DType::kDouble:
    case DType::kHalf:
    case DType::kBFloat16:
    case DType::kComplex64:
    case DType::kComplex128:
    case DType::kResource:
    case DType::kVariant:
      return true;
    default:
      return false;
  }
}

}  // namespace sluice

#endif  // SLUICE_GRAPH_GRADIENTS_GRADIENT_H_

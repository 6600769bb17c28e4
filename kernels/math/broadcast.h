#ifndef SLUICE_KERNELS_MATH_BROADCAST_H_
#define SLUICE_KERNELS_MATH_BROADCAST_H_

#include <array>
#include <cstdint>

#include "absl/container/inlined_vector.h"
#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "graph/value/shape.h"

namespace sluice {

// How up to three inputs are walked together to give one output, after NumPy's rules: shapes are aligned at their last
// axes, and sizes of 1 are repeated. Neighbouring axes that behave alike are one, so that most broadcasts are a row or
// two nested loops. A value type, made for one call.
//
//   SLUICE_ASSIGN_OR_RETURN(const Broadcast broadcast, Broadcast::Make({&a.shape(), &b.shape()}));
//   broadcast.ForRows(0, broadcast.shape().num_elements(), [&](int64_t out, const Broadcast::Offsets& in, int64_t n) {
//     ...  // n outputs from element `out` on, from element in[i] of input i on; broadcast.step(i) is 0 or 1.
//   });
class Broadcast {
 public:
  static constexpr int kMaxInputs = 3;
  using Offsets = std::array<int64_t, kMaxInputs>;
  using Row = absl::FunctionRef<void(int64_t out, const Offsets& in, int64_t n)>;

  // kOpShapes when two sizes differ and neither is 1. REQUIRES: at most kMaxInputs shapes.
  static absl::StatusOr<Broadcast> Make(absl::Span<const Shape* const> shapes);

  // Of the output.
  const Shape& shape() const { return shape_; }
  // By how many elements input `i` moves along a row: 0 or 1.
  int64_t step(size_t i) const { return axes_.back().strides[i]; }
  // Calls `row` for the elements [begin, end) of the output, in order; a row never crosses the end of the last axis.
  void ForRows(int64_t begin, int64_t end, Row row) const;

 private:
  struct Axis {
    int64_t size;
    Offsets strides;  // In elements; 0 where the input is repeated.
  };

  // Adds the axis before all others, or makes it one with the first. `size` > 1.
  void Prepend(int64_t size, const Offsets& strides);

  Shape shape_;
  absl::InlinedVector<Axis, 4> axes_;  // At least one; the last runs fastest.
};

// The same for shapes alone: sizes of the output of elementwise ops.
absl::StatusOr<Shape> BroadcastShapes(const Shape& a, const Shape& b);

}  // namespace sluice

#endif  // SLUICE_KERNELS_MATH_BROADCAST_H_

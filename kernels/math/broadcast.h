#ifndef SLUICE_KERNELS_MATH_BROADCAST_H_
#define SLUICE_KERNELS_MATH_BROADCAST_H_

#include <algorithm>
#include <array>
#include <cstdint>

#include "absl/container/inlined_vector.h"
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

  // kOpShapes when two sizes differ and neither is 1. REQUIRES: at most kMaxInputs shapes.
  static absl::StatusOr<Broadcast> Make(absl::Span<const Shape* const> shapes);

  // Of the output.
  const Shape& shape() const { return shape_; }
  // By how many elements input `i` moves along a row: 0 or 1.
  int64_t step(size_t i) const { return axes_.back().strides[i]; }
  // Calls `row(int64_t out, const Offsets& in, int64_t n)` for the elements [begin, end) of the output, in order; a row
  // never crosses the end of the last axis.
  template <typename Row>
  void ForRows(int64_t begin, int64_t end, const Row& row) const;

 private:
  struct Axis {
    int64_t size;
    Offsets strides;  // In elements; 0 where the input is repeated.
    Offsets steps;    // From the end of a run through the next axis to the begin of the following one.
  };
  using Places = absl::InlinedVector<int64_t, 4>;  // An index on each axis.

  // The offsets of element `index` of the output and of the input elements that it is computed from.
  Places Locate(int64_t index, Offsets& offsets) const;

  // Adds the axis before all others, or makes it one with the first. `size` > 1.
  void Prepend(int64_t size, const Offsets& strides);

  Shape shape_;
  absl::InlinedVector<Axis, 4> axes_;  // At least one; the last runs fastest.
};

template <typename Row>
void Broadcast::ForRows(int64_t begin, int64_t end, const Row& row) const {
  Offsets offsets = {0, 0, 0};
  Places places = Locate(begin, offsets);
  const Axis* const axes = axes_.data();
  int64_t* const place = places.data();
  const size_t last = axes_.size() - 1;
  int64_t skipped = place[last];  // The first row may begin in the middle of its axis.
  for (int64_t out = begin; out < end;) {
    const int64_t n = std::min(axes[last].size - skipped, end - out);
    row(out, static_cast<const Offsets&>(offsets), n);
    out += n;
    if (last == 0 || out == end) break;
    for (size_t i = 0; i < kMaxInputs; ++i) {
      offsets[i] += axes[last - 1].strides[i] - skipped * axes[last].strides[i];
    }
    skipped = 0;
    ++place[last - 1];
    for (size_t k = last - 1; k > 0 && place[k] == axes[k].size; --k) {
      place[k] = 0;
      ++place[k - 1];
      for (size_t i = 0; i < kMaxInputs; ++i) offsets[i] += axes[k - 1].steps[i];
    }
  }
}

// The same for shapes alone: sizes of the output of elementwise ops.
absl::StatusOr<Shape> BroadcastShapes(const Shape& a, const Shape& b);

}  // namespace sluice

#endif  // SLUICE_KERNELS_MATH_BROADCAST_H_

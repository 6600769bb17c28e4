#ifndef SLUICE_KERNELS_IMAGE_BOX_SUPPRESSOR_H_
#define SLUICE_KERNELS_IMAGE_BOX_SUPPRESSOR_H_

#include <algorithm>
#include <cstdint>

namespace sluice {

// A box with its corners in order. Where a coordinate is NaN, what std::min and std::max make of it, as in TensorFlow.
struct OrderedBox {
  float y1, x1, y2, x2, area;

  static OrderedBox Of(const float* corners) {
    OrderedBox box;
    box.y1 = std::min(corners[0], corners[2]);
    box.x1 = std::min(corners[1], corners[3]);
    box.y2 = std::max(corners[0], corners[2]);
    box.x2 = std::max(corners[1], corners[3]);
    box.area = (box.y2 - box.y1) * (box.x2 - box.x1);
    return box;
  }
};

// Intersection over union.
inline float Overlap(const OrderedBox& a, const OrderedBox& b) {
  const float height = std::max(std::min(a.y2, b.y2) - std::max(a.y1, b.y1), 0.0f);
  const float width = std::max(std::min(a.x2, b.x2) - std::max(a.x1, b.x1), 0.0f);
  const float shared = height * width;
  const float overlap = shared / (a.area + b.area - shared);
  return a.area <= 0 || b.area <= 0 ? 0.0f : overlap;
}

// The boxes that were kept so far, laid out so that one box is compared with many at a time. Borrows its memory.
// Not thread-safe.
class KeptBoxes {
 public:
  static constexpr int64_t kFloatsPerBox = 5;

  // For up to `capacity` boxes, in as many times kFloatsPerBox floats.
  KeptBoxes(float* memory, int64_t capacity) : memory_(memory), capacity_(capacity) {}

  int64_t size() const { return size_; }
  // REQUIRES: size() below the capacity.
  void Add(const OrderedBox& box);
  // Whether `box` overlaps one of those from number `begin` on by more than `threshold`.
  bool AnyOverlaps(const OrderedBox& box, float threshold, int64_t begin) const;
  OrderedBox Get(int64_t i) const;
  // Whether all have areas that are numbers: overlaps with them are numbers then, too.
  bool all_finite() const { return all_finite_; }

 private:
  float* column(int i) const { return memory_ + i * capacity_; }  // y1 of all, x1 of all, ..., area of all.

  float* memory_;
  int64_t capacity_;
  int64_t size_ = 0;
  bool all_finite_ = true;
};

}  // namespace sluice

#endif  // SLUICE_KERNELS_IMAGE_BOX_SUPPRESSOR_H_

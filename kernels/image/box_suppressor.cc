#include "kernels/image/box_suppressor.h"

#include <cmath>

namespace sluice {

void KeptBoxes::Add(const OrderedBox& box) {
  column(0)[size_] = box.y1;
  column(1)[size_] = box.x1;
  column(2)[size_] = box.y2;
  column(3)[size_] = box.x2;
  column(4)[size_] = box.area;
  all_finite_ = all_finite_ && std::isfinite(box.area);
  ++size_;
}

OrderedBox KeptBoxes::Get(int64_t i) const {
  return {column(0)[i], column(1)[i], column(2)[i], column(3)[i], column(4)[i]};
}

bool KeptBoxes::AnyOverlaps(const OrderedBox& box, float threshold, int64_t begin) const {
  constexpr int64_t kBlock = 64;  // So many are compared before the answer is looked at.
  const float *const y1 = column(0), *const x1 = column(1), *const y2 = column(2), *const x2 = column(3),
                     *const area = column(4);
  // The boxes that were kept last are the likeliest to be near.
  for (int64_t end = size_; end > begin; end -= kBlock) {
    int overlaps = 0;
    for (int64_t i = std::max(begin, end - kBlock); i < end; ++i) {
      overlaps |= Overlap(box, {y1[i], x1[i], y2[i], x2[i], area[i]}) > threshold ? 1 : 0;
    }
    if (overlaps != 0) return true;
  }
  return false;
}

}  // namespace sluice

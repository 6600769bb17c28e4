#ifndef SLUICE_KERNELS_POOL_FIRST_MAXIMA_H_
#define SLUICE_KERNELS_POOL_FIRST_MAXIMA_H_

#include <algorithm>
#include <cstdint>
#include <type_traits>

#include "kernels/pool/channel_blocks.h"
#include "kernels/pool/pool_geometry.h"

namespace sluice {

// The largest element of a window for each channel of a block, and the pixel of the image where it is: the first of
// equal ones. A NaN stays where it comes first and counts for nothing later, as in TensorFlow.
template <typename W>
struct FirstMaxima {
  // As wide as the elements, so that both fit vectors of one length. An image has fewer pixels than this counts:
  // CheckPixelCount.
  using Pixel = std::conditional_t<sizeof(W) == 4, int32_t, int64_t>;

  W largest[kChannelBlock];
  Pixel pixel[kChannelBlock];

  // `image`: the block's first channel at the first pixel of its image. REQUIRES: the window is not empty.
  void Find(const PoolGeometry& g, const PoolWindow& window, const W* image, int64_t size) {
    bool is_first = true;
    ForEachPixel(g, window, [&](int64_t at) {
      const W* const x = image + at * g.channels;
      const Pixel here = static_cast<Pixel>(at);
      if (is_first) {
        for (int64_t c = 0; c < size; ++c) {
          largest[c] = x[c];
          pixel[c] = here;
        }
        is_first = false;
        return;
      }
      for (int64_t c = 0; c < size; ++c) {
        const W now = x[c], before = largest[c];
        largest[c] = now > before ? now : before;
        pixel[c] = ChooseBits(now > before, here, pixel[c]);
      }
    });
  }
};

// kOpTooLarge where an image has more pixels than FirstMaxima counts.
absl::Status CheckPixelCount(const PoolGeometry& geometry);

}  // namespace sluice

#endif  // SLUICE_KERNELS_POOL_FIRST_MAXIMA_H_

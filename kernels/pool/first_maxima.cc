#include "kernels/pool/first_maxima.h"

#include <limits>

#include "absl/strings/str_cat.h"
#include "graph/base/error.h"

namespace sluice {

absl::Status CheckPixelCount(const PoolGeometry& geometry) {
  constexpr int64_t kMax = std::numeric_limits<int32_t>::max();
  if (geometry.image_pixels() <= kMax) return absl::OkStatus();
  return Error(ErrorCode::kOpTooLarge)
      .Input(0)
      .Found(absl::StrCat(geometry.image_pixels(), " pixels in an image"))
      .Expected(absl::StrCat("at most ", kMax));
}

}  // namespace sluice

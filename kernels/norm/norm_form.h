#ifndef SLUICE_KERNELS_NORM_NORM_FORM_H_
#define SLUICE_KERNELS_NORM_NORM_FORM_H_

#include <cstdint>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "graph/value/shape.h"
#include "kernels/kernel_construction.h"
#include "kernels/kernel_context.h"

namespace sluice {

// The attrs of batch normalisation and of its gradient. A value type.
struct NormForm {
  bool channels_second = false;
  bool is_training = true;
  bool is_relu = false;
  float epsilon = 0;
  float average_factor = 1;

  // kOpAttr for values that are not known.
  static absl::StatusOr<NormForm> Read(const KernelConstruction& construction);
};

// kOpShape unless input `input` holds images or volumes: 4 or 5 dimensions.
absl::Status CheckImages(const KernelContext& context, int input);
// kOpShape unless input `input` is a vector of `channels` elements.
absl::Status CheckPerChannel(const KernelContext& context, int input, int64_t channels);
// kOpShape unless input `input` is of shape `expected`.
absl::Status CheckSameShape(const KernelContext& context, int input, const Shape& expected);

}  // namespace sluice

#endif  // SLUICE_KERNELS_NORM_NORM_FORM_H_

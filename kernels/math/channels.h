#ifndef SLUICE_KERNELS_MATH_CHANNELS_H_
#define SLUICE_KERNELS_MATH_CHANNELS_H_

#include "absl/status/statusor.h"
#include "kernels/kernel_construction.h"

namespace sluice {

// Where attr data_format puts the channels: in the second axis ("NCHW"), or in the last ("NHWC", or an op without the
// attr). kOpAttr for another format.
absl::StatusOr<bool> ReadChannelsComeSecond(const KernelConstruction& construction);

}  // namespace sluice

#endif  // SLUICE_KERNELS_MATH_CHANNELS_H_

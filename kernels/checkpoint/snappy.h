#ifndef SLUICE_KERNELS_CHECKPOINT_SNAPPY_H_
#define SLUICE_KERNELS_CHECKPOINT_SNAPPY_H_

#include <cstddef>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace sluice {

// Decompresses `bytes`, one block in Snappy's raw format. kCheckpointDamaged (DATA_LOSS) for anything that is not such
// a block: nothing is read outside of `bytes`, and a size that they claim is believed only as far as so many bytes can
// make up (an element of three bytes gives 64 at most). RESOURCE_EXHAUSTED above `max_bytes`.
absl::StatusOr<std::string> SnappyDecompress(absl::string_view bytes, size_t max_bytes);

}  // namespace sluice

#endif  // SLUICE_KERNELS_CHECKPOINT_SNAPPY_H_

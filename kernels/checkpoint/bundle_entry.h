#ifndef SLUICE_KERNELS_CHECKPOINT_BUNDLE_ENTRY_H_
#define SLUICE_KERNELS_CHECKPOINT_BUNDLE_ENTRY_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "graph/value/dtype.h"
#include "graph/value/shape.h"
#include "kernels/checkpoint/tensor_slice.h"

namespace sluice {

// One entry of a checkpoint: the place of a tensor's bytes.
struct BundleEntry {
  DType dtype = DType::kInvalid;
  Shape shape;
  int32_t shard = 0;
  int64_t offset = 0;
  int64_t size = 0;
  uint32_t masked_crc = 0;
  // A tensor stored in pieces, under keys of their own (SliceKey): the entry holds dtype and full shape only.
  bool is_sliced = false;
  std::vector<TensorSlice> slices;
};

// The message BundleEntryProto. `name` is for errors: kCheckpointDamaged if the bytes are not a message,
// kCheckpointEntry if they describe an impossible tensor.
absl::StatusOr<BundleEntry> ReadBundleEntry(absl::string_view name, absl::string_view bytes);
std::string WriteBundleEntry(const BundleEntry& entry);

// The first entry of an index: the message BundleHeaderProto.
struct BundleHeader {
  int32_t num_shards = 0;
  bool is_big_endian = false;
};

// kCheckpointDamaged; kCheckpointEntry for a form that is newer than ours.
absl::StatusOr<BundleHeader> ReadBundleHeader(absl::string_view bytes);
std::string WriteBundleHeader(const BundleHeader& header);

// kCheckpointEntry about tensor `name`.
absl::Status BadBundleEntry(absl::string_view name, absl::string_view what);

}  // namespace sluice

#endif  // SLUICE_KERNELS_CHECKPOINT_BUNDLE_ENTRY_H_

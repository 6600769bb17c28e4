#ifndef SLUICE_KERNELS_CHECKPOINT_BUNDLE_INDEX_H_
#define SLUICE_KERNELS_CHECKPOINT_BUNDLE_INDEX_H_

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "graph/value/dtype.h"
#include "graph/value/shape.h"

namespace sluice {

// One entry of a checkpoint: where a tensor's bytes stand.
struct BundleEntry {
  DType dtype = DType::kInvalid;
  Shape shape;
  int32_t shard = 0;
  int64_t offset = 0;
  int64_t size = 0;
  uint32_t masked_crc = 0;
  // A tensor stored in pieces, under keys of their own: the entry holds dtype and full shape only.
  bool is_sliced = false;
};

// The index of a checkpoint in TensorBundle form ("<prefix>.index" beside "<prefix>.data-00000-of-00001", ...).
// Immutable; copies nothing of the data.
class BundleIndex {
 public:
  // Reads and checks the index, that every shard is there, and that each entry lies within its shard and has the size
  // that its dtype and shape need. kCheckpointMissing (NOT_FOUND) naming the file, kCheckpointDamaged (DATA_LOSS),
  // kCheckpointShort (OUT_OF_RANGE) when a shard ends before an entry does, kCheckpointEntry for what no tensor can be.
  static absl::StatusOr<BundleIndex> Open(const std::string& prefix);

  const std::string& prefix() const { return prefix_; }
  int32_t num_shards() const { return num_shards_; }
  // The shard's file: "<prefix>.data-00003-of-00010".
  std::string ShardFile(int32_t shard) const;
  // By name; pieces of sliced tensors are not listed.
  const std::map<std::string, BundleEntry, std::less<>>& entries() const { return entries_; }

 private:
  absl::Status ReadHeader(absl::string_view bytes);
  absl::Status ReadEntry(absl::string_view key, absl::string_view bytes);
  absl::Status CheckShards() const;
  absl::Status CheckExtent(absl::string_view key, const BundleEntry& entry, int64_t shard_bytes) const;

  std::string prefix_;
  int32_t num_shards_ = 0;
  bool big_endian_ = false;
  std::map<std::string, BundleEntry, std::less<>> entries_;
  std::vector<BundleEntry> slices_;  // Pieces of sliced tensors: checked, not named.
};

}  // namespace sluice

#endif  // SLUICE_KERNELS_CHECKPOINT_BUNDLE_INDEX_H_

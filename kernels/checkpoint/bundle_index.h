#ifndef SLUICE_KERNELS_CHECKPOINT_BUNDLE_INDEX_H_
#define SLUICE_KERNELS_CHECKPOINT_BUNDLE_INDEX_H_

#include <cstdint>
#include <functional>
#include <map>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "kernels/checkpoint/bundle_entry.h"
#include "kernels/checkpoint/tensor_slice.h"

namespace sluice {

// The file of one shard of the checkpoint at `prefix`: "<prefix>.data-00003-of-00010".
std::string BundleShardFile(absl::string_view prefix, int32_t shard, int32_t num_shards);
// The file of its index: "<prefix>.index".
std::string BundleIndexFile(absl::string_view prefix);
// Whether there is a file where the index of the checkpoint would be.
bool HasBundleIndex(absl::string_view prefix);

// The index of a checkpoint in TensorBundle form ("<prefix>.index" beside "<prefix>.data-00000-of-00001", ...).
// Immutable; copies nothing of the data.
class BundleIndex {
 public:
  using Entries = std::map<std::string, BundleEntry, std::less<>>;

  // Reads and checks the index, that every shard is there, and that each entry lies within its shard and has the size
  // that its dtype and shape need. kCheckpointMissing (NOT_FOUND) naming the file, kCheckpointDamaged (DATA_LOSS),
  // kCheckpointShort (OUT_OF_RANGE) when a shard ends before an entry does, kCheckpointEntry for what no tensor can be.
  static absl::StatusOr<BundleIndex> Open(const std::string& prefix);

  // The same without a look at the shards. An entry that describes an impossible tensor fails the calls that read it,
  // not this one.
  static absl::StatusOr<BundleIndex> OpenIndexOnly(const std::string& prefix);

  const std::string& prefix() const { return prefix_; }
  int32_t num_shards() const { return header_.num_shards; }
  bool is_big_endian() const { return header_.is_big_endian; }
  // The shard's file: "<prefix>.data-00003-of-00010".
  std::string ShardFile(int32_t shard) const { return BundleShardFile(prefix_, shard, num_shards()); }
  // By name; pieces of sliced tensors are not listed.
  const Entries& entries() const { return entries_; }
  // Pieces of sliced tensors, by SliceKey.
  const Entries& slices() const { return slices_; }

  // The entry of tensor `name`; valid as long as this. kCheckpointName; what is wrong with the entry.
  absl::StatusOr<const BundleEntry*> Find(absl::string_view name) const;
  // The entry of one piece of it. kCheckpointDamaged if the index lacks it.
  absl::StatusOr<const BundleEntry*> FindSlice(absl::string_view name, const TensorSlice& slice) const;

  // OK, or the error of the first bad entry that OpenIndexOnly has let pass.
  absl::Status FirstBadEntry() const { return bad_.empty() ? absl::OkStatus() : bad_.begin()->second; }

  // Whether the entry, which is not sliced, has the bytes that its dtype and shape need.
  static absl::Status CheckSize(absl::string_view name, const BundleEntry& entry);
  // Whether the entry can be what it says, in a shard of `shard_bytes`: see Open.
  absl::Status CheckExtent(absl::string_view name, const BundleEntry& entry, int64_t shard_bytes) const;

 private:
  static absl::StatusOr<BundleIndex> Read(const std::string& prefix, bool keep_bad_entries);
  absl::Status AddEntry(absl::string_view key, absl::string_view bytes, bool keep_bad_entries);
  absl::Status CheckShards() const;

  std::string prefix_;
  BundleHeader header_;
  Entries entries_, slices_;
  std::map<std::string, absl::Status, std::less<>> bad_;  // By key.
};

}  // namespace sluice

#endif  // SLUICE_KERNELS_CHECKPOINT_BUNDLE_INDEX_H_

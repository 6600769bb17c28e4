#ifndef SLUICE_KERNELS_CHECKPOINT_BUNDLE_REPLACEMENT_H_
#define SLUICE_KERNELS_CHECKPOINT_BUNDLE_REPLACEMENT_H_

// Note [Checkpoints are replaced as a whole] (bundle_writer.h) in practice.

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "kernels/checkpoint/bundle_index.h"

namespace sluice {

// Returns the number of shards, `wanted` or one more, that a new checkpoint at `prefix` must have so that none of its
// files has the name of a file of the present one.
int32_t ShardsBeside(const std::string& prefix, int32_t wanted);

// Writes an empty file for each shard from `first` on.
absl::Status WriteEmptyShards(const std::string& prefix, int32_t first, int32_t num_shards);

// Writes the index of the checkpoint at `prefix`, whose shards are complete, and removes the shards of the former
// checkpoint.
absl::Status ReplaceIndex(const std::string& prefix, const BundleHeader& header, const BundleIndex::Entries& entries);

}  // namespace sluice

#endif  // SLUICE_KERNELS_CHECKPOINT_BUNDLE_REPLACEMENT_H_

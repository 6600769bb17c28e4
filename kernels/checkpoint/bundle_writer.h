#ifndef SLUICE_KERNELS_CHECKPOINT_BUNDLE_WRITER_H_
#define SLUICE_KERNELS_CHECKPOINT_BUNDLE_WRITER_H_

// Note [Checkpoints are replaced as a whole]
// A checkpoint is several files, and a file system replaces one at a time. Readers find data only through the index, so
// the index is written last, and the old data is not changed before that: file names of shards contain the number of
// shards, and a checkpoint that replaces one with the same number gets one more, empty, shard. So at any moment either
// the old or the new checkpoint is complete, also for TensorFlow's readers. A process that is killed may leave files
// that no index names; they are overwritten when their names are used again.

#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "graph/value/tensor.h"
#include "kernels/checkpoint/bundle_index.h"
#include "kernels/checkpoint/new_file.h"
#include "kernels/checkpoint/tensor_slice.h"

namespace sluice {

// Writes a checkpoint of one shard, tensor by tensor; keeps no tensor in memory. Without Finish nothing has changed.
// One thread's at a time.
class BundleWriter {
 public:
  // Makes the directory of `prefix` if it is missing. FileError where nothing can be written there.
  static absl::StatusOr<std::unique_ptr<BundleWriter>> Create(const std::string& prefix);

  // kCheckpointEntry for a name that is there already, an empty one, and for resources and variants.
  absl::Status Add(absl::string_view name, const Tensor& value);
  // Adds the part `slice` of a tensor of shape `full`. kCheckpointEntry also if an earlier part had another type or
  // shape. REQUIRES: the tensor has the shape of that part.
  absl::Status AddSlice(absl::string_view name, const Shape& full, const TensorSlice& slice, const Tensor& value);
  // Flushes the checkpoint to the disk and replaces an older one by it.
  absl::Status Finish();

 private:
  BundleWriter(std::string prefix, int32_t num_shards, std::unique_ptr<NewFile> data);
  absl::Status WriteValue(absl::string_view name, const Tensor& value, BundleEntry* entry);

  const std::string prefix_;
  const int32_t num_shards_;
  std::unique_ptr<NewFile> data_;
  BundleIndex::Entries entries_;  // Of tensors and of slices, by key.
};

// Joins the checkpoints at `prefixes` into one at `destination`, which takes over their shards. Removes them
// afterwards; on an error, they and the old checkpoint at `destination` are unchanged. `allow_missing`: skips prefixes
// without an index, except the last. INVALID_ARGUMENT, as in TensorFlow, if one is missing or two hold the same tensor.
absl::Status MergeBundles(const std::vector<std::string>& prefixes, const std::string& destination, bool allow_missing);

}  // namespace sluice

#endif  // SLUICE_KERNELS_CHECKPOINT_BUNDLE_WRITER_H_

#ifndef SLUICE_KERNELS_CHECKPOINT_BUNDLE_READER_H_
#define SLUICE_KERNELS_CHECKPOINT_BUNDLE_READER_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "graph/value/tensor.h"
#include "kernels/checkpoint/bundle_index.h"
#include "kernels/checkpoint/tensor_slice.h"
#include "kernels/workers.h"

namespace sluice {

// Reads data of a checkpoint on several threads: directly from the file into the requested tensors, in pieces of a few
// MiB whose checksums are computed while they are in the processor's cache. Borrows index and workers. Not thread-safe.
class BundleReader {
 public:
  BundleReader(const BundleIndex& index, const Workers& workers) : index_(index), workers_(workers) {}

  // Returns a tensor of `shape` and the entry's dtype, which must stay valid until Run.
  using Allocate = absl::FunctionRef<absl::StatusOr<Tensor*>(const Shape& shape)>;

  // Requests the whole tensor `name`, whose entry is `entry`, or its part `box`. Allocates only after checking that the
  // index is right about it. Errors: of `allocate`, of entries and slices that contradict each other, and
  // kCheckpointEntry for a part of a tensor of strings, as in TensorFlow.
  absl::Status AddWhole(absl::string_view name, const BundleEntry& entry, Allocate allocate);
  absl::Status AddPart(absl::string_view name, const BundleEntry& entry, const SliceBox& box, Allocate allocate);

  // Reads all requested data. kCheckpointMissing, kCheckpointShort, kCheckpointDamaged (a wrong checksum, or impossible
  // lengths of strings), RESOURCE_EXHAUSTED.
  absl::Status Run();

 private:
  // Plain elements of one entry, which go to `to`.
  struct Piece {
    std::string name;
    const BundleEntry* entry = nullptr;
    char* to = nullptr;
  };
  // A stored slice that is read in part, or whose elements are not contiguous in the output.
  struct Cut {
    std::string name;
    const BundleEntry* entry = nullptr;
    SliceBox stored, wanted;
    Tensor* to = nullptr;
  };
  // A tensor of strings.
  struct Text {
    std::string name;
    const BundleEntry* entry = nullptr;
    Tensor* to = nullptr;
  };
  class Shard;

  // Adds one stored piece of what is wanted.
  void AddStored(absl::string_view name, const BundleEntry& entry, SliceBox stored, const SliceBox& wanted, Tensor* to);
  // Opens the shard of `entry` and checks that the entry lies in it.
  absl::Status Open(absl::string_view name, const BundleEntry& entry, Shard* shard) const;
  absl::Status ReadPieces(const Shard& shard, absl::Span<const Piece> pieces) const;
  absl::Status ReadCut(const Cut& cut, Shard* shard) const;
  absl::Status ReadText(const Text& text, Shard* shard) const;

  const BundleIndex& index_;
  const Workers& workers_;
  std::vector<Piece> pieces_;
  std::vector<Cut> cuts_;
  std::vector<Text> texts_;
};

}  // namespace sluice

#endif  // SLUICE_KERNELS_CHECKPOINT_BUNDLE_READER_H_

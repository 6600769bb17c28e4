#ifndef SLUICE_KERNELS_CHECKPOINT_TABLE_CHECKPOINT_H_
#define SLUICE_KERNELS_CHECKPOINT_TABLE_CHECKPOINT_H_

// Checkpoints of the first form, which TensorFlow's ops Save and SaveSlices write: one sorted string table holds all
// tensors, and their descriptions under the empty key.

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "graph/base/file.h"
#include "graph/value/tensor.h"
#include "kernels/checkpoint/sorted_table.h"
#include "kernels/checkpoint/tensor_slice.h"

namespace sluice {

// The stored parts of one tensor.
struct TableTensor {
  struct Part {
    TensorSlice slice;
    size_t file = 0;
  };

  DType dtype = DType::kInvalid;
  Shape shape;
  std::vector<Part> parts;  // Those of all files.
};

// One or more files, together one checkpoint. Immutable; the data is read when it is asked for.
class TableCheckpoint {
 public:
  // kCheckpointDamaged for a file that is not such a table; INTERNAL, as in TensorFlow, where files contradict each
  // other.
  static absl::StatusOr<TableCheckpoint> Open(const std::vector<std::string>& files);

  // kCheckpointName.
  absl::StatusOr<const TableTensor*> Find(absl::string_view name) const;

  // Reads the part `box` of a tensor into `*to`, which has its dtype and the box's shape.
  // kCheckpointSlice where a part is missing, kCheckpointDamaged.
  absl::Status Read(absl::string_view name, const TableTensor& tensor, const SliceBox& box, Tensor* to) const;

 private:
  absl::Status AddFile(const std::string& path);
  absl::Status AddTensor(absl::string_view bytes, size_t file);
  absl::StatusOr<Tensor> ReadPart(absl::string_view name, const TableTensor& tensor, const TableTensor::Part& part,
                                  const Shape& shape) const;

  std::vector<std::shared_ptr<const MappedFile>> files_;
  std::vector<SortedTable> tables_;  // Of the files.
  std::vector<std::string> paths_;
  std::map<std::string, TableTensor, std::less<>> tensors_;
};

// What SaveTable writes of one tensor.
struct TableSource {
  std::string name;
  Shape full_shape;
  TensorSlice slice;
  const Tensor* value = nullptr;  // Borrowed.
};

// Writes a checkpoint of the first form, in the place of an older one. The first of several parts with the same key
// counts, as in TensorFlow. UNIMPLEMENTED for types that the form does not know; INTERNAL where parts of one tensor
// differ in type or full shape.
absl::Status WriteTableCheckpoint(const std::string& path, const std::vector<TableSource>& sources);

}  // namespace sluice

#endif  // SLUICE_KERNELS_CHECKPOINT_TABLE_CHECKPOINT_H_

#ifndef SLUICE_TOOLS_CLI_CHECKPOINT_CHECKPOINT_REPORT_H_
#define SLUICE_TOOLS_CLI_CHECKPOINT_CHECKPOINT_REPORT_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "graph/value/dtype.h"
#include "graph/value/shape.h"
#include "graph/value/tensor.h"

namespace sluice {

// Facts about the elements of a tensor.
struct ValueFacts {
  // Of the finite elements of real numbers; without any, unset. True is 1.
  std::optional<double> min, max, mean;
  int64_t num_nan = 0, num_inf = 0;
  Tensor first;  // The first elements, as a vector. Invalid if none can be shown.
};

struct CheckpointTensor {
  std::string name;
  std::string variable;  // The program's name for it, if TensorFlow's objects have it: "dense/kernel".
  DType dtype = DType::kInvalid;
  Shape shape;
  int64_t bytes = 0;      // Strings: as stored.
  int64_t num_parts = 1;  // More if the tensor is stored in slices.
  std::optional<ValueFacts> values;
};

// The facts that `sluice show` prints about a checkpoint (TensorBundle). Views nothing.
struct CheckpointReport {
  std::string prefix;
  std::vector<std::string> files;         // Of the data, without their directory.
  int64_t bytes = 0;                      // Of all tensors.
  std::vector<CheckpointTensor> tensors;  // By name.
  absl::Status errors;                    // For missing files, and tensors that are wrong or unreadable.
};

struct CheckpointReportOptions {
  bool with_values = false;
  int64_t max_tensor_bytes = 0;  // Values of larger tensors are an error.
  int64_t max_file_bytes = 0;    // Of the index.
};

// kCheckpointMissing, kCheckpointDamaged, kLimitFileSize for the index. Errors of data files and single tensors are in
// the report, which still lists the others. Holds one tensor at a time.
absl::StatusOr<CheckpointReport> ReportCheckpoint(const std::string& prefix, const CheckpointReportOptions& options);

}  // namespace sluice

#endif  // SLUICE_TOOLS_CLI_CHECKPOINT_CHECKPOINT_REPORT_H_

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

// What the elements of a tensor are.
struct ValueFacts {
  // Of the finite elements of real numbers; without any, unset. True is 1.
  std::optional<double> min, max, mean;
  int64_t num_nan = 0, num_inf = 0;
  Tensor first;  // The first elements, as a vector. Invalid where there are none that can be shown.
};

struct CheckpointTensor {
  std::string name;
  std::string variable;  // What the program called it, where TensorFlow's objects say so: "dense/kernel".
  DType dtype = DType::kInvalid;
  Shape shape;
  int64_t bytes = 0;      // Of strings: as they are stored.
  int64_t num_parts = 1;  // More where the tensor is stored in slices.
  std::optional<ValueFacts> values;
};

// What `sluice show` says of a checkpoint (TensorBundle). Plain facts; views nothing.
struct CheckpointReport {
  std::string prefix;
  std::vector<std::string> files;         // Of the data, without their directory.
  int64_t bytes = 0;                      // Of all tensors.
  std::vector<CheckpointTensor> tensors;  // By name.
  absl::Status errors;                    // Of files that are missing, and of tensors that are wrong or cannot be read.
};

struct CheckpointReportOptions {
  bool with_values = false;
  int64_t max_tensor_bytes = 0;  // Values of larger tensors are an error.
  int64_t max_file_bytes = 0;    // Of the index.
};

// kCheckpointMissing, kCheckpointDamaged, kLimitFileSize for what is wrong with the index. What is wrong with files of
// data and with single tensors is in the report: the others are listed all the same. Holds one tensor at a time.
absl::StatusOr<CheckpointReport> ReportCheckpoint(const std::string& prefix, const CheckpointReportOptions& options);

}  // namespace sluice

#endif  // SLUICE_TOOLS_CLI_CHECKPOINT_CHECKPOINT_REPORT_H_

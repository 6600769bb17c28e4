#ifndef SLUICE_TOOLS_CLI_TRAIN_TRAIN_DATA_H_
#define SLUICE_TOOLS_CLI_TRAIN_TRAIN_DATA_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "graph/base/limits.h"
#include "graph/value/dtype.h"
#include "graph/value/shape.h"
#include "graph/value/tensor.h"
#include "tools/cli/numpy/npz.h"

namespace sluice {

// A tensor of the model that gets rows of an array in each step.
struct TrainInput {
  std::string name;      // The users' name.
  std::string endpoint;  // In the graph.
  std::string array;     // In the file.
  DType dtype = DType::kInvalid;
  PartialShape shape;  // Of a whole batch, as far as known.
};

// How arrays are converted to the model's inputs.
struct ArrayRules {
  bool convert = false;  // Numbers of another dtype are converted.
  int64_t batch = 0;     // Rows of a full batch: what a placeholder may state.
  LoadLimits limits;
};

// Rows of training data: for each input an array, all of as many rows. Immutable; copies share the arrays.
class TrainData {
 public:
  // Reads the arrays of `inputs` from the .npz file at `path`. Reports all errors at once where possible: kFeedMissing
  // for a missing array, listing the existing ones; kFeedType, kFeedShape, saying what to write in NumPy; kOpShapes for
  // arrays of different lengths; kNumpy, and the errors of the file.
  static absl::StatusOr<TrainData> Read(const std::string& path, absl::Span<const TrainInput> inputs,
                                        const ArrayRules& rules);

  int64_t num_rows() const { return num_rows_; }
  // Rows of the array of input `input`, one after the other. The errors of memory.
  absl::StatusOr<Tensor> Gather(size_t input, absl::Span<const int64_t> rows) const;

 private:
  absl::Status AddArray(const NpzReader& file, const std::string& path, const TrainInput& input,
                        const ArrayRules& rules);

  std::vector<Tensor> arrays_;  // By input.
  int64_t num_rows_ = 0;
};

// The names of the arrays in the .npz file at `path`.
absl::StatusOr<std::vector<std::string>> ArrayNames(const std::string& path, const LoadLimits& limits);

}  // namespace sluice

#endif  // SLUICE_TOOLS_CLI_TRAIN_TRAIN_DATA_H_

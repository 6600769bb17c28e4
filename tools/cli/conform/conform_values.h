#ifndef SLUICE_TOOLS_CLI_CONFORM_CONFORM_VALUES_H_
#define SLUICE_TOOLS_CLI_CONFORM_CONFORM_VALUES_H_

#include <map>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "graph/base/file.h"
#include "graph/value/tensor.h"
#include "tools/cli/numpy/npz.h"

namespace sluice {

// The tensors of one case folder, by the names that case.json uses: members of tensors.npz, .npy and .pb files.
// Not thread-safe; lives as long as the case is run.
class ConformValues {
 public:
  explicit ConformValues(std::string folder) : folder_(std::move(folder)) {}

  // kFileMissing and others naming the file.
  absl::StatusOr<Tensor> Read(const std::string& file);

 private:
  absl::StatusOr<std::string> ReadBytes(const std::string& file) const;

  const std::string folder_;
  bool is_opened_ = false;
  std::string npz_bytes_;
  std::unique_ptr<NpzReader> npz_;  // Null without a tensors.npz.
};

// Says in one line how `got` differs from `want`, or nothing. Floats and complex numbers may differ by atol + rtol *
// |want| (NaN equals NaN, an infinity itself); all else must be equal.
std::string TensorDifference(const Tensor& got, const Tensor& want, double rtol, double atol);

// The same for a description {"dtype": ..., "shape": [...]} in the text of a .json file; -1 is any size.
std::string DescriptionDifference(const Tensor& got, const std::string& json);

}  // namespace sluice

#endif  // SLUICE_TOOLS_CLI_CONFORM_CONFORM_VALUES_H_

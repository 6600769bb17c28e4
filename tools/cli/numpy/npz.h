#ifndef SLUICE_TOOLS_CLI_NUMPY_NPZ_H_
#define SLUICE_TOOLS_CLI_NUMPY_NPZ_H_

// Named tensors to and from NumPy's .npz format: a zip archive of .npy files.

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "graph/base/limits.h"
#include "graph/value/tensor.h"
#include "tools/cli/numpy/zip.h"

namespace sluice {

using NamedTensor = std::pair<std::string, Tensor>;

// Reads tensors from one .npz archive, each on demand.
// Ownership: borrows the bytes, unless `owner` keeps them alive; then large members that are stored as they are share
// them. Thread-safety: immutable.
class NpzReader {
 public:
  // Checks the archive's directory; see ZipReader::Open for the errors.
  static absl::StatusOr<NpzReader> Open(absl::string_view bytes, const LoadLimits& limits = LoadLimits(),
                                        std::shared_ptr<const void> owner = nullptr);

  // Names of the arrays in the archive's order, without ".npy".
  const std::vector<std::string>& names() const { return names_; }
  // The same for messages: quoted, and not all of very many.
  std::string NamesText() const;
  // Reads the array `name`, with or without ".npy". kNumpy errors name it, also if it is missing.
  absl::StatusOr<Tensor> Read(absl::string_view name) const;

 private:
  NpzReader(ZipReader zip, const LoadLimits& limits, std::shared_ptr<const void> owner);

  ZipReader zip_;
  LoadLimits limits_;
  std::shared_ptr<const void> owner_;
  std::vector<std::string> names_;
};

// The bytes of an archive that holds `tensors`, not compressed. kNumpy errors as WriteNpy, and for repeated names.
absl::StatusOr<std::string> WriteNpz(absl::Span<const NamedTensor> tensors);

}  // namespace sluice

#endif  // SLUICE_TOOLS_CLI_NUMPY_NPZ_H_

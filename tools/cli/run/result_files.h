#ifndef SLUICE_TOOLS_CLI_RUN_RESULT_FILES_H_
#define SLUICE_TOOLS_CLI_RUN_RESULT_FILES_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "tools/cli/numpy/npz.h"

namespace sluice {

// One --save NAME=FILE.
struct SaveOrder {
  std::string name, path;
};

// Reads "NAME=FILE". kValueSyntax unless both are there and FILE ends in .npy, .npz or .pb.
absl::StatusOr<SaveOrder> ParseSaveOrder(const std::string& text);

// Writes the ordered `results`: .npy and .pb (TensorProto) hold one tensor; all orders for one .npz file go into it
// together. REQUIRES: each order's name is among `results`.
absl::Status SaveResults(absl::Span<const SaveOrder> orders, absl::Span<const NamedTensor> results);

}  // namespace sluice

#endif  // SLUICE_TOOLS_CLI_RUN_RESULT_FILES_H_

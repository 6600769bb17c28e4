// Bytes -> .npy -> tensor -> .npy: the second file reads as the same tensor.

#include <string>

#include "graph/base/check.h"
#include "tests/fuzz/fuzz_target.h"
#include "tools/cli/numpy/npy.h"

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace sluice;  // NOLINT: the function must stand outside.
  ReadNpyOptions options;
  options.limits = FuzzLimits();
  const absl::StatusOr<Tensor> tensor = ReadNpy(FuzzBytes(data, size), options);
  if (!tensor.ok()) return 0;
  const absl::StatusOr<std::string> written = WriteNpy(*tensor);
  if (!written.ok()) return 0;
  const absl::StatusOr<Tensor> again = ReadNpy(*written, options);
  SLUICE_CHECK(again.ok() && again->dtype() == tensor->dtype() && again->shape() == tensor->shape());
  SLUICE_CHECK(WriteNpy(*again).value() == *written);
  return 0;
}

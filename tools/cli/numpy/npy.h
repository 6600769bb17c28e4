#ifndef SLUICE_TOOLS_CLI_NUMPY_NPY_H_
#define SLUICE_TOOLS_CLI_NUMPY_NPY_H_

// Tensors to and from NumPy's .npy format.

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "graph/base/limits.h"
#include "graph/value/tensor.h"

namespace sluice {

struct ReadNpyOptions {
  LoadLimits limits;  // Only max_tensor_bytes is used.
  // Keeps the bytes alive. If set, large elements that need no change are shared, not copied, and read-only.
  std::shared_ptr<const void> owner;
};

// The tensor in `bytes`, the whole of a .npy file: format 1.0, 2.0 or 3.0, either byte order, rows or columns first.
// dtypes: bool, integers, float16/32/64, complex64/128; 'S' and 'U' text becomes string (UTF-8), its trailing zeros
// dropped as NumPy does. kNumpy errors name the fact: other dtypes (objects, records, dates, long doubles, the raw 'V2'
// that bfloat16 is saved as), malformed headers, too few and too many bytes. Sizes are checked before memory is taken.
absl::StatusOr<Tensor> ReadNpy(absl::string_view bytes, const ReadNpyOptions& options = ReadNpyOptions());

// The bytes of a .npy file, format 1.0 (2.0 for very long headers), little endian, rows first. Strings become 'S' of
// the longest one's size. kNumpy errors for dtypes that NumPy lacks and for strings that end in a zero byte, which 'S'
// cannot hold. REQUIRES: tensor.has_value(), elements in host memory.
absl::StatusOr<std::string> WriteNpy(const Tensor& tensor);

}  // namespace sluice

#endif  // SLUICE_TOOLS_CLI_NUMPY_NPY_H_

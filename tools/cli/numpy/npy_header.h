#ifndef SLUICE_TOOLS_CLI_NUMPY_NPY_HEADER_H_
#define SLUICE_TOOLS_CLI_NUMPY_NPY_HEADER_H_

// The header of a .npy file. Internal to npy.

#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "graph/value/dtype.h"
#include "graph/value/shape.h"

namespace sluice {

// How the elements of a .npy file are stored. A value type.
struct NpyHeader {
  // How elements are converted.
  enum class Kind { kPlain, kBytesText, kUnicodeText };

  Kind kind = Kind::kPlain;
  DType dtype = DType::kInvalid;
  int64_t item_bytes = 0;  // Of one stored element.
  bool big_endian = false;
  bool columns_first = false;  // "fortran_order".
  Shape shape;
  size_t data_offset = 0;
};

// Parses and checks the header at the front of `bytes`; kNumpy errors.
absl::StatusOr<NpyHeader> ReadNpyHeader(absl::string_view bytes);

// A header for elements of NumPy's dtype `descr`, padded so that the data is aligned to 64 bytes.
std::string WriteNpyHeader(absl::string_view descr, const Shape& shape);

}  // namespace sluice

#endif  // SLUICE_TOOLS_CLI_NUMPY_NPY_HEADER_H_

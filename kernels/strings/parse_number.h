#ifndef SLUICE_KERNELS_STRINGS_PARSE_NUMBER_H_
#define SLUICE_KERNELS_STRINGS_PARSE_NUMBER_H_

#include <cstdint>

#include "absl/strings/string_view.h"

namespace sluice {

// Numbers as TensorFlow reads them: white space around them, a sign, decimal digits; for floats an exponent,
// hexadecimal digits after "0x", "inf", "infinity" and "nan" too, too large ones as infinity. False for anything else
// and for integers out of range.
bool ParseNumber(absl::string_view text, float* value);
bool ParseNumber(absl::string_view text, double* value);
bool ParseNumber(absl::string_view text, int32_t* value);
bool ParseNumber(absl::string_view text, int64_t* value);
bool ParseNumber(absl::string_view text, uint32_t* value);
bool ParseNumber(absl::string_view text, uint64_t* value);

}  // namespace sluice

#endif  // SLUICE_KERNELS_STRINGS_PARSE_NUMBER_H_

#ifndef SLUICE_KERNELS_STRINGS_UTF8_H_
#define SLUICE_KERNELS_STRINGS_UTF8_H_

#include "absl/strings/string_view.h"

namespace sluice {

// Whether `text` is well-formed UTF-8: no surrogates, no character in more bytes than it needs, none above U+10FFFF.
bool IsUtf8(absl::string_view text);

}  // namespace sluice

#endif  // SLUICE_KERNELS_STRINGS_UTF8_H_

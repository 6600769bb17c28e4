#ifndef SLUICE_KERNELS_STRINGS_FARMHASH64_H_
#define SLUICE_KERNELS_STRINGS_FARMHASH64_H_

#include <cstdint>

#include "absl/strings/string_view.h"

namespace sluice {

// FarmHash's 64-bit fingerprint of `bytes`: the same on every machine and for ever, since files hold it.
uint64_t FarmHash64(absl::string_view bytes);

}  // namespace sluice

#endif  // SLUICE_KERNELS_STRINGS_FARMHASH64_H_

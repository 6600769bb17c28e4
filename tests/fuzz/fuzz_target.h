#ifndef SLUICE_TESTS_FUZZ_FUZZ_TARGET_H_
#define SLUICE_TESTS_FUZZ_FUZZ_TARGET_H_

// What every fuzz target of this directory is: one function that takes any bytes and ends the process when a promise
// is broken. libFuzzer calls it (see README.md); regression_test.cc calls it for each file of the kept corpus.

#include <cstddef>
#include <cstdint>

#include "absl/strings/string_view.h"
#include "graph/base/limits.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

namespace sluice {

inline absl::string_view FuzzBytes(const uint8_t* data, size_t size) {
  return absl::string_view(reinterpret_cast<const char*>(data), size);
}

// Small enough that what the limits allow is also quick.
inline LoadLimits FuzzLimits() {
  LoadLimits limits;
  limits.max_nodes = 100'000;
  limits.max_expanded_nodes = 10'000;
  limits.max_tensor_bytes = 16 << 20;
  return limits;
}

}  // namespace sluice

#endif  // SLUICE_TESTS_FUZZ_FUZZ_TARGET_H_

#ifndef SLUICE_KERNELS_STRINGS_UNICODE_UNICODE_RUNS_H_
#define SLUICE_KERNELS_STRINGS_UNICODE_UNICODE_RUNS_H_

// Properties of code points as data: numbers written one after another, in the form that ReadNumber reads. Only
// unicode.cc reads these; the files are written by a program that asks TensorFlow (see README.md).

#include <cstdint>

#include "absl/strings/string_view.h"

namespace sluice {

// Takes the number at the front of `data`: five bits a character, the lowest first, in the digits of Base64; the sixth
// bit says that more follow. 0 at the end of the data.
uint32_t TakeNumber(absl::string_view* data);

// Length and value of runs of equal code points, from 0 on: the number that UnicodeScript gives; 1 for letters with
// case and 2 for those that the rule of the final sigma skips.
absl::string_view ScriptRuns();
absl::string_view CasedRuns();

// Runs of code points that map to others at one distance: the gap to the run before, 4 * count + stride - 1, and the
// distance (zigzag).
absl::string_view LowerMappings();
absl::string_view UpperMappings();

// Code points that map to several: the code point, how many, and these.
absl::string_view LowerExpansions();
absl::string_view UpperExpansions();

}  // namespace sluice

#endif  // SLUICE_KERNELS_STRINGS_UNICODE_UNICODE_RUNS_H_

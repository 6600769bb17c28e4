#ifndef SLUICE_KERNELS_STRINGS_REGEX_BYTE_SEQUENCES_H_
#define SLUICE_KERNELS_STRINGS_REGEX_BYTE_SEQUENCES_H_

#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "kernels/strings/unicode/unicode.h"

namespace sluice {

// The UTF-8 forms of a range of code points that agree in all but the last bytes: byte i is first[i] to last[i].
struct ByteSequence {
  int size = 0;
  uint8_t first[4] = {};
  uint8_t last[4] = {};
};

// The forms of `ranges`, ascending. As RE2 has it, U+80 to U+10FFFF as a whole takes overlong forms and numbers beyond
// too, and surrogates are code points.
std::vector<ByteSequence> ByteSequencesOf(absl::Span<const RuneRange> ranges);

}  // namespace sluice

#endif  // SLUICE_KERNELS_STRINGS_REGEX_BYTE_SEQUENCES_H_

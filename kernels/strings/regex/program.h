#ifndef SLUICE_KERNELS_STRINGS_REGEX_PROGRAM_H_
#define SLUICE_KERNELS_STRINGS_REGEX_PROGRAM_H_

// A regular expression as a machine that reads bytes: what the compiler makes and both engines run.

#include <array>
#include <bitset>
#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "kernels/strings/regex/syntax.h"

namespace sluice {

// What may be asked of the place between two bytes, as bits.
enum RegexPlace : uint8_t {
  kAtBeginText = 1,
  kAtEndText = 2,
  kAtBeginLine = 4,
  kAtEndLine = 8,
  kAtWordBoundary = 16,
  kAtNoWordBoundary = 32,
};

struct RegexInst {
  enum class Kind : uint8_t {
    kMatch,
    kAlt,      // `out` first, then `other`.
    kBytes,    // One byte of the ranges [other, other + count) of the program; each says where it leads.
    kPlace,    // `out` where all bits of `count` hold.
    kCapture,  // Notes the place in slot `other`, then `out`.
  };

  Kind kind = Kind::kMatch;
  int32_t out = 0;
  int32_t other = 0;
  int32_t count = 0;
};

// Bytes first to last lead to instruction `out`.
struct RegexBytes {
  uint8_t first = 0;
  uint8_t last = 0;
  int32_t out = 0;
};

// Immutable after CompileRegex; shared by any number of engines.
struct RegexProgram {
  std::vector<RegexInst> insts;
  std::vector<RegexBytes> ranges;  // Ascending within an instruction.
  int32_t start = 0;               // Where a match begins.
  int32_t start_anywhere = 0;      // The same after any number of bytes, as few as possible.
  int num_groups = 0;
  bool asks_for_places = false;           // Whether any instruction is a kPlace.
  std::array<uint8_t, 256> byte_class{};  // Bytes of one class lead to the same everywhere.
  std::vector<uint8_t> class_bytes;       // A byte of each class.
  // The bytes that a match can begin with; all where it can be empty or depends on places.
  std::bitset<256> first_bytes;
  int only_first_byte = -1;  // The only one of these; -1 where there are more.

  // Where `inst`, a kBytes, leads for `byte`; -1 where nowhere.
  int32_t Step(const RegexInst& inst, uint8_t byte) const {
    int32_t low = inst.other, high = inst.other + inst.count;
    while (high - low > 4) {
      const int32_t middle = low + (high - low) / 2;
      if (byte < ranges[static_cast<size_t>(middle)].first) {
        high = middle;
      } else {
        low = middle;
      }
    }
    for (; low < high; ++low) {
      const RegexBytes& range = ranges[static_cast<size_t>(low)];
      if (byte >= range.first && byte <= range.last) return range.out;
    }
    return -1;
  }
};

// INVALID_ARGUMENT, with RE2's words, where the program would be too large.
absl::StatusOr<RegexProgram> CompileRegex(const RegexTree& tree);

// Whether \w matches the byte.
inline bool IsWordByte(uint8_t byte) {
  return (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') || (byte >= '0' && byte <= '9') || byte == '_';
}

// All bits that hold between text[at - 1] and text[at].
uint32_t PlacesAt(absl::string_view text, size_t at);

}  // namespace sluice

#endif  // SLUICE_KERNELS_STRINGS_REGEX_PROGRAM_H_

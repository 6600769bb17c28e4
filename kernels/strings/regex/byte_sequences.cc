#include "kernels/strings/regex/byte_sequences.h"

#include "kernels/strings/unicode/utf8.h"

namespace sluice {
namespace {

constexpr uint32_t kLastOfSize[] = {0x7F, 0x7FF, 0xFFFF};

// Where [first, last] must be cut so that its forms agree in all but the last bytes: the last code point of the first
// part, or `last` where nothing needs to be cut.
uint32_t CutOf(uint32_t first, uint32_t last) {
  for (const uint32_t end : kLastOfSize) {
    if (first <= end && end < last) return end;
  }
  if (last <= 0x7F) return last;
  for (int bytes = 1; bytes < 4; ++bytes) {
    const uint32_t mask = (1u << (6 * bytes)) - 1;
    if ((first & ~mask) == (last & ~mask)) continue;
    if ((first & mask) != 0) return first | mask;
    if ((last & mask) != mask) return (last & ~mask) - 1;
  }
  return last;
}

ByteSequence SequenceOf(uint32_t first, uint32_t last) {
  char from[4], to[4];
  ByteSequence sequence;
  sequence.size = WriteUtf8(first, from);
  WriteUtf8(last, to);
  for (int i = 0; i < sequence.size; ++i) {
    sequence.first[i] = static_cast<uint8_t>(from[i]);
    sequence.last[i] = static_cast<uint8_t>(to[i]);
  }
  return sequence;
}

void AddAllBeyondAscii(std::vector<ByteSequence>* sequences) {
  sequences->push_back({2, {0xC2, 0x80}, {0xDF, 0xBF}});
  sequences->push_back({3, {0xE0, 0x80, 0x80}, {0xEF, 0xBF, 0xBF}});
  sequences->push_back({4, {0xF0, 0x80, 0x80, 0x80}, {0xF4, 0xBF, 0xBF, 0xBF}});
}

}  // namespace

std::vector<ByteSequence> ByteSequencesOf(absl::Span<const RuneRange> ranges) {
  std::vector<ByteSequence> sequences;
  for (const RuneRange& range : ranges) {
    uint32_t first = range.first;
    while (true) {
      if (first == 0x80 && range.last == kMaxRune) {
        AddAllBeyondAscii(&sequences);
        break;
      }
      // Each cut leads to a part that may need further ones.
      uint32_t last = range.last;
      for (uint32_t cut = CutOf(first, last); cut != last; cut = CutOf(first, last)) last = cut;
      sequences.push_back(SequenceOf(first, last));
      if (last == range.last) break;
      first = last + 1;
    }
  }
  return sequences;
}

}  // namespace sluice

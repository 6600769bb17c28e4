#ifndef SLUICE_KERNELS_STRINGS_REGEX_RUNE_SET_H_
#define SLUICE_KERNELS_STRINGS_REGEX_RUNE_SET_H_

#include <cstdint>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "kernels/strings/unicode/unicode.h"

namespace sluice {

// A set of code points under construction. A value; not thread-safe.
class RuneSet {
 public:
  void Add(uint32_t first, uint32_t last) { ranges_.push_back({first, last}); }
  // The same with all code points that differ in case only.
  void AddFolded(uint32_t first, uint32_t last);
  void AddAll(absl::Span<const RuneRange> ranges, bool fold);
  // What is not in the set.
  void Complement();
  // The ranges in ascending order, none next to another.
  std::vector<RuneRange> Take();

 private:
  void Normalize();

  std::vector<RuneRange> ranges_;
  size_t limit_ =
      4096;  // How many ranges AddAll may leave; then they are put in order, which most often makes few of them.
};

// The ranges of \d, \s and \w by their lower-case letter, and of POSIX classes by their name ("alpha"). False where
// there is no such class.
bool FindPerlClass(char letter, std::vector<RuneRange>* ranges);
bool FindPosixClass(absl::string_view name, std::vector<RuneRange>* ranges);

}  // namespace sluice

#endif  // SLUICE_KERNELS_STRINGS_REGEX_RUNE_SET_H_

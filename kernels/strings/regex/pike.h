#ifndef SLUICE_KERNELS_STRINGS_REGEX_PIKE_H_
#define SLUICE_KERNELS_STRINGS_REGEX_PIKE_H_

#include <cstdint>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "kernels/strings/regex/program.h"

namespace sluice {

// Runs a program with all its choices side by side: where the leftmost match and its groups lie. Time is linear in
// text and program. Borrows the program. For one thread at a time.
class RegexPike {
 public:
  explicit RegexPike(const RegexProgram& program);

  // Finds the leftmost match from text[begin] on, of which is known that it ends at `end` or before. Slots 2 i and
  // 2 i + 1 receive begin and end of group i (0: the match), -1 where it took no part; groups beyond are not looked
  // at. False where there is no match.
  bool Run(absl::string_view text, size_t begin, size_t end, absl::Span<int64_t> slots);

 private:
  // Instructions to go on with, in order of preference, each with the slots that led to it.
  struct Threads {
    std::vector<int32_t> insts;
    std::vector<int64_t> slots;
  };
  // Something still to follow: an instruction, or (id < 0) a slot to be set back.
  struct Open {
    int32_t id;
    int32_t slot;
    int64_t value;
  };

  // Follows everything that `id` leads to without a byte. `slots_` are those of the thread.
  void Add(Threads* threads, int32_t id, absl::string_view text, size_t at);

  const RegexProgram& program_;
  const bool can_skip_;  // Whether there are bytes that no match begins with.
  size_t num_slots_ = 0;
  Threads now_, next_;
  std::vector<int64_t> slots_;
  std::vector<uint64_t> marks_;
  uint64_t mark_ = 0;
  std::vector<Open> open_;
};

}  // namespace sluice

#endif  // SLUICE_KERNELS_STRINGS_REGEX_PIKE_H_

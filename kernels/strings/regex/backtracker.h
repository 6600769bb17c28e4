#ifndef SLUICE_KERNELS_STRINGS_REGEX_BACKTRACKER_H_
#define SLUICE_KERNELS_STRINGS_REGEX_BACKTRACKER_H_

#include <cstdint>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "kernels/strings/regex/program.h"

namespace sluice {

// Finds a match by trying the preferred way first. It notes which instructions it has tried at which byte and never
// tries one twice: so time is linear, and memory the product, of program and text, which is why only short texts are
// for it. Borrows the program. For one thread at a time.
class RegexBacktracker {
 public:
  explicit RegexBacktracker(const RegexProgram& program) : program_(program) {}

  // Whether `bytes` of text are few enough.
  bool CanRun(size_t bytes) const { return bytes < kMaxMarks / program_.insts.size(); }

  // As RegexPike::Run. REQUIRES: CanRun(end - begin).
  bool Run(absl::string_view text, size_t begin, size_t end, absl::Span<int64_t> slots);

 private:
  static constexpr size_t kMaxMarks = size_t{1} << 18;

  // What is still to be tried: an instruction at a byte, or (inst < 0) a slot to be set back.
  struct Open {
    int32_t inst;
    int32_t slot;
    int64_t at;
  };

  // Tries a match that begins at text[from].
  bool TryAt(size_t from, absl::Span<int64_t> slots);
  // Follows `inst` at text[at] until it fails (false) or matches.
  bool Follow(int32_t inst, size_t at, absl::Span<int64_t> slots);
  // Whether the instruction was not yet tried there; now it is.
  bool MarkNew(int32_t inst, size_t at);

  const RegexProgram& program_;
  // Of the run at hand.
  absl::string_view text_;
  size_t begin_ = 0, end_ = 0;
  std::vector<uint64_t> marks_;
  std::vector<Open> open_;
};

}  // namespace sluice

#endif  // SLUICE_KERNELS_STRINGS_REGEX_BACKTRACKER_H_

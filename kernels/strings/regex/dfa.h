#ifndef SLUICE_KERNELS_STRINGS_REGEX_DFA_H_
#define SLUICE_KERNELS_STRINGS_REGEX_DFA_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "graph/base/hash_table.h"
#include "kernels/strings/regex/program.h"

namespace sluice {

// Runs a program as a deterministic machine whose states are made when they are first reached: whether there is a
// match, and where it ends. Time is linear in the text; states are forgotten when they take more than kMaxBytes.
// Borrows the program. For one thread at a time: states stay for the next text.
class RegexDfa {
 public:
  enum class Goal {
    kWholeText,  // Does the whole text match?
    kFirst,      // Where does the leftmost match end, of those that begin there the one that Perl prefers?
  };
  static constexpr size_t kMaxBytes = size_t{1} << 20;

  RegexDfa(const RegexProgram& program, Goal goal);

  // Runs from text[begin] on; what is before counts for \b and ^ only. The end of the match, or -1.
  int64_t Run(absl::string_view text, size_t begin);

 private:
  // What stands before the next byte, as far as places depend on it.
  enum Before : uint8_t { kNothing, kNewline, kWordByte, kOtherByte };
  static constexpr int32_t kUnknown = -1;

  struct State {
    std::vector<int32_t> insts;  // In order of preference, before places are looked at.
    Before before;
    bool is_match;  // A match ends before the byte that led here.
  };

  int32_t StartState(absl::string_view text, size_t begin);
  int32_t FindState(std::vector<int32_t> insts, Before before, bool is_match);
  // Where state `from` leads for a class of bytes; the class after the last is the end of the text.
  int32_t Step(int32_t from, size_t byte_class);
  // The instructions that `insts` lead to without a byte, those of kind kBytes in order. Whether a match is among them;
  // kFirst leaves out what comes after it.
  bool Close(const std::vector<int32_t>& insts, uint32_t places, std::vector<int32_t>* closed);
  uint32_t Places(Before before, bool at_end, uint8_t byte) const;
  void Forget();

  const RegexProgram& program_;
  const Goal goal_;
  const size_t num_classes_;  // With that of the end.
  std::vector<State> states_;
  std::vector<int32_t> next_;  // By state and class.
  HashMap<std::string, int32_t> ids_;
  size_t bytes_ = 0;
  // Scratch: which instructions are in the list being made (those equal to mark_), and what is still to follow.
  std::vector<uint64_t> marks_;
  uint64_t mark_ = 0;
  std::vector<int32_t> open_;
};

}  // namespace sluice

#endif  // SLUICE_KERNELS_STRINGS_REGEX_DFA_H_

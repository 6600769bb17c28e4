#ifndef SLUICE_KERNELS_STRINGS_REGEX_DFA_H_
#define SLUICE_KERNELS_STRINGS_REGEX_DFA_H_

#include <array>
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

  // Runs from text[begin] on; what is before counts for \b and ^ only. The end of the match, or -1; the match begins at
  // `*first_begin` or after it.
  int64_t Run(absl::string_view text, size_t begin, size_t* first_begin);

 private:
  // What stands before the next byte, as far as places depend on it.
  enum Before : uint8_t { kNothing, kNewline, kWordByte, kOtherByte };
  static constexpr int32_t kUnknown = -1;

  // A state as the place of its row in `next_`, and what has to be known of it at each byte: whether a match ends
  // before the byte that led to it, and whether nothing more can follow.
  class Link {
   public:
    Link() = default;
    Link(size_t row, bool is_match, bool is_dead)
        : bits_(static_cast<uint32_t>(row) << 2 | (is_match ? 2u : 0u) | (is_dead ? 1u : 0u)) {}
    bool is_known() const { return bits_ != kUnknown; }
    size_t row() const { return bits_ >> 2; }
    bool is_match() const { return (bits_ & 2) != 0; }
    bool is_dead() const { return (bits_ & 1) != 0; }

   private:
    static constexpr uint32_t kUnknown = ~uint32_t{0};

    uint32_t bits_ = kUnknown;
  };

  struct State {
    std::vector<int32_t> insts;  // In order of preference, before places are looked at.
    Before before;
  };

  Link StartState(absl::string_view text, size_t begin);
  Link FindState(std::vector<int32_t> insts, Before before, bool is_match);
  // Where the state of `row` leads for a class of bytes; the class after the last is the end of the text.
  Link Step(size_t row, size_t byte_class);
  // The first place from `at` on where a match can begin.
  size_t SkipTo(absl::string_view text, size_t at) const;
  // The instructions that `insts` lead to without a byte, those of kind kBytes in order. Whether a match is among them;
  // kFirst leaves out what comes after it.
  bool Close(const std::vector<int32_t>& insts, uint32_t places, std::vector<int32_t>* closed);
  uint32_t Places(Before before, bool at_end, uint8_t byte) const;
  void Forget();

  const RegexProgram& program_;
  const Goal goal_;
  const size_t num_classes_;  // With that of the end.
  const bool can_skip_;       // Whether a text can be passed over up to a byte that matches begin with.
  std::vector<State> states_;
  std::vector<Link> next_;      // By state and class.
  std::array<Link, 4> starts_;  // By what stands before the text; those that were asked for.
  HashMap<std::string, Link> ids_;
  size_t bytes_ = 0;
  uint64_t num_forgets_ = 0;
  // Scratch: which instructions are in the list being made (those equal to mark_), and what is still to follow.
  std::vector<uint64_t> marks_;
  uint64_t mark_ = 0;
  std::vector<int32_t> open_;
};

}  // namespace sluice

#endif  // SLUICE_KERNELS_STRINGS_REGEX_DFA_H_

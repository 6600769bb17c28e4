#ifndef SLUICE_KERNELS_STRINGS_REGEX_ONE_PASS_H_
#define SLUICE_KERNELS_STRINGS_REGEX_ONE_PASS_H_

#include <array>
#include <cstdint>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "kernels/strings/regex/program.h"

namespace sluice {

// Where the groups of a match lie, for programs in which each byte leaves only one way to go: then one look at each
// byte of the match is enough. Most patterns whose groups anyone asks for are of this kind ("(\\d+)-(\\d+)").
// Immutable; may outlive the program.
class RegexOnePass {
 public:
  explicit RegexOnePass(const RegexProgram& program);

  // Whether the program is of this kind, and small enough. REQUIRED for Run.
  bool is_usable() const { return is_usable_; }

  // Follows text[begin, end) from the start of the program. True where a match ends at `end`; then `slots` are filled
  // as RegexPike does (those of groups beyond the ninth stay -1). Else `*stopped` is the place of the byte that leads
  // nowhere, or `end`.
  bool Run(absl::string_view text, size_t begin, size_t end, absl::Span<int64_t> slots, size_t* stopped) const;

 private:
  // What is noted and asked on the way to a byte or to the match.
  struct Way {
    uint32_t slots = 0;   // As bits: those that receive the place.
    uint32_t places = 0;  // All must hold.
  };
  struct Action {
    int32_t next = kNowhere;  // The node after the byte.
    Way way;
  };
  struct MatchEnd {
    bool is_reachable = false;
    Way way;
  };
  // An instruction still to be followed, and the way to it.
  struct Open {
    int32_t inst;
    Way way;
  };
  static constexpr int32_t kNowhere = -1;

  bool Build(const RegexProgram& program);
  // Adds what instruction `entry` leads to as one more node. False where there are two ways, or too many nodes.
  bool AddNode(const RegexProgram& program, int32_t entry);
  bool AddBytes(const RegexProgram& program, const RegexInst& inst, const Way& way, size_t row);
  int32_t NodeOf(int32_t inst);
  static void Note(const Way& way, size_t at, absl::Span<int64_t> slots);
  static bool Holds(const Way& way, absl::string_view text, size_t at);

  bool is_usable_ = false;
  size_t num_classes_ = 0;
  std::array<uint8_t, 256> byte_class_{};
  std::vector<Action> actions_;  // By node and class of bytes.
  std::vector<MatchEnd> ends_;   // By node.
  // Of Build only.
  std::vector<int32_t> entries_;  // The instruction that each node begins with.
  std::vector<int32_t> nodes_;    // By instruction.
  std::vector<int32_t> marks_;    // By instruction: 1 + the node that last reached it.
  std::vector<Open> open_;
};

}  // namespace sluice

#endif  // SLUICE_KERNELS_STRINGS_REGEX_ONE_PASS_H_

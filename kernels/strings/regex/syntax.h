#ifndef SLUICE_KERNELS_STRINGS_REGEX_SYNTAX_H_
#define SLUICE_KERNELS_STRINGS_REGEX_SYNTAX_H_

// A regular expression as a tree: what the parser makes and the compiler reads.

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "kernels/strings/unicode/unicode.h"

namespace sluice {

enum class RegexOp : uint8_t {
  kEmpty,         // Matches where it stands.
  kRanges,        // One code point of `ranges`; none where that is empty.
  kAnyByte,       // \C
  kBeginLine,     // ^ with flag m
  kEndLine,       // $ with flag m
  kBeginText,     // \A, and ^ without the flag
  kEndText,       // \z, and $ without the flag
  kWordBoundary,  // \b
  kNoWordBoundary,
  kCapture,  // Group number `min`.
  kRepeat,   // `min` to `max` times; as few as possible where `is_lazy`.
  kConcat,
  kAlternate,
};

// One node. Children stand before their parents in the tree's list.
struct RegexNode {
  static constexpr int kUnbounded = -1;

  RegexOp op = RegexOp::kEmpty;
  bool is_lazy = false;
  int min = 0;
  int max = kUnbounded;
  int copies = 1;  // How often a part below may stand in the expression when counted repeats are written out.
  std::vector<RuneRange> ranges;  // Ascending and apart.
  std::vector<int> children;
};

// A whole expression. A value.
struct RegexTree {
  std::vector<RegexNode> nodes;
  int root = 0;
  int num_groups = 0;  // Without the whole match.
};

// Parses `pattern` by the rules of RE2 as TensorFlow uses it: UTF-8, Perl's classes, Unicode groups, no flags set.
// INVALID_ARGUMENT with RE2's words ("missing ]: [a") where it is not well-formed, or is nested too deeply.
absl::StatusOr<RegexTree> ParseRegex(absl::string_view pattern);

}  // namespace sluice

#endif  // SLUICE_KERNELS_STRINGS_REGEX_SYNTAX_H_

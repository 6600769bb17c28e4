#ifndef SLUICE_KERNELS_STRINGS_REGEX_REGEX_H_
#define SLUICE_KERNELS_STRINGS_REGEX_REGEX_H_

// Regular expressions with the syntax, the meaning and the errors of RE2 as TensorFlow uses it: linear time, bounded
// memory, no recursion in the text.
//
//   SLUICE_ASSIGN_OR_RETURN(const Regex regex, Regex::Make("(\\w+) (\\w+)"));
//   RegexMatcher matcher(regex);
//   if (matcher.MatchesAll(text)) ...
//   RegexReplacer replacer(regex, "\\2 \\1", /*all=*/true);
//   replacer.Replace(text, &changed);

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "kernels/strings/regex/program.h"

namespace sluice {

class RegexEngines;

// A compiled expression. Immutable, cheap to copy; copies share the program, and the engines that no matcher uses at
// the moment: what these have learned serves the next call.
class Regex {
 public:
  // kOpValue with RE2's words: "Invalid pattern: [, error: missing ]: [".
  static absl::StatusOr<Regex> Make(absl::string_view pattern);

  const RegexProgram& program() const;
  int num_groups() const { return program().num_groups; }

 private:
  friend class RegexMatcher;
  class Shared;

  explicit Regex(std::shared_ptr<Shared> shared) : shared_(std::move(shared)) {}

  std::shared_ptr<Shared> shared_;  // Shared by all matchers, on any thread.
};

// Matches texts against one expression, with engines that it borrows from it as long as it lives. For one thread at a
// time.
class RegexMatcher {
 public:
  explicit RegexMatcher(const Regex& regex);
  ~RegexMatcher();
  RegexMatcher(const RegexMatcher&) = delete;
  RegexMatcher& operator=(const RegexMatcher&) = delete;

  bool MatchesAll(absl::string_view text);
  // The leftmost match from text[begin] on. `slots`: two for the match and two for each group wanted, of groups up to
  // the ninth, as RegexPike fills them.
  bool Find(absl::string_view text, size_t begin, absl::Span<int64_t> slots);

 private:
  const Regex regex_;
  std::unique_ptr<RegexEngines> engines_;
};

// Replaces matches by a text in which \0 to \9 stand for the match and its groups and \\ for a backslash. What is
// malformed in it has RE2's consequences: nothing is replaced where it names a group that is not there. For one thread
// at a time.
class RegexReplacer {
 public:
  // `rewrite` must outlive this.
  RegexReplacer(const Regex& regex, absl::string_view rewrite, bool all);

  // Whether anything was replaced; then `*result` is the new text. False too where it would have more than `max_bytes`,
  // and then *is_too_long becomes true.
  bool Replace(absl::string_view text, size_t max_bytes, std::string* result, bool* is_too_long);

 private:
  // A part of the rewrite: a text, or (group >= 0) what a group matched.
  struct Piece {
    absl::string_view text;
    int group = -1;
  };

  // Cuts the rewrite into pieces, up to where it is malformed.
  void ReadRewrite(absl::string_view rewrite);
  // Adds the rewritten match to `*result`.
  void Rewrite(absl::string_view text, std::string* result) const;

  RegexMatcher matcher_;
  const bool all_;
  std::vector<Piece> pieces_;
  bool is_rewrite_good_ = true;
  bool names_missing_group_ = false;
  std::vector<int64_t> slots_;
};

}  // namespace sluice

#endif  // SLUICE_KERNELS_STRINGS_REGEX_REGEX_H_

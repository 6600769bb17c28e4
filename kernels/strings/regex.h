#ifndef SLUICE_KERNELS_STRINGS_REGEX_H_
#define SLUICE_KERNELS_STRINGS_REGEX_H_

// Regular expressions as the ops use them: RE2 with the errors of the ops and a limit for what a rewrite makes.
//
//   SLUICE_ASSIGN_OR_RETURN(const Regex regex, Regex::Make("(\\w+) (\\w+)"));
//   if (regex.MatchesAll(text)) ...
//   RegexReplacer replacer(regex, "\\2 \\1", /*all=*/true);
//   replacer.Replace(text, max_bytes, &changed, &is_too_long);

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "re2/re2.h"

namespace sluice {

// A compiled expression. Immutable and thread-safe; copies share it.
class Regex {
 public:
  // kOpValue with RE2's words: "Invalid pattern: [, error: missing ]: [".
  static absl::StatusOr<Regex> Make(absl::string_view pattern);

  bool MatchesAll(absl::string_view text) const;
  int num_groups() const { return re2_->NumberOfCapturingGroups(); }
  const RE2& re2() const { return *re2_; }

 private:
  explicit Regex(std::shared_ptr<const RE2> re2) : re2_(std::move(re2)) {}

  std::shared_ptr<const RE2> re2_;
};

// Replaces matches by a text in which \0 to \9 stand for the match and its groups and \\ for a backslash. A malformed
// rewrite has RE2's consequences: nothing is replaced where it names a group that the expression lacks. For one thread
// at a time.
class RegexReplacer {
 public:
  // `rewrite` must outlive this.
  RegexReplacer(Regex regex, absl::string_view rewrite, bool all);

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
  // Finds the leftmost match from text[begin] on.
  bool Find(absl::string_view text, size_t begin);
  // Adds the rewritten match to `*result`; false where that would have more than `max_bytes`.
  bool Rewrite(size_t max_bytes, std::string* result) const;

  const Regex regex_;
  const bool all_;
  std::vector<Piece> pieces_;
  bool is_rewrite_good_ = true;
  bool names_missing_group_ = false;
  std::vector<re2::StringPiece> groups_;  // Of the last match: all of it, then its groups.
};

}  // namespace sluice

#endif  // SLUICE_KERNELS_STRINGS_REGEX_H_

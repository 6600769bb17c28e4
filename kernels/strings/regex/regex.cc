#include "kernels/strings/regex/regex.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "graph/base/error.h"
#include "kernels/strings/regex/escape.h"
#include "kernels/strings/regex/syntax.h"
#include "kernels/strings/unicode/utf8.h"

namespace sluice {
namespace {

bool IsDigit(char c) { return c >= '0' && c <= '9'; }

void AppendPart(absl::string_view text, size_t begin, size_t end, std::string* out) {
  out->append(text.data() + begin, end - begin);
}

// The largest group that `rewrite` names; 0 where it names none.
int LargestGroup(absl::string_view rewrite) {
  int largest = 0;
  for (size_t i = 0; i + 1 < rewrite.size(); ++i) {
    if (rewrite[i] != '\\') continue;
    ++i;
    if (IsDigit(rewrite[i])) largest = std::max(largest, rewrite[i] - '0');
  }
  return largest;
}

// The bytes of the code point at the front; a surrogate is one, and what is none is a byte.
size_t StepSize(absl::string_view text) {
  const DecodedRune next = DecodeUtf8(text);
  if (next.is_valid) return static_cast<size_t>(next.size);
  return text.size() >= 3 && IsPatternText(text.substr(0, 3)) ? 3 : 1;
}

absl::Status InvalidPattern(absl::string_view pattern, const absl::Status& why) {
  return Error(ErrorCode::kOpValue)
      .Text(absl::StrCat("Invalid pattern: ", PrintableName(pattern), ", error: ", PrintableName(why.message())));
}

}  // namespace

absl::StatusOr<Regex> Regex::Make(absl::string_view pattern) {
  const absl::StatusOr<RegexTree> tree = ParseRegex(pattern);
  if (!tree.ok()) return InvalidPattern(pattern, tree.status());
  absl::StatusOr<RegexProgram> program = CompileRegex(*tree);
  if (!program.ok()) return InvalidPattern(pattern, program.status());
  return Regex(std::make_shared<const RegexProgram>(*std::move(program)));
}

RegexMatcher::RegexMatcher(const Regex& regex)
    : regex_(regex),
      whole_(regex.program(), RegexDfa::Goal::kWholeText),
      first_(regex.program(), RegexDfa::Goal::kFirst),
      pike_(regex.program()) {}

bool RegexMatcher::Find(absl::string_view text, size_t begin, absl::Span<int64_t> slots) {
  const int64_t end = first_.Run(text, begin);
  return end >= 0 && pike_.Run(text, begin, static_cast<size_t>(end), slots);
}

RegexReplacer::RegexReplacer(const Regex& regex, absl::string_view rewrite, bool all)
    : matcher_(regex), rewrite_(rewrite), all_(all) {
  const int groups = LargestGroup(rewrite);
  names_missing_group_ = groups > regex.num_groups();
  slots_.resize(2 * static_cast<size_t>(groups + 1));
}

bool RegexReplacer::Rewrite(absl::string_view text, std::string* result) const {
  for (size_t i = 0; i < rewrite_.size(); ++i) {
    if (rewrite_[i] != '\\') {
      result->push_back(rewrite_[i]);
      continue;
    }
    ++i;
    if (i < rewrite_.size() && IsDigit(rewrite_[i])) {
      const size_t group = static_cast<size_t>(rewrite_[i] - '0');
      const int64_t begin = slots_[2 * group], end = slots_[2 * group + 1];
      if (begin >= 0 && end >= begin) {
        AppendPart(text, static_cast<size_t>(begin), static_cast<size_t>(end), result);
      }
    } else if (i < rewrite_.size() && rewrite_[i] == '\\') {
      result->push_back('\\');
    } else {
      return false;
    }
  }
  return true;
}

bool RegexReplacer::Replace(absl::string_view text, size_t max_bytes, std::string* result, bool* is_too_long) {
  result->clear();
  if (names_missing_group_) return false;
  size_t at = 0;
  int64_t last_end = -1;
  bool has_replaced = false;
  while (at <= text.size() && matcher_.Find(text, at, absl::MakeSpan(slots_))) {
    const size_t begin = static_cast<size_t>(slots_[0]), end = static_cast<size_t>(slots_[1]);
    AppendPart(text, at, begin, result);
    if (begin == end && static_cast<int64_t>(begin) == last_end) {
      // An empty match where the last one ended does not count; the search goes on behind the next code point.
      if (begin < text.size()) {
        at = begin + StepSize(text.substr(begin));
        AppendPart(text, begin, at, result);
      } else {
        at = begin + 1;
      }
      continue;
    }
    const bool is_good = Rewrite(text, result);
    if (result->size() > max_bytes) {
      *is_too_long = true;
      return false;
    }
    at = end;
    last_end = slots_[1];
    has_replaced = true;
    if (!all_) {
      if (!is_good) return false;
      break;
    }
  }
  if (!has_replaced) return false;
  if (at < text.size()) AppendPart(text, at, text.size(), result);
  return true;
}

}  // namespace sluice

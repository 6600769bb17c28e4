#include "kernels/strings/regex/regex.h"

#include <algorithm>
#include <array>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/strings/str_cat.h"
#include "graph/base/error.h"
#include "graph/base/mutex.h"
#include "kernels/strings/regex/backtracker.h"
#include "kernels/strings/regex/dfa.h"
#include "kernels/strings/regex/escape.h"
#include "kernels/strings/regex/one_pass.h"
#include "kernels/strings/regex/pike.h"
#include "kernels/strings/regex/syntax.h"
#include "kernels/strings/unicode/utf8.h"

namespace sluice {
namespace {

bool IsDigit(char c) { return c >= '0' && c <= '9'; }

void AppendPart(absl::string_view text, size_t begin, size_t end, std::string* out) {
  out->append(text.data() + begin, end - begin);
}

// The largest group that `rewrite` names, also after a place where it is malformed; 0 where it names none.
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

// What a matcher works with. For one thread at a time.
class RegexEngines {
 public:
  RegexEngines(const RegexProgram& program, const RegexOnePass& one_pass)
      : program_(program),
        one_pass_(one_pass),
        whole_(program, RegexDfa::Goal::kWholeText),
        first_(program, RegexDfa::Goal::kFirst),
        backtracker_(program),
        pike_(program) {}

  RegexDfa& whole() { return whole_; }
  RegexDfa& first() { return first_; }

  // Where the leftmost match from text[begin] on, which ends at `end`, begins, and its groups: by the fastest engine
  // that can.
  bool FindGroups(absl::string_view text, size_t begin, size_t end, absl::Span<int64_t> slots) {
    if (one_pass_.is_usable()) {
      // Each place is tried, and the first that leads to `end` is it. A text may be made so that this takes long; then
      // the others, which never look at a byte twice, take over.
      size_t left = 256 + 8 * (end - begin);
      for (size_t from = begin, stopped = 0; from <= end; ++from) {
        if (from < end && !program_.first_bytes[static_cast<uint8_t>(text[from])]) continue;
        if (one_pass_.Run(text, from, end, slots, &stopped)) return true;
        if (stopped - from >= left) break;
        left -= stopped - from;
      }
    }
    if (backtracker_.CanRun(end - begin)) return backtracker_.Run(text, begin, end, slots);
    return pike_.Run(text, begin, end, slots);
  }

 private:
  const RegexProgram& program_;
  const RegexOnePass& one_pass_;
  RegexDfa whole_;
  RegexDfa first_;
  RegexBacktracker backtracker_;
  RegexPike pike_;
};

// The program and the engines that are not in use. Thread-safe.
class Regex::Shared {
 public:
  explicit Shared(RegexProgram program) : program_(std::move(program)), one_pass_(program_) {}

  const RegexProgram& program() const { return program_; }

  std::unique_ptr<RegexEngines> Borrow() ABSL_LOCKS_EXCLUDED(mu_) {
    {
      MutexLock lock(&mu_);
      if (num_idle_ > 0) return std::move(idle_[--num_idle_]);
    }
    return std::make_unique<RegexEngines>(program_, one_pass_);
  }
  // Keeps `engines` while there is room.
  void GiveBack(std::unique_ptr<RegexEngines> engines) ABSL_LOCKS_EXCLUDED(mu_) {
    MutexLock lock(&mu_);
    if (num_idle_ < idle_.size()) idle_[num_idle_++] = std::move(engines);
  }

 private:
  // Immutable after construction.
  const RegexProgram program_;
  const RegexOnePass one_pass_;

  Mutex mu_;
  std::array<std::unique_ptr<RegexEngines>, 16> idle_ ABSL_GUARDED_BY(mu_);
  size_t num_idle_ ABSL_GUARDED_BY(mu_) = 0;
};

absl::StatusOr<Regex> Regex::Make(absl::string_view pattern) {
  const absl::StatusOr<RegexTree> tree = ParseRegex(pattern);
  if (!tree.ok()) return InvalidPattern(pattern, tree.status());
  absl::StatusOr<RegexProgram> program = CompileRegex(*tree);
  if (!program.ok()) return InvalidPattern(pattern, program.status());
  return Regex(std::make_shared<Shared>(*std::move(program)));
}

const RegexProgram& Regex::program() const { return shared_->program(); }

RegexMatcher::RegexMatcher(const Regex& regex) : regex_(regex), engines_(regex.shared_->Borrow()) {}

RegexMatcher::~RegexMatcher() { regex_.shared_->GiveBack(std::move(engines_)); }

bool RegexMatcher::MatchesAll(absl::string_view text) {
  size_t first_begin = 0;
  return engines_->whole().Run(text, 0, &first_begin) >= 0;
}

bool RegexMatcher::Find(absl::string_view text, size_t begin, absl::Span<int64_t> slots) {
  const int64_t end = engines_->first().Run(text, begin, &begin);
  return end >= 0 && engines_->FindGroups(text, begin, static_cast<size_t>(end), slots);
}

RegexReplacer::RegexReplacer(const Regex& regex, absl::string_view rewrite, bool all) : matcher_(regex), all_(all) {
  int largest = 0;
  ReadRewrite(rewrite);
  for (const Piece& piece : pieces_) largest = std::max(largest, piece.group);
  slots_.resize(2 * static_cast<size_t>(largest + 1));
  names_missing_group_ = LargestGroup(rewrite) > regex.num_groups();
}

void RegexReplacer::ReadRewrite(absl::string_view rewrite) {
  while (!rewrite.empty()) {
    const absl::string_view text = rewrite.substr(0, rewrite.find('\\'));
    if (!text.empty()) pieces_.push_back({text, -1});
    rewrite.remove_prefix(text.size());
    if (rewrite.empty()) return;
    const char escaped = rewrite.size() > 1 ? rewrite[1] : '\0';
    if (IsDigit(escaped)) {
      pieces_.push_back({absl::string_view(), escaped - '0'});
    } else if (escaped == '\\') {
      pieces_.push_back({rewrite.substr(1, 1), -1});
    } else {
      is_rewrite_good_ = false;
      return;
    }
    rewrite.remove_prefix(2);
  }
}

void RegexReplacer::Rewrite(absl::string_view text, std::string* result) const {
  for (const Piece& piece : pieces_) {
    if (piece.group < 0) {
      result->append(piece.text.data(), piece.text.size());
      continue;
    }
    const int64_t begin = slots_[2 * static_cast<size_t>(piece.group)];
    const int64_t end = slots_[2 * static_cast<size_t>(piece.group) + 1];
    if (begin >= 0 && end >= begin) {
      AppendPart(text, static_cast<size_t>(begin), static_cast<size_t>(end), result);
    }
  }
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
    Rewrite(text, result);
    if (result->size() > max_bytes) {
      *is_too_long = true;
      return false;
    }
    at = end;
    last_end = slots_[1];
    has_replaced = true;
    if (!all_) {
      if (!is_rewrite_good_) return false;
      break;
    }
  }
  if (!has_replaced) return false;
  if (at < text.size()) AppendPart(text, at, text.size(), result);
  return true;
}

}  // namespace sluice

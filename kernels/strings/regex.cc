#include "kernels/strings/regex.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "graph/base/error.h"
#include "kernels/strings/unicode/utf8.h"

namespace sluice {
namespace {

bool IsDigit(char c) { return c >= '0' && c <= '9'; }

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

// The bytes of the code point at the front of `text`, as RE2 counts them: an encoded surrogate is one code point, an
// invalid byte is a step of one.
size_t StepSize(absl::string_view text) {
  const DecodedRune next = DecodeUtf8(text);
  if (next.is_valid) return static_cast<size_t>(next.size);
  const auto byte = [&](size_t i) { return static_cast<uint8_t>(text[i]); };
  const bool is_surrogate =
      text.size() >= 3 && byte(0) == 0xed && byte(1) >= 0xa0 && byte(1) <= 0xbf && byte(2) >= 0x80 && byte(2) <= 0xbf;
  return is_surrogate ? 3 : 1;
}

re2::StringPiece AsPiece(absl::string_view text) { return re2::StringPiece(text.data(), text.size()); }

}  // namespace

absl::StatusOr<Regex> Regex::Make(absl::string_view pattern) {
  auto re2 = std::make_shared<const RE2>(AsPiece(pattern), RE2::Quiet);
  if (re2->ok()) return Regex(std::move(re2));
  return Error(ErrorCode::kOpValue)
      .Text(absl::StrCat("Invalid pattern: ", PrintableName(pattern), ", error: ", PrintableName(re2->error())));
}

bool Regex::MatchesAll(absl::string_view text) const { return RE2::FullMatch(AsPiece(text), *re2_); }

RegexReplacer::RegexReplacer(Regex regex, absl::string_view rewrite, bool all)
    : regex_(std::move(regex)), all_(all), names_missing_group_(LargestGroup(rewrite) > regex_.num_groups()) {
  ReadRewrite(rewrite);
  int largest = 0;
  for (const auto& piece : pieces_) largest = std::max(largest, piece.group);
  groups_.resize(static_cast<size_t>(largest) + 1);
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

bool RegexReplacer::Find(absl::string_view text, size_t begin) {
  return regex_.re2().Match(AsPiece(text), begin, text.size(), RE2::UNANCHORED, groups_.data(),
                            static_cast<int>(groups_.size()));
}

bool RegexReplacer::Rewrite(size_t max_bytes, std::string* result) const {
  for (const auto& piece : pieces_) {
    const absl::string_view group = piece.group < 0
                                        ? piece.text
                                        : absl::string_view(groups_[static_cast<size_t>(piece.group)].data(),
                                                            groups_[static_cast<size_t>(piece.group)].size());
    if (group.size() > max_bytes || result->size() > max_bytes - group.size()) return false;
    result->append(group.data(), group.size());
  }
  return true;
}

bool RegexReplacer::Replace(absl::string_view text, size_t max_bytes, std::string* result, bool* is_too_long) {
  result->clear();
  if (names_missing_group_) return false;
  size_t at = 0;
  const char* last_end = nullptr;
  bool has_replaced = false;
  while (at <= text.size() && Find(text, at)) {
    const re2::StringPiece& match = groups_[0];
    const size_t begin = static_cast<size_t>(match.data() - text.data());
    result->append(text.data() + at, begin - at);
    if (match.empty() && match.data() == last_end) {
      // An empty match where the last one ended does not count; the search goes on behind the next code point.
      at = begin + (begin < text.size() ? StepSize(text.substr(begin)) : 1);
      result->append(text.data() + begin, std::min(at, text.size()) - begin);
      continue;
    }
    if (!Rewrite(max_bytes, result)) {
      *is_too_long = true;
      return false;
    }
    at = begin + match.size();
    last_end = match.data() + match.size();
    has_replaced = true;
    if (!all_) {
      if (!is_rewrite_good_) return false;
      break;
    }
  }
  if (!has_replaced) return false;
  if (at < text.size()) result->append(text.data() + at, text.size() - at);
  if (result->size() > max_bytes) *is_too_long = true;
  return !*is_too_long;
}

}  // namespace sluice

#include "kernels/strings/regex/rune_set.h"

#include <algorithm>
#include <utility>

namespace sluice {
namespace {

// A class as pairs of first and last characters.
struct NamedClass {
  absl::string_view name;
  absl::string_view pairs;
};

constexpr NamedClass kPosixClasses[] = {
    {"alnum", "09AZaz"},
    {"alpha", "AZaz"},
    {"ascii", absl::string_view("\0\x7f", 2)},
    {"blank", "\t\t  "},
    {"cntrl", absl::string_view("\0\x1f\x7f\x7f", 4)},
    {"digit", "09"},
    {"graph", "!~"},
    {"lower", "az"},
    {"print", " ~"},
    {"punct", "!/:@[`{~"},
    {"space", "\t\r  "},
    {"upper", "AZ"},
    {"word", "09AZ__az"},
    {"xdigit", "09AFaf"},
};

constexpr NamedClass kPerlClasses[] = {{"d", "09"}, {"s", "\t\n\f\r  "}, {"w", "09AZ__az"}};

bool Find(absl::Span<const NamedClass> classes, absl::string_view name, std::vector<RuneRange>* ranges) {
  for (const NamedClass& one : classes) {
    if (one.name != name) continue;
    ranges->clear();
    for (size_t i = 0; i + 1 < one.pairs.size(); i += 2) {
      ranges->push_back({static_cast<uint8_t>(one.pairs[i]), static_cast<uint8_t>(one.pairs[i + 1])});
    }
    return true;
  }
  return false;
}

}  // namespace

void RuneSet::AddFolded(uint32_t first, uint32_t last) {
  Add(first, last);
  const std::vector<uint32_t>& runes = FoldingRunes();
  for (auto rune = std::lower_bound(runes.begin(), runes.end(), first); rune != runes.end() && *rune <= last; ++rune) {
    for (uint32_t other = NextFold(*rune); other != *rune; other = NextFold(other)) {
      if (other < first || other > last) Add(other, other);
    }
  }
}

void RuneSet::AddAll(absl::Span<const RuneRange> ranges, bool fold) {
  for (const RuneRange& range : ranges) {
    if (fold) {
      AddFolded(range.first, range.last);
    } else {
      Add(range.first, range.last);
    }
  }
  if (ranges_.size() <= limit_) return;
  Normalize();
  limit_ = std::max(limit_, 2 * ranges_.size());
}

void RuneSet::Normalize() {
  std::sort(ranges_.begin(), ranges_.end(), [](const RuneRange& a, const RuneRange& b) { return a.first < b.first; });
  size_t kept = 0;
  for (const RuneRange& range : ranges_) {
    if (kept > 0 && range.first <= ranges_[kept - 1].last + 1) {
      ranges_[kept - 1].last = std::max(ranges_[kept - 1].last, range.last);
    } else {
      ranges_[kept++] = range;
    }
  }
  ranges_.resize(kept);
}

void RuneSet::Complement() {
  Normalize();
  std::vector<RuneRange> others;
  uint32_t at = 0;
  for (const RuneRange& range : ranges_) {
    if (range.first > at) others.push_back({at, range.first - 1});
    at = range.last + 1;
  }
  if (at <= kMaxRune) others.push_back({at, kMaxRune});
  ranges_ = std::move(others);
}

std::vector<RuneRange> RuneSet::Take() {
  Normalize();
  return std::move(ranges_);
}

bool FindPerlClass(char letter, std::vector<RuneRange>* ranges) {
  return Find(kPerlClasses, absl::string_view(&letter, 1), ranges);
}

bool FindPosixClass(absl::string_view name, std::vector<RuneRange>* ranges) {
  return Find(kPosixClasses, name, ranges);
}

}  // namespace sluice

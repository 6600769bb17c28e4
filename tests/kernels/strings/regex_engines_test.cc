// The engines that find the groups of a match, against each other and on random patterns and texts.

#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "gtest/gtest.h"
#include "kernels/strings/regex/backtracker.h"
#include "kernels/strings/regex/one_pass.h"
#include "kernels/strings/regex/pike.h"
#include "kernels/strings/regex/regex.h"
#include "tests/testing/status_matchers.h"

namespace sluice {
namespace {

using Slots = std::vector<int64_t>;

std::string Pick(absl::Span<const absl::string_view> choices, std::mt19937* random) {
  return std::string(choices[(*random)() % choices.size()]);
}

std::string RandomPattern(int depth, std::mt19937* random) {
  constexpr absl::string_view kAtoms[] = {"a",   "b", "c", "ab",  ".",    "\\d",      "\\w", "[ab]", "[^a]",
                                          "\\b", "^", "$", "\\B", "\\pL", "\xc3\xa9", "\\C", "()",   "(?:)"};
  constexpr absl::string_view kRepeats[] = {"*", "+", "?", "*?", "+?", "??", "{2}", "{0,2}", "{1,}?"};
  const auto part = [&] { return RandomPattern(depth - 1, random); };
  switch (depth <= 0 ? 0 : (*random)() % 6) {
    case 1:
      return absl::StrCat(part(), part());
    case 2:
      return absl::StrCat("(", part(), "|", part(), ")");
    case 3:
      return absl::StrCat("(", part(), ")", part());
    case 4:
      return absl::StrCat("(?:", part(), ")", Pick(kRepeats, random));
    default:
      return Pick(kAtoms, random);
  }
}

std::string RandomText(std::mt19937* random) {
  constexpr absl::string_view kParts[] = {"a", "b", "c", "ab", " ", "1", "\n", "\xc3\xa9", "\xff"};
  std::string text;
  for (size_t left = (*random)() % 12; left > 0; --left) text += Pick(kParts, random);
  return text;
}

// What `find(begin, end, slots)` says from the place where a match really begins, or -1s.
template <typename Find>
Slots GroupsOf(size_t num_slots, Find find) {
  Slots slots(num_slots, -1);
  if (!find(absl::MakeSpan(slots))) slots.assign(num_slots, -1);
  return slots;
}

TEST(RegexEnginesTest, AllFindTheSameGroups) {
  std::mt19937 random(11);
  int num_one_pass = 0, num_matches = 0;
  for (int trial = 0; trial < 3000; ++trial) {
    const std::string pattern = RandomPattern(4, &random);
    ASSERT_OK_AND_ASSIGN(const Regex regex, Regex::Make(pattern));
    RegexMatcher matcher(regex);
    RegexPike pike(regex.program());
    RegexBacktracker backtracker(regex.program());
    const RegexOnePass one_pass(regex.program());
    const size_t num_slots = 2 * (1 + static_cast<size_t>(std::min(regex.num_groups(), 9)));
    for (int i = 0; i < 4; ++i) {
      const std::string text = RandomText(&random);
      SCOPED_TRACE(absl::StrCat(pattern, " on ", text));
      const Slots found = GroupsOf(num_slots, [&](auto slots) { return matcher.Find(text, 0, slots); });
      const Slots piked = GroupsOf(num_slots, [&](auto slots) { return pike.Run(text, 0, text.size(), slots); });
      ASSERT_EQ(found, piked);
      if (found[0] < 0) continue;
      ++num_matches;
      const size_t begin = static_cast<size_t>(found[0]), end = static_cast<size_t>(found[1]);
      ASSERT_TRUE(backtracker.CanRun(end));
      EXPECT_EQ(GroupsOf(num_slots, [&](auto slots) { return backtracker.Run(text, 0, end, slots); }), found);
      if (!one_pass.is_usable()) continue;
      ++num_one_pass;
      size_t stopped = 0;
      EXPECT_EQ(GroupsOf(num_slots, [&](auto slots) { return one_pass.Run(text, begin, end, slots, &stopped); }),
                found);
    }
  }
  EXPECT_GT(num_matches, 1000);
  EXPECT_GT(num_one_pass, 300);
}

// Random bytes, and patterns with random bytes in them, are refused or compiled; nothing else happens.
TEST(RegexEnginesTest, TakesAnyBytesAsAPattern) {
  constexpr absl::string_view kParts[] = {"(",    ")",
                                          "[",    "]",
                                          "{",    "}",
                                          "*",    "+",
                                          "?",    "|",
                                          "\\",   "^",
                                          "$",    "-",
                                          ":",    "<",
                                          ">",    "P",
                                          "p",    "L",
                                          "x",    "Q",
                                          "E",    "1",
                                          "0",    "9",
                                          ",",    "i",
                                          "a",    "[:alpha:]",
                                          "\\p{", "(?",
                                          "\xff", "\xed\xa0\x80",
                                          "\\x{", "{1000}",
                                          "(?P<"};
  std::mt19937 random(5);
  int num_good = 0;
  for (int trial = 0; trial < 20000; ++trial) {
    std::string pattern;
    for (size_t left = random() % 12; left > 0; --left) {
      pattern += random() % 16 == 0 ? std::string(1, static_cast<char>(random())) : Pick(kParts, &random);
    }
    const absl::StatusOr<Regex> regex = Regex::Make(pattern);
    if (!regex.ok()) continue;
    ++num_good;
    RegexMatcher matcher(*regex);
    Slots slots(2, -1);
    const std::string text = RandomText(&random);
    EXPECT_TRUE(!matcher.MatchesAll(text) || matcher.Find(text, 0, absl::MakeSpan(slots))) << pattern;
  }
  EXPECT_GT(num_good, 1000);
}

// A pattern with one way at each byte whose failing starts are long: time stays linear, and the answer the same.
TEST(RegexEnginesTest, ManyFalseStartsCostNoMoreThanTheText) {
  ASSERT_OK_AND_ASSIGN(const Regex regex, Regex::Make("(\\w+)!(\\d+)"));
  const std::string text = std::string(300000, 'a') + " b!12";
  RegexMatcher matcher(regex);
  Slots slots(6, -1);
  ASSERT_TRUE(matcher.Find(text, 0, absl::MakeSpan(slots)));
  EXPECT_EQ(slots, (Slots{300001, 300005, 300001, 300002, 300003, 300005}));
  ASSERT_OK_AND_ASSIGN(const Regex bounded, Regex::Make("\\b(\\w+)!(\\d+)"));
  RegexMatcher bounded_matcher(bounded);
  ASSERT_TRUE(bounded_matcher.Find(text, 0, absl::MakeSpan(slots)));
  EXPECT_EQ(slots, (Slots{300001, 300005, 300001, 300002, 300003, 300005}));
  ASSERT_OK_AND_ASSIGN(const Regex anywhere, Regex::Make("(\\w+)\\b!(\\d+)"));
  RegexMatcher anywhere_matcher(anywhere);
  ASSERT_TRUE(anywhere_matcher.Find(text, 0, absl::MakeSpan(slots)));
  EXPECT_EQ(slots, (Slots{300001, 300005, 300001, 300002, 300003, 300005}));
}

}  // namespace
}  // namespace sluice

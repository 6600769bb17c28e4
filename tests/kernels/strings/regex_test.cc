#include "kernels/strings/regex.h"

#include <atomic>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "tests/testing/status_matchers.h"

namespace sluice {
namespace {

constexpr size_t kNoLimit = size_t{1} << 30;

// A pattern, a text, and what TensorFlow 2.19 says: whether all of the text matches, all matches replaced by "<\\0>",
// and the first one by "<\\1>" (which leaves the text alone where there is no group).
struct MatchRow {
  absl::string_view pattern, text;
  bool matches_all;
  absl::string_view all_replaced, first_replaced;
};

// Texts and patterns have no zero bytes but for "\\0", whose row stands in a test of its own.
constexpr MatchRow kMatchRows[] = {
    {"a+", "xaay", false, "x<aa>y", "xaay"},
    {"a+?", "aaa", true, "<a><a><a>", "aaa"},
    {"a*", "baac", false, "<>b<aa>c<>", "baac"},
    {"a*?", "aa", true, "<>a<>a<>", "aa"},
    {"a??b", "aab", false, "a<ab>", "aab"},
    {"(a|ab)(c|bcd)(d*)", "abcd", true, "<abcd>", "<a>"},
    {"(a*)*", "aab", false, "<aa>b<>", "<aa>b"},
    {"(a*)+", "aab", false, "<aa>b<>", "<aa>b"},
    {"(|a)*", "aa", true, "<>a<>a<>", "<>aa"},
    {"(|a)+", "aa", true, "<>a<>a<>", "<>aa"},
    {"(a|b)*?c", "abc", true, "<abc>", "<b>"},
    {"((a)|b)*", "ab", true, "<ab>", "<b>"},
    {"^a", "aa", false, "<a>a", "aa"},
    {"a$", "aa", false, "a<a>", "aa"},
    {"(?m)^a$", "b\na\nc", false, "b\n<a>\nc", "b\na\nc"},
    {"(?m)^", "a\nb", false, "<>a\n<>b", "a\nb"},
    {"(?m)$", "a\nb", false, "a<>\nb<>", "a\nb"},
    {"\\Aa", "aa", false, "<a>a", "aa"},
    {"a\\z", "aa", false, "a<a>", "aa"},
    {"\\bfoo\\b", "a foo b", false, "a <foo> b", "a foo b"},
    {"\\B", "ab c", false, "a<>b c", "ab c"},
    {"\\b", "ab c", false, "<>ab<> <>c<>", "ab c"},
    {".", "a\nb", false, "<a>\n<b>", "a\nb"},
    {"(?s).", "a\nb", false, "<a><\n><b>", "a\nb"},
    {"\\C", "\303\251", false, "<\303><\251>", "\303\251"},
    {"[^a]", "a\nb", false, "a<\n><b>", "a\nb"},
    {"[[:alpha:]]+", "aB1\303\251", false, "<aB>1\303\251", "aB1\303\251"},
    {"[[:^alpha:]]+", "aB1\303\251", false, "aB<1\303\251>", "aB1\303\251"},
    {"[[:word:]]", "_", true, "<_>", "_"},
    {"\\d+", "a12", false, "a<12>", "a12"},
    {"\\D+", "a12", false, "<a>12", "a12"},
    {"\\w+", "a\303\261b", false, "<a>\303\261<b>", "a\303\261b"},
    {"\\s", "a\013b c", false, "a\013b< >c", "a\013b c"},
    {"\\pL+", "a\303\251\320\2611", false, "<a\303\251\320\261>1", "a\303\251\320\2611"},
    {"\\p{Greek}+", "a\316\261\316\262", false, "a<\316\261\316\262>", "a\316\261\316\262"},
    {"\\P{Ll}+", "aBC", false, "a<BC>", "aBC"},
    {"\\p{^Lu}", "aB", false, "<a>B", "aB"},
    {"[\\pN-]+", "1-\302\262", true, "<1-\302\262>", "1-\302\262"},
    {"\\x41\\x{e9}\\101", "A\303\251A", true, "<A\303\251A>", "A\303\251A"},
    {"\\Qa.b\\E*", "a.bbb", true, "<a.bbb>", "a.bbb"},
    {"\\Qa.b", "a.b", true, "<a.b>", "a.b"},
    {"a{2}", "aaaa", false, "<aa><aa>", "aaaa"},
    {"a{2,}", "aaaaa", true, "<aaaaa>", "aaaaa"},
    {"a{1,2}?", "aaa", false, "<a><a><a>", "aaa"},
    {"a{0}b", "ab", false, "a<b>", "ab"},
    {"a{,2}", "a{,2}", true, "<a{,2}>", "a{,2}"},
    {"{", "{", true, "<{>", "{"},
    {"a{1", "a{1", true, "<a{1>", "a{1"},
    {"(?i)stra\303\237e", "STRA\303\237E", true, "<STRA\303\237E>", "STRA\303\237E"},
    {"(?i)k", "\342\204\252", true, "<\342\204\252>", "\342\204\252"},
    {"(?i)\305\277", "s S", false, "<s> <S>", "s S"},
    {"(?i)[k-m]+", "KLM\342\204\252", true, "<KLM\342\204\252>", "KLM\342\204\252"},
    {"(?i)[^k]", "K\342\204\252a", false, "K\342\204\252<a>", "K\342\204\252a"},
    {"(?i:a)b", "Ab AB", false, "<Ab> AB", "Ab AB"},
    {"(?U)a+", "aaa", true, "<a><a><a>", "aaa"},
    {"(?U)a+?", "aaa", true, "<aaa>", "aaa"},
    {"(?-s:.)", "\n", false, "\n", "\n"},
    {"(?i)(?-i:a)b", "aB AB", false, "<aB> AB", "aB AB"},
    {"(?P<n>a)(?P<n>b)", "ab", true, "<ab>", "<a>"},
    {"(?P<\303\251t\303\251_1>x)", "x", true, "<x>", "<x>"},
    {"(?:a|b)+", "abba", true, "<abba>", "abba"},
    {"a||b", "ab", false, "<a>b<>", "ab"},
    {"()", "ab", false, "<>a<>b<>", "<>ab"},
    {"", "ab", false, "<>a<>b<>", "ab"},
    {"x*", "axb", false, "<>a<x>b<>", "axb"},
    {"[]a]+", "a]", true, "<a]>", "a]"},
    {"[^]a]", "b]", false, "<b>]", "b]"},
    {"[a-]+", "a-", true, "<a->", "a-"},
    {"[-a]+", "a-", true, "<a->", "a-"},
    {"\346\227\245\346\234\254?", "\346\227\245\346\234\254\346\227\245", false,
     "<\346\227\245\346\234\254><\346\227\245>", "\346\227\245\346\234\254\346\227\245"},
    {"[\346\227\245-\346\234\254]", "\346\227\245", true, "<\346\227\245>", "\346\227\245"},
    {"[^\346\227\245]", "\346\227\245\346\234\254", false, "\346\227\245<\346\234\254>", "\346\227\245\346\234\254"},
    {".", "\360\237\230\200", true, "<\360\237\230\200>", "\360\237\230\200"},
    {"\\_", "_", true, "<_>", "_"},
    {"\\-\\/", "-/", true, "<-/>", "-/"},
    {"^*", "a", false, "<>a<>", "a"},
    {"\\b+", "a b", false, "<>a<> <>b<>", "a b"},
    {"(?:)*", "a", false, "<>a<>", "a"},
    {"(a)(b)?", "ab", true, "<ab>", "<a>"},
    {"(a)|(b)", "ba", false, "<b><a>", "<>a"},
    {"(\\w)(\\w)", "abcd", false, "<ab><cd>", "<a>cd"},
    {"\\07", "\007", true, "<\007>", "\007"},
    {"a|ab|abc", "abc", true, "<a>bc", "abc"},
    {"abc|ab|a", "abc", true, "<abc>", "abc"},
    {"(?:a*b|a)*", "aabaa", true, "<aabaa>", "aabaa"},
    {"[\\w.]+@[\\w.]+", "me@x.org, you@y.de", false, "<me@x.org>, <you@y.de>", "me@x.org, you@y.de"},
    {"^\\s+|\\s+$", "  a b ", false, "<  >a b< >", "  a b "},
    {"(\\d{4})-(\\d\\d)-(\\d\\d)", "on 2024-01-31.", false, "on <2024-01-31>.", "on <2024>."},
    {"([^,]*),?", "a,b,,c", false, "<a,><b,><,><c>", "<a>b,,c"},
    {"\\p{Any}", "\303\251", true, "<\303\251>", "\303\251"},
    {"[^\\x00-\\x{10ffff}]", "a", false, "a", "a"},
    {"a.*b|a", "axxbxxa", false, "<axxb>xx<a>", "axxbxxa"},
    {"(?s)a.*?b", "a\nb b", true, "<a\nb> b", "a\nb b"},
    {"\\pZ", "a\302\240b", false, "a<\302\240>b", "a\302\240b"},
    {"[[:punct:]]+", "a!?b", false, "a<!?>b", "a!?b"},
    {"[\303\244-\303\266]+", "a\303\244\303\266\303\274", false, "a<\303\244\303\266>\303\274",
     "a\303\244\303\266\303\274"},
    {".*", "\377", false, "<>\377<>", "\377"},
    {"\\C*", "\377\376", true, "<\377\376>", "\377\376"},
    {"x*", "\355\240\200", false, "<>\355\240\200<>", "\355\240\200"},
    {"\\w", "\303", false, "\303", "\303"},
    {"[^a]", "a\200b", false, "a\200<b>", "a\200b"},
    {"(?s).", "\365\200\200\200", false, "\365\200\200\200", "\365\200\200\200"},
    {"(?s).", "\340\200\200", true, "<\340\200\200>", "\340\200\200"},
    {"", "\303a", false, "<>\303<>a<>", "\303a"},
};

std::string Replace(const Regex& regex, absl::string_view text, absl::string_view rewrite, bool all) {
  RegexReplacer replacer(regex, rewrite, all);
  std::string replaced;
  bool is_too_long = false;
  return replacer.Replace(text, kNoLimit, &replaced, &is_too_long) ? replaced : std::string(text);
}

TEST(RegexTest, MatchesAndReplacesAsTensorFlowDoes) {
  for (const MatchRow& row : kMatchRows) {
    SCOPED_TRACE(absl::StrCat(row.pattern, " on ", row.text));
    ASSERT_OK_AND_ASSIGN(const Regex regex, Regex::Make(row.pattern));
    EXPECT_EQ(regex.MatchesAll(row.text), row.matches_all);
    EXPECT_EQ(Replace(regex, row.text, "<\\0>", true), row.all_replaced);
    EXPECT_EQ(Replace(regex, row.text, "<\\1>", false), row.first_replaced);
  }
}

TEST(RegexTest, ZeroBytesAreBytes) {
  ASSERT_OK_AND_ASSIGN(const Regex regex, Regex::Make("\\0"));
  EXPECT_TRUE(regex.MatchesAll(absl::string_view("\0", 1)));
  EXPECT_FALSE(regex.MatchesAll("0"));
}

// A pattern that is not well-formed, and what TensorFlow says of it.
struct BadRow {
  absl::string_view pattern, error;
};

constexpr BadRow kBadRows[] = {
    {"(", "missing ): ("},
    {")", "unexpected ): )"},
    {"[", "missing ]: ["},
    {"a**", "bad repetition operator: **"},
    {"a{1001}", "invalid repetition size: {1001}"},
    {"*a", "no argument for repetition operator: *"},
    {"a|*", "no argument for repetition operator: *"},
    {"(?P<n", "invalid named capture group: (?P<n"},
    {"(?P<>a)", "invalid named capture group: (?P<>"},
    {"\\", "trailing \\"},
    {"\\8", "invalid escape sequence: \\8"},
    {"\\1", "invalid escape sequence: \\1"},
    {"\\y", "invalid escape sequence: \\y"},
    {"[b-a]", "invalid character class range: b-a"},
    {"[[:foo:]]", "invalid character class range: [:foo:]"},
    {"\\p{Foo}", "invalid character class range: \\p{Foo}"},
    {"\\pX", "invalid character class range: \\pX"},
    {"(?z)", "invalid perl operator: (?z"},
    {"(?i", "invalid perl operator: (?i"},
    {"x{2}{3}", "bad repetition operator: {2}{3}"},
    {"(?:a{500}){3}", "invalid repetition size: {3}"},
    {"((a{30}){30}){30}", "invalid repetition size: {30}"},
    {"\\Z", "invalid escape sequence: \\Z"},
    {"\\E", "invalid escape sequence: \\E"},
    {"[a", "missing ]: [a"},
    {"\\x{110000}", "invalid escape sequence: \\x{110000"},
    {"\\xg", "invalid escape sequence: \\xg"},
    {"\\x{}", "invalid escape sequence: \\x{}"},
    {"\\x()", "invalid escape sequence: \\x()"},
    {"\\x{12g}", "invalid escape sequence: \\x{12g"},
    {"(?", "invalid perl operator: (?"},
    {"(?P=n)", "invalid perl operator: (?P"},
    {"(?<n>a)", "invalid perl operator: (?<"},
    {"a{2,1}", "invalid repetition size: {2,1}"},
    {"(?-)", "invalid perl operator: (?-)"},
    {"(?i-)", "invalid perl operator: (?i-)"},
    {"(?P<a b>x)", "invalid named capture group: (?P<a b>"},
    {"(\\pL{100}){10}", "pattern too large - compile failed"},
    {"a*?+", "bad repetition operator: *?+"},
    {"(?#c)", "invalid perl operator: (?#"},
    {"(?=a)", "invalid perl operator: (?="},
    {"(?!a)", "invalid perl operator: (?!"},
    {"\\p", "invalid character class range: \\p"},
    {"\\p{Greek", "invalid character class range: \\p{Greek"},
    {"\\x4", "invalid escape sequence: \\x4"},
    {"[a-", "missing ]: [a-"},
    {"(?P<n>", "missing ): (?P<n>"},
    {"{2}", "no argument for repetition operator: {2}"},
    {"a\\", "trailing \\"},
};

TEST(RegexTest, SaysWhatIsWrongWithAPattern) {
  for (const BadRow& row : kBadRows) {
    const absl::StatusOr<Regex> regex = Regex::Make(row.pattern);
    EXPECT_THAT(regex, IsError(ErrorCode::kOpValue)) << row.pattern;
    EXPECT_THAT(regex, IsError(ErrorCode::kOpValue, absl::StrCat("error: ", row.error))) << row.pattern;
  }
}

TEST(RegexTest, PatternsNotInUtf8AreRefused) {
  EXPECT_THAT(Regex::Make("a\xff"), IsError(ErrorCode::kOpValue, "invalid UTF-8"));
  EXPECT_THAT(Regex::Make("[\xc3]"), IsError(ErrorCode::kOpValue, "invalid UTF-8"));
  EXPECT_OK(Regex::Make("\xed\xa0\x80"));  // A surrogate, which RE2 takes.
}

TEST(RegexTest, MalformedRewritesHaveTheConsequencesOfRe2) {
  ASSERT_OK_AND_ASSIGN(const Regex regex, Regex::Make("a(b)"));
  EXPECT_EQ(Replace(regex, "xabx", "[\\1]", true), "x[b]x");
  EXPECT_EQ(Replace(regex, "xabx", "\\2", true), "xabx");
  EXPECT_EQ(Replace(regex, "xabxab", "\\\\", true), "x\\x\\");
  EXPECT_EQ(Replace(regex, "xabx", "q\\z", true), "xqx");
  EXPECT_EQ(Replace(regex, "xabx", "q\\z", false), "xabx");
  EXPECT_EQ(Replace(regex, "xabx", "q\\", true), "xqx");
}

TEST(RegexTest, TextsThatGrowTooLongAreNotMade) {
  ASSERT_OK_AND_ASSIGN(const Regex regex, Regex::Make("a"));
  RegexReplacer replacer(regex, "0123456789", /*all=*/true);
  std::string replaced;
  bool is_too_long = false;
  EXPECT_FALSE(replacer.Replace(std::string(1000, 'a'), 100, &replaced, &is_too_long));
  EXPECT_TRUE(is_too_long);
}

// Patterns on which engines that go back take exponential time, and texts that take many states.
TEST(RegexTest, TimeIsLinearInTheText) {
  const std::string text(200000, 'a');
  for (const absl::string_view pattern : {"(a*)*b", "(a|aa)+b", "(a+)+$b", "(?:a?){100}a{100}b", "(.*)(.*)(.*)b"}) {
    ASSERT_OK_AND_ASSIGN(const Regex regex, Regex::Make(pattern));
    EXPECT_FALSE(regex.MatchesAll(text)) << pattern;
  }
}

TEST(RegexTest, SizeOfPatternsIsLimited) {
  const std::string deep = std::string(200000, '(') + std::string(200000, ')');
  EXPECT_OK(Regex::Make(deep));  // Groups are made without recursion.
  const std::string wide(2000000, 'a');
  EXPECT_THAT(Regex::Make(wide), IsError(ErrorCode::kOpValue, "too large"));
}

// Literals in \Q...\E count as those outside of it do, and so do classes before they are put in order.
TEST(RegexTest, LongPatternsAreRefusedBeforeTheyTakeMuchMemory) {
  EXPECT_THAT(Regex::Make(absl::StrCat("\\Q", std::string(2000000, 'a'))), IsError(ErrorCode::kOpValue, "too large"));
  std::string classes = "[";
  for (int i = 0; i < 20000; ++i) classes += "\\pL";
  EXPECT_OK(Regex::Make(classes + "]"));
}

// Copies of nothing still take places of the program.
TEST(RegexTest, RepeatsOfNothingAreCounted) {
  for (const absl::string_view count : {"{1000}", "{1000,}"}) {
    std::string nothings;
    for (int i = 0; i < 1000; ++i) nothings += "(?:)";
    EXPECT_THAT(Regex::Make(absl::StrCat("(?:", nothings, ")", count, "b")), IsError(ErrorCode::kOpValue, "too large"));
  }
  std::string nothings;
  for (int i = 0; i < 100000; ++i) nothings += "(?:)";
  for (const absl::string_view count : {"*", "+"}) {
    ASSERT_OK_AND_ASSIGN(const Regex regex, Regex::Make(absl::StrCat("(?:", nothings, ")", count, "b")));
    EXPECT_TRUE(regex.MatchesAll("b"));
  }
}

TEST(RegexTest, ThreadsShareAnExpression) {
  ASSERT_OK_AND_ASSIGN(const Regex regex, Regex::Make("(\\w+) (\\w+)"));
  std::vector<std::thread> threads;
  std::atomic<int> num_wrong = 0;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&regex, &num_wrong] {
      for (int i = 0; i < 200; ++i) {
        if (Replace(regex, absl::StrCat("a", i, " b"), "\\2 \\1", true) != absl::StrCat("b a", i)) ++num_wrong;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(num_wrong, 0);
}

// A machine with more states than are kept answers as one that keeps them: "a" at the 15th place from the end.
TEST(RegexTest, StatesAreForgottenWithoutHarm) {
  ASSERT_OK_AND_ASSIGN(const Regex regex, Regex::Make("(?:a|b)*a(?:a|b){14}"));
  std::mt19937 random(7);
  for (int trial = 0; trial < 20; ++trial) {
    std::string text;
    for (int i = 0; i < 5000; ++i) text.push_back(random() % 2 == 0 ? 'a' : 'b');
    EXPECT_EQ(regex.MatchesAll(text), text[text.size() - 15] == 'a');
  }
}

}  // namespace
}  // namespace sluice

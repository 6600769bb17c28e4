#include <string>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"
#include "graph/base/error.h"
#include "gtest/gtest.h"

namespace sluice {
namespace {

TEST(PrintableNameTest, PlainNamesStayAsTheyAre) {
  for (const char* name : {"", "net/block3/conv:0", "^a", "größe", "名前", "a\\b'c"})
    EXPECT_EQ(PrintableName(name), name);
}

TEST(PrintableNameTest, WhatIsUnsafeOnATerminalIsEscaped) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {std::string("a\0c", 3), "a\\x00c"},
      {"a\nb\tc", "a\\nb\\tc"},
      {"\x1b[31m", "\\x1b[31m"},
      {"\x7f", "\\x7f"},
      {"\xc2\x85", "\\u0085"},
      {"a\xe2\x80\xae"
       "b",
       "a\\u202eb"},
      {"\xe2\x81\xa6", "\\u2066"},
      {"\xef\xbb\xbf", "\\ufeff"},
      {"\xe2\x80\xa8", "\\u2028"},
      {"\xd8\x9c", "\\u061c"},
  };
  for (const auto& [name, printed] : cases) EXPECT_EQ(PrintableName(name), printed);
}

// XML may not hold them.
TEST(PrintableNameTest, CodePointsThatAreNoCharactersAreEscaped) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"\xef\xbf\xbe", "\\ufffe"},
      {"\xef\xbf\xbf", "\\uffff"},
      {"\xef\xb7\x90", "\\ufdd0"},
      {"\xef\xb7\xaf", "\\ufdef"},
      {"\xf0\x9f\xbf\xbe", "\\u1fffe"},
      {"\xf0\xaf\xbf\xbf", "\\u2ffff"},
      {"\xf4\x8f\xbf\xbf", "\\u10ffff"},
      {"\xef\xb7\x8f", "\xef\xb7\x8f"},
      {"\xef\xb7\xb0", "\xef\xb7\xb0"},
      {"\xef\xbf\xbd", "\xef\xbf\xbd"},
      {"\xf0\x9f\xbf\xbd", "\xf0\x9f\xbf\xbd"},
  };
  for (const auto& [name, printed] : cases) EXPECT_EQ(PrintableName(name), printed);
}

TEST(PrintableNameTest, InvalidUtf8IsEscapedByteByByte) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"\xff", "\\xff"},                             // Never a lead byte.
      {"\xc0\xaf", "\\xc0\\xaf"},                    // Overlong slash.
      {"\xed\xa0\x80", "\\xed\\xa0\\x80"},           // Surrogate.
      {"\xf4\x90\x80\x80", "\\xf4\\x90\\x80\\x80"},  // Above U+10FFFF.
      {"\xe2\x82", "\\xe2\\x82"},                    // Cut.
      {"\xe2"
       "ab",
       "\\xe2"
       "ab"},  // No continuation.
  };
  for (const auto& [name, printed] : cases) EXPECT_EQ(PrintableName(name), printed);
}

TEST(PrintableNameTest, LongNamesAreCutInTheMiddle) {
  const std::string name = std::string(100, 'a') + std::string(100, 'z');
  const std::string printed = PrintableName(name);
  EXPECT_EQ(printed.size(), 120u);
  EXPECT_EQ(printed, std::string(59, 'a') + "..." + std::string(58, 'z'));
  EXPECT_EQ(PrintableName(std::string(120, 'a')), std::string(120, 'a'));
}

TEST(PrintableNameTest, NoCharacterIsCutInTwo) {
  std::string name;
  for (int i = 0; i < 100; ++i) name += "\xe2\x82\xac";  // Euro signs.
  for (size_t max_bytes = 4; max_bytes < 60; ++max_bytes) {
    const std::string printed = PrintableName(name, max_bytes);
    EXPECT_LE(printed.size(), max_bytes);
    EXPECT_EQ(printed.find("\\x"), std::string::npos) << printed;
  }
}

TEST(PrintableNameTest, AHugeNameCostsNoMoreThanAShortOne) {
  const std::string name(10 << 20, '\x01');
  EXPECT_LE(PrintableName(name).size(), 120u);
  EXPECT_LE(PrintableName(name, 2).size(), 2u);
  EXPECT_EQ(PrintableName("abc", 0), "");
}

}  // namespace
}  // namespace sluice

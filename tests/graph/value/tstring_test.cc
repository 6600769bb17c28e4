#include "graph/value/tstring.h"

#include <algorithm>
#include <cstdlib>
#include <random>
#include <string>
#include <utility>

#include "gtest/gtest.h"

namespace sluice {
namespace {

// The bytes of `text` as an element, as a C client sees them.
std::string Raw(const TString& text) { return std::string(reinterpret_cast<const char*>(&text), sizeof(text)); }

TEST(TStringTest, EmptyIsAllZero) { EXPECT_EQ(Raw(TString()), std::string(24, '\0')); }

TEST(TStringTest, SmallLayoutIsTensorFlows) {
  const TString text("hello");
  std::string expected(24, '\0');
  expected[0] = 5 << 2;
  expected.replace(1, 5, "hello");
  EXPECT_EQ(Raw(text), expected);
  const TString longest("0123456789012345678901");
  EXPECT_EQ(Raw(longest)[0], 22 << 2);
  EXPECT_EQ(Raw(longest).substr(1), std::string("0123456789012345678901") + '\0');
}

TEST(TStringTest, LargeLayoutIsTensorFlows) {
  const TString text("01234567890123456789012");  // 23 characters.
  uint64_t words[3];
  std::memcpy(words, &text, sizeof(words));
  EXPECT_EQ(words[0], 23u << 2 | 1u);
  EXPECT_EQ(words[1] % 16, 15u);
  EXPECT_GE(words[1], 23u);
  EXPECT_STREQ(reinterpret_cast<const char*>(words[2]), "01234567890123456789012");
}

TEST(TStringTest, ForeignViewsAndOffsetsAreReadAndCopied) {
  struct {
    uint64_t words[3];
    char text[32];
  } view = {{30u << 2 | 3u, 0, 0}, "abcdefghijklmnopqrstuvwxyz0123"};
  const char* target = view.text;
  std::memcpy(&view.words[1], &target, sizeof(target));
  const TString& as_view = *reinterpret_cast<const TString*>(view.words);
  EXPECT_EQ(as_view.view(), "abcdefghijklmnopqrstuvwxyz0123");
  struct {
    uint32_t words[6];
    char text[8];
  } offset = {{3u << 2 | 2u, 24, 1, 0, 0, 0}, "xyz"};
  TString& as_offset = *reinterpret_cast<TString*>(offset.words);
  EXPECT_EQ(as_offset.view(), "xyz");
  const TString copy = as_offset;
  EXPECT_EQ(Raw(copy)[0], 3 << 2);
  const TString moved = std::move(as_offset);
  EXPECT_EQ(moved.view(), "xyz");
  TString written = as_view;
  EXPECT_NE(written.data(), view.text);
  EXPECT_EQ(written.view(), as_view.view());
}

TEST(TStringTest, LargeBlocksMayComeFromAndGoToMalloc) {
  TString text("this is longer than what fits into the element");
  uint64_t words[3];
  std::memcpy(words, &text, sizeof(words));
  std::free(reinterpret_cast<void*>(words[2]));  // What a client's dealloc does.
  std::memset(reinterpret_cast<void*>(&text), 0, sizeof(text));
  char* const block = static_cast<char*>(std::malloc(32));
  std::strcpy(block, "made by the client, 29 chars.");
  const uint64_t theirs[3] = {29u << 2 | 1u, 31, reinterpret_cast<uint64_t>(block)};
  std::memcpy(reinterpret_cast<void*>(&text), theirs, sizeof(theirs));
  text.append("!!");
  EXPECT_EQ(text.data(), block);
  EXPECT_EQ(text.view(), "made by the client, 29 chars.!!");
}

TEST(TStringTest, AssigningAPartOfItselfWorks) {
  TString small("abcdef");
  small.assign(small.view().substr(2, 3));
  EXPECT_EQ(small.view(), "cde");
  TString large(std::string(50, 'x') + "yz");
  large.assign(large.view().substr(40));
  EXPECT_EQ(large.view(), "xxxxxxxxxxyz");
  small.append(small.view());
  EXPECT_EQ(small.view(), "cdecde");
  TString& self = small;
  small = self;
  EXPECT_EQ(small.view(), "cdecde");
}

TEST(TStringTest, BehavesAsAStringUnderRandomOperations) {
  std::mt19937 random(7);
  TString text;
  std::string model;
  for (int step = 0; step < 20000; ++step) {
    const std::string piece(random() % 40, static_cast<char>('a' + random() % 26));
    switch (random() % 6) {
      case 0:
        text.assign(piece), model = piece;
        break;
      case 1:
        text.append(piece), model += piece;
        break;
      case 2:
        text = TString(text), model = std::string(model);
        break;
      case 3: {
        TString other = std::move(text);
        text = std::move(other);
        break;
      }
      case 4: {
        const size_t size = random() % 60;
        std::memset(text.ResizeUninitialized(size) + std::min(size, model.size()), 'q',
                    size - std::min(size, model.size()));
        model.resize(size, 'q');
        break;
      }
      default:
        text.append(text.view().substr(text.size() / 2)), model += model.substr(model.size() / 2);
    }
    if (model.size() > 5000) text.clear(), model.clear();
    ASSERT_EQ(text.view(), model) << step;
    ASSERT_EQ(text.data()[text.size()], '\0');
  }
}

}  // namespace
}  // namespace sluice

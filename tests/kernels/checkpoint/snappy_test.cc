#include "kernels/checkpoint/snappy.h"

#include <random>
#include <string>

#include "gtest/gtest.h"
#include "tests/kernels/checkpoint/table_bytes.h"
#include "tests/testing/status_matchers.h"

namespace sluice {
namespace {

constexpr size_t kNoLimit = size_t{1} << 32;

std::string Bytes(std::initializer_list<int> values) {
  std::string bytes;
  for (const int value : values) bytes.push_back(static_cast<char>(value));
  return bytes;
}

// The examples of the format's description (format_description.txt of google/snappy), and one of each element.
TEST(SnappyTest, EveryKindOfElement) {
  EXPECT_EQ(SnappyDecompress(Bytes({0}), kNoLimit).value(), "");
  EXPECT_EQ(SnappyDecompress(Bytes({3, 2 << 2, 'a', 'b', 'c'}), kNoLimit).value(), "abc");
  // A copy that runs into its own result.
  EXPECT_EQ(SnappyDecompress(Bytes({12, 1 << 2, 'x', 'a', 6 << 2 | 1, 2}), kNoLimit).value(), "xaxaxaxaxaxa");
  EXPECT_EQ(SnappyDecompress(Bytes({6, 2 << 2, 'a', 'b', 'c', 2 << 2 | 2, 3, 0}), kNoLimit).value(), "abcabc");
  EXPECT_EQ(SnappyDecompress(Bytes({6, 2 << 2, 'a', 'b', 'c', 2 << 2 | 3, 3, 0, 0, 0}), kNoLimit).value(), "abcabc");
  const std::string text(300, 'q');
  EXPECT_EQ(SnappyDecompress(Bytes({0xac, 2, 61 << 2, 299 & 255, 299 >> 8}) + text, kNoLimit).value(), text);
  EXPECT_EQ(SnappyDecompress(Bytes({0xac, 2, 63 << 2, 299 & 255, 299 >> 8, 0, 0}) + text, kNoLimit).value(), text);
}

TEST(SnappyTest, WhatLeadsOutOfTheBlockIsDamage) {
  for (const std::string& bytes : {
           Bytes({}),                                             // No size.
           Bytes({0x80, 0x80, 0x80, 0x80, 0x80, 1}),              // A size of six bytes.
           Bytes({0xff, 0xff, 0xff, 0xff, 0x1f, 0}),              // A size beyond 2^32.
           Bytes({3, 2 << 2, 'a', 'b'}),                          // A literal that is cut off.
           Bytes({3, 63 << 2, 2, 0}),                             // A length that is cut off.
           Bytes({3, 63 << 2, 0xff, 0xff, 0xff, 0xff, 'a'}),      // A literal of 2^32 bytes.
           Bytes({2, 2 << 2, 'a', 'b', 'c'}),                     // More than the size says.
           Bytes({4, 2 << 2, 'a', 'b', 'c'}),                     // Less.
           Bytes({4, 0 << 2 | 1, 1}),                             // A copy before the start.
           Bytes({7, 2 << 2, 'a', 'b', 'c', 1, 4}),               // A copy from before the start.
           Bytes({7, 2 << 2, 'a', 'b', 'c', 1, 0}),               // A copy from offset 0.
           Bytes({7, 2 << 2, 'a', 'b', 'c', 3 << 2 | 2, 1}),      // An offset that is cut off.
           Bytes({7, 2 << 2, 'a', 'b', 'c', 63 << 2 | 2, 1, 0}),  // A copy beyond the size.
       }) {
    EXPECT_THAT(SnappyDecompress(bytes, kNoLimit), IsError(ErrorCode::kCheckpointDamaged)) << bytes.size();
  }
}

TEST(SnappyTest, AClaimOfGigabytesTakesNoMemory) {
  // 4 GiB - 1, from five bytes.
  EXPECT_THAT(SnappyDecompress(Bytes({0xff, 0xff, 0xff, 0xff, 0x0f, 0, 'a', 1, 1, 1}), kNoLimit),
              IsError(ErrorCode::kCheckpointDamaged, "cannot stand for"));
  EXPECT_THAT(SnappyDecompress(SnappyBytes(std::string(1000, 'a')), 999), IsError(ErrorCode::kOutOfMemory));
}

TEST(SnappyTest, WhatWasCompressedComesBack) {
  std::mt19937 random(5);
  for (int round = 0; round < 200; ++round) {
    std::string text(random() % 5000, '\0');
    const int letters = 1 + static_cast<int>(random() % 30);
    for (char& c : text) c = static_cast<char>('a' + random() % letters);
    const std::string packed = SnappyBytes(text);
    ASSERT_EQ(SnappyDecompress(packed, kNoLimit).value(), text);
    if (letters == 1 && text.size() > 1000) {
      EXPECT_LT(packed.size(), text.size() / 10);
    }
  }
}

TEST(SnappyTest, DamagedBytesNeverLeadOut) {
  const std::string packed = SnappyBytes("layer/kernel layer/bias layer/kernel/momentum layer/bias/momentum");
  for (size_t size = 0; size < packed.size(); ++size) {
    EXPECT_THAT(SnappyDecompress(packed.substr(0, size), kNoLimit), IsError(ErrorCode::kCheckpointDamaged)) << size;
  }
  std::mt19937 random(11);
  for (int round = 0; round < 20000; ++round) {
    std::string damaged = packed;
    for (int flips = 1 + static_cast<int>(random() % 3); flips > 0; --flips) {
      damaged[random() % damaged.size()] = static_cast<char>(random());
    }
    const absl::StatusOr<std::string> text = SnappyDecompress(damaged, 1 << 20);
    if (text.ok()) {
      EXPECT_LE(text->size(), 64 * damaged.size());
    }
  }
}

}  // namespace
}  // namespace sluice

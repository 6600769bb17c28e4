#include "tools/cli/console/number_text.h"

#include <cstdint>
#include <limits>

#include "gtest/gtest.h"

namespace sluice {
namespace {

TEST(NumberTextTest, CountsHaveCommasBetweenDigits) {
  EXPECT_EQ(CountText(0), "0");
  EXPECT_EQ(CountText(999), "999");
  EXPECT_EQ(CountText(1000), "1,000");
  EXPECT_EQ(CountText(123456), "123,456");
  EXPECT_EQ(CountText(1234567), "1,234,567");
  EXPECT_EQ(CountText(-999), "-999");
  EXPECT_EQ(CountText(-1000), "-1,000");
  EXPECT_EQ(CountText(-123456), "-123,456");
  EXPECT_EQ(CountText(std::numeric_limits<int64_t>::max()), "9,223,372,036,854,775,807");
}

TEST(NumberTextTest, OneIsNoPlural) {
  EXPECT_EQ(CountOf(1, "node"), "1 node");
  EXPECT_EQ(CountOf(0, "node"), "0 nodes");
  EXPECT_EQ(CountOf(2000, "node"), "2,000 nodes");
}

TEST(NumberTextTest, BytesHaveTheLargestUnitThatFits) {
  EXPECT_EQ(BytesText(999), "999 B");
  EXPECT_EQ(BytesText(1000), "1.0 kB");
  EXPECT_EQ(BytesText(999949), "999.9 kB");
  EXPECT_EQ(BytesText(999950), "1.0 MB");
  EXPECT_EQ(BytesText(2500000000), "2.5 GB");
  EXPECT_EQ(BytesText(std::numeric_limits<int64_t>::max()), "9223372.0 TB");
}

}  // namespace
}  // namespace sluice

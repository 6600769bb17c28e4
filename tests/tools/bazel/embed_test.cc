#include <cstdint>
#include <string>

#include "gtest/gtest.h"
#include "tests/tools/bazel/sample_bytes.h"

namespace sluice {
namespace {

TEST(EmbedFileTest, HasEveryByteOfTheFileAndAZeroAfterThem) {
  const absl::string_view bytes = testing::SampleBytes();
  EXPECT_EQ(bytes, absl::string_view("first line\n\0second", 18));
  EXPECT_EQ(bytes.data()[bytes.size()], '\0');
}

TEST(EmbedFileTest, IsAligned) { EXPECT_EQ(reinterpret_cast<uintptr_t>(testing::SampleBytes().data()) % 64, 0u); }

}  // namespace
}  // namespace sluice

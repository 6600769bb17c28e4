#include <string>

#include "gmock/gmock.h"
#include "google/protobuf/text_format.h"
#include "gtest/gtest.h"
#include "tests/tools/bazel/sample.pb.h"

namespace sluice {
namespace {

TEST(ProtoLibraryTest, GeneratedCodeParsesAndPrints) {
  testing::Sample sample;
  ASSERT_TRUE(google::protobuf::TextFormat::ParseFromString("name: 'n' counts { key: 'a' value: 3 }", &sample));
  EXPECT_EQ(sample.counts().at("a"), 3);
  EXPECT_THAT(sample.ShortDebugString(), ::testing::HasSubstr("name: \"n\""));
}

}  // namespace
}  // namespace sluice

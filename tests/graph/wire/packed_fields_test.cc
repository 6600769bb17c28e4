#include "graph/wire/packed_fields.h"

#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "graph/wire/wire_writer.h"
#include "gtest/gtest.h"

namespace sluice {
namespace {

using testing::ElementsAre;

// All varints of field 1 of `bytes`, and how reading them ended.
absl::Status Varints(absl::string_view bytes, std::vector<uint64_t>* values) {
  WireReader reader(bytes);
  while (reader.Next()) {
    const absl::Status status = ForEachVarint(reader, [&](uint64_t v) { values->push_back(v); });
    if (!status.ok()) return status;
  }
  return reader.status();
}

TEST(PackedFieldsTest, VarintsComePackedSingleAndMixed) {
  std::string packed;
  WireWriter values(&packed);
  for (uint64_t v : {uint64_t{0}, uint64_t{127}, uint64_t{128}, ~uint64_t{0}}) values.RawVarint(v);
  std::string bytes;
  WireWriter writer(&bytes);
  writer.Varint(1, 9);
  writer.Bytes(1, packed);
  writer.Varint(1, 300);
  std::vector<uint64_t> got;
  EXPECT_TRUE(Varints(bytes, &got).ok());
  EXPECT_THAT(got, ElementsAre(9, 0, 127, 128, ~uint64_t{0}, 300));
}

TEST(PackedFieldsTest, AFieldOfAnotherWireTypeHoldsNoValues) {
  std::string bytes;
  WireWriter writer(&bytes);
  writer.Fixed32(1, 7);
  writer.Fixed64(1, 7);
  std::vector<uint64_t> got;
  EXPECT_TRUE(Varints(bytes, &got).ok());
  EXPECT_TRUE(got.empty());
}

TEST(PackedFieldsTest, VarintsThatEndInTheMiddleAreRefused) {
  for (const std::string& packed : {std::string("\x80"), std::string("\x01\xff"), std::string(11, '\xff')}) {
    std::string bytes;
    WireWriter(&bytes).Bytes(1, packed);
    std::vector<uint64_t> got;
    EXPECT_EQ(Varints(bytes, &got).code(), absl::StatusCode::kInvalidArgument);
  }
}

TEST(PackedFieldsTest, FixedNumbersComePackedAndSingle) {
  std::string bytes;
  WireWriter writer(&bytes);
  writer.Fixed32(1, 1);
  writer.Bytes(1, std::string("\x02\0\0\0\x03\0\0\0", 8));
  writer.Fixed64(2, 4);
  writer.Bytes(2, std::string("\x05\0\0\0\0\0\0\0", 8));
  std::vector<uint64_t> got;
  WireReader reader(bytes);
  while (reader.Next()) {
    const auto add = [&](uint64_t v) { got.push_back(v); };
    EXPECT_TRUE((reader.field() == 1 ? ForEachFixed32(reader, add) : ForEachFixed64(reader, add)).ok());
  }
  EXPECT_THAT(got, ElementsAre(1, 2, 3, 4, 5));
}

TEST(PackedFieldsTest, FixedNumbersOfOddLengthAreRefused) {
  std::string bytes;
  WireWriter(&bytes).Bytes(3, "12345");
  WireReader reader(bytes);
  ASSERT_TRUE(reader.Next());
  EXPECT_FALSE(ForEachFixed32(reader, [](uint32_t) {}).ok());
  EXPECT_FALSE(ForEachFixed64(reader, [](uint64_t) {}).ok());
}

}  // namespace
}  // namespace sluice

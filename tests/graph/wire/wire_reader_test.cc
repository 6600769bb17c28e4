#include "graph/wire/wire_reader.h"

#include <algorithm>
#include <random>
#include <string>

#include "absl/strings/match.h"
#include "gmock/gmock.h"
#include "google/protobuf/empty.pb.h"
#include "graph/base/error.h"
#include "graph/wire/wire_writer.h"
#include "gtest/gtest.h"

namespace sluice {
namespace {

std::string Bytes(std::initializer_list<int> values) {
  std::string out;
  for (int v : values) out.push_back(static_cast<char>(v));
  return out;
}

// Walks all fields and returns how it ended.
absl::Status Walk(absl::string_view bytes) {
  WireReader reader(bytes);
  while (reader.Next()) {
  }
  return reader.status();
}

ErrorCode CodeOf(const absl::Status& status) {
  const auto info = ErrorInfoOf(status);
  return info.has_value() ? info->code : ErrorCode::kInternal;
}

TEST(WireReaderTest, AnEmptyMessageHasNoFields) {
  WireReader reader("");
  EXPECT_FALSE(reader.Next());
  EXPECT_TRUE(reader.ok());
  EXPECT_TRUE(reader.status().ok());
}

TEST(WireReaderTest, EveryKindOfFieldComesBackAsWritten) {
  std::string out;
  WireWriter writer(&out);
  writer.Int(1, -1);
  writer.Fixed32(2, 0xdeadbeef);
  writer.Fixed64(3, 0x0123456789abcdefULL);
  writer.Bytes(400, "hello");
  WireReader reader(out);
  ASSERT_TRUE(reader.Next());
  EXPECT_EQ(reader.tag(), WireTag(1, WireType::kVarint));
  EXPECT_EQ(static_cast<int64_t>(reader.varint()), -1);
  ASSERT_TRUE(reader.Next());
  EXPECT_EQ(reader.type(), WireType::kFixed32);
  EXPECT_EQ(reader.fixed32(), 0xdeadbeefu);
  ASSERT_TRUE(reader.Next());
  EXPECT_EQ(reader.fixed64(), 0x0123456789abcdefULL);
  EXPECT_EQ(reader.bytes(), "");  // Not a kBytes field.
  ASSERT_TRUE(reader.Next());
  EXPECT_EQ(reader.field(), 400u);
  EXPECT_EQ(reader.bytes(), "hello");
  EXPECT_FALSE(reader.Next());
  EXPECT_TRUE(reader.ok());
}

TEST(WireReaderTest, LengthsOfOneToFourBytesAreRead) {
  for (size_t size : {0u, 1u, 127u, 128u, 16383u, 16384u, 2097151u, 2097152u}) {
    std::string out;
    WireWriter(&out).Bytes(1, std::string(size, 'x'));
    WireReader reader(out);
    ASSERT_TRUE(reader.Next()) << size;
    EXPECT_EQ(reader.bytes().size(), size);
    EXPECT_FALSE(reader.Next());
    EXPECT_TRUE(reader.ok());
  }
}

TEST(WireReaderTest, RawFieldsPutTogetherAreTheMessage) {
  std::string out;
  WireWriter writer(&out);
  writer.Bytes(1, "name");
  writer.Raw(Bytes({0x1b, 0x08, 0x07, 0x1c}));  // Group 3 with field 1 in it.
  writer.Double(9, 0.5);
  writer.Int(1000, 3);
  std::string again;
  WireReader reader(out);
  while (reader.Next()) again.append(reader.raw().data(), reader.raw().size());
  EXPECT_TRUE(reader.ok());
  EXPECT_EQ(again, out);
}

TEST(WireReaderTest, OffsetsCountFromTheBaseThroughNestedMessages) {
  std::string out;
  WireWriter writer(&out);
  writer.Int(1, 300);                          // Bytes 0 to 2.
  const size_t mark = writer.BeginMessage(2);  // Tag at 3, length at 4.
  writer.Bytes(1, "abc");                      // Tag at 5, text at 7.
  writer.EndMessage(mark);
  WireReader reader(out, 1000);
  ASSERT_TRUE(reader.Next() && reader.Next());
  EXPECT_EQ(reader.offset(), 1003u);
  EXPECT_EQ(reader.payload_offset(), 1005u);
  EXPECT_EQ(reader.end_offset(), 1010u);
  WireReader nested = reader.Message();
  ASSERT_TRUE(nested.Next());
  EXPECT_EQ(nested.offset(), 1005u);
  EXPECT_EQ(nested.payload_offset(), 1007u);
}

TEST(WireReaderTest, AWellFormedGroupIsOneField) {
  const std::string bytes = Bytes({0x0b, 0x13, 0x08, 0x01, 0x14, 0x0c, 0x10, 0x05});
  WireReader reader(bytes);
  ASSERT_TRUE(reader.Next());
  EXPECT_EQ(reader.tag(), WireTag(1, WireType::kGroup));
  EXPECT_EQ(reader.raw().size(), 6u);
  EXPECT_EQ(reader.bytes(), "");
  ASSERT_TRUE(reader.Next());
  EXPECT_EQ(reader.varint(), 5u);
  EXPECT_FALSE(reader.Next());
  EXPECT_TRUE(reader.ok());
}

TEST(WireReaderTest, GroupsNestToOneHundredAndNoDeeper) {
  for (int depth : {100, 101, 100000}) {
    const size_t count = static_cast<size_t>(depth);
    const std::string bytes = std::string(count, '\x0b') + std::string(count, '\x0c');
    const absl::Status status = Walk(bytes);
    EXPECT_EQ(status.ok(), depth == 100) << depth;
    EXPECT_EQ(absl::StrContains(status.message(), "nested deeper than 100"), depth != 100) << status;
  }
}

TEST(WireReaderTest, MalformedBytesAreRefusedWithTheirOffset) {
  const struct {
    const char* what;
    std::string bytes;
    ErrorCode code;
    int64_t offset;
  } cases[] = {
      {"cut in the tag", Bytes({0x0a}), ErrorCode::kFileTruncated, 1},
      {"cut in the text", Bytes({0x08, 0x01, 0x0a, 0x05, 'a'}), ErrorCode::kFileTruncated, 2},
      {"length prefix beyond everything", Bytes({0x0a, 0xf0, 0xff, 0xff, 0xff, 0x0f}), ErrorCode::kFileWire, 0},
      {"length of 1 GiB", Bytes({0x0a, 0x80, 0x80, 0x80, 0x80, 0x04, 0x00}), ErrorCode::kFileTruncated, 0},
      {"length in 6 bytes", Bytes({0x0a, 0x81, 0x80, 0x80, 0x80, 0x80, 0x00, 'a'}), ErrorCode::kFileWire, 0},
      {"varint of 11 bytes", Bytes({0x08, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 1}), ErrorCode::kFileWire,
       1},
      {"field number 0", Bytes({0x02, 0x00}), ErrorCode::kFileWire, 0},
      {"tag 0", Bytes({0x08, 0x01, 0x00}), ErrorCode::kFileWire, 2},
      {"wire type 6", Bytes({0x0e, 0x00}), ErrorCode::kFileWire, 0},
      {"wire type 7", Bytes({0x0f, 0x00}), ErrorCode::kFileWire, 0},
      {"group that never ends", Bytes({0x08, 0x01, 0x0b, 0x08, 0x01}), ErrorCode::kFileTruncated, 2},
      {"end of a group that is not open", Bytes({0x0c}), ErrorCode::kFileWire, 0},
      {"end of another group", Bytes({0x0b, 0x14}), ErrorCode::kFileWire, 1},
      {"fixed64 cut", Bytes({0x09, 1, 2, 3}), ErrorCode::kFileTruncated, 0},
      {"fixed32 cut", Bytes({0x0d, 1, 2, 3}), ErrorCode::kFileTruncated, 0},
      {"gzip", Bytes({0x1f, 0x8b, 0x08, 0x00}), ErrorCode::kFileWire, 0},
      {"elf", Bytes({0x7f, 'E', 'L', 'F'}), ErrorCode::kFileWire, 0},
  };
  for (const auto& c : cases) {
    const absl::Status status = Walk(c.bytes);
    ASSERT_FALSE(status.ok()) << c.what;
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << c.what;
    EXPECT_EQ(CodeOf(status), c.code) << c.what << ": " << status;
    EXPECT_EQ(ErrorInfoOf(status)->byte_begin, c.offset) << c.what << ": " << status;
  }
}

TEST(WireReaderTest, NothingComesAfterAnError) {
  const std::string bytes = Bytes({0x0e, 0x08, 0x01});
  WireReader reader(bytes);
  EXPECT_FALSE(reader.Next());
  EXPECT_FALSE(reader.Next());
  EXPECT_FALSE(reader.ok());
}

TEST(WireReaderTest, CutMessagesFailUnlessCutBetweenFields) {
  std::string out;
  WireWriter writer(&out);
  writer.Bytes(1, "node");
  writer.Fixed64(2, 7);
  writer.Int(300, 1 << 20);
  const std::vector<size_t> boundaries = {0, 6, 15, out.size()};
  for (size_t size = 0; size <= out.size(); ++size) {
    const bool whole = std::count(boundaries.begin(), boundaries.end(), size) > 0;
    EXPECT_EQ(Walk(absl::string_view(out).substr(0, size)).ok(), whole) << size;
  }
}

// protobuf's own parser takes every field of google.protobuf.Empty for unknown: it accepts what is well formed.
TEST(WireReaderTest, AcceptsExactlyWhatProtobufAccepts) {
  std::mt19937 random(20240229);
  int accepted = 0;
  for (int i = 0; i < 200000; ++i) {
    std::string bytes(random() % 14, '\0');
    // Small values make tags, lengths and groups that fit each other likely.
    for (char& c : bytes) c = static_cast<char>(random() % 3 == 0 ? random() % 256 : random() % 32);
    google::protobuf::Empty empty;
    const bool expected = empty.ParseFromString(bytes);
    ASSERT_EQ(Walk(bytes).ok(), expected) << testing::PrintToString(bytes);
    accepted += expected;
  }
  EXPECT_GT(accepted, 1000);
}

}  // namespace
}  // namespace sluice

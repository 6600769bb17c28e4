#include "graph/wire/wire_writer.h"

#include <string>

#include "google/protobuf/wrappers.pb.h"
#include "gtest/gtest.h"

namespace sluice {
namespace {

TEST(WireWriterTest, ScalarsAreWhatProtobufReads) {
  std::string bytes;
  WireWriter(&bytes).Int(1, -7);
  google::protobuf::Int64Value integer;
  ASSERT_TRUE(integer.ParseFromString(bytes));
  EXPECT_EQ(integer.value(), -7);

  bytes.clear();
  WireWriter(&bytes).Float(1, 1.5f);
  google::protobuf::FloatValue floating;
  ASSERT_TRUE(floating.ParseFromString(bytes));
  EXPECT_EQ(floating.value(), 1.5f);

  bytes.clear();
  WireWriter(&bytes).Double(1, -0.25);
  google::protobuf::DoubleValue twice;
  ASSERT_TRUE(twice.ParseFromString(bytes));
  EXPECT_EQ(twice.value(), -0.25);

  bytes.clear();
  WireWriter(&bytes).Bytes(1, std::string("a\0b", 3));
  google::protobuf::BytesValue text;
  ASSERT_TRUE(text.ParseFromString(bytes));
  EXPECT_EQ(text.value(), std::string("a\0b", 3));
}

TEST(WireWriterTest, NestedMessagesGetLengthsOfAnySize) {
  for (size_t size : {0u, 100u, 127u, 128u, 20000u}) {
    std::string bytes;
    WireWriter writer(&bytes);
    const size_t outer = writer.BeginMessage(1);
    writer.Int(1, 1);
    const size_t inner = writer.BeginMessage(2);
    writer.Bytes(3, std::string(size, 'x'));
    writer.EndMessage(inner);
    writer.Int(4, 4);
    writer.EndMessage(outer);

    WireReader reader(bytes);
    ASSERT_TRUE(reader.Next());
    WireReader message = reader.Message();
    ASSERT_TRUE(message.Next() && message.Next());
    WireReader nested = message.Message();
    ASSERT_TRUE(nested.Next());
    EXPECT_EQ(nested.bytes().size(), size);
    ASSERT_TRUE(message.Next());
    EXPECT_EQ(message.varint(), 4u);
    EXPECT_FALSE(message.Next());
    EXPECT_FALSE(reader.Next());
    EXPECT_TRUE(reader.ok() && message.ok());
  }
}

}  // namespace
}  // namespace sluice

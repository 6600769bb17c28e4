#include "graph/wire/message_fields.h"

#include <string>

#include "gmock/gmock.h"
#include "graph/wire/wire_writer.h"
#include "gtest/gtest.h"

namespace sluice {
namespace {

TEST(MessageFieldsTest, ValuesOfOneFieldInTheirOrder) {
  std::string message;
  WireWriter writer(&message);
  writer.Bytes(1, "a");
  writer.Bytes(2, "other");
  writer.Varint(1, 5);  // Of another wire type.
  writer.Bytes(1, "b");
  EXPECT_THAT(MessagesOf(message, 1), ::testing::ElementsAre("a", "b"));
  EXPECT_EQ(LastOf(message, 1), "b");
  EXPECT_TRUE(MessagesOf(message, 3).empty());
  EXPECT_EQ(LastOf(message, 3), "");
}

TEST(MessageFieldsTest, DamageIsTheEnd) {
  std::string message;
  WireWriter writer(&message);
  writer.Bytes(1, "a");
  message += "\x0a\x7f";  // A value of 127 bytes that are not there.
  EXPECT_THAT(MessagesOf(message, 1), ::testing::ElementsAre("a"));
  EXPECT_EQ(LastOf(message, 1), "a");
}

}  // namespace
}  // namespace sluice

#include "rendezvous/key.h"

#include <string>

#include "gtest/gtest.h"
#include "rendezvous/frame_hash.h"
#include "tests/testing/status_matchers.h"

namespace sluice {
namespace {

constexpr char kSrc[] = "/job:mnist/replica:1/task:2/device:CPU:0";
constexpr char kDst[] = "/job:mnist/replica:1/task:2/device:GPU:0";

TEST(WireKeyTest, TextIsThatOfTheProtocol) {
  const std::string text = WireKeyText(EdgeText(kSrc, 7890, kDst, "var0"), 0, 0);
  EXPECT_EQ(text, std::string(kSrc) + ";0000000000001ed2;" + kDst + ";var0;0:0");
  ASSERT_OK_AND_ASSIGN(const WireKey key, ParseWireKey(text));
  EXPECT_EQ(key.src_device, kSrc);
  EXPECT_EQ(key.src_incarnation, 7890u);
  EXPECT_EQ(key.src.type, "CPU");
  EXPECT_EQ(key.dst_device, kDst);
  EXPECT_EQ(key.dst.type, "GPU");
  EXPECT_EQ(key.edge_name, "var0");
}

TEST(WireKeyTest, FramesAndIterationsComeBack) {
  ASSERT_OK_AND_ASSIGN(const WireKey key,
                       ParseWireKey(WireKeyText(EdgeText(kSrc, ~uint64_t{0}, kDst, "e"), ~uint64_t{0}, 12)));
  EXPECT_EQ(key.src_incarnation, ~uint64_t{0});
  EXPECT_EQ(key.frame, ~uint64_t{0});
  EXPECT_EQ(key.iteration, 12);
}

TEST(WireKeyTest, AnythingElseIsRefused) {
  const std::string src(kSrc), dst(kDst);
  for (const std::string& bad : {
           std::string("foo;bar;baz"),
           std::string(),
           std::string("foobar"),
           src + ";1;" + dst + ";e",                      // A part short.
           src + ";1;" + dst + ";e;0:0;more",             // A part long.
           src + ";1;" + dst + ";;0:0",                   // An empty part.
           src + ";xyz;" + dst + ";e;0:0",                // No number.
           src + ";00000000000000001;" + dst + ";e;0:0",  // 17 digits.
           "/job:a;1;" + dst + ";e;0:0",                  // Not a full name.
           src + ";1;nowhere;e;0:0",
           src + ";1;" + dst + ";e;0",
           src + ";1;" + dst + ";e;a:b",
       }) {
    EXPECT_THAT(ParseWireKey(bad), IsError(ErrorCode::kKeySyntax)) << bad;
  }
}

TEST(EdgeTableTest, SameTextHasTheSameNumber) {
  EdgeTable edges;
  const EdgeNumber a = edges.Number("a"), b = edges.Number("b");
  EXPECT_NE(a, b);
  EXPECT_EQ(edges.Number("a"), a);
  EXPECT_EQ(edges.Text(b), "b");
}

TEST(EdgeTableTest, KeysGoToTheWireAndBack) {
  EdgeTable edges;
  const RendezvousKey key{edges.Number(EdgeText(kSrc, 1, kDst, "e")), 5, 3};
  ASSERT_OK_AND_ASSIGN(const RendezvousKey back, edges.FromWire(edges.ToWire(key)));
  EXPECT_EQ(back, key);
}

TEST(EdgeTableTest, WhatAPeerAsksForDoesNotGrowTheTable) {
  EdgeTable edges;
  const EdgeNumber known = edges.Number(EdgeText(kSrc, 1, kDst, "e"));
  EXPECT_EQ(edges.Find(EdgeText(kSrc, 1, kDst, "e")), known);
  for (int i = 0; i < 100; ++i) {
    const std::string unknown = EdgeText(kSrc, 1, kDst, "other" + std::to_string(i));
    EXPECT_FALSE(edges.Find(unknown).valid());
    EXPECT_THAT(edges.FromWire(WireKeyText(unknown, 0, 0)), IsError(ErrorCode::kKeySyntax, "other"));
  }
  EXPECT_EQ(edges.Number("next").value(), known.value() + 1);
}

// What TensorFlow's StringToHashBucket answers for 2^62 buckets, whose hash it is.
TEST(ProtocolHashTest, IsTensorFlows) {
  constexpr uint64_t kBuckets = uint64_t{1} << 62;
  EXPECT_EQ(ProtocolHash("") % kBuckets, 105434511174508091u);
  EXPECT_EQ(ProtocolHash("a") % kBuckets, 2996632905371535868u);
  EXPECT_EQ(ProtocolHash("while/while_context") % kBuckets, 4608138368000096214u);
  EXPECT_EQ(ProtocolHash("abcdefgh") % kBuckets, 3429851175771700306u);
  EXPECT_EQ(ProtocolHash("abcdefghi") % kBuckets, 2154505082538699157u);
  EXPECT_EQ(ProtocolHash(std::string(31, 'x')) % kBuckets, 2862751053989150778u);
}

TEST(ProtocolHashTest, AFrameHasTheSameNumberByNameAndByTheNamesHash) {
  EXPECT_EQ(ChildFrameNumber(7, 3, "f"), ChildFrameNumber(7, 3, ProtocolHash("f")));
}

TEST(ProtocolHashTest, FramesDifferByParentIterationAndName) {
  const uint64_t frame = ChildFrameNumber(0, 0, "f");
  EXPECT_EQ(frame, ChildFrameNumber(0, 0, "f"));
  EXPECT_NE(frame, ChildFrameNumber(0, 1, "f"));
  EXPECT_NE(frame, ChildFrameNumber(0, 0, "g"));
  EXPECT_NE(frame, ChildFrameNumber(frame, 0, "f"));
}

}  // namespace
}  // namespace sluice

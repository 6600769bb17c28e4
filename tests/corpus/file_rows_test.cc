// Rows F of the corpus: files that are not graphs, damaged, too deep, or of another version.

#include <random>
#include <string>
#include <vector>

#include "tests/corpus/corpus_row.h"
#include "tests/testing/graph_bytes.h"
#include "tests/testing/status_matchers.h"

namespace sluice {
namespace {

using namespace graph_bytes;  // NOLINT: half of each line.

class FileRows : public ::testing::TestWithParam<CorpusRow> {};

TEST_P(FileRows, AreRefused) { ExpectRefused(GetParam()); }

std::string RandomBytes(size_t size) {
  std::mt19937 random(7);
  std::string bytes(size, '\0');
  for (char& c : bytes) c = static_cast<char>(random());
  return bytes;
}

std::string WithVersions(const MessageBytes& versions) {
  return MessageBytes().Sub(1, PlaceholderNode("x")).Sub(4, versions).str();
}

std::string WithNodeName(absl::string_view name) {
  return GraphDefBytes({PlaceholderNode("x"), PlaceholderNode(name)});
}

std::string WithManyAttrs(int count) {
  AttrBytes attrs = {{"T", TypeAttr(kFloat)}};
  for (int i = 0; i < count; ++i) attrs.push_back({"_a" + std::to_string(i), IntAttr(i)});
  return GraphDefBytes({PlaceholderNode("x"), NodeDefBytes("out", "Relu", {"x"}, attrs)});
}

std::string WithManyInputs(int count) {
  std::vector<std::string> inputs(static_cast<size_t>(count), "^x");
  return GraphDefBytes({PlaceholderNode("x"), NodeDefBytes("out", "NoOp", inputs)});
}

std::string WithDeepAttr(int levels) {
  return GraphDefBytes({PlaceholderNode("x"),
                        NodeDefBytes("out", "Relu", {"x"}, {{"T", TypeAttr(kFloat)}, {"_f", NestedFuncAttr(levels)}})});
}

const std::string kMagicZeros(64, '\0');

INSTANTIATE_TEST_SUITE_P(
    NoGraph, FileRows,
    ::testing::Values(
        Bad("F02_Random", RandomBytes(4096), ErrorCode::kFileWire).Or(ErrorCode::kFileTruncated).AtAByte(),
        Bad("F02_Png", "\x89PNG\r\n\x1a\n" + kMagicZeros, ErrorCode::kFileWire).Or(ErrorCode::kFileNotGraph).AtAByte(),
        Bad("F02_Elf",
            "\x7f"
            "ELF\x02\x01\x01" +
                kMagicZeros,
            ErrorCode::kFileWire)
            .Or(ErrorCode::kFileNotGraph)
            .AtAByte(),
        Bad("F02_Gzip", "\x1f\x8b\x08" + kMagicZeros, ErrorCode::kFileWire).Or(ErrorCode::kFileNotGraph).AtAByte(),
        Bad("F04_LengthPrefix", "\x0a\xf0\xff\xff\xff\x0f", ErrorCode::kFileWire).AtAByte(),
        Bad("F04_LengthPrefixPastTheEnd", "\x0a\xf0\xff\xff\x0f", ErrorCode::kFileTruncated).AtAByte(),
        Bad("F04_LengthPrefix64", "\x0a\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", ErrorCode::kFileTruncated)
            .Or(ErrorCode::kFileWire)
            .AtAByte(),
        Bad("F04_Varint11", "\x18" + std::string(10, '\xff') + "\x01", ErrorCode::kFileWire).AtAByte(),
        Bad("F04_FieldZero", std::string("\x02\x00", 2), ErrorCode::kFileWire).AtAByte(),
        Bad("F04_WireType7", "\x0f", ErrorCode::kFileWire).AtAByte(),
        Bad("F04_EndGroupAlone", "\x0c", ErrorCode::kFileWire).AtAByte(),
        Bad("F04_GroupNeverEnds", std::string(200, '\x0b'), ErrorCode::kFileTruncated)
            .Or(ErrorCode::kFileWire)
            .AtAByte(),
        Bad("F04_LengthInsideNode", MessageBytes().Bytes(1, "\x0a\x7fx").str(), ErrorCode::kFileTruncated).AtAByte(),
        Bad("F04_LengthInsideAttr",
            GraphDefBytes({NodeDefBytes("x", "Placeholder")
                               .Bytes(5,
                                      "\x0a\x05"
                                      "dtype\x12\x7f")}),
            ErrorCode::kFileTruncated)
            .AtAByte()),
    CorpusRowName());

INSTANTIATE_TEST_SUITE_P(
    TooMuch, FileRows,
    ::testing::Values(
        Bad("F05_AttrNested101", WithDeepAttr(101), ErrorCode::kLimitDepth).AtNode("out", "Relu").AtAttr("_f"),
        Bad("F05_AttrNested10000", WithDeepAttr(10000), ErrorCode::kLimitDepth).AtNode("out", "Relu").AtAttr("_f"),
        Bad("F08_NameOf10MiB", WithNodeName(std::string(10 << 20, 'n')), ErrorCode::kLimitName),
        Bad("F08_NameOneTooLong", WithNodeName(std::string(4097, 'n')), ErrorCode::kLimitName),
        Bad("F08_Attrs100000", WithManyAttrs(100000), ErrorCode::kLimitAttrs).AtNode("out", "Relu"),
        Bad("F08_Inputs70000", WithManyInputs(70000), ErrorCode::kLimitInputs).AtNode("out", "NoOp")),
    CorpusRowName());

INSTANTIATE_TEST_SUITE_P(Names, FileRows,
                         ::testing::Values(Bad("F07_Nul", WithNodeName(std::string("a\0c", 3)), ErrorCode::kNodeName)
                                               .AtNode(std::string("a\0c", 3), "Placeholder")
                                               .Says("'a\\x00c'"),
                                           Bad("F07_Newline", WithNodeName("a\nc"), ErrorCode::kNodeName)
                                               .AtNode("a\nc", "Placeholder")
                                               .Says("'a\\nc'"),
                                           Bad("F07_Escape", WithNodeName("\x1b[2J"), ErrorCode::kNodeName)
                                               .AtNode("\x1b[2J", "Placeholder")
                                               .Says("\\x1b[2J"),
                                           Bad("F07_InvalidUtf8", WithNodeName("a\xff"), ErrorCode::kFileWire)
                                               .AtNode("a\xff", "Placeholder")
                                               .Says("a\\xff"),
                                           Bad("F07_RightToLeft",
                                               WithNodeName("a\xe2\x80\xae"
                                                            "b"),
                                               ErrorCode::kNodeName)
                                               .AtNode("a\xe2\x80\xae"
                                                       "b",
                                                       "Placeholder")
                                               .Says("a\\u202eb")),
                         CorpusRowName());

INSTANTIATE_TEST_SUITE_P(
    Versions, FileRows,
    ::testing::Values(
        Bad("F09_MinConsumer", WithVersions(MessageBytes().Int(1, 1087).Int(2, 99999)), ErrorCode::kFileVersion)
            .Says("99999"),
        Bad("F09_BadConsumer", WithVersions(MessageBytes().Int(1, 1087).Int(3, kGraphVersion)),
            ErrorCode::kFileBadVersion)
            .Says(std::to_string(kGraphVersion)),
        Bad("F09_ProducerNegative", WithVersions(MessageBytes().Int(1, -1)), ErrorCode::kFileVersion).Says("-1")),
    CorpusRowName());

TEST(FileCorpus, F01_NoBytesAreAnEmptyGraph) {
  const absl::StatusOr<Graph> graph = LoadCorpusGraph("");
  ASSERT_OK(graph.status());
  EXPECT_EQ(graph->num_nodes(), 0u);
}

TEST(FileCorpus, F03_AGraphCutAnywhereIsRefusedOrASmallerGraph) {
  const std::string whole = GraphDefBytes({PlaceholderNode("x"), ScalarNode("c"), UnaryNode("y", "Relu", {"x", "^c"})});
  size_t good = 0;
  for (size_t size = 0; size < whole.size(); ++size) {
    const absl::StatusOr<Graph> graph = LoadCorpusGraph(absl::string_view(whole).substr(0, size));
    if (graph.ok()) ++good;
    if (!graph.ok()) {
      EXPECT_THAT(graph.status(), IsError(ErrorCode::kFileTruncated));
    }
  }
  EXPECT_EQ(good, 4u);  // After nothing, one, two and three nodes.
}

TEST(FileCorpus, F04_KnownFieldsOfAnotherWireTypeAreSkipped) {
  const std::string bytes =
      GraphDefBytes({PlaceholderNode("x").Int(3, 5).Float(1, 2)}) + MessageBytes().Float(1, 2).str();
  const absl::StatusOr<Graph> graph = LoadCorpusGraph(bytes);
  ASSERT_OK(graph.status());
  EXPECT_EQ(graph->num_nodes(), 1u);
}

TEST(FileCorpus, F05_AnAttrJustWithinTheLimitIsRead) { EXPECT_OK(LoadCorpusGraph(WithDeepAttr(20)).status()); }

TEST(FileCorpus, F08_WhatReachesTheLimitsIsRead) {
  EXPECT_OK(LoadCorpusGraph(WithNodeName(std::string(4096, 'n'))).status());
  EXPECT_OK(LoadCorpusGraph(WithManyAttrs(255)).status());
  EXPECT_OK(LoadCorpusGraph(WithManyInputs(60000)).status());
}

TEST(FileCorpus, F09_UnusualProducersAreAccepted) {
  for (const int producer : {0, 99999}) {
    EXPECT_OK(LoadCorpusGraph(WithVersions(MessageBytes().Int(1, producer))).status()) << producer;
  }
}

}  // namespace
}  // namespace sluice

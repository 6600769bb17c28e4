#include "graph/load/format.h"

#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "gtest/gtest.h"
#include "tests/testing/graph_bytes.h"

namespace sluice {
namespace {

using graph_bytes::GraphDefBytes;
using graph_bytes::MessageBytes;
using graph_bytes::ScalarNode;

std::string MetaInfo() { return MessageBytes().Sub(1, MessageBytes().Bytes(4, "serve").Bytes(5, "2.19.1")).str(); }

TEST(DetectGraphFormatTest, GraphDefsAreKnownByTheirNodes) {
  EXPECT_EQ(DetectGraphFormat(GraphDefBytes({ScalarNode("a")}), ""), GraphFormat::kGraphDef);
  EXPECT_EQ(DetectGraphFormat(GraphDefBytes({ScalarNode("a"), ScalarNode("b")}), "x.meta"), GraphFormat::kGraphDef);
}

TEST(DetectGraphFormatTest, AGraphDefThatBeginsWithItsLibraryIsOne) {
  const graph_bytes::FunctionBytes function = {"F", {{"x", 1}}, {{"y", 1}}, {}, {{"y", "x"}}, {}};
  const std::string library = MessageBytes().Sub(2, graph_bytes::LibraryBytes({function.Message()})).str();
  EXPECT_EQ(DetectGraphFormat(library, ""), GraphFormat::kGraphDef);
}

TEST(DetectGraphFormatTest, MetaGraphsAreKnownByWhatStandsAroundTheGraph) {
  const std::string graph = MessageBytes().Bytes(2, GraphDefBytes({ScalarNode("a")})).str();
  EXPECT_EQ(DetectGraphFormat(graph, ""), GraphFormat::kMetaGraph);
  EXPECT_EQ(DetectGraphFormat(MetaInfo() + graph, ""), GraphFormat::kMetaGraph);
  EXPECT_EQ(DetectGraphFormat(MetaInfo() + MessageBytes().Sub(3, MessageBytes().Bytes(1, "s:0")).str(), ""),
            GraphFormat::kMetaGraph);
  EXPECT_EQ(DetectGraphFormat(MetaInfo(), "m.meta"), GraphFormat::kMetaGraph) << "the name breaks the tie";
}

TEST(DetectGraphFormatTest, SavedModelsAreKnownByTheirVersion) {
  const std::string model = MessageBytes().Int(1, 1).Bytes(2, MetaInfo()).str();
  EXPECT_EQ(DetectGraphFormat(model, ""), GraphFormat::kSavedModel);
  EXPECT_EQ(DetectGraphFormat("", "dir/saved_model.pb"), GraphFormat::kSavedModel);
}

TEST(DetectGraphFormatTest, TextsAreKnownByTheirFirstField) {
  const std::vector<std::pair<std::string, GraphFormat>> texts = {
      {"node { name: 'a' }", GraphFormat::kGraphDefText},
      {"\n# comment {\n  library {\n}", GraphFormat::kGraphDefText},
      {"\xef\xbb\xbfversions: { producer: 1 }", GraphFormat::kGraphDefText},
      {"node < name: 'a' >", GraphFormat::kGraphDefText},
      {"meta_info_def {}", GraphFormat::kMetaGraphText},
      {"graph_def { }", GraphFormat::kMetaGraphText},
      {"saved_model_schema_version: 1", GraphFormat::kSavedModelText},
      {"meta_graphs {", GraphFormat::kSavedModelText},
  };
  for (const auto& [text, format] : texts) EXPECT_EQ(DetectGraphFormat(text, ""), format) << text;
}

TEST(DetectGraphFormatTest, ANameCanSayThatSomethingIsText) {
  EXPECT_EQ(DetectGraphFormat("nonsense", "a.pbtxt"), GraphFormat::kGraphDefText);
  EXPECT_EQ(DetectGraphFormat(GraphDefBytes({ScalarNode("a")}), "a.pbtxt"), GraphFormat::kGraphDef);
}

TEST(DetectGraphFormatTest, WhatIsNothingCountsAsAGraphDef) {
  EXPECT_EQ(DetectGraphFormat("", ""), GraphFormat::kGraphDef);
  EXPECT_EQ(DetectGraphFormat("\xff\xff\xff", ""), GraphFormat::kGraphDef);
}

TEST(ForeignFormatTest, NamesWhatPeopleGiveByMistake) {
  const std::vector<std::pair<std::string, std::string>> files = {
      {"\x89PNG\r\n\x1a\n....", "PNG"},
      {"\x7f"
       "ELF\x02\x01",
       "ELF"},
      {std::string("\x1f\x8b\x08\0", 4), "gzip"},
      {"PK\x03\x04....", "zip"},
      {"\x89HDF\r\n\x1a\n", "HDF5"},
      {std::string("\x1c\0\0\0TFL3", 8), "TFLite"},
      {"\x93NUMPY\x01", "NumPy"},
      {"version https://git-lfs.github.com/spec/v1\noid sha256:1", "Git LFS"},
      {"<!DOCTYPE html>", "HTML"},
      {"{\"a\": 1}", "JSON"},
      {"{\r\n  \"a\": 1}", "JSON"},
      {"[{\"a\": 1}]", "JSON"},
      {std::string(60, 'x') + "\x57\xfb\x80\x8b\x24\x75\x47\xdb", "checkpoint"},
      {MessageBytes().Int(1, 8).Bytes(2, "pytorch").Bytes(7, "graph").str(), "ONNX"},
  };
  for (const auto& [bytes, what] : files) {
    EXPECT_TRUE(absl::StrContains(ForeignFormat(bytes, ""), what)) << what << ": " << ForeignFormat(bytes, "");
  }
}

TEST(ForeignFormatTest, GraphsAreNotForeign) {
  EXPECT_EQ(ForeignFormat("", ""), "");
  EXPECT_EQ(ForeignFormat(GraphDefBytes({ScalarNode("a")}), ""), "");
  EXPECT_EQ(ForeignFormat(MessageBytes().Int(1, 1).Bytes(2, MetaInfo()).str(), ""), "");
  EXPECT_EQ(ForeignFormat("node { name: 'a' }", ""), "");
  // A node of 123 bytes whose name has 34: "\n{\n\"", as a JSON text may begin.
  const std::string name(34, 'n');
  const MessageBytes node = graph_bytes::NodeDefBytes(name, "NoOp", {}, {}, std::string(79, 'd'));
  ASSERT_EQ(node.str().size(), 123u);
  EXPECT_EQ(ForeignFormat(GraphDefBytes({node}), ""), "");
}

TEST(ForeignFormatTest, CheckpointDataAndOddEndingsAreKnownByName) {
  EXPECT_TRUE(absl::StrContains(ForeignFormat("any", "m/variables.data-00000-of-00001"), "data of a checkpoint"));
  EXPECT_EQ(ForeignFormat("any", "variables.data-0000-of-00001"), "");
  EXPECT_EQ(FormatOfEnding("mobilenet.tflite"), "a TFLite model");
  EXPECT_EQ(FormatOfEnding("graph.pb"), "");
}

TEST(ForeignFormatTest, TextsThatAreNoGraphAreTexts) {
  EXPECT_TRUE(IsOtherText("import tensorflow as tf\n"));
  EXPECT_FALSE(IsOtherText("# a comment\nnode { }"));
  EXPECT_FALSE(IsOtherText("# nothing but a comment\n"));
  EXPECT_FALSE(IsOtherText(GraphDefBytes({ScalarNode("a")})));
}

}  // namespace
}  // namespace sluice

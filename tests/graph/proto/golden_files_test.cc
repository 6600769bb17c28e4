// Every graph of tests/goldens that is sound, through our messages: binary, text and back.

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "google/protobuf/text_format.h"
#include "google/protobuf/util/message_differencer.h"
#include "graph/proto/graph.pb.h"
#include "graph/proto/saved_model.pb.h"
#include "gtest/gtest.h"

namespace sluice {
namespace {

namespace fs = std::filesystem;
using google::protobuf::TextFormat;
using google::protobuf::util::MessageDifferencer;

// Files called `name` below tests/goldens, those of the errors suite left out.
std::vector<fs::path> FilesCalled(const std::string& name) {
  std::vector<fs::path> files;
  for (const auto& entry : fs::recursive_directory_iterator("tests/goldens")) {
    const bool is_error = entry.path().string().find("/errors/") != std::string::npos;
    if (entry.path().filename() == name && !is_error) files.push_back(entry.path());
  }
  return files;
}

std::string Read(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return std::string(std::istreambuf_iterator<char>(file), {});
}

// Parses `bytes`, prints the message, parses the text and expects the same message; no field is unknown.
template <typename Message>
void ExpectRoundTrip(const std::string& bytes, const fs::path& path) {
  Message message, from_text;
  ASSERT_TRUE(message.ParseFromString(bytes)) << path;
  std::string text;
  ASSERT_TRUE(TextFormat::PrintToString(message, &text)) << path;
  ASSERT_TRUE(TextFormat::ParseFromString(text, &from_text)) << path;
  EXPECT_TRUE(MessageDifferencer::Equals(message, from_text)) << path;
  message.DiscardUnknownFields();
  EXPECT_TRUE(MessageDifferencer::Equals(message, from_text)) << path;
}

TEST(GoldenFilesTest, BinaryGraphsSurviveText) {
  const std::vector<fs::path> files = FilesCalled("graph.pb");
  EXPECT_GE(files.size(), 30u);
  for (const fs::path& path : files) ExpectRoundTrip<proto::GraphDef>(Read(path), path);
}

TEST(GoldenFilesTest, SavedModelsAndMetaGraphsSurviveText) {
  const std::vector<fs::path> models = FilesCalled("saved_model.pb");
  EXPECT_GE(models.size(), 6u);
  for (const fs::path& path : models) ExpectRoundTrip<proto::SavedModel>(Read(path), path);
  for (const fs::path& path : FilesCalled("graph.meta")) ExpectRoundTrip<proto::MetaGraphDef>(Read(path), path);
}

TEST(GoldenFilesTest, TextGraphsOfTensorFlowAreRead) {
  const std::vector<fs::path> files = FilesCalled("graph.pbtxt");
  EXPECT_EQ(files.size(), 2u);
  for (const fs::path& path : files) {
    proto::GraphDef graph;
    EXPECT_TRUE(TextFormat::ParseFromString(Read(path), &graph)) << path;
    EXPECT_GT(graph.node_size(), 0) << path;
  }
}

}  // namespace
}  // namespace sluice

// `sluice show` of checkpoints.

#include <sys/stat.h>

#include <cmath>
#include <cstdint>
#include <filesystem>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "graph/base/file.h"
#include "graph/value/tensor.h"
#include "gtest/gtest.h"
#include "kernels/checkpoint/bundle_writer.h"
#include "kernels/checkpoint/checkpoint_state.h"
#include "kernels/checkpoint/crc32c.h"
#include "kernels/checkpoint/tensor_slice.h"
#include "nlohmann/json.hpp"
#include "tests/testing/graph_bytes.h"
#include "tests/testing/status_matchers.h"
#include "tests/tools/cli/run_sluice.h"
#include "tests/tools/cli/trained_models.h"

namespace sluice {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

constexpr float kNan = std::numeric_limits<float>::quiet_NaN(), kInf = std::numeric_limits<float>::infinity();

// In a directory of its own; the prefix.
std::string MakeCheckpoint(const std::string& name) {
  const std::string directory = TestFile(name);
  fs::remove_all(directory);
  fs::create_directories(directory);
  const std::string prefix = directory + "/model.ckpt-7";
  absl::StatusOr<std::unique_ptr<BundleWriter>> writer = BundleWriter::Create(prefix);
  EXPECT_OK(writer);
  EXPECT_OK((*writer)->Add("w", Tensor::Of<float>(Shape::Of({2, 4}), {1, kNan, -2, kInf, -kInf, 0.5f, 3, 0})));
  EXPECT_OK((*writer)->Add("a/step", Tensor::Scalar(int64_t{7})));
  EXPECT_OK((*writer)->Add("words", Tensor::Strings({"one", "\x1b[2Jtwo"})));
  EXPECT_OK((*writer)->Add("flags", Tensor::Vector<bool>({true, false, false, false})));
  EXPECT_OK((*writer)->Add("none", Tensor::Of<float>(Shape::Of({0, 3}), {})));
  EXPECT_OK((*writer)->Finish());
  EXPECT_OK(AddToCheckpointState(prefix));
  return prefix;
}

Json ShowJson(const std::string& path, std::vector<std::string> options = {}) {
  options.insert(options.begin(), {"show", path, "--json"});
  const RunResult run = RunSluice(options);
  EXPECT_EQ(run.status, 0) << run.err;
  return Json::parse(run.out);
}

TEST(ShowCheckpointTest, TensorsAreListedByName) {
  const std::string prefix = MakeCheckpoint("listed");
  const Json json = ShowJson(prefix);
  EXPECT_EQ(json["checkpoint"], prefix);
  ASSERT_EQ(json["tensors"].size(), 5);
  EXPECT_EQ(json["tensors"][0], Json::parse(R"({"name":"a/step","dtype":"int64","shape":[],"bytes":8,"parts":1})"));
  EXPECT_EQ(json["tensors"][3]["name"], "w");
  EXPECT_EQ(json["tensors"][3]["shape"], Json::parse("[2,4]"));
  EXPECT_EQ(json["tensors"][3]["bytes"], 32);
  const RunResult text = RunSluice({"show", prefix});
  EXPECT_TRUE(absl::StrContains(text.out, "checkpoint, 5 tensors")) << text.out;
  EXPECT_TRUE(absl::StrContains(text.out, "  w       float32 [2,4]  32 B\n")) << text.out;
}

TEST(ShowCheckpointTest, AnyOfItsPathsWillDo) {
  const std::string prefix = MakeCheckpoint("paths");
  const std::string listed = RunSluice({"show", prefix}).out;
  for (const std::string& path :
       {prefix + ".index", prefix + ".data-00000-of-00001", fs::path(prefix).parent_path().string()}) {
    EXPECT_EQ(RunSluice({"show", path}).out, listed) << path;
  }
  EXPECT_EQ(RunSluice({"show", prefix + ".data-0000x-of-00001"}).status, 1);
  EXPECT_EQ(RunSluice({"show", prefix + "x"}).status, 1);
}

TEST(ShowCheckpointTest, ValuesAreSummedUp) {
  const Json tensors = ShowJson(MakeCheckpoint("values"), {"--values"})["tensors"];
  EXPECT_EQ(tensors[3]["values"], Json::parse(R"({"min":-2.0,"max":3.0,"mean":0.5,"nan":1,"inf":2,)"
                                              R"("first":[1.0,"nan",-2.0]})"));
  EXPECT_EQ(tensors[0]["values"]["mean"], 7.0);
  EXPECT_EQ(tensors[1]["values"]["mean"], 0.25) << "of truth values: how many are true";
  EXPECT_EQ(tensors[2]["values"], Json::parse(R"({"min":null,"max":null,"mean":null,"nan":0,"inf":0,"first":[]})"));
  EXPECT_EQ(tensors[4]["values"]["first"][0], "one");
}

// Their sum lies beyond what a double can be.
TEST(ShowCheckpointTest, TheMeanOfLargeNumbersIsFinite) {
  const std::string prefix = TestFile("large");
  constexpr double kLargest = std::numeric_limits<double>::max();
  ASSERT_OK_AND_ASSIGN(const std::unique_ptr<BundleWriter> writer, BundleWriter::Create(prefix));
  ASSERT_OK(writer->Add("all", Tensor::Vector<double>({kLargest, kLargest, kLargest})));
  ASSERT_OK(writer->Add("both", Tensor::Vector<double>({kLargest, kLargest, -kLargest, -kLargest})));
  ASSERT_OK(writer->Add("least", Tensor::Vector<double>({-1.5e308, -1.5e308, kNan, -kInf})));
  ASSERT_OK(writer->Finish());
  const Json tensors = ShowJson(prefix, {"--values"})["tensors"];
  EXPECT_EQ(tensors[0]["values"]["mean"], kLargest);
  EXPECT_EQ(tensors[1]["values"]["mean"], 0);
  EXPECT_EQ(tensors[2]["values"]["mean"], -1.5e308);
}

// A checkpoint of TensorFlow's objects says what the program called its variables.
TEST(ShowCheckpointTest, VariablesOfObjectsAreNamed) {
  using graph_bytes::MessageBytes;
  const std::string key = "layers/0/.ATTRIBUTES/VARIABLE_VALUE";
  const MessageBytes attribute = MessageBytes().Bytes(1, "VARIABLE_VALUE").Bytes(2, "dense/kernel").Bytes(3, key);
  const std::string objects = MessageBytes().Sub(1, MessageBytes()).Sub(1, MessageBytes().Sub(2, attribute)).str();
  const std::string prefix = TestFile("objects");
  ASSERT_OK_AND_ASSIGN(const std::unique_ptr<BundleWriter> writer, BundleWriter::Create(prefix));
  ASSERT_OK(writer->Add("_CHECKPOINTABLE_OBJECT_GRAPH", Tensor::String(objects)));
  ASSERT_OK(writer->Add(key, Tensor::Vector<double>({1.0 / 3, 2})));
  ASSERT_OK(writer->Finish());
  const Json tensors = ShowJson(prefix, {"--values"})["tensors"];
  EXPECT_FALSE(tensors[0].contains("values")) << "the objects themselves are no value";
  EXPECT_EQ(tensors[1]["variable"], "dense/kernel");
  const RunResult run = RunSluice({"show", prefix, "--values"});
  EXPECT_TRUE(absl::StrContains(run.out, "VALUE  dense/kernel  float64 [2]  16 B  min 0.3333")) << run.out;
  EXPECT_TRUE(absl::StrContains(run.out, "[0.3333, 2]")) << run.out;
}

TEST(ShowCheckpointTest, ValuesAsTextStaySafe) {
  const RunResult run = RunSluice({"show", MakeCheckpoint("text"), "--values"});
  EXPECT_EQ(run.status, 0) << run.err;
  EXPECT_TRUE(absl::StrContains(run.out, "min -2  max 3  mean 0.5   1 nan, 2 inf  [1, nan, -2, …]")) << run.out;
  EXPECT_TRUE(absl::StrContains(run.out, "[\"one\", ")) << run.out;
  EXPECT_FALSE(absl::StrContains(run.out, "\x1b")) << run.out;
}

TEST(ShowCheckpointTest, OfASavedModelTheVariables) {
  const std::string model = MakeTrainedModelDirectory("trained");
  EXPECT_TRUE(ShowJson(model).contains("nodes")) << "a model, unless values are asked for";
  const Json values = ShowJson(model, {"--values"});
  ASSERT_EQ(values["tensors"].size(), 1) << values;
  EXPECT_EQ(values["tensors"][0]["values"]["max"], 3.0);
  EXPECT_EQ(ShowJson(model + "/variables")["tensors"].size(), 1);
}

TEST(ShowCheckpointTest, OneDamagedTensorIsAnErrorBesideTheOthers) {
  const std::string prefix = MakeCheckpoint("damaged"), data = prefix + ".data-00000-of-00001";
  std::string bytes = ReadTestFile(data);
  const size_t at = bytes.find(std::string("\0\0\x80\x3f", 4));  // 1, the first element of w.
  ASSERT_NE(at, std::string::npos);
  bytes[at] = 1;
  ASSERT_OK(WriteFile(data, bytes));
  const RunResult run = RunSluice({"show", prefix, "--values"});
  EXPECT_EQ(run.status, 1);
  EXPECT_TRUE(absl::StrContains(run.out, "mean 7")) << run.out;
  EXPECT_FALSE(absl::StrContains(run.out, "nan")) << run.out;
  EXPECT_TRUE(absl::StrContains(run.err, "SLC5002 DATA_LOSS")) << run.err;
  EXPECT_EQ(RunSluice({"show", prefix}).status, 0) << "values were not asked for";
}

TEST(ShowCheckpointTest, ATensorInPartsIsOne) {
  const std::string prefix = TestFile("parts");
  ASSERT_OK_AND_ASSIGN(const std::unique_ptr<BundleWriter> writer, BundleWriter::Create(prefix));
  for (const char* const rows : {"0,1:-", "1,1:-"}) {
    ASSERT_OK_AND_ASSIGN(const TensorSlice slice, ParseSlice(rows));
    const float first = rows[0] == '0' ? 1 : 3;
    ASSERT_OK(
        writer->AddSlice("v", Shape::Of({2, 2}), slice, Tensor::Of<float>(Shape::Of({1, 2}), {first, first + 1})));
  }
  ASSERT_OK(writer->Finish());
  const Json tensors = ShowJson(prefix, {"--values"})["tensors"];
  ASSERT_EQ(tensors.size(), 1) << tensors;
  EXPECT_EQ(tensors[0]["parts"], 2);
  EXPECT_EQ(tensors[0]["bytes"], 16);
  EXPECT_EQ(tensors[0]["values"]["mean"], 2.5);
  EXPECT_TRUE(absl::StrContains(RunSluice({"show", prefix}).out, "in 2 parts"));
}

// The type of tensor 'odd' becomes one that is not known here; its block of the index gets the checksum it needs then.
std::string WithUnknownType(std::string index) {
  const size_t at = index.find("odd") + 3;
  EXPECT_EQ(index[at + 1], 3) << "DT_INT32";
  const auto sum_of = [&index](size_t bytes) {
    const uint32_t crc = MaskCrc(Crc32c(absl::string_view(index).substr(0, bytes)));
    std::string sum;
    for (int i = 0; i < 4; ++i) sum += static_cast<char>(crc >> (8 * i));
    return sum;
  };
  for (size_t end = at; end + 4 <= index.size(); ++end) {
    if (index.substr(end, 4) != sum_of(end)) continue;
    index[at + 1] = 24;  // DT_FLOAT8_E5M2.
    return index.replace(end, 4, sum_of(end));
  }
  ADD_FAILURE() << "no block";
  return index;
}

TEST(ShowCheckpointTest, ATensorOfAnUnknownTypeIsAnErrorBesideTheOthers) {
  const std::string prefix = TestFile("unknown");
  ASSERT_OK_AND_ASSIGN(const std::unique_ptr<BundleWriter> writer, BundleWriter::Create(prefix));
  ASSERT_OK(writer->Add("good", Tensor::Scalar(7.0f)));
  ASSERT_OK(writer->Add("odd", Tensor::Scalar(int32_t{1})));
  ASSERT_OK(writer->Finish());
  ASSERT_OK(WriteFile(prefix + ".index", WithUnknownType(ReadTestFile(prefix + ".index"))));
  const RunResult run = RunSluice({"show", prefix, "--values"});
  EXPECT_EQ(run.status, 1);
  EXPECT_TRUE(absl::StrContains(run.out, "good  float32 []  4 B  min 7  max 7  mean 7")) << run.out;
  EXPECT_TRUE(absl::StrContains(run.err, "SLC5004")) << run.err;
  EXPECT_TRUE(absl::StrContains(run.err, "'odd'")) << run.err;
}

// Of what is wrong with one, the list of the others says nothing.
TEST(ShowCheckpointTest, WhatIsMissingIsAnErrorBesideTheList) {
  const std::string prefix = MakeCheckpoint("shorter"), data = prefix + ".data-00000-of-00001";
  const std::string bytes = ReadTestFile(data);
  ASSERT_OK(WriteFile(data, bytes.substr(0, bytes.size() - 1)));
  const RunResult cut = RunSluice({"show", prefix, "--values"});
  EXPECT_EQ(cut.status, 1);
  EXPECT_TRUE(absl::StrContains(cut.out, "checkpoint, 5 tensors")) << cut.out;
  EXPECT_TRUE(absl::StrContains(cut.out, "mean 7")) << "that of step\n" << cut.out;
  EXPECT_TRUE(absl::StrContains(cut.err, "SLC5003")) << cut.err;
  EXPECT_TRUE(absl::StrContains(cut.err, absl::StrCat("at    '", data, "'"))) << cut.err;
  fs::remove(data);
  for (const char* const option : {"--all", "--values"}) {
    const RunResult gone = RunSluice({"show", prefix, option});
    EXPECT_EQ(gone.status, 1);
    EXPECT_TRUE(absl::StrContains(gone.out, "  w       float32 [2,4]  32 B\n")) << gone.out;
    EXPECT_TRUE(absl::StrContains(gone.err, "SLC5001")) << gone.err;
    EXPECT_FALSE(absl::StrContains(gone.err, "errors")) << "one file is missing\n" << gone.err;
  }
}

TEST(ShowCheckpointTest, ErrorsNameTheFile) {
  const std::string prefix = MakeCheckpoint("named"), data = prefix + ".data-00000-of-00001";
  std::string bytes = ReadTestFile(data);
  bytes[0] = static_cast<char>(bytes[0] ^ 1);
  ASSERT_OK(WriteFile(data, bytes));
  const RunResult run = RunSluice({"show", prefix, "--values"});
  EXPECT_TRUE(absl::StrContains(run.err, "has the wrong checksum")) << run.err;
  EXPECT_TRUE(absl::StrContains(run.err, absl::StrCat("at    '", data, "'"))) << run.err;
}

// A directory without a file `checkpoint`.
TEST(ShowCheckpointTest, TheOnlyCheckpointOfADirectoryIsMeant) {
  const std::string prefix = MakeCheckpoint("only"), directory = fs::path(prefix).parent_path().string();
  const std::string listed = RunSluice({"show", prefix}).out;
  fs::remove(directory + "/checkpoint");
  EXPECT_EQ(RunSluice({"show", directory}).out, listed);
  fs::copy_file(prefix + ".index", directory + "/other.index");
  const RunResult several = RunSluice({"show", directory});
  EXPECT_EQ(several.status, 1);
  EXPECT_TRUE(absl::StrContains(several.err, "holds several checkpoints")) << several.err;
  EXPECT_TRUE(absl::StrContains(several.err, "'model.ckpt-7', 'other'")) << several.err;
}

TEST(ShowCheckpointTest, PipesDirectoriesAndLonelyFilesAreRefused) {
  const std::string directory = TestFile("odd_files");
  fs::remove_all(directory);
  fs::create_directories(directory + "/folder.index");
  fs::create_directories(directory + "/state");
  fs::create_directories(directory + "/model");
  const std::vector<std::string> pipes = {directory + "/pipe.index", directory + "/pipe.data-00000-of-00001",
                                          directory + "/state/checkpoint", directory + "/model/saved_model.pb"};
  for (const std::string& pipe : pipes) ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  for (const std::string& path : {pipes[0], pipes[1], directory + "/state"}) {
    const RunResult run = RunSluice({"show", path});
    EXPECT_EQ(run.status, 1) << path;
    EXPECT_TRUE(absl::StrContains(run.err, "it is not a plain file")) << run.err;
  }
  EXPECT_TRUE(absl::StrContains(RunSluice({"run", pipes[0]}).err, "it is not a plain file"));
  EXPECT_TRUE(absl::StrContains(RunSluice({"check", directory + "/model"}).err, "SLC1030"));
  const RunResult folder = RunSluice({"show", directory + "/folder"});
  EXPECT_FALSE(absl::StrContains(folder.err, "prefix of a checkpoint")) << folder.err;
  const std::string lonely = MakeTestFile("odd_files/lonely.data-00000-of-00001", "");
  const RunResult data = RunSluice({"show", lonely});
  EXPECT_EQ(data.status, 1);
  EXPECT_TRUE(absl::StrContains(data.err, "lonely.index' is missing")) << data.err;
}

TEST(ShowCheckpointTest, OtherCommandsNameShow) {
  const std::string prefix = MakeCheckpoint("no_model"), directory = fs::path(prefix).parent_path().string();
  for (const char* const command : {"check", "run"}) {
    for (const std::string& path : {prefix, prefix + ".index", prefix + ".data-00000-of-00001", directory}) {
      const RunResult run = RunSluice({command, path});
      EXPECT_EQ(run.status, 1);
      const std::string text = run.out + run.err;
      EXPECT_TRUE(absl::StrContains(text, absl::StrCat("`sluice show ", path, "` lists the tensors"))) << text;
    }
  }
}

TEST(ShowCheckpointTest, OptionsThatMeanNothingAreRefused) {
  const std::string prefix = MakeCheckpoint("options");
  for (const std::vector<std::string>& options :
       {std::vector<std::string>{"--tags", "serve"}, {"--depth", "3"}, {"--boxes", "7"}}) {
    const RunResult run = RunSluice({"show", prefix, options[0], options[1]});
    EXPECT_EQ(run.status, 1) << options[0];
    EXPECT_TRUE(absl::StrContains(run.err, absl::StrCat(options[0], " means nothing"))) << run.err;
  }
  const RunResult large = RunSluice({"show", prefix, "--max-file-bytes", "10"});
  EXPECT_EQ(large.status, 1);
  EXPECT_TRUE(absl::StrContains(large.err, "--max-file-bytes N allows more")) << large.err;
}

TEST(ShowCheckpointTest, LimitsAndWrongUse) {
  const std::string prefix = MakeCheckpoint("limits");
  const RunResult large = RunSluice({"show", prefix, "--values", "--max-tensor-bytes", "16"});
  EXPECT_EQ(large.status, 1);
  EXPECT_TRUE(absl::StrContains(large.err, "SLC7009")) << large.err;
  EXPECT_TRUE(absl::StrContains(large.out, "mean 7")) << large.out;
  const RunResult drawn = RunSluice({"show", prefix, "--svg", TestFile("x.svg")});
  EXPECT_EQ(drawn.status, 1);
  EXPECT_TRUE(absl::StrContains(drawn.err, "holds no graph to draw")) << drawn.err;
  const RunResult graph = RunSluice({"show", MakeTestFile("g.pb", TrainedGraph()), "--values"});
  EXPECT_EQ(graph.status, 1);
  EXPECT_TRUE(absl::StrContains(graph.err, "has no variables with values")) << graph.err;
  fs::remove(prefix + ".data-00000-of-00001");
  EXPECT_TRUE(absl::StrContains(RunSluice({"show", prefix}).err, "SLC5001")) << "the data is gone";
}

}  // namespace
}  // namespace sluice

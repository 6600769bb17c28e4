#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "graph/load/load_graph.h"
#include "gtest/gtest.h"
#include "tests/graph/ir/graph_equal.h"
#include "tests/testing/graph_bytes.h"
#include "tests/testing/status_matchers.h"
#include "tests/tools/cli/run_sluice.h"
#include "tests/tools/cli/sample_models.h"
#include "tests/tools/cli/trained_models.h"

namespace sluice {
namespace {

Graph LoadBytes(const std::string& bytes) {
  absl::StatusOr<LoadedGraph> model = LoadGraphBytes(bytes, std::make_shared<std::string>(bytes), "test", {});
  EXPECT_OK(model);
  return model.ok() ? std::move(model->graph) : Graph(nullptr);
}

TEST(ConvertTest, BinaryToTextToBinaryIsTheSameGraph) {
  for (const std::string& model : {SampleModel(), LoopModel(), FunctionModel(), PipelineModel()}) {
    const std::string in = MakeTestFile("in.pb", model), text = TestFile("t.pbtxt"), out = TestFile("out.pb");
    ASSERT_EQ(RunSluice({"convert", in, text}).status, 0);
    EXPECT_TRUE(absl::StartsWith(ReadTestFile(text), "node {\n  name: \""));
    ASSERT_EQ(RunSluice({"convert", text, out}).status, 0);
    std::string why;
    EXPECT_TRUE(GraphsEqual(LoadBytes(model), LoadBytes(ReadTestFile(out)), &why)) << why;
  }
}

TEST(ConvertTest, StandardOutputGetsTheGraphAndNothingElse) {
  const RunResult run = RunSluice({"convert", "-", "-"}, SampleModel());
  EXPECT_EQ(run.status, 0);
  EXPECT_EQ(run.err, "");
  std::string why;
  EXPECT_TRUE(GraphsEqual(LoadBytes(SampleModel()), LoadBytes(run.out), &why)) << why;
  EXPECT_TRUE(absl::StartsWith(RunSluice({"convert", "-", "-", "--text"}, SampleModel()).out, "node {"));
}

TEST(ConvertTest, FetchKeepsWhatIsNeeded) {
  const RunResult run = RunSluice({"convert", "-", "-", "--fetch", "net/act:0"}, SampleModel());
  EXPECT_EQ(run.status, 0);
  EXPECT_TRUE(absl::StrContains(run.err, "kept 4 of 9 nodes")) << run.err;
  const Graph graph = LoadBytes(run.out);
  EXPECT_EQ(graph.num_nodes(), 4u);
  EXPECT_FALSE(graph.Find("y").valid());
}

TEST(ConvertTest, FetchDropsFunctionsThatNothingCalls) {
  EXPECT_EQ(LoadBytes(RunSluice({"convert", "-", "-", "--fetch", "x"}, FunctionModel()).out).library().size(), 0u);
  EXPECT_EQ(LoadBytes(RunSluice({"convert", "-", "-", "--fetch", "call"}, FunctionModel()).out).library().size(), 1u);
}

TEST(ConvertTest, UnknownFetchesAreErrors) {
  const std::string out = TestFile("never.pb");
  const RunResult run = RunSluice({"convert", "-", out, "--fetch", "net/atc"}, SampleModel());
  EXPECT_EQ(run.status, 1);
  EXPECT_TRUE(absl::StrContains(run.err, "net/act")) << "the nearest name\n" << run.err;
  EXPECT_FALSE(LoadGraphFile(out, {}).ok()) << "nothing is written";
}

// The error of `run`, where no such tensor is; a node without outputs can be kept, by its name.
TEST(ConvertTest, FetchesThatNoNodeGivesAreErrors) {
  const std::string out = TestFile("none.pb");
  for (const bool freezes : {false, true}) {
    for (const auto& [fetch, code] : {std::pair("net/act:9", "SLC4007"), std::pair("net/act:1", "SLC4007"),
                                      std::pair("^net/act", "SLC4008"), std::pair("init:0", "SLC4008")}) {
      std::vector<std::string> arguments = {"convert", "-", out, "--fetch", fetch};
      if (freezes) arguments.emplace_back("--freeze");
      const RunResult run = RunSluice(arguments, SampleModel());
      EXPECT_EQ(run.status, 1) << fetch;
      EXPECT_TRUE(absl::StrContains(run.err, code)) << run.err;
      EXPECT_TRUE(absl::StrContains(run.err, "outputs of the model:\n  y  float32")) << run.err;
      EXPECT_FALSE(std::filesystem::exists(out));
    }
  }
  EXPECT_EQ(RunSluice({"convert", "-", out, "--fetch", "init"}, SampleModel()).status, 0);
  const RunResult one = RunSluice({"convert", "-", out, "--fetch", "x"}, SampleModel());
  EXPECT_TRUE(absl::StrContains(one.err, "kept 1 of 9 nodes")) << one.err;
  EXPECT_TRUE(absl::StrContains(one.err, ": 1 node, ")) << one.err;
  const RunResult unknown = RunSluice({"convert", "-", out, "--fetch", "nope"}, SampleModel());
  EXPECT_TRUE(absl::StrContains(unknown.err, "outputs of the model:\n  y  float32")) << unknown.err;
}

TEST(ConvertTest, ASavedModelBecomesItsGraph) {
  const RunResult run = RunSluice({"convert", "-", "-"}, SavedModelFile());
  std::string why;
  EXPECT_TRUE(GraphsEqual(LoadBytes(run.out), LoadBytes(SampleModel()), &why)) << why;
  const RunResult train = RunSluice({"convert", "-", "-", "--tags", "train"}, SavedModelFile());
  EXPECT_TRUE(LoadBytes(train.out).Find("only_in_train").valid());
}

TEST(ConvertTest, DefaultsAndDevicesCanBeStripped) {
  const RunResult run =
      RunSluice({"convert", "-", "-", "--strip-defaults", "--strip-devices", "--text"}, SampleModel());
  EXPECT_EQ(run.status, 0) << run.err;
  EXPECT_FALSE(absl::StrContains(run.out, "transpose_a"));
  EXPECT_FALSE(absl::StrContains(run.out, "device:"));
  EXPECT_TRUE(absl::StrContains(run.out, "\"T\""));
}

TEST(ConvertTest, EndingsThatAreNotMeantAreRefused) {
  for (const char* name : {"k.onnx", "k.json", "k.dot", "k.tflite"}) {
    const std::string out = MakeTestFile(name, "old");
    const RunResult run = RunSluice({"convert", "-", out}, SampleModel());
    EXPECT_EQ(run.status, 2) << name;
    EXPECT_TRUE(absl::StrContains(run.err, ".pb (binary) or a .pbtxt (text)")) << run.err;
    EXPECT_EQ(ReadTestFile(out), "old");
    EXPECT_EQ(RunSluice({"convert", "-", out, "--binary"}, SampleModel()).status, 0) << "asked for";
  }
  EXPECT_EQ(RunSluice({"convert", "-", TestFile("no_ending")}, SampleModel()).status, 0);
}

TEST(ConvertTest, WhatAGraphDefCannotHoldIsSaid) {
  const RunResult run = RunSluice({"convert", "-", TestFile("said.pb")}, SavedModelFile());
  EXPECT_EQ(run.status, 0) << run.err;
  EXPECT_TRUE(absl::StrContains(run.err,
                                "left out: signature 'serving_default': inputs features = x:0; outputs scores "
                                "= y:0"))
      << run.err;
}

TEST(ConvertTest, AResultThatNeedsTheValuesOfVariablesIsWrittenOnlyWhenAskedFor) {
  const std::string model = TestFile("with_variables"), out = TestFile("without.pb");
  std::filesystem::create_directories(model + "/variables");
  MakeTestFile("with_variables/saved_model.pb", SavedModelFile());
  MakeTestFile("with_variables/variables/variables.index", "x");
  for (const std::string& in : {model, model + "/saved_model.pb"}) {
    const RunResult refused = RunSluice({"convert", in, out, "--tags", "serve"});
    EXPECT_EQ(refused.status, 1);
    EXPECT_TRUE(absl::StrContains(refused.err, "SLC1033")) << refused.err;
    EXPECT_TRUE(absl::StrContains(refused.err, "'v'")) << refused.err;
    EXPECT_TRUE(absl::StrContains(refused.err, "--drop-variables")) << refused.err;
    EXPECT_FALSE(std::filesystem::exists(out));
  }
  const RunResult asked = RunSluice({"convert", model, out, "--tags", "serve", "--drop-variables"});
  EXPECT_EQ(asked.status, 0) << asked.err;
  EXPECT_TRUE(absl::StrContains(asked.err, "left out: the values of 1 variable")) << asked.err;
  EXPECT_EQ(RunSluice({"convert", model, out, "--tags", "serve", "--fetch", "y"}).status, 0) << "y needs no variable";
}

TEST(ConvertTest, AResultThatNeedsTheContentsOfTablesIsWrittenOnlyWhenAskedFor) {
  using graph_bytes::MessageBytes;
  using graph_bytes::NodeDefBytes;
  using graph_bytes::TypeAttr;
  const MessageBytes key = TypeAttr(graph_bytes::kString), value = TypeAttr(graph_bytes::kInt64);
  const std::string graph = graph_bytes::GraphDefBytes(
      {NodeDefBytes("table", "HashTableV2", {}, {{"key_dtype", key}, {"value_dtype", value}}),
       NodeDefBytes("size", "LookupTableSizeV2", {"table"}), NodeDefBytes("fill", "NoOp", {"^table"})});
  MessageBytes meta, init;
  init.Entry(2, "__saved_model_init_op", MessageBytes().Bytes(1, "fill"));
  meta.Sub(1, MessageBytes().Bytes(4, "serve")).Bytes(2, graph).Entry(5, "__saved_model_init_op", init);
  const std::string model = MessageBytes().Int(1, 1).Sub(2, meta).str(), out = TestFile("tables.pb");
  const RunResult refused = RunSluice({"convert", "-", out, "--freeze", "--fetch", "size"}, model);
  EXPECT_EQ(refused.status, 1);
  EXPECT_TRUE(absl::StrContains(refused.err, "the contents of 1 lookup table ('table')")) << refused.err;
  EXPECT_FALSE(std::filesystem::exists(out));
  const RunResult asked = RunSluice({"convert", "-", out, "--freeze", "--fetch", "size", "--drop-variables"}, model);
  EXPECT_EQ(asked.status, 0) << asked.err;
  EXPECT_TRUE(absl::StrContains(asked.err, "left out: the contents of 1 lookup table")) << asked.err;
  EXPECT_EQ(RunSluice({"convert", "-", out}, model).status, 0) << "with what fills it";
}

TEST(ConvertTest, ResultsOfASignatureCanBeFetched) {
  const RunResult by_key = RunSluice({"convert", "-", "-", "--fetch", "scores"}, SavedModelFile());
  EXPECT_EQ(by_key.status, 0) << by_key.err;
  EXPECT_TRUE(LoadBytes(by_key.out).Find("y").valid());
  EXPECT_FALSE(LoadBytes(by_key.out).Find("init").valid());
  const RunResult all = RunSluice({"convert", "-", "-", "--signature", "serving_default"}, SavedModelFile());
  EXPECT_EQ(all.out, by_key.out);
  const RunResult unknown = RunSluice({"convert", "-", "-", "--signature", "train"}, SavedModelFile());
  EXPECT_EQ(unknown.status, 1);
  EXPECT_TRUE(absl::StrContains(unknown.err, "SLC1034")) << unknown.err;
}

TEST(ConvertTest, BrokenGraphsAreNotWritten) {
  const std::string out = MakeTestFile("kept.pb", "old");
  EXPECT_EQ(RunSluice({"convert", "-", out}, BrokenModel()).status, 1);
  EXPECT_EQ(ReadTestFile(out), "old");
}

// A graph that has no checkpoint beside it, or another one.
TEST(ConvertTest, FreezeReadsTheCheckpointThatIsNamed) {
  const std::string prefix = MakeTrainedModelDirectory("values") + "/variables/variables", out = TestFile("frozen.pb");
  for (const std::string& model :
       {MakeTestFile("a_graph.pb", TrainedGraph()), MakeTestFile("a.meta", TrainedMetaGraph())}) {
    const RunResult run = RunSluice({"convert", model, out, "--freeze", "--fetch", "product", "--restore", prefix});
    EXPECT_EQ(run.status, 0) << run.err;
    EXPECT_TRUE(absl::StrContains(run.err, "froze 1 variable: 8 B")) << run.err;
    EXPECT_EQ(RunSluice({"run", out, "--feed", "x=[[1,1]]"}).out, "product  float32 [1,2]\n[[2, 3]]\n");
    const RunResult grad =
        RunSluice({"grad", model, "--y", "product", "--x", "x", "-o", out, "--freeze", "--restore", prefix});
    EXPECT_EQ(grad.status, 0) << grad.err;
    EXPECT_TRUE(
        absl::StrContains(RunSluice({"run", out, "--feed", "x=[[1,1]]", "--fetch", "gradients/0"}).out, "[[2, 3]]"));
  }
}

TEST(ConvertTest, ACheckpointThatCannotBeReadOrIsNotWantedIsAnError) {
  const std::string model = MakeTestFile("b.meta", TrainedMetaGraph()), out = TestFile("not_frozen.pb");
  const RunResult none = RunSluice({"convert", model, out, "--freeze", "--fetch", "product"});
  EXPECT_EQ(none.status, 1);
  EXPECT_TRUE(absl::StrContains(none.err, "help  --restore PREFIX takes the values from a checkpoint")) << none.err;
  const RunResult missing = RunSluice({"convert", model, out, "--freeze", "--fetch", "y", "--restore", "/nowhere/x"});
  EXPECT_EQ(missing.status, 1);
  EXPECT_TRUE(absl::StrContains(missing.err, "SLC5001 NOT_FOUND")) << missing.err;
  const RunResult no_saver =
      RunSluice({"convert", "-", out, "--freeze", "--fetch", "v", "--restore", "x"}, SampleModel());
  EXPECT_EQ(no_saver.status, 1);
  EXPECT_TRUE(absl::StrContains(no_saver.err, "it has no saver")) << no_saver.err;
  for (const std::vector<std::string>& call : {std::vector<std::string>{"convert", model, out, "--restore", "x"},
                                               {"grad", model, "--y", "y", "--x", "x", "-o", out, "--restore", "x"}}) {
    const RunResult unused = RunSluice(call);
    EXPECT_EQ(unused.status, 2);
    EXPECT_TRUE(absl::StrContains(unused.err, "--restore requires --freeze")) << unused.err;
  }
  EXPECT_FALSE(std::filesystem::exists(out));
}

}  // namespace
}  // namespace sluice

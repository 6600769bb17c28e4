// `sluice run` and `bench`: what variables hold. A trained model never answers from initial values unless asked to.

#include <filesystem>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "graph/ir/builder.h"
#include "graph/ir/export.h"
#include "graph/ops/op_table.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "tests/testing/status_matchers.h"
#include "tests/tools/cli/run_sluice.h"
#include "tests/tools/cli/trained_models.h"

namespace sluice {
namespace {

using ::absl::StrContains;
using Call = std::vector<std::string>;

RunResult RunWith(const std::string& model, const Call& options, const std::string& command = "run") {
  Call call = {command, model, "--feed", "features=1x2=1"};
  call.insert(call.end(), options.begin(), options.end());
  return RunSluice(call);
}

TEST(RunStateTest, ATrainedModelAnswersWithItsTrainedValues) {
  const std::string model = MakeTrainedModelDirectory("trained");
  for (const std::string& path : {model, model + "/", model + "/saved_model.pb"}) {
    const RunResult run = RunWith(path, {"--init", "local_init"});
    EXPECT_EQ(run.status, 0) << run.err;
    EXPECT_EQ(run.out, "scores  float32 [1,2]\n[[2, 3]]\n");
    EXPECT_EQ(run.err, "");
  }
  EXPECT_EQ(RunWith(MakeTrainedModelOfFunctions("trained_functions"), {}).out, "scores  float32 [1,2]\n[[2, 3]]\n");
}

TEST(RunStateTest, ADamagedCheckpointIsNeverAnUntrainedModel) {
  const std::string model = MakeTrainedModelDirectory("damaged");
  std::filesystem::remove(model + "/variables/variables.data-00000-of-00001");
  const RunResult run = RunWith(model, {"--init", "local_init"});
  EXPECT_EQ(run.status, 1);
  EXPECT_EQ(run.out, "");
  EXPECT_TRUE(StrContains(run.err, "SLC5001 NOT_FOUND")) << run.err;
  EXPECT_TRUE(StrContains(run.err, "variables.data-00000-of-00001' is missing")) << run.err;
}

TEST(RunStateTest, CheckpointsAreWrittenAndRead) {
  const std::string meta = MakeTestFile("graph.meta", TrainedMetaGraph());
  const std::string directory = TestFile("checkpoints");
  std::filesystem::create_directories(directory);
  const Call write = {"run", meta, "--fetch", "counter", "--init", "init,local_init", "--checkpoint"};
  for (const char* name : {"/a", "/b"}) {
    Call call = write;
    call.push_back(directory + name);
    const RunResult run = RunSluice(call);
    EXPECT_EQ(run.status, 0) << run.err;
  }
  for (const std::string& prefix : {directory + "/a", directory}) {  // A directory stands for its newest checkpoint.
    const RunResult run =
        RunSluice({"run", meta, "--feed", "x=1x2=1", "--fetch", "y", "--restore", prefix, "--init", "local_init"});
    EXPECT_EQ(run.status, 0) << run.err;
    EXPECT_EQ(run.out, "y  float32 [1,2]\n[[0, 0]]\n");
  }
  const RunResult none = RunSluice({"run", meta, "--fetch", "counter", "--restore", directory + "/c"});
  EXPECT_TRUE(StrContains(none.err, "SLC5001 NOT_FOUND")) << none.err;
}

TEST(RunStateTest, AVariableThatNoCheckpointHoldsIsToldItsOwnInit) {
  const RunResult run = RunWith(MakeTrainedModelDirectory("own_init"), {"--fetch", "counter"});
  EXPECT_EQ(run.status, 1);
  EXPECT_TRUE(StrContains(run.err, "no checkpoint holds this variable")) << run.err;
  EXPECT_TRUE(StrContains(run.err, "--init counter/Assign")) << run.err;
}

// A step of training assigns to variables, too: what depends on what they hold.
TEST(RunStateTest, TrainingGoesOnFromACheckpoint) {
  GraphBuilder b(NewOpRegistry());
  const Output v = b.Op("VariableV2", "v", {}, {{"dtype", DType::kFloat}, {"shape", PartialShape::Scalar()}});
  b.Op("Assign", "init", {v, b.Const("zero", Tensor::Scalar(0.0f))});
  const Output read = b.Op("Identity", "v/read", {v});
  b.Op("Assign", "train", {v, b.Op("AddV2", "next", {read, b.Const("one", Tensor::Scalar(1.0f))})});
  const Output file = b.Op("PlaceholderWithDefault", "save/Const", {b.Const("model", Tensor::String("model"))},
                           {{"shape", PartialShape::Scalar()}});
  const Output names = b.Const("save/names", Tensor::Strings({"v"})), all = b.Const("save/all", Tensor::Strings({""}));
  const Output save = b.Op("SaveV2", "save/SaveV2", {file, names, all, read});
  b.AddControl(b.Op("Identity", "save/control_dependency", {file}), save);
  const std::vector<DType> floats = {DType::kFloat};
  b.Op("Assign", "save/restore_all",
       {v, b.Op("RestoreV2", "save/RestoreV2", {file, names, all}, {{"dtypes", floats}})});
  ASSERT_OK_AND_ASSIGN(const Graph graph, b.Build());
  const std::string model = MakeTestFile("training.pb", ExportGraph(graph)), prefix = TestFile("training_checkpoint");
  const RunResult first =
      RunSluice({"run", model, "--init", "init", "--target", "train", "--steps", "3", "--checkpoint", prefix});
  EXPECT_EQ(first.status, 0) << first.err;
  const RunResult more =
      RunSluice({"run", model, "--restore", prefix, "--target", "train", "--steps", "2", "--checkpoint", prefix});
  EXPECT_EQ(more.status, 0) << more.err;
  const RunResult last = RunSluice({"run", model, "--restore", prefix, "--fetch", "v/read"});
  EXPECT_TRUE(StrContains(last.out, "v/read  float32 []  5")) << last.out << last.err;
  EXPECT_EQ(RunSluice({"run", model, "--restore", prefix, "--target", "init"}).status, 1) << "that is no training";
}

TEST(RunStateTest, AnInitThatUntrainsAModelIsRefused) {
  const std::string model = MakeTrainedModelDirectory("refuse");
  const std::vector<Call> calls = {{"--init", "init"},
                                   {"--init", "local_init,init"},
                                   {"--init", "dense/kernel/Assign"},
                                   {"--init", "dense/kernel/Assign:0"},
                                   {"--target", "init", "--fetch", "y"}};
  for (const Call& options : calls) {
    for (const char* command : {"run", "bench"}) {
      const RunResult run = RunWith(model, options, command);
      EXPECT_EQ(run.status, 1) << options[1];
      EXPECT_EQ(run.out, "") << options[1];
      EXPECT_TRUE(StrContains(run.err, "SLC4014 FAILED_PRECONDITION: " + options[0] + " '")) << run.err;
      EXPECT_TRUE(StrContains(run.err, "the answers would be those of an untrained model")) << run.err;
      EXPECT_TRUE(StrContains(run.err, "add --untrained")) << run.err;
    }
  }
}

TEST(RunStateTest, AModelsOwnInitRunsAfterItsVariablesAreRestored) {
  // As in TensorFlow, also where it takes their values away.
  const RunResult run = RunWith(MakeTrainedModelDirectory("own", "init"), {"--init", "local_init"});
  EXPECT_EQ(run.out, "scores  float32 [1,2]\n[[0, 0]]\n") << run.err;
  EXPECT_EQ(RunWith(MakeTrainedModelDirectory("harmless", "local_init"), {"--fetch", "counter"}).status, 0);
}

TEST(RunStateTest, FunctionsThatAssignAreInitsToo) {
  const std::string model = MakeTrainedModelOfFunctions("functions");
  const RunResult run = RunWith(model, {"--init", "setup"});
  EXPECT_EQ(run.status, 1);
  EXPECT_TRUE(StrContains(run.err, "untrained model")) << run.err;
  EXPECT_EQ(RunWith(model, {"--init", "setup", "--untrained"}).out, "scores  float32 [1,2]\n[[0, 0]]\n");
}

TEST(RunStateTest, UntrainedAnswersAreMarkedAlsoWhenQuiet) {
  const std::string model = MakeTrainedModelDirectory("marked");
  const Call options = {"--init", "init,local_init", "--untrained", "-q"};
  const RunResult run = RunWith(model, options);
  EXPECT_EQ(run.status, 0) << run.err;
  EXPECT_EQ(run.out, "scores  float32 [1,2]\n[[0, 0]]\n");
  EXPECT_TRUE(StrContains(run.err, "warning: these are the answers of an untrained model: --init 'init'")) << run.err;
  Call json = options;
  json.push_back("--json");
  EXPECT_EQ(nlohmann::json::parse(RunWith(model, json).out)["untrained"], true);
}

TEST(RunStateTest, InitsOfWhatNoCheckpointHoldsAreWelcome) {
  const RunResult run = RunWith(MakeTrainedModelDirectory("local"), {"--init", "local_init", "--fetch", "counter"});
  EXPECT_EQ(run.status, 0) << run.err;
  EXPECT_EQ(run.out, "counter  float32 []  0\n");
  EXPECT_EQ(run.err, "");
}

TEST(RunStateTest, AMetaGraphBesideItsCheckpointIsATrainedModel) {
  const std::string meta = MakeTestFile("model.ckpt-7.meta", TrainedMetaGraph());
  const Call call = {"run", meta, "--feed", "x=1x2=1", "--fetch", "y", "--init", "init,local_init"};
  const RunResult alone = RunSluice(call);
  EXPECT_EQ(alone.status, 0) << alone.err;
  EXPECT_TRUE(StrContains(alone.err, "warning: these are the answers of an untrained model")) << alone.err;
  EXPECT_TRUE(StrContains(alone.err, "no checkpoint was read")) << alone.err;
  const std::string index = MakeTestFile("model.ckpt-7.index", "an index");
  const RunResult beside = RunSluice(call);
  EXPECT_EQ(beside.status, 1);
  EXPECT_TRUE(StrContains(beside.err, "instead of the trained ones")) << beside.err;
  EXPECT_FALSE(StrContains(RunSluice({"run", meta, "--feed", "x=1x2=1", "--fetch", "y"}).err, "--init"));
  std::filesystem::remove(index);
}

TEST(RunStateTest, WhatAnswersNothingIsNotWarnedAbout) {
  const std::string meta = MakeTestFile("begins.meta", TrainedMetaGraph());
  const RunResult run = RunSluice({"run", meta, "--init", "init", "--target", "local_init"});
  EXPECT_EQ(run.status, 0) << run.err;
  EXPECT_EQ(run.err, "");
}

TEST(RunStateTest, AGraphWithoutASaverIsInitialisedWithoutAWord) {
  // The rest of the graph without its saver.
  const std::string graph = TestFile("without_saver.pb");
  ASSERT_EQ(RunSluice({"convert", "-", graph, "--fetch", "y,init,local_init"}, TrainedGraph()).status, 0);
  const RunResult hint = RunSluice({"run", graph, "--feed", "x=1x2=1", "--fetch", "y"});
  EXPECT_TRUE(StrContains(hint.err, "initial (untrained) values")) << hint.err;
  EXPECT_TRUE(StrContains(hint.err, "--init init")) << hint.err;
  const RunResult run = RunSluice({"run", graph, "--feed", "x=1x2=1", "--fetch", "y", "--init", "init,local_init"});
  EXPECT_EQ(run.status, 0) << run.err;
  EXPECT_EQ(run.err, "");
}

TEST(RunStateTest, AnInitThatGivesAnotherVariableItsValueIsToldWhichDoes) {
  const RunResult run = RunSluice({"run", "-", "--feed", "x=1x2=1", "--fetch", "y", "--init", "init"}, TrainedGraph());
  EXPECT_EQ(run.status, 1);
  EXPECT_TRUE(StrContains(run.err, "--init counter/Assign")) << run.err;
  EXPECT_FALSE(StrContains(run.err, "variables have no values")) << run.err;
}

TEST(RunStateTest, AnInitThatIsNoNodeIsCalledByItsOption) {
  const RunResult run = RunSluice({"run", "-", "--fetch", "counter", "--init", "int"}, TrainedGraph());
  EXPECT_EQ(run.status, 1);
  EXPECT_TRUE(StrContains(run.err, "--init 'int': the graph has no node 'int'")) << run.err;
  EXPECT_TRUE(StrContains(run.err, "did you mean 'init'")) << run.err;
  EXPECT_FALSE(StrContains(run.err, "target 'int'")) << run.err;
}

// A test that runs into its time limit where advice costs a walk of the whole chain for each assignment.
TEST(RunStateTest, AdviceAboutAVariableIsLinearInChainsOfAssignments) {
  constexpr int kLength = 100'000;
  GraphBuilder b(NewOpRegistry());
  const Output v = b.Op("VariableV2", "v", {}, {{"dtype", DType::kFloat}, {"shape", PartialShape::Scalar()}});
  Output value = b.Const("one", Tensor::Scalar(1.0f)), reference = v;
  for (int i = 0; i < kLength; ++i) value = b.Op("Identity", absl::StrCat("i", i), {value});
  for (int i = 0; i < kLength; ++i) reference = b.Op("Assign", absl::StrCat("a", i), {reference, value});
  b.Op("Identity", "y", {v});
  const RunResult run = RunSluice({"run", "-", "--fetch", "y"}, ExportGraph(*b.Build()));
  EXPECT_EQ(run.status, 1);
  EXPECT_TRUE(StrContains(run.err, "SLC5101")) << run.err;
}

TEST(RunStateTest, TheNameOfAVariableWithoutAValueIsNeverShortened) {
  const std::string model = MakeTrainedModelOfFunctions("long_name");
  const RunResult run = RunWith(model, {"--untrained"});
  EXPECT_TRUE(StrContains(run.err, "is the handle of variable 'dense/kernel', which has no value yet")) << run.err;
}

}  // namespace
}  // namespace sluice

// `sluice train`, run as users run it.

#include <csignal>
#include <filesystem>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "tests/testing/status_matchers.h"
#include "tests/tools/cli/run_sluice.h"
#include "tests/tools/cli/train/training_models.h"
#include "tools/cli/numpy/npz.h"
#include "tools/cli/train/train_checkpoints.h"

namespace sluice {
namespace {

namespace fs = std::filesystem;

// Model and data in files, and an empty place for what is trained. A training of 5 steps an epoch.
class TrainTest : public ::testing::Test {
 protected:
  void SetUp() override { fs::remove_all(out_); }

  RunResult Train(const std::vector<std::string>& more = {}) const {
    std::vector<std::string> arguments = {"train", model_, data_, "--loss",  "loss", "--feed", "scale=1", "-o",
                                          out_,    "--lr", "0.1", "--batch", "10",   "--seed", "5"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return RunSluice(arguments);
  }
  std::string Csv() const { return ReadTestFile(out_ + "/loss.csv"); }
  bool IsThere(const std::string& name) const { return fs::exists(out_ + "/" + name); }

  const std::string model_ = MakeTestFile("dropout.pb", DropoutModel());
  const std::string data_ = MakeTestFile("rows.npz", TrainingRows(50));
  const std::string out_ = TestFile("run");
};

TEST_F(TrainTest, TheLossFallsAndEverythingIsWritten) {
  const RunResult run = Train({"--metric", "error", "--validate", "0.2", "--epochs", "8"});
  EXPECT_EQ(run.status, 0) << run.err;
  const std::vector<std::string> lines = absl::StrSplit(run.out, '\n', absl::SkipEmpty());
  ASSERT_EQ(lines.size(), 9) << run.out;
  EXPECT_TRUE(absl::StrContains(lines[0], "val_error")) << lines[0];
  for (const char* name :
       {"checkpoint", "model.ckpt-32.index", "model.ckpt-32.meta", "loss.svg", "train", "validation"}) {
    EXPECT_TRUE(IsThere(name)) << name;
  }
  EXPECT_FALSE(IsThere("model.ckpt-4.index")) << "five are kept";
  EXPECT_TRUE(IsThere("model.ckpt-16.index"));
  const std::vector<std::string> rows = absl::StrSplit(Csv(), '\n', absl::SkipEmpty());
  EXPECT_EQ(rows.size(), 1 + 32 + 8);
  EXPECT_EQ(rows[0], "split,step,epoch,loss,error");
  const auto loss_of = [](const std::string& row) {
    return std::stod(std::vector<std::string>(absl::StrSplit(row, ','))[3]);
  };
  EXPECT_LT(loss_of(rows.back()), 0.5 * loss_of(rows[1]));
}

TEST_F(TrainTest, StepsOfEveryKind) {
  const RunResult run = Train({"--steps", "20", "--optimizer", "adamax", "--schedule", "polynomial", "--accumulate",
                               "2", "--weight-decay", "0.01", "--no-decay", "b"});
  EXPECT_EQ(run.status, 0) << run.err;
  const RunResult wrong = Train({"--no-decay", "weights", "--weight-decay", "0.1", "--resume"});
  EXPECT_EQ(wrong.status, 1);
  EXPECT_TRUE(absl::StrContains(wrong.err, "--no-decay")) << wrong.err;
  const RunResult endless = Train({"--schedule", "cosine"});
  EXPECT_TRUE(absl::StrContains(endless.err, "add --decay-steps N")) << endless.err;
}

// Written by no training: it would turn round for ever.
TEST_F(TrainTest, APlaceThatNoTrainingHasIsRefused) {
  ASSERT_EQ(Train({"--epochs", "1"}).status, 0);
  for (const std::vector<int64_t>& place : {std::vector<int64_t>{5, 0, 99}, {5, 0, -1}, {-5, 1, 0}}) {
    ASSERT_OK_AND_ASSIGN(TrainCheckpoints checkpoints, TrainCheckpoints::Open(out_, 5, "meta"));
    ASSERT_OK_AND_ASSIGN(NamedTensors tensors, ReadCheckpoint(checkpoints.newest()));
    bool is_there = false;
    for (auto& [name, tensor] : tensors) {
      if (name != "sluice_training/position") continue;
      tensor = Tensor::Vector<int64_t>(place);
      is_there = true;
    }
    ASSERT_TRUE(is_there);
    ASSERT_OK(checkpoints.Save(5, tensors));
    const RunResult run = Train({"--epochs", "2", "--resume"});
    EXPECT_EQ(run.status, 1);
    EXPECT_TRUE(absl::StrContains(run.err, "says a place that no training has")) << run.err;
  }
}

// Of more numbers than one the sum would be made small and the mean be shown.
TEST_F(TrainTest, ALossIsOneNumber) {
  const std::vector<std::pair<std::string, std::string>> losses = {{"squares", "Square 'squares': found float32 [?,1]"},
                                                                   {"x_shape", "Shape 'x_shape': found int32 [2]"},
                                                                   {"dropout/is_kept", "found bool [?,4]"},
                                                                   {"text", "Const 'text': found string []"}};
  for (const auto& [loss, why] : losses) {
    const RunResult run = RunSluice({"train", model_, data_, "--loss", loss, "--feed", "scale=1", "-o", out_});
    EXPECT_EQ(run.status, 1);
    EXPECT_EQ(run.out, "");
    EXPECT_TRUE(absl::StrContains(run.err, why + ", expected one floating-point number as a loss")) << run.err;
    EXPECT_TRUE(absl::StrContains(run.err, "help  ")) << run.err;
    EXPECT_FALSE(fs::exists(out_));
  }
  const RunResult near = RunSluice({"train", model_, data_, "--loss", "squares", "--feed", "scale=1", "-o", out_});
  EXPECT_TRUE(absl::StrContains(near.err, "help  --loss loss is its mean")) << near.err;
  const RunResult far = RunSluice({"train", model_, data_, "--loss", "off", "--feed", "scale=1", "-o", out_});
  EXPECT_TRUE(absl::StrContains(far.err, "help  name a tensor that is its mean")) << far.err;
}

TEST_F(TrainTest, ALossOfOneElementOrOfAnUnknownShapeIsTaken) {
  const std::string unknown = MakeTestFile("unknown_loss.pb", DropoutModel(/*states_shapes=*/false));
  for (const auto& [model, loss] : {std::make_pair(model_, "loss_in_a_list"), std::make_pair(unknown, "loss")}) {
    const RunResult run =
        RunSluice({"train", model, data_, "--loss", loss, "--feed", "scale=1", "-o", out_, "--steps", "2"});
    EXPECT_EQ(run.status, 0) << run.err;
    fs::remove_all(out_);
  }
}

TEST_F(TrainTest, AWrongValueIsSaidOfTheFeed) {
  for (const char* option : {"--feed", "--val-feed"}) {
    const RunResult run = Train({option, "scale=1e400"});
    EXPECT_EQ(run.status, 2);
    EXPECT_TRUE(absl::StrContains(run.err, "feed 'scale': '1e400' is not a value of float32: it is out of range"))
        << run.err;
  }
}

TEST_F(TrainTest, WhatHasNoValueIsNotExported) {
  const RunResult run = Train({"--epochs", "1", "--export", TestFile("nothing"), "--output", "^y"});
  EXPECT_EQ(run.status, 1);
  EXPECT_TRUE(absl::StrContains(run.err, "has no value")) << run.err;
  EXPECT_FALSE(IsThere("checkpoint")) << "before the training";
}

// Slots begin with the shapes of the variables, which must have theirs by then.
TEST_F(TrainTest, VariablesOfUnknownShape) {
  const std::string model = MakeTestFile("unknown.pb", DropoutModel(/*states_shapes=*/false));
  const RunResult run = RunSluice({"train", model, data_, "--loss", "loss", "--feed", "scale=1", "-o", out_,
                                   "--optimizer", "adam", "--steps", "3"});
  EXPECT_EQ(run.status, 0) << run.err;
}

TEST_F(TrainTest, WhatWasTrainedAnswersFromItsCheckpoint) {
  ASSERT_EQ(Train({"--epochs", "2"}).status, 0);
  const std::string first = RunSluice({"run", out_ + "/model.ckpt-5.meta", "--fetch", "b/read"}).out;
  const RunResult last = RunSluice({"run", out_ + "/model.ckpt-10.meta", "--fetch", "b/read"});
  EXPECT_EQ(last.status, 0) << last.err;
  EXPECT_TRUE(absl::StrContains(last.out, "float32 [1]")) << last.out;
  EXPECT_NE(last.out, first);
}

TEST_F(TrainTest, TheExportedModelAnswersAsTheTrainedOne) {
  const std::string exported = TestFile("exported");
  fs::remove_all(exported);
  const RunResult train = Train({"--epochs", "2", "--export", exported, "--output", "y"});
  ASSERT_EQ(train.status, 0) << train.err;
  const RunResult from_export = RunSluice({"run", exported, "--feed", "x=1x4xf32=0", "--fetch", "y"});
  const RunResult from_checkpoint =
      RunSluice({"run", out_ + "/model.ckpt-10.meta", "--feed", "x=1x4xf32=0", "--fetch", "y"});
  EXPECT_EQ(from_export.status, 0) << from_export.err;
  EXPECT_EQ(from_export.out, from_checkpoint.out);
  const RunResult show = RunSluice({"show", exported});
  EXPECT_FALSE(absl::StrContains(show.out, "ResourceApply")) << "the training is left out\n" << show.out;
}

TEST_F(TrainTest, OneDocumentWithJson) {
  const RunResult run = Train({"--epochs", "1", "--validate", data_, "--json", "--optimizer", "adam"});
  ASSERT_EQ(run.status, 0) << run.err;
  const nlohmann::json document = nlohmann::json::parse(run.out);
  EXPECT_EQ(document.at("step"), 5);
  EXPECT_GT(document.at("train").at("loss").get<double>(), 0);
  EXPECT_EQ(document.at("validation").at("step"), 5);
}

TEST_F(TrainTest, ANewTrainingMayBeginFromOldWeights) {
  ASSERT_EQ(Train({"--epochs", "20"}).status, 0);
  const std::string other = TestFile("other_run");
  fs::remove_all(other);
  const auto first_loss = [&](const std::vector<std::string>& more) {
    std::vector<std::string> line = {"train", model_, data_, "--loss",  "loss", "--feed",  "scale=1", "-o",
                                     other,   "--lr", "0",   "--steps", "1",    "--batch", "50",      "--json"};
    line.insert(line.end(), more.begin(), more.end());
    const RunResult run = RunSluice(line);
    EXPECT_EQ(run.status, 0) << run.err;
    fs::remove_all(other);
    return nlohmann::json::parse(run.out).at("train").at("loss").get<double>();
  };
  EXPECT_LT(first_loss({"--restore", out_}), 0.5 * first_loss({}));
  const std::string empty = TestFile("no_checkpoints");
  fs::create_directories(empty);
  const RunResult none =
      RunSluice({"train", model_, data_, "--loss", "loss", "--feed", "scale=1", "-o", other, "--restore", empty});
  EXPECT_EQ(none.status, 1);
  EXPECT_TRUE(absl::StrContains(none.err, "names a checkpoint")) << none.err;
}

TEST_F(TrainTest, StepsMayEndWithinAnEpoch) {
  EXPECT_EQ(Train({"--steps", "7"}).status, 0);
  EXPECT_TRUE(IsThere("model.ckpt-7.index"));
}

TEST_F(TrainTest, ADirectoryWithATrainingIsNotOverwritten) {
  ASSERT_EQ(Train({"--epochs", "1"}).status, 0);
  const RunResult again = Train({"--epochs", "1"});
  EXPECT_EQ(again.status, 1);
  EXPECT_TRUE(absl::StrContains(again.err, "--resume")) << again.err;
}

TEST_F(TrainTest, ALossThatIsNotANumberStopsWithItsStep) {
  const RunResult run = Train({"--lr", "1e20", "--epochs", "50"});
  EXPECT_EQ(run.status, 2) << "an option twice is wrong use";
  const std::vector<std::string> far = {"train", model_, data_, "--loss", "loss",    "--feed", "scale=1",
                                        "--lr",  "1e20", "-o",  out_,     "--steps", "50"};
  const RunResult stopped = RunSluice(far);
  EXPECT_EQ(stopped.status, 1);
  EXPECT_TRUE(absl::StrContains(stopped.err, "'loss' is ")) << stopped.err;
  EXPECT_TRUE(absl::StrContains(stopped.err, "in step ")) << stopped.err;
  fs::remove_all(out_);
  std::vector<std::string> warned = far;
  warned.insert(warned.end(), {"--on-nan", "warn"});
  const RunResult went_on = RunSluice(warned);
  EXPECT_EQ(went_on.status, 0) << went_on.err;
  EXPECT_TRUE(absl::StrContains(went_on.err, "this is said once")) << went_on.err;
}

TEST_F(TrainTest, ErrorsSayWhatToDo) {
  const auto refused = [&](const std::vector<std::string>& more, const char* text) {
    const RunResult run = Train(more);
    EXPECT_NE(run.status, 0) << text;
    EXPECT_TRUE(absl::StrContains(run.err, text)) << text << "\n" << run.err;
    EXPECT_FALSE(IsThere("checkpoint")) << text;
  };
  refused({"--optimizer", "adm"}, "did you mean adam");
  refused({"--beta1", "0.8"}, "belongs to adam, adamw");
  refused({"--metric", "eror"}, "error");
  refused({"--data", "wanted=want"}, "--data wanted=wanted");
  refused({"--data", "x=wanted"}, "rows of another shape");
  refused({"--freeze", "w,b"}, "nothing to train");
  refused({"--validate", "1.5"}, "between 0 and 1");
  refused({"--output", "y"}, "there is no --export");
}

TEST_F(TrainTest, ArraysOfOtherDtypesAreConvertedWhereThatIsAskedFor) {
  const NamedTensor arrays[] = {{"x", Tensor::Of<double>(Shape::Of({2, 4}), std::vector<double>(8, 0.5))},
                                {"wanted", Tensor::Of<int32_t>(Shape::Of({2, 1}), {1, 2})}};
  const std::string npz = MakeTestFile("others.npz", *WriteNpz(arrays));
  std::vector<std::string> line = {"train", model_, npz, "--loss", "loss", "--feed", "scale=1", "-o", out_};
  const RunResult refused = RunSluice(line);
  EXPECT_EQ(refused.status, 1);
  EXPECT_TRUE(absl::StrContains(refused.err, "x.astype('float32')")) << refused.err;
  line.push_back("--convert");
  EXPECT_EQ(RunSluice(line).status, 0);
}

TEST_F(TrainTest, FewerRowsThanABatchAreSaid) {
  const RunResult run = RunSluice(
      {"train", model_, data_, "--loss", "loss", "--feed", "scale=1", "-o", out_, "--batch", "100", "--drop-last"});
  EXPECT_EQ(run.status, 1);
  EXPECT_TRUE(absl::StrContains(run.err, "50 rows")) << run.err;
  EXPECT_TRUE(absl::StrContains(run.err, "100 or more")) << run.err;
}

TEST_F(TrainTest, EmptyDataIsSaid) {
  const std::string none = MakeTestFile("none.npz", TrainingRows(0));
  const RunResult run = RunSluice({"train", model_, none, "--loss", "loss", "--feed", "scale=1", "-o", out_});
  EXPECT_EQ(run.status, 1);
  EXPECT_TRUE(absl::StrContains(run.err, "0 rows")) << run.err;
}

}  // namespace
}  // namespace sluice

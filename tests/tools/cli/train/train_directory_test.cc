// The directory of a training: locked, tried before the work, and left as it was where nothing was trained.

#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "graph/base/file.h"
#include "gtest/gtest.h"
#include "tests/testing/status_matchers.h"
#include "tests/tools/cli/run_sluice.h"
#include "tests/tools/cli/train/train_process.h"
#include "tests/tools/cli/train/training_models.h"
#include "tools/cli/train/train_checkpoints.h"

namespace sluice {
namespace {

namespace fs = std::filesystem;

class TrainDirectoryTest : public ::testing::Test {
 protected:
  void SetUp() override {
    fs::remove_all(out_);
    fs::remove_all(exported_);
  }
  std::vector<std::string> Line(const std::vector<std::string>& more) const {
    std::vector<std::string> line = {"train",   model_, data_, "--loss", "loss", "--feed",
                                     "scale=1", "-o",   out_,  "--lr",   "0.1",  "--no-events"};
    line.insert(line.end(), more.begin(), more.end());
    return line;
  }
  RunResult Train(const std::vector<std::string>& more) const { return RunSluice(Line(more)); }

  const std::string model_ = MakeTestFile("dropout.pb", DropoutModel());
  const std::string data_ = MakeTestFile("rows.npz", TrainingRows(50));
  const std::string out_ = TestFile("run"), exported_ = TestFile("exported");
};

TEST_F(TrainDirectoryTest, OneTrainingAtATime) {
  TrainProcess first(Line({"--steps", "100000000", "--save-every", "1000"}));
  while (!first.IsOver() && !fs::exists(out_ + "/checkpoint")) ::usleep(1000);
  const RunResult second = Train({"--steps", "10", "--resume"});
  EXPECT_EQ(second.status, 1);
  EXPECT_TRUE(absl::StrContains(second.err, "another training runs in this directory: process ")) << second.err;
  EXPECT_TRUE(absl::StrContains(second.err, "training.lock")) << second.err;
  first.Send(SIGKILL);
  first.Wait();
  EXPECT_TRUE(fs::exists(out_ + "/training.lock"));
  const RunResult third = Train({"--steps", "10", "--resume"});
  EXPECT_EQ(third.status, 0) << third.err;
  EXPECT_TRUE(absl::StrContains(third.err, "took over")) << third.err;
  EXPECT_FALSE(fs::exists(out_ + "/training.lock"));
}

TEST_F(TrainDirectoryTest, SighupSavesAsSigtermDoes) {
  for (const int signal : {SIGHUP, SIGTERM}) {
    fs::remove_all(out_);
    TrainProcess process(Line({"--steps", "100000000", "--save-every", "1000"}));
    while (!process.IsOver() && !fs::exists(out_ + "/checkpoint")) ::usleep(1000);
    process.Send(signal);
    EXPECT_EQ(process.Wait(), 130) << process.Output();
    EXPECT_TRUE(absl::StrContains(process.Output(), "--resume continues from there")) << process.Output();
  }
}

TEST_F(TrainDirectoryTest, WhatFailsBeforeTheFirstCheckpointLeavesNothing) {
  const std::string deep = out_ + "/a/b";
  for (const std::vector<std::string>& wrong :
       {std::vector<std::string>{"--metric", "eror"}, {"--lr", "1e20", "--steps", "50"}, {"--init", "nothing"}}) {
    std::vector<std::string> line = {"train", model_, data_, "--loss", "loss", "--feed", "scale=1", "-o", deep};
    line.insert(line.end(), wrong.begin(), wrong.end());
    const RunResult run = RunSluice(line);
    EXPECT_EQ(run.status, 1) << run.err;
    EXPECT_FALSE(fs::exists(out_)) << wrong[0];
  }
  fs::create_directories(out_);
  ASSERT_OK(WriteFile(out_ + "/notes.txt", "mine"));
  EXPECT_EQ(Train({"--metric", "eror"}).status, 1);
  EXPECT_EQ(ReadTestFile(out_ + "/notes.txt"), "mine");
  EXPECT_FALSE(fs::exists(out_ + "/loss.csv"));
  EXPECT_FALSE(fs::exists(out_ + "/training.lock"));
}

TEST_F(TrainDirectoryTest, WhatIsInTheWayIsSaidBeforeTheWork) {
  for (const char* const name : {"loss.csv", "loss.svg", "checkpoint"}) {
    fs::create_directories(out_ + "/" + name);
    const RunResult run = Train({"--steps", "3"});
    EXPECT_EQ(run.status, 1) << name;
    EXPECT_TRUE(absl::StrContains(run.err, name)) << run.err;
    EXPECT_TRUE(fs::is_directory(out_ + "/" + name));
    fs::remove_all(out_);
  }
  fs::create_directories(out_);
  ASSERT_OK(WriteFile(out_ + "/train", "a file"));
  EXPECT_EQ(Train({"--steps", "3"}).status, 1);
}

TEST_F(TrainDirectoryTest, AnExportReplacesNothingUnasked) {
  const std::vector<std::string> line = {"--steps", "3", "--export", exported_, "--output", "y"};
  ASSERT_EQ(Train(line).status, 0);
  ASSERT_OK(WriteFile(exported_ + "/notes.txt", "mine"));
  fs::create_directories(exported_ + "/assets");
  ASSERT_OK(WriteFile(exported_ + "/assets/old.txt", "old"));
  const std::string before = ReadTestFile(exported_ + "/saved_model.pb");
  fs::remove_all(out_);
  const RunResult refused = Train(line);
  EXPECT_EQ(refused.status, 1);
  EXPECT_TRUE(absl::StrContains(refused.err, "there is a SavedModel in it")) << refused.err;
  EXPECT_TRUE(absl::StrContains(refused.err, "--force")) << refused.err;
  EXPECT_FALSE(fs::exists(out_));
  EXPECT_EQ(ReadTestFile(exported_ + "/saved_model.pb"), before);
  std::vector<std::string> forced = line;
  forced.push_back("--force");
  const RunResult replaced = Train(forced);
  EXPECT_EQ(replaced.status, 0) << replaced.err;
  EXPECT_EQ(ReadTestFile(exported_ + "/notes.txt"), "mine");
  EXPECT_FALSE(fs::exists(exported_ + "/assets/old.txt"));
  fs::remove_all(exported_);
  fs::create_directories(exported_);
  ASSERT_OK(WriteFile(exported_ + "/notes.txt", "mine"));
  fs::remove_all(out_);
  const RunResult other = Train(line);
  EXPECT_EQ(other.status, 1);
  EXPECT_TRUE(absl::StrContains(other.err, "'notes.txt'")) << other.err;
  EXPECT_EQ(Train({"--steps", "3", "--export", out_, "--output", "y"}).status, 2) << "--out and --export in one";
  EXPECT_EQ(Train({"--steps", "3", "--force"}).status, 2);
}

TEST_F(TrainDirectoryTest, OtherSettingsAreSaid) {
  ASSERT_EQ(Train({"--steps", "2"}).status, 0);
  const RunResult same = Train({"--steps", "4", "--resume"});
  EXPECT_EQ(same.status, 0) << same.err;
  EXPECT_FALSE(absl::StrContains(same.err, "other than")) << same.err;
  std::vector<std::string> line = Line({"--steps", "6", "--resume", "--clip-norm", "3"});
  *(std::find(line.begin(), line.end(), "--lr") + 1) = "0.9";
  const RunResult other = RunSluice(line);
  EXPECT_EQ(other.status, 0) << other.err;
  EXPECT_TRUE(absl::StrContains(other.err, "--lr is 0.9 now and was 0.1")) << other.err;
  EXPECT_TRUE(absl::StrContains(other.err, "--clip-norm is 3 now and was none")) << other.err;
  const RunResult metric = Train({"--steps", "8", "--resume", "--metric", "error"});
  EXPECT_EQ(metric.status, 1);
  EXPECT_TRUE(absl::StrContains(metric.err, "found --metric error, expected no --metric")) << metric.err;
}

// Counters of a checkpoint that no training has reached.
TEST_F(TrainDirectoryTest, CountersBeyondAllTrainingsAreRefused) {
  ASSERT_EQ(Train({"--epochs", "1"}).status, 0);
  for (const std::vector<int64_t>& place : {std::vector<int64_t>{2, INT64_MAX, 0},
                                            {INT64_MAX, INT64_MAX, 0},
                                            {INT64_MAX, 0, 1},
                                            {2, INT64_MIN, 0},
                                            {INT64_MIN, 0, 0},
                                            {7, 1, 0},
                                            {0, INT64_MAX / 2 + 1, 0}}) {
    ASSERT_OK_AND_ASSIGN(TrainCheckpoints checkpoints, TrainCheckpoints::Open(out_, 5, "meta"));
    ASSERT_OK_AND_ASSIGN(NamedTensors tensors, ReadCheckpoint(checkpoints.newest()));
    for (auto& [name, tensor] : tensors) {
      if (name == "sluice_training/position") tensor = Tensor::Vector<int64_t>(place);
    }
    ASSERT_OK(checkpoints.Save(5, tensors));
    const RunResult run = Train({"--epochs", "3", "--resume"});
    EXPECT_EQ(run.status, 1) << place[1];
    EXPECT_TRUE(absl::StrContains(run.err, "says a place that no training has")) << run.err;
  }
}

}  // namespace
}  // namespace sluice

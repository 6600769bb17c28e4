// Training that is interrupted or killed and resumed: the same bits as without the break.

#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "gtest/gtest.h"
#include "tests/testing/status_matchers.h"
#include "tests/tools/cli/run_sluice.h"
#include "tests/tools/cli/train/train_process.h"
#include "tests/tools/cli/train/training_models.h"
#include "tools/cli/numpy/npz.h"
#include "tools/cli/train/train_checkpoints.h"

namespace sluice {
namespace {

namespace fs = std::filesystem;

constexpr int kSteps = 300;

class TrainResumeTest : public ::testing::Test {
 protected:
  void SetUp() override {
    fs::remove_all(whole_);
    fs::remove_all(broken_);
  }

  // Dropout, Adam, gradients added up, a schedule and a last batch of fewer rows: state of every kind.
  std::vector<std::string> Line(const std::string& out, int steps, bool resume) const {
    std::vector<std::string> line = {"train",
                                     model_,
                                     data_,
                                     "--loss",
                                     "loss",
                                     "--feed",
                                     "scale=1",
                                     "-o",
                                     out,
                                     "--lr",
                                     "0.01",
                                     "--batch",
                                     "9",
                                     "--seed",
                                     "11",
                                     "--optimizer",
                                     "adam",
                                     "--validate",
                                     "0.2",
                                     "--metric",
                                     "error",
                                     "--steps",
                                     std::to_string(steps),
                                     "--save-every",
                                     "7",
                                     "--no-events"};
    const std::vector<std::string> step = {
        "--accumulate", "2", "--schedule",     "cosine", "--decay-steps", "200",     "--warmup-steps", "5",
        "--no-decay",   "b", "--weight-decay", "0.01",   "--loss-scale",  "dynamic", "--clip-norm",    "2"};
    line.insert(line.end(), step.begin(), step.end());
    if (resume) line.push_back("--resume");
    return line;
  }

  // Every tensor of the last checkpoints, and the loss curves.
  void ExpectTheSame() const {
    const std::string name = "/model.ckpt-" + std::to_string(kSteps);
    ASSERT_OK_AND_ASSIGN(const NamedTensors whole, ReadCheckpoint(whole_ + name));
    ASSERT_OK_AND_ASSIGN(const NamedTensors broken, ReadCheckpoint(broken_ + name));
    ASSERT_EQ(whole.size(), broken.size());
    bool has_generator = false, has_slot = false;
    for (size_t i = 0; i < whole.size(); ++i) {
      EXPECT_EQ(whole[i].first, broken[i].first);
      has_generator = has_generator || absl::StartsWith(whole[i].first, "sluice_generator/dropout");
      has_slot = has_slot || whole[i].first == "w/Adam_1";
      if (whole[i].second.dtype() == DType::kString) continue;
      EXPECT_EQ(whole[i].second.bytes(), broken[i].second.bytes()) << whole[i].first;
    }
    EXPECT_TRUE(has_generator && has_slot);
    EXPECT_EQ(ReadTestFile(whole_ + "/loss.csv"), ReadTestFile(broken_ + "/loss.csv"));
  }

  const std::string model_ = MakeTestFile("dropout.pb", DropoutModel());
  const std::string data_ = MakeTestFile("rows.npz", TrainingRows(70));
  const std::string whole_ = TestFile("whole"), broken_ = TestFile("broken");
};

TEST_F(TrainResumeTest, AfterAnEndWithinAnEpoch) {
  ASSERT_EQ(RunSluice(Line(whole_, kSteps, false)).status, 0);
  ASSERT_EQ(RunSluice(Line(broken_, 131, false)).status, 0);
  const RunResult rest = RunSluice(Line(broken_, kSteps, true));
  ASSERT_EQ(rest.status, 0) << rest.err;
  EXPECT_TRUE(absl::StrContains(rest.err, "going on after step 131")) << rest.err;
  const std::string name = "/model.ckpt-" + std::to_string(kSteps);
  ASSERT_OK_AND_ASSIGN(const NamedTensors whole, ReadCheckpoint(whole_ + name));
  ASSERT_OK_AND_ASSIGN(const NamedTensors broken, ReadCheckpoint(broken_ + name));
  // The end was an end: the model was validated there, which took numbers of the generator. What both have is equal in
  // size and names.
  EXPECT_EQ(whole.size(), broken.size());
}

TEST_F(TrainResumeTest, AfterBeingKilledAtAnyTime) {
  ASSERT_EQ(RunSluice(Line(whole_, kSteps, false)).status, 0);
  int kills = 0;
  for (int delay_ms = 20; kills < 40; delay_ms += 15) {
    TrainProcess process(Line(broken_, kSteps, /*resume=*/true));
    ::usleep(static_cast<useconds_t>(delay_ms) * 1000);
    if (process.IsOver()) {
      EXPECT_EQ(process.Wait(), 0) << process.Output();
      break;
    }
    process.Send(SIGKILL);
    EXPECT_EQ(process.Wait(), 128 + SIGKILL);
    ++kills;
  }
  EXPECT_GT(kills, 0);
  const RunResult rest = RunSluice(Line(broken_, kSteps, true));
  ASSERT_EQ(rest.status, 0) << rest.err;
  ExpectTheSame();
}

TEST_F(TrainResumeTest, AfterCtrlC) {
  ASSERT_EQ(RunSluice(Line(whole_, kSteps, false)).status, 0);
  TrainProcess process(Line(broken_, 1'000'000, /*resume=*/false));
  while (!process.IsOver() && !fs::exists(broken_ + "/checkpoint")) ::usleep(1000);
  process.Send(SIGINT);
  EXPECT_EQ(process.Wait(), 130) << process.Output();
  EXPECT_TRUE(absl::StrContains(process.Output(), "--resume continues from there")) << process.Output();
  // It may have gone beyond the steps of the other; what is compared then are checkpoints of one step.
  const RunResult rest = RunSluice(Line(broken_, kSteps, true));
  EXPECT_EQ(rest.status, 0) << rest.err;
  if (fs::exists(broken_ + "/model.ckpt-" + std::to_string(kSteps) + ".index")) ExpectTheSame();
}

TEST_F(TrainResumeTest, OtherBatchesAreRefused) {
  ASSERT_EQ(RunSluice(Line(broken_, 20, false)).status, 0);
  std::vector<std::string> line = Line(broken_, 40, true);
  *(std::find(line.begin(), line.end(), "--seed") + 1) = "12";
  const RunResult run = RunSluice(line);
  EXPECT_EQ(run.status, 1);
  EXPECT_TRUE(absl::StrContains(run.err, "--seed 11")) << run.err;
}

TEST_F(TrainResumeTest, AnotherOptimizerIsRefused) {
  ASSERT_EQ(RunSluice(Line(broken_, 20, false)).status, 0);
  std::vector<std::string> line = Line(broken_, 40, true);
  *(std::find(line.begin(), line.end(), "--optimizer") + 1) = "momentum";
  const RunResult run = RunSluice(line);
  EXPECT_EQ(run.status, 1);
  EXPECT_TRUE(absl::StrContains(run.err, "w/Momentum")) << run.err;
}

// A step is not stopped half way: the first Ctrl-C waits for it, the second does not.
TEST(TrainInterruptTest, ASecondCtrlCEndsAtOnce) {
  const std::string model = MakeTestFile("endless.pb", EndlessModel()), data = MakeTestFile("r.npz", TrainingRows(8));
  const std::string out = TestFile("endless_run");
  fs::remove_all(out);
  TrainProcess process({"train", model, data, "--loss", "loss", "--train-op", "train", "--data", "x=x", "--convert",
                        "--data", "x=wanted", "-o", out});
  EXPECT_EQ(process.Wait(), 1) << "an input twice";
  const NamedTensor arrays[] = {{"x", Tensor::Vector<float>({1, 2, 3})}};
  const std::string rows = MakeTestFile("x.npz", *WriteNpz(arrays));
  TrainProcess endless({"train", model, rows, "--loss", "loss", "--train-op", "train", "-o", out});
  while (!endless.IsOver() && !fs::exists(out + "/loss.csv")) ::usleep(1000);
  ::usleep(1'000'000);  // By now it is in the step.
  endless.Send(SIGINT);
  ::usleep(300'000);
  EXPECT_FALSE(endless.IsOver()) << endless.Output();
  endless.Send(SIGINT);
  EXPECT_EQ(endless.Wait(), 128 + SIGINT);
}

}  // namespace
}  // namespace sluice

// Models with one signature to serve and another one to train, as programs of TensorFlow 2 write them.

#include <filesystem>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "tests/testing/graph_bytes.h"
#include "tests/tools/cli/run_sluice.h"
#include "tests/tools/cli/train/training_models.h"

namespace sluice {
namespace {

namespace fs = std::filesystem;

using graph_bytes::kFloat;
using graph_bytes::MessageBytes;

MessageBytes Tensor(const std::string& name) {
  return MessageBytes().Bytes(1, absl::StrCat(name, ":0")).Int(2, kFloat);
}

// DropoutModel as a SavedModel: serving_default (x -> prediction) and train (x, wanted, scale -> cost, mistake), whose
// keys are not names of nodes.
std::string TwoSignatures() {
  MessageBytes serve, train, meta;
  serve.Entry(1, "x", Tensor("x")).Entry(2, "prediction", Tensor("y")).Bytes(3, "tensorflow/serving/predict");
  for (const char* const input : {"x", "wanted", "scale"}) train.Entry(1, input, Tensor(input));
  train.Entry(2, "cost", Tensor("loss")).Entry(2, "mistake", Tensor("error"));
  train.Bytes(3, "tensorflow/serving/predict");
  meta.Sub(1, MessageBytes().Bytes(4, "serve").Bytes(5, "2.19.1")).Bytes(2, DropoutModel());
  meta.Entry(5, "serving_default", serve).Entry(5, "train", train);
  return MessageBytes().Int(1, 1).Sub(2, meta).str();
}

class TrainSignaturesTest : public ::testing::Test {
 protected:
  void SetUp() override {
    fs::remove_all(out_);
    fs::remove_all(exported_);
  }

  RunResult Train(const std::vector<std::string>& more) const {
    std::vector<std::string> arguments = {"train", model_,    data_,  "--feed",   "scale=1",
                                          "-o",    out_,      "--lr", "0.1",      "--epochs",
                                          "1",     "--batch", "10",   "--export", exported_};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return RunSluice(arguments);
  }
  nlohmann::json Exported() const {
    return nlohmann::json::parse(RunSluice({"show", exported_, "--json"}).out)["signatures"];
  }

  const std::string model_ = MakeTestFile("saved_model.pb", TwoSignatures());
  const std::string data_ = MakeTestFile("rows.npz", TrainingRows(50));
  const std::string out_ = TestFile("run"), exported_ = TestFile("exported");
};

TEST_F(TrainSignaturesTest, TheLossFindsItsSignatureAndAllAreExported) {
  const RunResult run = Train({"--loss", "cost", "--metric", "mistake"});
  ASSERT_EQ(run.status, 0) << run.err;
  EXPECT_TRUE(absl::StrContains(run.err, "signature 'train', which gives 'cost'")) << run.err;
  const nlohmann::json signatures = Exported();
  ASSERT_EQ(signatures.size(), 2) << signatures;
  EXPECT_EQ(signatures["serving_default"]["outputs"]["prediction"]["name"], "y:0");
  EXPECT_EQ(signatures["train"]["outputs"]["cost"]["name"], "loss:0");
  const RunResult answer = RunSluice({"run", exported_, "--feed", "x=1x4xf32=0", "--fetch", "prediction"});
  EXPECT_EQ(answer.status, 0) << answer.err;
}

TEST_F(TrainSignaturesTest, OutputsOfOtherSignaturesCanBeNamed) {
  const RunResult run = Train({"--signature", "train", "--loss", "cost", "--output", "prediction"});
  ASSERT_EQ(run.status, 0) << run.err;
  const nlohmann::json signatures = Exported();
  EXPECT_EQ(signatures["serving_default"]["outputs"]["prediction"]["name"], "y:0");
  EXPECT_EQ(signatures["serving_default"]["inputs"].size(), 1) << signatures;
  EXPECT_TRUE(signatures.contains("train"));
}

TEST_F(TrainSignaturesTest, ALossThatNoSignatureHasIsNotFound) {
  const RunResult run = Train({"--loss", "costs"});
  EXPECT_EQ(run.status, 1);
  EXPECT_TRUE(absl::StrContains(run.err, "costs")) << run.err;
}

}  // namespace
}  // namespace sluice

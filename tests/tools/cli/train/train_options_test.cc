// The command line of `sluice train`, and what users see.

#include <string>
#include <vector>

#include "CLI/CLI.hpp"
#include "absl/strings/match.h"
#include "absl/time/time.h"
#include "graph/base/error.h"
#include "gtest/gtest.h"
#include "tests/testing/status_matchers.h"
#include "tools/cli/train/optimizer_option.h"
#include "tools/cli/train/train_display.h"
#include "tools/cli/train/train_request.h"

namespace sluice {
namespace {

absl::StatusOr<TrainStepOptions> Parse(std::vector<std::string> words) {
  OptimizerOption option;
  CLI::App app;
  option.Declare(app);
  app.parse(std::vector<std::string>(words.rbegin(), words.rend()));
  return option.Read();
}

TEST(OptimizerOptionTest, EveryOptionReachesItsField) {
  ASSERT_OK_AND_ASSIGN(const TrainStepOptions adam, Parse({"--optimizer", "adam", "--lr", "0.5", "--beta1", "0.1",
                                                           "--beta2", "0.2", "--epsilon", "0.3", "--clip-norm", "4"}));
  EXPECT_EQ(adam.optimizer.kind, Optimizer::Kind::kAdam);
  EXPECT_EQ(adam.learning_rate, 0.5);
  EXPECT_EQ(adam.optimizer.beta1, 0.1);
  EXPECT_EQ(adam.optimizer.beta2, 0.2);
  EXPECT_EQ(adam.optimizer.epsilon, 0.3);
  EXPECT_EQ(adam.clip_norm, 4);
  ASSERT_OK_AND_ASSIGN(const TrainStepOptions rms,
                       Parse({"--optimizer", "rmsprop", "--decay", "0.5", "--momentum", "0.25", "--centered"}));
  EXPECT_EQ(rms.optimizer.decay, 0.5);
  EXPECT_EQ(rms.optimizer.momentum, 0.25);
  EXPECT_TRUE(rms.optimizer.centered);
  ASSERT_OK_AND_ASSIGN(const TrainStepOptions ftrl,
                       Parse({"--optimizer", "ftrl", "--l1", "1", "--l2", "2", "--l2-shrinkage", "3",
                              "--learning-rate-power", "-0.25", "--initial-accumulator", "5"}));
  EXPECT_EQ(ftrl.optimizer.l1, 1);
  EXPECT_EQ(ftrl.optimizer.l2, 2);
  EXPECT_EQ(ftrl.optimizer.l2_shrinkage, 3);
  EXPECT_EQ(ftrl.optimizer.learning_rate_power, -0.25);
  EXPECT_EQ(ftrl.optimizer.initial_accumulator, 5);
  EXPECT_EQ(Parse({"--optimizer", "adadelta", "--rho", "0.5"})->optimizer.rho, 0.5);
  EXPECT_TRUE(Parse({"--optimizer", "momentum", "--nesterov"})->optimizer.nesterov);
}

TEST(OptimizerOptionTest, DefaultsAreThoseOfTheOptimizer) {
  EXPECT_EQ(Parse({})->optimizer.kind, Optimizer::Kind::kSgd);
  EXPECT_EQ(Parse({"--optimizer", "momentum"})->optimizer.momentum, 0.9);
  EXPECT_EQ(Parse({"--optimizer", "rmsprop"})->optimizer.momentum, 0);
  EXPECT_EQ(Parse({"--optimizer", "adam"})->learning_rate, 0.001);
  EXPECT_EQ(Parse({"--optimizer", "adamw"})->optimizer.weight_decay, 0.004);
  EXPECT_EQ(Parse({"--optimizer", "adadelta"})->learning_rate, 1);
}

TEST(OptimizerOptionTest, WhatMeansNothingIsRefused) {
  const absl::Status status = Parse({"--optimizer", "sgd", "--nesterov", "--beta2", "0.5"}).status();
  EXPECT_EQ(AllErrors(status).size(), 2);
  EXPECT_EQ(ErrorInfoOf(status)->code, ErrorCode::kValueSyntax);
  EXPECT_EQ(ErrorInfoOf(Parse({"--optimizer", "ADAM"}).status())->suggestion, "did you mean adam?");
  EXPECT_FALSE(Parse({"--optimizer", ""}).ok());
}

TEST(SplitAtEqualsTest, BothSidesAreNeeded) {
  ASSERT_OK_AND_ASSIGN(const NamedPart part, SplitAtEquals("--data", "x=a=b"));
  EXPECT_EQ(part.name, "x");
  EXPECT_EQ(part.value, "a=b");
  for (const char* text : {"x", "=x", "x=", ""}) EXPECT_FALSE(SplitAtEquals("--data", text).ok()) << text;
}

TEST(TrainDisplayTest, TimesAndBars) {
  EXPECT_EQ(ClockText(absl::Milliseconds(400)), "0:00");
  EXPECT_EQ(ClockText(absl::Seconds(61.6)), "1:02");
  EXPECT_EQ(ClockText(absl::Seconds(3 * 3600 + 62)), "3:01:02");
  EXPECT_EQ(ClockText(-absl::Seconds(5)), "0:00");
  EXPECT_EQ(BarText(0), "[>                       ]   0 %");
  EXPECT_EQ(BarText(0.5), "[============>           ]  50 %");
  EXPECT_EQ(BarText(1), "[========================] 100 %");
  EXPECT_EQ(BarText(7).size(), BarText(1).size()) << "never wider";
}

}  // namespace
}  // namespace sluice

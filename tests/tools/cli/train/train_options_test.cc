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

absl::StatusOr<TrainStepOptions> Parse(std::vector<std::string> words, int64_t steps = 0) {
  OptimizerOption option;
  CLI::App app;
  option.Declare(app);
  app.parse(std::vector<std::string>(words.rbegin(), words.rend()));
  return option.Read(steps);
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

TEST(OptimizerOptionTest, WhatIsDoneToGradientsAndWeights) {
  ASSERT_OK_AND_ASSIGN(const TrainStepOptions step,
                       Parse({"--optimizer", "adamax", "--weight-decay", "0.1", "--l2-regularization", "0.2",
                              "--clip-value", "3", "--accumulate", "4", "--loss-scale", "dynamic",
                              "--loss-scale-growth", "50", "--sparse-rows", "lazy", "--beta2", "0.5"}));
  EXPECT_EQ(step.optimizer.kind, Optimizer::Kind::kAdaMax);
  EXPECT_EQ(step.weight_decay, 0.1);
  EXPECT_EQ(step.l2_regularization, 0.2);
  EXPECT_EQ(step.clip_value, 3);
  EXPECT_EQ(step.accumulate_steps, 4);
  EXPECT_EQ(step.loss_scaling.kind, LossScaling::Kind::kDynamic);
  EXPECT_EQ(step.loss_scaling.growth_steps, 50);
  EXPECT_EQ(step.rows, RowRule::kLazy);
  EXPECT_EQ(step.optimizer.beta2, 0.5);
  ASSERT_OK_AND_ASSIGN(const TrainStepOptions adamw, Parse({"--optimizer", "adamw", "--weight-decay", "0.1",
                                                            "--loss-scale", "128", "--clip-each-norm", "2"}));
  EXPECT_EQ(adamw.optimizer.weight_decay, 0.1);
  EXPECT_EQ(adamw.weight_decay, 0) << "AdamW has one of its own";
  EXPECT_EQ(adamw.loss_scaling.kind, LossScaling::Kind::kFixed);
  EXPECT_EQ(adamw.loss_scaling.scale, 128);
  EXPECT_EQ(adamw.clip_each_norm, 2);
  for (const TrainStepOptions& options : {step, adamw}) EXPECT_OK(CheckTrainStepOptions(options));
}

TEST(OptimizerOptionTest, Schedules) {
  ASSERT_OK_AND_ASSIGN(const TrainStepOptions cosine, Parse({"--schedule", "cosine", "--warmup-steps", "10",
                                                             "--warmup-start", "0.001", "--alpha", "0.1"},
                                                            /*steps=*/110));
  EXPECT_EQ(cosine.schedule.kind, LearningRateSchedule::Kind::kCosine);
  EXPECT_EQ(cosine.schedule.decay_steps, 100) << "the steps that the warm-up leaves";
  EXPECT_EQ(cosine.schedule.warmup_steps, 10);
  EXPECT_EQ(cosine.schedule.warmup_start, 0.001);
  EXPECT_EQ(cosine.schedule.alpha, 0.1);
  ASSERT_OK_AND_ASSIGN(const TrainStepOptions falling,
                       Parse({"--schedule", "exponential", "--decay-steps", "7", "--decay-rate", "0.5", "--staircase"},
                             /*steps=*/110));
  EXPECT_EQ(falling.schedule.decay_steps, 7);
  EXPECT_EQ(falling.schedule.decay_rate, 0.5);
  EXPECT_TRUE(falling.schedule.staircase);
  ASSERT_OK_AND_ASSIGN(const TrainStepOptions restarts, Parse({"--schedule", "cosine-restarts", "--decay-steps", "7",
                                                               "--period-growth", "3", "--height-growth", "0.5"}));
  EXPECT_EQ(restarts.schedule.t_mul, 3);
  EXPECT_EQ(restarts.schedule.m_mul, 0.5);
  ASSERT_OK_AND_ASSIGN(const TrainStepOptions pieces, Parse({"--lr", "0.5", "--rate-at", "10=0.25,20=0.125"}));
  EXPECT_EQ(pieces.schedule.kind, LearningRateSchedule::Kind::kPiecewise);
  EXPECT_EQ(pieces.schedule.boundaries, (std::vector<int64_t>{10, 20}));
  EXPECT_EQ(pieces.schedule.values, (std::vector<double>{0.5, 0.25, 0.125}));
  for (const TrainStepOptions& options : {cosine, falling, restarts, pieces}) EXPECT_OK(CheckTrainStepOptions(options));
}

TEST(OptimizerOptionTest, AllThatContradictsItselfIsSaidAtOnce) {
  const auto errors = [](std::vector<std::string> words) { return AllErrors(Parse(std::move(words)).status()).size(); };
  EXPECT_EQ(errors({"--schedule", "cosine"}), 1) << "for how long?";
  EXPECT_EQ(errors({"--decay-steps", "5"}), 1) << "a constant does not decay";
  EXPECT_EQ(errors({"--rate-at", "10=0.1", "--schedule", "cosine", "--decay-steps", "5"}), 1);
  EXPECT_EQ(errors({"--rate-at", "10=0.1,10=0.2", "--clip-norm", "1", "--clip-value", "1"}), 2);
  EXPECT_EQ(errors({"--rate-at", "x=0.1", "--loss-scale", "0.5", "--loss-scale-growth", "5"}), 3);
  EXPECT_EQ(errors({"--accumulate", "2.5"}), 1);
  EXPECT_EQ(errors({"--schedule", "cosin", "--optimizer", "adan"}), 2);
  EXPECT_EQ(ErrorInfoOf(Parse({"--schedule", "cosin"}).status())->suggestion, "did you mean cosine?");
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

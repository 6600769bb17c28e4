#include <memory>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "graph/load/load_graph.h"
#include "gtest/gtest.h"
#include "tests/testing/status_matchers.h"
#include "tests/tools/cli/run_sluice.h"
#include "tests/tools/cli/sample_models.h"
#include "tests/tools/cli/trained_models.h"

namespace sluice {
namespace {

TEST(GradTest, WhatIsWrittenRuns) {
  const std::string out = TestFile("gradients.pb");
  const RunResult grad = RunSluice({"grad", "-", "--y", "net/act,y", "--x", "x,net/hidden", "-o", out}, SampleModel());
  EXPECT_EQ(grad.status, 0) << grad.err;
  EXPECT_EQ(grad.out, "x  gradients/0\nnet/hidden  gradients/1\n");
  EXPECT_TRUE(absl::StrContains(grad.err, "of them for gradients")) << grad.err;
  const RunResult run = RunSluice({"run", out, "--feed", "x=1x2xf32=0.5", "--fetch", "gradients/0,gradients/1"});
  EXPECT_EQ(run.status, 0) << run.err;
}

TEST(GradTest, StandardOutputGetsTheGraphAndNothingElse) {
  const RunResult grad = RunSluice({"grad", "-", "--y", "y", "--x", "x", "-o", "-", "--name", "d"}, SampleModel());
  EXPECT_EQ(grad.status, 0) << grad.err;
  ASSERT_OK_AND_ASSIGN(const LoadedGraph model,
                       LoadGraphBytes(grad.out, std::make_shared<std::string>(grad.out), "test", {}));
  EXPECT_TRUE(model.graph.Find("d/0").valid());
}

TEST(GradTest, WhatIsNotConnectedIsSaid) {
  const std::string out = TestFile("none.pb");
  const RunResult grad = RunSluice({"grad", "-", "--y", "net/act", "--x", "y", "-o", out}, SampleModel());
  EXPECT_EQ(grad.status, 0) << grad.err;
  EXPECT_EQ(grad.out, "y  not connected\n");
}

TEST(GradTest, ValuesOfVariablesArePutInOrTheirLackIsSaid) {
  const std::string model = MakeTrainedModelDirectory("variables", "local_init"), out = TestFile("frozen.pb");
  const std::vector<std::string> grad = {"grad", model, "--y", "y", "--x", "x", "-o", out};
  const RunResult without = RunSluice(grad);
  EXPECT_EQ(without.status, 0) << without.err;
  EXPECT_TRUE(absl::StrContains(without.err, "left out: the values of 2 variables")) << without.err;
  std::vector<std::string> freeze = grad;
  freeze.push_back("--freeze");
  const RunResult frozen = RunSluice(freeze);
  EXPECT_EQ(frozen.status, 0) << frozen.err;
  EXPECT_TRUE(absl::StrContains(frozen.err, "froze 2 variables: 12 B")) << frozen.err;
  const RunResult run = RunSluice({"run", out, "--feed", "x=1x2=1", "--fetch", "gradients/0"});
  EXPECT_EQ(run.out, "gradients/0  float32 [1,2]\n[[2, 3]]\n") << run.err;
}

TEST(GradTest, UnknownNamesAreErrors) {
  const std::string out = TestFile("never.pb");
  const RunResult grad = RunSluice({"grad", "-", "--y", "net/atc", "--x", "x", "-o", out}, SampleModel());
  EXPECT_EQ(grad.status, 1);
  EXPECT_TRUE(absl::StrContains(grad.err, "net/act")) << "the nearest name\n" << grad.err;
  EXPECT_FALSE(LoadGraphFile(out, {}).ok()) << "nothing is written";
}

TEST(GradTest, WhatMustBeSaidIsAskedFor) {
  EXPECT_EQ(RunSluice({"grad", "-", "--y", "y", "-o", TestFile("never.pb")}, SampleModel()).status, 2);
  EXPECT_EQ(RunSluice({"grad", "-", "--y", "y", "--x", "x", "-o", TestFile("never.txt")}, SampleModel()).status, 2);
}

}  // namespace
}  // namespace sluice

#include <unistd.h>

#include <memory>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "graph/load/load_graph.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
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
  const std::string out = TestFile("some.pb");
  const RunResult grad = RunSluice({"grad", "-", "--y", "net/act", "--x", "y,x", "-o", out}, SampleModel());
  EXPECT_EQ(grad.status, 0) << grad.err;
  EXPECT_EQ(grad.out, "y  not connected\nx  gradients/1\n");
}

TEST(GradTest, WithoutAnyGradientThereIsNothingToWrite) {
  const std::string out = TestFile("none.pb"), model = MakeTrainedModelDirectory("variables", "local_init");
  const std::vector<std::string> line = {"grad", "-", "--y", "net/act", "--x", "y", "-o", out};
  const RunResult grad = RunSluice(line, SampleModel());
  EXPECT_EQ(grad.status, 1) << grad.err;
  EXPECT_EQ(grad.out, "");
  EXPECT_TRUE(absl::StrContains(grad.err, "'net/act' does not depend on 'y'")) << grad.err;
  EXPECT_NE(access(out.c_str(), F_OK), 0);
  const RunResult frozen = RunSluice({"grad", model, "--y", "x", "--x", "y", "-o", out, "--freeze"});
  EXPECT_EQ(frozen.status, 1) << frozen.err;
  EXPECT_FALSE(absl::StrContains(frozen.err, "--freeze")) << frozen.err;
  std::vector<std::string> zeros = line;
  zeros.push_back("--zeros");
  EXPECT_EQ(RunSluice(zeros, SampleModel()).status, 0);
}

TEST(GradTest, OneDocumentWithJson) {
  const std::string out = TestFile("gradients.pb");
  const RunResult grad = RunSluice({"grad", "-", "--y", "net/act", "--x", "y,x", "-o", out, "--json"}, SampleModel());
  ASSERT_EQ(grad.status, 0) << grad.err;
  const nlohmann::json document = nlohmann::json::parse(grad.out);
  EXPECT_EQ(document.at("gradients").at(0).at("x"), "y");
  EXPECT_TRUE(document.at("gradients").at(0).at("gradient").is_null());
  EXPECT_EQ(document.at("gradients").at(1).at("gradient"), "gradients/1");
  const RunResult wrong = RunSluice({"grad", "-", "--y", "nothing", "--x", "x", "-o", out, "--json"}, SampleModel());
  EXPECT_EQ(wrong.status, 1);
  EXPECT_EQ(nlohmann::json::parse(wrong.out).at("errors").at(0).at("code"), "SLC4006");
  EXPECT_EQ(RunSluice({"grad", "-", "--y", "y", "--x", "x", "-o", "-", "--json"}, SampleModel()).status, 2);
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
  EXPECT_TRUE(absl::StrContains(grad.err, "outputs of the model:\n  y  float32")) << grad.err;
  EXPECT_FALSE(LoadGraphFile(out, {}).ok()) << "nothing is written";
  const RunResult of_what = RunSluice({"grad", "-", "--y", "y", "--x", "z", "-o", out}, SampleModel());
  EXPECT_EQ(of_what.status, 1);
  EXPECT_TRUE(absl::StrContains(of_what.err, "inputs of the model:\n  x  float32")) << of_what.err;
}

TEST(GradTest, WhatMustBeSaidIsAskedFor) {
  EXPECT_EQ(RunSluice({"grad", "-", "--y", "y", "-o", TestFile("never.pb")}, SampleModel()).status, 2);
  EXPECT_EQ(RunSluice({"grad", "-", "--y", "y", "--x", "x", "-o", TestFile("never.txt")}, SampleModel()).status, 2);
}

}  // namespace
}  // namespace sluice

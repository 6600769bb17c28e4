// Random programs with hooks, custom functions and names bound anew: some of those that torch_hook_programs.py records,
// each with what PyTorch has answered. README.md tells how all of them are run.

#include <fstream>

#include "gtest/gtest.h"
#include "tests/executor/tape/hook_program.h"

namespace sluice {
namespace {

TEST(TorchHookProgramsTest, TheTapeAnswersWhatPyTorchAnswers) {
  std::ifstream file("tests/executor/tape/torch_hook_programs.txt");
  ASSERT_TRUE(file.good());
  const HookProgramReport report = RunHookPrograms(file);
  for (const std::string& difference : report.differences) ADD_FAILURE() << difference;
  EXPECT_GE(report.num_programs, 100);
  EXPECT_GE(report.num_hook_calls, 500);
  EXPECT_GE(report.num_errors, 100);
}

TEST(TorchHookProgramsTest, DifferencesAreSeen) {
  EXPECT_TRUE(SameObservation("! h1 2x3:1.50000000001:2:0", "! h1 2x3:1.5:2:0"));
  EXPECT_FALSE(SameObservation("! h1 2x3:1.5001:2:0", "! h1 2x3:1.5:2:0"));
  EXPECT_FALSE(SameObservation("! h1 2x3:1.5:2:1", "! h1 2x3:1.5:2:0"));
  EXPECT_FALSE(SameObservation("! h1 3x2:1.5:2:0", "! h1 2x3:1.5:2:0"));
  EXPECT_FALSE(SameObservation("! h1 none", "! h2 none"));
  EXPECT_FALSE(SameObservation("= version", "= released"));
}

}  // namespace
}  // namespace sluice

// Every fuzzer with a mutator of its own, in this process: the kept crashers do not crash, and neither do the first
// inputs, which are the same in every run. A broken promise ends the process and so fails the test; the input is
// fuzz_input among the test's outputs.

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "tests/fuzz/file_subjects.h"
#include "tests/fuzz/fuzz_table.h"
#include "tests/fuzz/graph_subject.h"

namespace sluice {
namespace {

struct SubjectRow {
  const char* name;
  uint64_t num_inputs;
};

std::unique_ptr<FuzzSubject> MakeSubject(const std::string& name, FuzzCounts* counts) {
  const std::vector<std::string> seeds = {"tools/examples", "tests/goldens"};
  if (name == "graph") return std::make_unique<GraphSubject>(counts, seeds);
  return MakeFileSubject(name, counts, seeds);
}

class SubjectTest : public ::testing::TestWithParam<SubjectRow> {
 protected:
  void SetUp() override {
    subject_ = MakeSubject(GetParam().name, counts_.get());
    ASSERT_NE(subject_, nullptr);
  }

  void Execute(const std::string& input) {
    const char* const outputs = std::getenv("TEST_UNDECLARED_OUTPUTS_DIR");
    if (outputs != nullptr) std::ofstream(std::string(outputs) + "/fuzz_input", std::ios::binary) << input;
    subject_->Execute(input);
    FuzzCounts::Add(counts_->executions);
    for (const auto& [remark, detail] : subject_->TakeRemarks()) std::cout << remark << ": " << detail << std::endl;
  }

  const std::unique_ptr<FuzzCounts> counts_ = std::make_unique<FuzzCounts>();
  std::unique_ptr<FuzzSubject> subject_;
};

TEST_P(SubjectTest, TheFirstInputsKeepThePromises) {
  for (uint64_t seed = 1; seed <= GetParam().num_inputs; ++seed) Execute(subject_->MakeInput(seed));
  std::cout << FuzzTable(*counts_, 0) << std::endl;
  EXPECT_EQ(counts_->differences, 0u);
  // Enough of them get through: else the fuzzer tests nothing but refusals.
  EXPECT_GE(counts_->imported * 6, counts_->executions);
  if (std::string(GetParam().name) != "graph") return;
  EXPECT_GE(counts_->imported * 3, counts_->executions);
  EXPECT_GE(counts_->reached_run * 4, counts_->executions);
  EXPECT_GE(counts_->ran_ok * 10, counts_->executions);
  EXPECT_GE(counts_->differentiated * 40, counts_->executions);
  EXPECT_GE(counts_->gradients_ok * 150, counts_->executions);
}

TEST(CrasherTest, KeptCrashersCrashNoMore) {
  std::map<std::string, int> executed;
  for (const auto& entry : std::filesystem::recursive_directory_iterator("tests/fuzz/crashers")) {
    if (!entry.is_regular_file()) continue;
    const std::string name = entry.path().parent_path().filename();
    const std::unique_ptr<FuzzCounts> counts = std::make_unique<FuzzCounts>();
    const std::unique_ptr<FuzzSubject> subject = MakeSubject(name, counts.get());
    ASSERT_NE(subject, nullptr) << entry.path();
    std::cout << entry.path() << std::endl;
    std::ifstream file(entry.path(), std::ios::binary);
    const std::string input(std::istreambuf_iterator<char>(file), {});
    // What is fed and which sessions run it depends on the trial's seed: as it was found, and in other ways.
    subject->Execute(input);
    for (uint64_t seed = 0; name == "graph" && seed < 8; ++seed) {
      subject->Execute(GraphSubject::WithTrialSeed(input, seed));
    }
    ++executed[name];
  }
  EXPECT_GE(executed["graph"], 13);
}

INSTANTIATE_TEST_SUITE_P(All, SubjectTest,
                         ::testing::Values(SubjectRow{"graph", 3000}, SubjectRow{"npy", 20'000},
                                           SubjectRow{"npz", 5000}, SubjectRow{"value", 20'000},
                                           SubjectRow{"text", 1000}, SubjectRow{"checkpoint", 3000},
                                           SubjectRow{"saved_model", 600}),
                         [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace sluice

// Runs a fuzz target over the kept corpus: every file as it is, cut, and damaged at random with printed seeds.
// A broken promise ends the process and so fails the test; the last input is fuzz_input.bin among the test's outputs.

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "tests/corpus/mutator.h"
#include "tests/fuzz/fuzz_target.h"

namespace sluice {
namespace {

constexpr uint32_t kMutationsPerFile = 300;

// The files of the directory named by SLUICE_FUZZ_CORPUS, in order of their names.
std::vector<std::filesystem::path> CorpusFiles() {
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(std::getenv("SLUICE_FUZZ_CORPUS"))) {
    files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  return files;
}

std::string ReadBytes(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return std::string(std::istreambuf_iterator<char>(file), {});
}

void RunOn(const std::string& bytes) {
  const std::string kept = std::string(std::getenv("TEST_UNDECLARED_OUTPUTS_DIR")) + "/fuzz_input.bin";
  std::ofstream(kept, std::ios::binary) << bytes;
  EXPECT_EQ(LLVMFuzzerTestOneInput(reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size()), 0);
}

TEST(FuzzRegressionTest, TheCorpusIsThere) { EXPECT_GE(CorpusFiles().size(), 3u); }

TEST(FuzzRegressionTest, EveryFileOfTheCorpusKeepsThePromises) {
  for (const std::filesystem::path& path : CorpusFiles()) {
    SCOPED_TRACE(path.string());
    RunOn(ReadBytes(path));
  }
}

TEST(FuzzRegressionTest, FilesCutAnywhereKeepThePromises) {
  for (const std::filesystem::path& path : CorpusFiles()) {
    const std::string bytes = ReadBytes(path);
    const size_t step = 1 + bytes.size() / 500;
    for (size_t size = 0; size < bytes.size(); size += step) RunOn(bytes.substr(0, size));
  }
}

TEST(FuzzRegressionTest, DamagedFilesKeepThePromises) {
  for (const std::filesystem::path& path : CorpusFiles()) {
    std::cout << path.filename() << ": seeds 0 to " << kMutationsPerFile - 1 << std::endl;
    const Mutator mutator(ReadBytes(path));
    for (uint32_t seed = 0; seed < kMutationsPerFile; ++seed) {
      RunOn(mutator.Mutate(seed));
      RunOn(mutator.MutateTree(seed));
    }
  }
}

}  // namespace
}  // namespace sluice

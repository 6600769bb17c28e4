// The machinery of the fuzzers, with subjects that crash and hang on purpose.

#include "tests/fuzz/fuzz_loop.h"

#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "tests/fuzz/crash_key.h"
#include "tests/fuzz/graph_subject.h"

namespace sluice {
namespace {

// Inputs are "input <seed>". Crashes on those that hold a 7, ends never on those that hold an 8.
class BadSubject final : public FuzzSubject {
 public:
  absl::string_view extension() const override { return ".txt"; }
  std::string MakeInput(uint64_t seed) override { return absl::StrCat("input ", seed); }
  void Execute(absl::string_view input) override {
    if (absl::StrContains(input, "7")) {
      std::fprintf(stderr, "Broken promise: seven\n");
      std::abort();
    }
    while (absl::StrContains(input, "8")) {
    }
  }
};

class FuzzLoopTest : public ::testing::Test {
 protected:
  int Main(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), "fuzzer");
    std::vector<char*> argv;
    for (std::string& argument : arguments) argv.push_back(argument.data());
    return FuzzMain(static_cast<int>(argv.size()), argv.data(),
                    [](FuzzCounts*, const std::vector<std::string>&) { return std::make_unique<BadSubject>(); });
  }
  // Contents of the files in out_ whose names begin like this and end in .txt.
  std::vector<std::string> Kept(const std::string& prefix) const {
    std::vector<std::string> contents;
    for (const auto& entry : std::filesystem::directory_iterator(out_)) {
      const std::string name = entry.path().filename();
      if (!absl::StartsWith(name, prefix) || entry.path().extension() != ".txt") continue;
      std::ifstream file(entry.path());
      contents.emplace_back(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
    }
    return contents;
  }

  const std::string out_ = absl::StrCat(::testing::TempDir(), "/fuzz_loop_", getpid());
};

TEST_F(FuzzLoopTest, ACrasherIsKeptAndTheOthersRun) {
  EXPECT_EQ(Main({"--seed", "4", "--runs", "4", "--out", out_}), 1);
  EXPECT_EQ(Kept("crash-"), std::vector<std::string>{"input 7"});
  EXPECT_EQ(Main({"--seed", "1", "--runs", "6", "--out", out_}), 0);
}

TEST_F(FuzzLoopTest, AnInputWithoutEndIsKept) {
  EXPECT_EQ(Main({"--seed", "8", "--runs", "2", "--max-cpu", "0.2", "--out", out_}), 1);
  EXPECT_EQ(Kept("hang-"), std::vector<std::string>{"input 8"});
}

TEST_F(FuzzLoopTest, ACrasherBecomesSmall) {
  std::filesystem::create_directories(out_);
  const std::string path = out_ + "/big.bin";
  std::ofstream(path) << "nothing of this matters but the 7 in the middle of it";
  EXPECT_EQ(Main({"--minimize", path}), 0);
  std::ifstream file(path + ".min");
  EXPECT_EQ(std::string(std::istreambuf_iterator<char>(file), {}), "7");
}

TEST(CrashKeyTest, AddressesAndProcessesDoNotCount) {
  const std::string first =
      "==12==ERROR: AddressSanitizer: heap-buffer-overflow on address 0x602000000051 at pc 0x55d\n"
      "    #0 0x55d1 in memcpy x.cc:1\n    #1 0x55d2 in sluice::Copy(char*) y.cc:2\n";
  std::string second = first;
  for (size_t at; (at = second.find("55d")) != std::string::npos;) second.replace(at, 3, "aaa");
  second.replace(second.find("==12=="), 6, "==77==");
  EXPECT_EQ(CrashKey(first), CrashKey(second));
  EXPECT_TRUE(absl::StrContains(CrashKey(first), "heap-buffer-overflow")) << CrashKey(first);
  EXPECT_TRUE(absl::StrContains(CrashKey(first), "sluice::Copy")) << CrashKey(first);
  second.replace(second.find("Copy"), 4, "Move");
  EXPECT_NE(CrashKey(first), CrashKey(second));
}

TEST(GraphSubjectTest, TheSeedOfATrialStandsAtTheEndOfItsInput) {
  EXPECT_EQ(GraphSubject::TrialSeed(GraphSubject::WithTrialSeed("graph", 123456789012345)), 123456789012345u);
  EXPECT_EQ(GraphSubject::TrialSeed("graph"), 0u);
  EXPECT_EQ(GraphSubject::TrialSeed(""), 0u);
}

TEST(GraphSubjectTest, TheSameSeedMakesTheSameGraph) {
  const auto counts = std::make_unique<FuzzCounts>();
  GraphSubject one(counts.get(), {}), other(counts.get(), {});
  int different = 0;
  proto::GraphDef before;
  for (uint64_t seed = 1; seed <= 60; ++seed) {
    const std::string a = one.MakeInput(seed), b = other.MakeInput(seed);
    EXPECT_EQ(GraphSubject::TrialSeed(a), GraphSubject::TrialSeed(b));
    proto::GraphDef first, second;
    const bool is_message = first.ParseFromString(a);
    EXPECT_EQ(is_message, second.ParseFromString(b));
    if (!is_message) continue;
    EXPECT_EQ(first.DebugString(), second.DebugString()) << seed;
    different += first.DebugString() != before.DebugString() ? 1 : 0;
    before = first;
  }
  EXPECT_GE(different, 40);
}

}  // namespace
}  // namespace sluice

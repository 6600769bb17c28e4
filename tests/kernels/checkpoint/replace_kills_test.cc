// A process that writes one checkpoint again and again is killed at any moment: the old or the new is there, whole.

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdint>
#include <filesystem>
#include <string>

#include "absl/strings/match.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "gtest/gtest.h"
#include "kernels/checkpoint/bundle_writer.h"
#include "tests/kernels/checkpoint/bundle_values.h"
#include "tests/testing/hostile_values.h"
#include "tests/testing/status_matchers.h"

namespace sluice {
namespace {

constexpr int kKills = 1000;
constexpr int kTensors = 5;

// All tensors hold the same number.
BundleValues ValuesOf(int32_t number) {
  BundleValues values;
  for (int i = 0; i < kTensors; ++i) {
    Tensor value = Tensor::Make(DType::kInt32, Shape::Of({1 << (2 * i)})).value();
    for (int32_t& element : value.flat<int32_t>()) element = number;
    values["v" + std::to_string(i)] = value;
  }
  return values;
}

// The number of the checkpoint; -1: it is not whole.
int32_t NumberOf(const std::string& prefix) {
  const absl::StatusOr<BundleValues> values = ReadBundle(prefix);
  EXPECT_OK(values);
  if (!values.ok() || values->size() != static_cast<size_t>(kTensors)) return -1;
  const int32_t number = values->at("v0").flat<int32_t>()[0];
  for (const auto& [name, value] : *values) {
    for (const int32_t element : value.flat<int32_t>()) {
      if (element != number) return -1;
    }
  }
  return number;
}

// Writes checkpoints from `number` on, one directly and one by way of another that is merged into it, and says after
// each one which it was.
[[noreturn]] void WriteForEver(const std::string& prefix, int32_t number, int out) {
  for (;; ++number) {
    const bool is_merged = number % 3 == 0;
    const std::string part = prefix + "_part";
    absl::Status written = WriteBundle(is_merged ? part : prefix, ValuesOf(number));
    if (written.ok() && is_merged) written = MergeBundles({part}, prefix, /*allow_missing=*/false);
    if (!written.ok() || ::write(out, &number, sizeof(number)) != sizeof(number)) ::_exit(1);
  }
}

TEST(ReplaceKillsTest, TheOldOrTheNewIsThereWhole) {
  // In memory where that can be: to wait for a disk a thousand times takes minutes, and a kill is a kill.
  const std::string memory = "/dev/shm";
  const std::string directory = (::access(memory.c_str(), W_OK) == 0 ? memory : ::testing::TempDir()) +
                                "/sluice_kills_" + std::to_string(::getpid());
  std::filesystem::remove_all(directory);
  std::filesystem::create_directories(directory);
  const std::string prefix = directory + "/a";
  ASSERT_OK(WriteBundle(prefix, ValuesOf(0)));
  // A child lives for up to three saves.
  const absl::Time before = absl::Now();
  for (int i = 0; i < 3; ++i) ASSERT_OK(WriteBundle(prefix, ValuesOf(0)));
  const uint64_t longest_us = static_cast<uint64_t>(absl::ToInt64Microseconds(absl::Now() - before)) + 500;
  FuzzRandom random(11);
  int32_t newest = 0, changes = 0;
  for (int kill = 0; kill < kKills; ++kill) {
    int ends[2];
    ASSERT_EQ(::pipe(ends), 0);
    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) WriteForEver(prefix, newest + 1, ends[1]);
    ::close(ends[1]);
    ::usleep(static_cast<useconds_t>(random.Below(longest_us)));
    ::kill(child, SIGKILL);
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    ASSERT_TRUE(WIFSIGNALED(status)) << "a checkpoint could not be written";
    int32_t said = newest, one = 0;
    while (::read(ends[0], &one, sizeof(one)) == sizeof(one)) said = one;
    ::close(ends[0]);
    const int32_t number = NumberOf(prefix);
    ASSERT_GE(number, said) << "after kill " << kill;
    ASSERT_LE(number, said + 1) << "after kill " << kill;
    changes += number != newest ? 1 : 0;
    newest = number;
    // Files that killed writers leave belong to no checkpoint.
    for (const auto& file : std::filesystem::directory_iterator(directory)) {
      if (absl::EndsWith(file.path().string(), ".tmp")) std::filesystem::remove(file.path());
    }
  }
  EXPECT_GT(changes, kKills / 20);
  EXPECT_LT(changes, kKills);
  std::filesystem::remove_all(directory);
}

}  // namespace
}  // namespace sluice

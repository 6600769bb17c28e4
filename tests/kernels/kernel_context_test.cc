#include "kernels/kernel_context.h"

#include <atomic>
#include <cstdint>
#include <utility>
#include <vector>

#include "absl/time/clock.h"
#include "graph/base/cancellation.h"
#include "gtest/gtest.h"
#include "kernels/device/task_runner.h"

namespace sluice {
namespace {

// Four shards, one after the other on the calling thread.
class FourShards : public TaskRunner {
 public:
  void Schedule(absl::AnyInvocable<void()> task) override { task(); }
  int num_threads() const override { return 4; }
  void ParallelFor(int64_t total, double, bool, absl::FunctionRef<void(int64_t, int64_t)> work) override {
    for (int64_t i = 0; i < 4; ++i) work(total * i / 4, total * (i + 1) / 4);
  }
};

constexpr double kLongNs = 1e6;  // Five such units lie between two looks at the cancellation.

class ParallelForTest : public ::testing::TestWithParam<bool> {
 protected:
  ParallelForTest() {
    if (GetParam()) run_.task_runner = &shards_;
  }
  // How often each of 1,000 units was worked on, when the run is cancelled in unit `last`.
  std::vector<int> Run(int64_t last) {
    CancellationManager cancellation;
    run_.cancellation = &cancellation;
    std::vector<int> counts(1000, 0);
    try {
      KernelContext(run_, EntryTables()).ParallelFor(1000, kLongNs, [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) {
          ++counts[static_cast<size_t>(i)];
          if (i == last) cancellation.StartCancel();
        }
      });
      was_cut_ = false;
    } catch (const KernelCancelled&) {
      was_cut_ = true;
    }
    return counts;
  }

  FourShards shards_;
  RunContext run_;
  bool was_cut_ = false;
};

TEST_P(ParallelForTest, WorksOnEveryUnitOnce) {
  EXPECT_EQ(Run(-1), std::vector<int>(1000, 1));
  EXPECT_FALSE(was_cut_);
}

TEST_P(ParallelForTest, LeavesOutWhatComesAfterACancellation) {
  const std::vector<int> counts = Run(7);
  EXPECT_TRUE(was_cut_);
  for (size_t i = 0; i < counts.size(); ++i) EXPECT_EQ(counts[i], i < 10 ? 1 : 0) << i;
}

TEST_P(ParallelForTest, BeginsNothingInARunThatWasCancelled) {
  CancellationManager cancellation;
  cancellation.StartCancel();
  run_.cancellation = &cancellation;
  int calls = 0;
  const auto work = [&calls](int64_t, int64_t) { ++calls; };
  EXPECT_THROW(KernelContext(run_, EntryTables()).ParallelFor(10, 1.0, work), KernelCancelled);
  EXPECT_EQ(calls, 0);
}

TEST_P(ParallelForTest, LeavesOutWhatComesAfterTheDeadline) {
  run_.deadline = absl::Now() + absl::Milliseconds(5);
  int calls = 0;
  const auto work = [&](int64_t, int64_t) {
    ++calls;
    absl::SleepFor(absl::Milliseconds(2));
  };
  EXPECT_THROW(KernelContext(run_, EntryTables()).ParallelFor(1'000'000, kLongNs, work), KernelCancelled);
  EXPECT_LT(calls, 100);
}

// Which of two NaNs a loop gives may depend on where it begins.
TEST_P(ParallelForTest, DeterministicRunsCutAtTheSamePlacesWithoutACancellation) {
  run_.deterministic = true;
  const auto parts = [this] {
    std::vector<std::pair<int64_t, int64_t>> all;
    KernelContext(run_, EntryTables()).ParallelFor(1000, kLongNs, [&](int64_t begin, int64_t end) {
      all.emplace_back(begin, end);
    });
    return all;
  };
  const auto without = parts();
  CancellationManager cancellation;
  run_.cancellation = &cancellation;
  EXPECT_EQ(without, parts());
}

INSTANTIATE_TEST_SUITE_P(Threads, ParallelForTest, ::testing::Bool());

}  // namespace
}  // namespace sluice

#include "executor/compiled/driver_choice.h"

#include <vector>

#include "gtest/gtest.h"
#include "kernels/kernel_context.h"

namespace sluice {
namespace {

constexpr int64_t kQuickNs = DriverChoice::kWorthHandingOverNs / 2, kSlowNs = 10 * DriverChoice::kWorthHandingOverNs;

// Runs one after the other, each as long as its driver takes; how many of them used the dataflow driver.
int64_t CallMany(DriverChoice& choice, int64_t runs, int64_t serial_ns, int64_t dataflow_ns) {
  int64_t with_dataflow = 0;
  for (int64_t i = 0; i < runs; ++i) {
    const DriverChoice::Decision decision = choice.Next();
    with_dataflow += decision.use_dataflow ? 1 : 0;
    if (decision.is_measured) choice.Record(decision, decision.use_dataflow ? dataflow_ns : serial_ns);
  }
  return with_dataflow;
}

TEST(DriverChoiceTest, AQuickGraphIsNeverTriedWithThreads) {
  DriverChoice choice(DriverChoice::By::kTime);
  EXPECT_EQ(CallMany(choice, 3 * DriverChoice::kRunsPerLook, kQuickNs, 1), 0);
}

TEST(DriverChoiceTest, TheQuickerDriverIsUsedAfterAFewRunsOfEach) {
  DriverChoice choice(DriverChoice::By::kTime);
  EXPECT_EQ(CallMany(choice, 2 * DriverChoice::kMeasuredRuns, kSlowNs, kSlowNs / 2), DriverChoice::kMeasuredRuns);
  EXPECT_EQ(CallMany(choice, 1000, kSlowNs, kSlowNs / 2), 1000);
  DriverChoice other(DriverChoice::By::kTime);
  EXPECT_EQ(CallMany(other, 2 * DriverChoice::kMeasuredRuns, kSlowNs, 2 * kSlowNs), DriverChoice::kMeasuredRuns);
  EXPECT_EQ(CallMany(other, 1000, kSlowNs, 2 * kSlowNs), 0);
}

TEST(DriverChoiceTest, EachLookForgetsTheFiguresOfTheLastOne) {
  DriverChoice choice(DriverChoice::By::kTime);
  EXPECT_EQ(CallMany(choice, DriverChoice::kRunsPerLook, kQuickNs, 1), 0);
  // Inputs are larger now: the small figures of the first look must not decide.
  EXPECT_GT(CallMany(choice, DriverChoice::kRunsPerLook, kSlowNs, kSlowNs / 2), DriverChoice::kRunsPerLook - 10);
  // And small again.
  EXPECT_LT(CallMany(choice, DriverChoice::kRunsPerLook, kQuickNs, kQuickNs / 2), 10);
}

// Calls of eight threads overlap: all of a round have been given out before the first is recorded.
TEST(DriverChoiceTest, LooksAgainUnderOverlappingRuns) {
  DriverChoice choice(DriverChoice::By::kTime);
  const auto round = [&choice](int64_t serial_ns, int64_t dataflow_ns) {
    std::vector<DriverChoice::Decision> decisions;
    for (int i = 0; i < 8; ++i) decisions.push_back(choice.Next());
    int64_t with_dataflow = 0;
    for (const DriverChoice::Decision& decision : decisions) {
      with_dataflow += decision.use_dataflow ? 1 : 0;
      if (decision.is_measured) choice.Record(decision, decision.use_dataflow ? dataflow_ns : serial_ns);
    }
    return with_dataflow;
  };
  for (int64_t run = 0; run < DriverChoice::kRunsPerLook; run += 8) EXPECT_EQ(round(kQuickNs, 1), 0);
  int64_t with_dataflow = 0;
  for (int64_t run = 0; run < DriverChoice::kRunsPerLook; run += 8) with_dataflow += round(kSlowNs, kSlowNs / 3);
  EXPECT_GT(with_dataflow, DriverChoice::kRunsPerLook - 32);
}

TEST(DriverChoiceTest, ALateRecordOfAnEarlierLookDoesNotCount) {
  DriverChoice choice(DriverChoice::By::kTime);
  const DriverChoice::Decision late = choice.Next();
  ASSERT_TRUE(late.is_measured);
  CallMany(choice, DriverChoice::kRunsPerLook - 1, kSlowNs, kSlowNs / 2);
  EXPECT_EQ(CallMany(choice, DriverChoice::kMeasuredRuns - 1, kSlowNs, 1), 0);  // The next look has begun.
  choice.Record(late, 1);
  choice.Record(late, 1);
  EXPECT_GT(CallMany(choice, 1000, kSlowNs, kSlowNs / 2), 990);
}

// Runs that fail are not recorded: the other driver, with a plan of its own, is not made for them.
TEST(DriverChoiceTest, RunsThatFailNeverAskForTheOtherDriver) {
  DriverChoice choice(DriverChoice::By::kTime);
  for (int64_t run = 0; run < 2 * DriverChoice::kRunsPerLook; ++run) EXPECT_FALSE(choice.Next().use_dataflow);
}

// When graphs that wait are given to the dataflow driver.
class KernelTimeChoiceTest : public ::testing::Test {
 protected:
  // The runs of one look; those that are measured spend `shared_ns`.
  int64_t RunLook(int64_t shared_ns) {
    int64_t num_dataflow = 0;
    for (int64_t i = 0; i < DriverChoice::kRunsPerLook; ++i) {
      const DriverChoice::Decision decision = choice_.Next();
      EXPECT_EQ(decision.is_measured, i < DriverChoice::kMeasuredRuns);
      if (decision.is_measured) choice_.Record(decision, shared_ns);
      num_dataflow += decision.use_dataflow ? 1 : 0;
    }
    return num_dataflow;
  }
  DriverChoice choice_{DriverChoice::By::kKernelTime};
};

TEST_F(KernelTimeChoiceTest, RunsWithMuchToShareGoToTheDataflowDriver) {
  constexpr int64_t kOthers = DriverChoice::kRunsPerLook - DriverChoice::kMeasuredRuns;
  EXPECT_EQ(RunLook(DriverChoice::kWorthHandingOverNs - 1), 0);
  EXPECT_EQ(RunLook(DriverChoice::kWorthHandingOverNs), kOthers);
  EXPECT_EQ(RunLook(0), 0);
}

TEST_F(KernelTimeChoiceTest, OneSlowRunIsNotEnough) {
  const DriverChoice::Decision first = choice_.Next(), second = choice_.Next();
  choice_.Record(second, 10 * DriverChoice::kWorthHandingOverNs);
  choice_.Record(first, 1'000);
  EXPECT_FALSE(choice_.Next().use_dataflow);
  EXPECT_FALSE(choice_.Next().use_dataflow);
}

TEST_F(KernelTimeChoiceTest, ARunOfAnEarlierLookCountsNoMore) {
  const DriverChoice::Decision early = choice_.Next();
  for (int64_t i = 1; i < DriverChoice::kRunsPerLook; ++i) choice_.Next();
  RunLook(DriverChoice::kWorthHandingOverNs);
  choice_.Record(early, 0);
  for (int64_t i = 0; i < DriverChoice::kMeasuredRuns; ++i) choice_.Next();
  EXPECT_TRUE(choice_.Next().use_dataflow);
}

TEST(KernelTimeMeterTest, CountsLongCallsButForTheLongest) {
  KernelTimeMeter meter(nullptr, nullptr);
  const RunContext run;
  const KernelContext context(run, EntryTables());
  const auto call = [&](int64_t ns) { meter.OnNode(NodeId(0), 100, 100 + ns, context); };
  call(KernelTimeMeter::kLongCallNs - 1);
  EXPECT_EQ(meter.shared_ns(), 0);
  call(50'000);
  EXPECT_EQ(meter.shared_ns(), 0);
  call(30'000);
  call(90'000);
  EXPECT_EQ(meter.shared_ns(), 80'000);
}

TEST(KernelTimeMeterTest, TheRunsOwnObserverHearsAll) {
  struct Counts final : public NodeObserver {
    void OnStart(NodeId, int64_t) override { ++started; }
    void OnFailure(NodeId, int64_t) override { ++failed; }
    void OnNode(NodeId, int64_t, int64_t, const KernelContext&) override { ++ended; }
    int started = 0, failed = 0, ended = 0;
  } counts;
  KernelTimeMeter meter(&counts, nullptr);
  const RunContext run;
  const KernelContext context(run, EntryTables());
  for (int i = 0; i < 3; ++i) meter.OnStart(NodeId(i), 100);
  meter.OnNode(NodeId(0), 100, 50'100, context);
  meter.OnNode(NodeId(1), 100, 50'100, context);
  meter.OnFailure(NodeId(2), 100);
  EXPECT_EQ(counts.started, 3);
  EXPECT_EQ(counts.ended, 2);
  EXPECT_EQ(counts.failed, 1);
  EXPECT_EQ(meter.shared_ns(), 50'000);
}

}  // namespace
}  // namespace sluice

// When graphs that wait are given to the dataflow driver.

#include "executor/serial/wait_choice.h"

#include "gtest/gtest.h"
#include "kernels/kernel_context.h"

namespace sluice {
namespace {

class WaitChoiceTest : public ::testing::Test {
 protected:
  // The runs of one look; those that are measured spend `shared_ns`.
  int64_t RunLook(int64_t shared_ns) {
    int64_t num_dataflow = 0;
    for (int64_t i = 0; i < WaitChoice::kRunsPerLook; ++i) {
      const WaitChoice::Decision decision = choice_.Next();
      EXPECT_EQ(decision.is_measured, i < WaitChoice::kMeasuredRuns);
      if (decision.is_measured) choice_.Record(decision, shared_ns);
      num_dataflow += decision.use_dataflow ? 1 : 0;
    }
    return num_dataflow;
  }
  WaitChoice choice_;
};

TEST_F(WaitChoiceTest, RunsWithMuchToShareGoToTheDataflowDriver) {
  constexpr int64_t kOthers = WaitChoice::kRunsPerLook - WaitChoice::kMeasuredRuns;
  EXPECT_EQ(RunLook(WaitChoice::kWorthHandingOverNs - 1), 0);
  EXPECT_EQ(RunLook(WaitChoice::kWorthHandingOverNs), kOthers);
  EXPECT_EQ(RunLook(0), 0);
}

TEST_F(WaitChoiceTest, OneSlowRunIsNotEnough) {
  const WaitChoice::Decision first = choice_.Next(), second = choice_.Next();
  choice_.Record(second, 10 * WaitChoice::kWorthHandingOverNs);
  choice_.Record(first, 1'000);
  EXPECT_FALSE(choice_.Next().use_dataflow);
  EXPECT_FALSE(choice_.Next().use_dataflow);
}

TEST_F(WaitChoiceTest, ARunOfAnEarlierLookCountsNoMore) {
  const WaitChoice::Decision early = choice_.Next();
  for (int64_t i = 1; i < WaitChoice::kRunsPerLook; ++i) choice_.Next();
  RunLook(WaitChoice::kWorthHandingOverNs);
  choice_.Record(early, 0);
  for (int64_t i = 0; i < WaitChoice::kMeasuredRuns; ++i) choice_.Next();
  EXPECT_TRUE(choice_.Next().use_dataflow);
}

TEST(WaitChoiceMeterTest, CountsLongCallsButForTheLongest) {
  WaitChoice::Meter meter;
  const RunContext run;
  const KernelContext context(run, EntryTables());
  const auto call = [&](int64_t ns) { meter.OnNode(NodeId(0), 100, 100 + ns, context); };
  call(WaitChoice::kLongCallNs - 1);
  EXPECT_EQ(meter.shared_ns(), 0);
  call(50'000);
  EXPECT_EQ(meter.shared_ns(), 0);
  call(30'000);
  call(90'000);
  EXPECT_EQ(meter.shared_ns(), 80'000);
}

TEST(WaitChoiceMeterTest, TheRunsOwnObserverHearsAll) {
  struct Counts final : public NodeObserver {
    void OnStart(NodeId, int64_t) override { ++started; }
    void OnFailure(NodeId, int64_t) override { ++failed; }
    void OnNode(NodeId, int64_t, int64_t, const KernelContext&) override { ++ended; }
    int started = 0, failed = 0, ended = 0;
  } counts;
  WaitChoice::Meter meter;
  meter.SendTo(&counts);
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

#include "executor/compiled/driver_choice.h"

#include <vector>

#include "gtest/gtest.h"

namespace sluice {
namespace {

constexpr int64_t kQuickNs = DriverChoice::kWorthHandingOverNs / 2, kSlowNs = 10 * DriverChoice::kWorthHandingOverNs;

// Runs one after the other, each as long as its driver takes; how many of them used the dataflow driver.
int64_t CallMany(DriverChoice& choice, int64_t runs, int64_t serial_ns, int64_t dataflow_ns) {
  int64_t with_dataflow = 0;
  for (int64_t i = 0; i < runs; ++i) {
    const DriverChoice::Decision decision = choice.Next();
    with_dataflow += decision.use_dataflow ? 1 : 0;
    if (decision.is_timed) choice.Record(decision, decision.use_dataflow ? dataflow_ns : serial_ns);
  }
  return with_dataflow;
}

TEST(DriverChoiceTest, AQuickGraphIsNeverTriedWithThreads) {
  DriverChoice choice;
  EXPECT_EQ(CallMany(choice, 3 * DriverChoice::kRunsPerLook, kQuickNs, 1), 0);
}

TEST(DriverChoiceTest, TheQuickerDriverIsUsedAfterAFewRunsOfEach) {
  DriverChoice choice;
  EXPECT_EQ(CallMany(choice, 2 * DriverChoice::kTimedRuns, kSlowNs, kSlowNs / 2), DriverChoice::kTimedRuns);
  EXPECT_EQ(CallMany(choice, 1000, kSlowNs, kSlowNs / 2), 1000);
  DriverChoice other;
  EXPECT_EQ(CallMany(other, 2 * DriverChoice::kTimedRuns, kSlowNs, 2 * kSlowNs), DriverChoice::kTimedRuns);
  EXPECT_EQ(CallMany(other, 1000, kSlowNs, 2 * kSlowNs), 0);
}

TEST(DriverChoiceTest, EachLookForgetsTheFiguresOfTheLastOne) {
  DriverChoice choice;
  EXPECT_EQ(CallMany(choice, DriverChoice::kRunsPerLook, kQuickNs, 1), 0);
  // Inputs are larger now: the small figures of the first look must not decide.
  EXPECT_GT(CallMany(choice, DriverChoice::kRunsPerLook, kSlowNs, kSlowNs / 2), DriverChoice::kRunsPerLook - 10);
  // And small again.
  EXPECT_LT(CallMany(choice, DriverChoice::kRunsPerLook, kQuickNs, kQuickNs / 2), 10);
}

// Calls of eight threads overlap: all of a round have been given out before the first is recorded.
TEST(DriverChoiceTest, LooksAgainUnderOverlappingRuns) {
  DriverChoice choice;
  const auto round = [&choice](int64_t serial_ns, int64_t dataflow_ns) {
    std::vector<DriverChoice::Decision> decisions;
    for (int i = 0; i < 8; ++i) decisions.push_back(choice.Next());
    int64_t with_dataflow = 0;
    for (const DriverChoice::Decision& decision : decisions) {
      with_dataflow += decision.use_dataflow ? 1 : 0;
      if (decision.is_timed) choice.Record(decision, decision.use_dataflow ? dataflow_ns : serial_ns);
    }
    return with_dataflow;
  };
  for (int64_t run = 0; run < DriverChoice::kRunsPerLook; run += 8) EXPECT_EQ(round(kQuickNs, 1), 0);
  int64_t with_dataflow = 0;
  for (int64_t run = 0; run < DriverChoice::kRunsPerLook; run += 8) with_dataflow += round(kSlowNs, kSlowNs / 3);
  EXPECT_GT(with_dataflow, DriverChoice::kRunsPerLook - 32);
}

TEST(DriverChoiceTest, ALateRecordOfAnEarlierLookDoesNotCount) {
  DriverChoice choice;
  const DriverChoice::Decision late = choice.Next();
  ASSERT_TRUE(late.is_timed);
  CallMany(choice, DriverChoice::kRunsPerLook - 1, kSlowNs, kSlowNs / 2);
  EXPECT_EQ(CallMany(choice, DriverChoice::kTimedRuns - 1, kSlowNs, 1), 0);  // The next look has begun.
  choice.Record(late, 1);
  choice.Record(late, 1);
  EXPECT_GT(CallMany(choice, 1000, kSlowNs, kSlowNs / 2), 990);
}

// Runs that fail are not recorded: the other driver, with a plan of its own, is not made for them.
TEST(DriverChoiceTest, RunsThatFailNeverAskForTheOtherDriver) {
  DriverChoice choice;
  for (int64_t run = 0; run < 2 * DriverChoice::kRunsPerLook; ++run) EXPECT_FALSE(choice.Next().use_dataflow);
}

}  // namespace
}  // namespace sluice

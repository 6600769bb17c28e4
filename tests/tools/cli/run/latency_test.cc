#include "tools/cli/run/latency.h"

#include "gtest/gtest.h"

namespace sluice {
namespace {

TEST(LatencyTest, PercentilesAreMeasuredTimes) {
  std::vector<int64_t> times;
  for (int64_t i = 100; i >= 1; --i) times.push_back(i * 1000);
  const Latency latency = SummarizeLatency(times);
  EXPECT_EQ(latency.runs, 100);
  EXPECT_EQ(latency.ToJson().dump(), R"({"min":1.0,"p50":50.0,"p90":90.0,"p99":99.0,"mean":50.5})");
}

TEST(LatencyTest, OneRunIsAllOfThem) {
  const Latency latency = SummarizeLatency({1234});
  EXPECT_EQ(latency.ToJson().dump(), R"({"min":1.234,"p50":1.234,"p90":1.234,"p99":1.234,"mean":1.234})");
}

}  // namespace
}  // namespace sluice

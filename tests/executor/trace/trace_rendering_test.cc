// Renderings of a collector: StepStats, the Chrome trace, sums.

#include <memory>
#include <string>
#include <vector>

#include "executor/trace/chrome_trace.h"
#include "executor/trace/run_summary.h"
#include "executor/trace/step_stats.h"
#include "graph/ir/builder.h"
#include "graph/ir/made_nodes.h"
#include "graph/ops/op_table.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "tests/testing/status_matchers.h"

namespace sluice {
namespace {

constexpr int64_t kStart = 1'700'000'000'000'000'123;  // Nanoseconds since 1970.

// Two runs of "sum" (300 and 100 ns, 8 bytes each) and one of "big", on two threads, with a name that needs escapes.
class TraceRenderingTest : public ::testing::Test {
 protected:
  void SetUp() override {
    GraphBuilder b(NewOpRegistry());
    const Output x = b.Placeholder("x", DType::kFloat);
    const Output sum = b.Op("AddV2", "sum", {x, x});
    b.Op("Mul", "big", {sum, sum});
    graph_ = *b.Build();
    graph_.SetDevice(graph_.Find("big"), "/device:CPU:1");
    collector_ = std::make_unique<StepStatsCollector>(graph_, "/device:\"CPU\":0");
    Add("sum", 0, 300, 7);
    Add("sum", 1500, 1600, 7);
    Add("big", 2000, 4500, 9);
  }

  void Add(absl::string_view name, int64_t start_ns, int64_t end_ns, uint32_t thread_id) {
    NodeRecord record;
    record.node = graph_.Find(name);
    record.thread_id = thread_id;
    record.start_ns = kStart + start_ns;
    record.end_ns = kStart + end_ns;
    record.outputs.push_back({0, DType::kFloat, Shape::Of({2}), 8});
    collector_->Add(std::move(record));
  }

  Graph graph_ = Graph(nullptr);
  std::unique_ptr<StepStatsCollector> collector_;
};

TEST_F(TraceRenderingTest, MicrosAreNanosOverAThousandAndTimesAreInOrder) {
  const proto::StepStats stats = ToStepStats({collector_.get()});
  ASSERT_EQ(stats.dev_stats_size(), 2);
  for (const proto::DeviceStepStats& device : stats.dev_stats()) {
    for (const proto::NodeExecStats& node : device.node_stats()) {
      EXPECT_EQ(node.all_start_micros(), node.all_start_nanos() / 1000);
      EXPECT_EQ(node.op_start_rel_micros(), node.op_start_rel_nanos() / 1000);
      EXPECT_EQ(node.op_end_rel_micros(), node.op_end_rel_nanos() / 1000);
      EXPECT_EQ(node.all_end_rel_micros(), node.all_end_rel_nanos() / 1000);
      EXPECT_EQ(node.scheduled_micros(), node.scheduled_nanos() / 1000);
      EXPECT_LE(node.scheduled_nanos(), node.all_start_nanos());
      EXPECT_LE(node.op_start_rel_nanos(), node.op_end_rel_nanos());
      EXPECT_LE(node.op_end_rel_nanos(), node.all_end_rel_nanos());
    }
  }
}

TEST_F(TraceRenderingTest, StepStatsHoldOneEntryPerDeviceAndOneRecordPerRun) {
  const proto::RunMetadata metadata = ToRunMetadata({collector_.get()});
  ASSERT_EQ(metadata.step_stats().dev_stats_size(), 2);
  const proto::DeviceStepStats& device = metadata.step_stats().dev_stats(0);
  EXPECT_EQ(device.device(), "/device:\"CPU\":0");
  ASSERT_EQ(device.node_stats_size(), 2);
  const proto::NodeExecStats& first = device.node_stats(0);
  EXPECT_EQ(first.node_name(), "sum");
  EXPECT_EQ(first.timeline_label(), "sum = AddV2(x, x)");
  EXPECT_EQ(first.thread_id(), 7u);
  EXPECT_EQ(first.all_start_nanos(), kStart);
  EXPECT_EQ(first.all_end_rel_nanos(), 300);
  ASSERT_EQ(first.output_size(), 1);
  EXPECT_EQ(first.output(0).tensor_description().shape().dim(0).size(), 2);
  EXPECT_EQ(first.output(0).tensor_description().allocation_description().allocated_bytes(), 8);
}

TEST_F(TraceRenderingTest, TheChromeTraceIsJsonWithASlicePerRun) {
  const nlohmann::json trace = nlohmann::json::parse(ChromeTrace({collector_.get()}));
  std::vector<nlohmann::json> slices, names;
  for (const nlohmann::json& event : trace["traceEvents"]) (event["ph"] == "X" ? slices : names).push_back(event);
  ASSERT_EQ(slices.size(), 3u);
  EXPECT_EQ(names.size(), 4u);  // Two processes, two threads.
  EXPECT_EQ(slices[0]["name"], "sum");
  EXPECT_EQ(slices[0]["cat"], "AddV2");
  EXPECT_EQ(slices[0]["ts"], 0.0);
  EXPECT_EQ(slices[0]["dur"], 0.3);
  EXPECT_EQ(slices[1]["ts"], 1.5);
  EXPECT_EQ(slices[2]["args"]["bytes"], 8);
  EXPECT_NE(slices[0]["pid"], slices[2]["pid"]);
  EXPECT_EQ(names[0]["args"]["name"], "/device:\"CPU\":0");
}

TEST_F(TraceRenderingTest, NothingRecordedIsAValidTraceToo) {
  const StepStatsCollector empty(graph_);
  EXPECT_TRUE(nlohmann::json::parse(ChromeTrace({&empty}))["traceEvents"].empty());
  EXPECT_EQ(ToStepStats({&empty}).dev_stats_size(), 0);
  EXPECT_EQ(Summarize({&empty}).times, 0);
}

TEST_F(TraceRenderingTest, SumsAreByOpAndByNodeMostTimeFirst) {
  const RunSummary summary = Summarize({collector_.get()});
  EXPECT_EQ(summary.times, 3);
  EXPECT_EQ(summary.total_ns, 2900);
  EXPECT_EQ(summary.span_ns, 4500);
  EXPECT_EQ(summary.bytes, 24);
  ASSERT_EQ(summary.ops.size(), 2u);
  EXPECT_EQ(summary.ops[0].op, "Mul");
  EXPECT_EQ(summary.ops[1].op, "AddV2");
  EXPECT_EQ(summary.ops[1].times, 2);
  EXPECT_EQ(summary.ops[1].nodes, 1);
  EXPECT_EQ(summary.ops[1].max_ns, 300);
  ASSERT_EQ(summary.nodes.size(), 2u);
  EXPECT_EQ(summary.nodes[1].name, "sum");
  EXPECT_EQ(summary.nodes[1].bytes, 16);
}

// What was made for the feed of "x" and for the fetch of "y" has names that no user wrote, as in TensorFlow, whose
// formats keep them.
TEST(MadeNodesInTracesTest, SumsShowWhatTheUserWroteAndStepStatsTheNodes) {
  GraphBuilder b(NewOpRegistry());
  const Output arg =
      b.Op("_Arg", "_arg_x_1_0", {}, {{"T", DType::kFloat}, {"index", 0}, MadeForAttr({"feed", "x", 1})});
  const Output y = b.Op("Neg", "y", {arg});
  b.Op("_Retval", "_retval_y_0_0", {y}, {{"index", 0}, MadeForAttr({"fetch", "y"})});
  ASSERT_OK_AND_ASSIGN(const Graph graph, b.Build());
  StepStatsCollector collector(graph);
  for (const NodeId id : graph.Nodes()) {
    NodeRecord record;
    record.node = id;
    record.start_ns = kStart;
    record.end_ns = kStart + 300 - 100 * id.value();
    collector.Add(std::move(record));
  }
  const RunSummary summary = Summarize({&collector});
  std::vector<std::string> rows;
  for (const SummaryRow& row : summary.nodes) rows.push_back(row.op + " " + row.name);
  EXPECT_EQ(rows, (std::vector<std::string>{"feed x", "Neg y", "fetch y"}));
  const proto::StepStats stats = ToStepStats({&collector});
  ASSERT_EQ(stats.dev_stats_size(), 1);
  EXPECT_EQ(stats.dev_stats(0).node_stats(0).node_name(), "_arg_x_1_0");
}

}  // namespace
}  // namespace sluice

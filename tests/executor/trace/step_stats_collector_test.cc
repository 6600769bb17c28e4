#include "executor/trace/step_stats_collector.h"

#include <algorithm>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "executor/session/session.h"
#include "executor/trace/step_stats.h"
#include "graph/ir/builder.h"
#include "graph/ops/op_table.h"
#include "gtest/gtest.h"
#include "tests/testing/executor_harness.h"
#include "tests/testing/status_matchers.h"

namespace sluice {
namespace {

// sum = x + two, big = sum * sum.
Graph SmallGraph() {
  GraphBuilder b(NewOpRegistry());
  const Output x = b.Placeholder("x", DType::kFloat, PartialShape::Of({2}));
  const Output sum = b.Op("AddV2", "sum", {x, b.Const("two", Tensor::Scalar(2.0f))});
  b.Op("Mul", "big", {sum, sum});
  return *b.Build();
}

NodeRecord Record(NodeId node, int64_t start_ns, int64_t end_ns, uint32_t thread_id = 1) {
  NodeRecord record;
  record.node = node;
  record.thread_id = thread_id;
  record.start_ns = start_ns;
  record.end_ns = end_ns;
  return record;
}

TEST(StepStatsCollectorTest, ARunGivesOneRecordForEachKernelCallInOrderOfTime) {
  ASSERT_OK_AND_ASSIGN(const std::unique_ptr<Session> session, Session::Create(SessionOptions(), SmallGraph()));
  ASSERT_OK_AND_ASSIGN(const std::shared_ptr<const Callable> callable, session->Prepare({{"x"}, {"big"}, {}, {}}));
  StepStatsCollector collector(callable->graph(), "/device:CPU:0");
  CallOptions options;
  options.observer = &collector;
  Tensor in[] = {Tensor::Vector<float>({1, 2})}, out[1];
  ASSERT_THAT(callable->Run(in, absl::MakeSpan(out), options), IsOk());
  const std::vector<NodeRecord> records = collector.Records();
  std::vector<std::string> names;
  for (const NodeRecord& record : records) {
    EXPECT_LE(record.scheduled_ns, record.start_ns);
    EXPECT_LE(record.start_ns, record.end_ns);
    EXPECT_GT(record.thread_id, 0u);
    names.emplace_back(callable->graph().name(record.node));
  }
  ASSERT_GE(records.size(), 2u);
  const auto sum = std::find(names.begin(), names.end(), "sum");
  const auto big = std::find(names.begin(), names.end(), "big");
  ASSERT_NE(sum, names.end());
  ASSERT_NE(big, names.end());
  EXPECT_LT(sum, big);
  const NodeRecord& added = records[static_cast<size_t>(sum - names.begin())];
  ASSERT_EQ(added.outputs.size(), 1u);
  EXPECT_EQ(added.outputs[0].dtype, DType::kFloat);
  EXPECT_EQ(added.outputs[0].shape, Shape::Of({2}));
  EXPECT_EQ(added.output_bytes(), 8);
  EXPECT_EQ(collector.DeviceOf(added.node), "/device:CPU:0");
}

TEST(StepStatsCollectorTest, WhatComesAfterTheLimitIsCountedOnly) {
  const Graph graph = SmallGraph();
  StepStatsCollector collector(graph, "", /*max_nodes=*/3);
  for (int i = 0; i < 5; ++i) collector.Add(Record(graph.Find("sum"), 10 * i, 10 * i + 5));
  EXPECT_EQ(collector.Records().size(), 3u);
  EXPECT_EQ(collector.num_dropped(), 2);
  EXPECT_EQ(StepStatsCollector::kMaxNodes, 1 << 20);
}

TEST(StepStatsCollectorTest, SendsAndReceivesAreNotRecorded) {
  GraphBuilder b(NewOpRegistry());
  const Output received = b.Op("_Recv", "received", {},
                               {{"tensor_type", DType::kFloat},
                                {"tensor_name", "t"},
                                {"send_device", "/device:CPU:0"},
                                {"send_device_incarnation", int64_t{1}},
                                {"recv_device", "/device:CPU:0"}});
  b.Op("Identity", "kept", {received});
  ASSERT_OK_AND_ASSIGN(const Graph graph, b.Build());
  StepStatsCollector collector(graph);
  collector.Add(Record(graph.Find("received"), 1, 2));
  collector.Add(Record(graph.Find("kept"), 3, 4));
  const std::vector<NodeRecord> records = collector.Records();
  ASSERT_EQ(records.size(), 1u);
  EXPECT_EQ(records[0].node, graph.Find("kept"));
}

TEST(StepStatsCollectorTest, AnExecutorTellsTheCollectorOfItsArgs) {
  GraphBuilder b(NewOpRegistry());
  GraphBuilder::Attrs attrs = ExecutorHarness::TransferAttrs("a");
  attrs.emplace_back("tensor_type", DType::kFloat);
  const Output a = b.Op("_Recv", "recv", {}, attrs);
  b.Op("_Send", "send", {b.Op("Add", "add", {a, a})}, ExecutorHarness::TransferAttrs("c"));
  ASSERT_OK_AND_ASSIGN(const Graph graph, b.Build());
  ExecutorHarness harness;
  ASSERT_OK(harness.Build(graph));
  ASSERT_OK(harness.Send("a", Tensor::Scalar(1.0f)));
  StepStatsCollector collector(graph);
  Executor::Args args = harness.args();
  args.observer = &collector;
  ASSERT_OK(harness.executor().Run(args));
  const std::vector<NodeRecord> records = collector.Records();
  ASSERT_EQ(records.size(), 1u);
  EXPECT_EQ(records[0].node, graph.Find("add"));
  EXPECT_EQ(records[0].output_bytes(), 4);
}

// TensorFlow counts a second record, for the source node that our graphs do not have.
TEST(StepStatsCollectorTest, TheTimesOfARealRunAreInOrderAndItsTransfersLeftOut) {
  GraphBuilder b(NewOpRegistry());
  const auto attrs = [](const std::string& name, bool receives) {
    GraphBuilder::Attrs made = ExecutorHarness::TransferAttrs(name);
    if (receives) made.emplace_back("tensor_type", DType::kFloat);
    return made;
  };
  const Output x = b.Op("_Recv", "x", {}, attrs("x", true)), y = b.Op("_Recv", "y", {}, attrs("y", true));
  b.Op("_Send", "send", {b.Op("Add", "add", {x, y})}, attrs("z", false));
  ASSERT_OK_AND_ASSIGN(const Graph graph, b.Build());
  ExecutorHarness harness;
  ASSERT_OK(harness.Build(graph));
  for (const char* name : {"x", "y"}) ASSERT_OK(harness.Send(name, Tensor::Scalar(1.0f)));
  StepStatsCollector collector(graph, "/device:CPU:0");
  Executor::Args args = harness.args();
  args.observer = &collector;
  ASSERT_OK(harness.executor().Run(args));
  const proto::StepStats stats = ToStepStats({&collector});
  ASSERT_EQ(stats.dev_stats_size(), 1);
  ASSERT_EQ(stats.dev_stats(0).node_stats_size(), 1);
  const proto::NodeExecStats& add = stats.dev_stats(0).node_stats(0);
  EXPECT_EQ(add.node_name(), "add");
  EXPECT_GT(add.scheduled_nanos(), 0);
  EXPECT_LE(add.scheduled_nanos(), add.all_start_nanos());
  EXPECT_LE(add.op_start_rel_nanos(), add.op_end_rel_nanos());
  EXPECT_LE(add.op_end_rel_nanos(), add.all_end_rel_nanos());
  EXPECT_EQ(add.all_start_micros(), add.all_start_nanos() / 1000);
  EXPECT_EQ(add.op_end_rel_micros(), add.op_end_rel_nanos() / 1000);
  EXPECT_EQ(add.all_end_rel_micros(), add.all_end_rel_nanos() / 1000);
}

TEST(StepStatsCollectorTest, ANodeIsScheduledWhenItsThreadHasDoneTheOneBefore) {
  const Graph graph = SmallGraph();
  StepStatsCollector collector(graph);
  const int64_t now = NodeObserver::NowNs();
  collector.Add(Record(graph.Find("big"), now + 700, now + 900, 1));
  collector.Add(Record(graph.Find("sum"), now + 100, now + 400, 1));
  collector.Add(Record(graph.Find("sum"), now + 500, now + 600, 2));
  const std::vector<NodeRecord> records = collector.Records();
  ASSERT_EQ(records.size(), 3u);
  EXPECT_LE(records[0].scheduled_ns, now);
  EXPECT_EQ(records[1].thread_id, 2u);
  EXPECT_LE(records[1].scheduled_ns, now);
  EXPECT_EQ(records[2].scheduled_ns, now + 400);
}

TEST(StepStatsCollectorTest, LabelsSayWhatIsComputedFromWhat) {
  GraphBuilder b(NewOpRegistry());
  const Output x = b.Placeholder("x", DType::kFloat);
  const Output parts = b.Op("Unpack", "parts", {x}, {{"num", int64_t{2}}});
  b.Op("AddV2", "sum", {parts, GraphBuilder::Nth(parts, 1)});
  b.Op("AddN", "many", std::vector<Output>(10, x));
  ASSERT_OK_AND_ASSIGN(const Graph graph, b.Build());
  const StepStatsCollector collector(graph);
  EXPECT_EQ(collector.TimelineLabel(graph.Find("sum")), "sum = AddV2(parts, parts:1)");
  EXPECT_EQ(collector.TimelineLabel(graph.Find("many")), "many = AddN(x, x, x, x, x, x, x, x, and 2 more)");
}

TEST(StepStatsCollectorTest, ThreadsRecordAtOnce) {
  const Graph graph = SmallGraph();
  StepStatsCollector collector(graph, "", /*max_nodes=*/1500);
  std::vector<std::thread> threads;
  for (uint32_t t = 0; t < 4; ++t) {
    threads.emplace_back([&collector, &graph, t] {
      for (int i = 0; i < 500; ++i) collector.Add(Record(graph.Find("sum"), i, i + 1, t));
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(collector.Records().size(), 1500u);
  EXPECT_EQ(collector.num_dropped(), 500);
}

}  // namespace
}  // namespace sluice

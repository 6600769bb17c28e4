// No shape of graph costs more than about n log n to load, to prepare or to run: sizes are doubled and the work
// counted. The work is basic blocks of our own code, in builds with --config=counted; others only see that the graphs
// run.

#include <memory>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "executor/session/session.h"
#include "graph/ir/builder.h"
#include "graph/ir/export.h"
#include "graph/ir/import.h"
#include "graph/ops/op_table.h"
#include "graph/wire/wire_writer.h"
#include "gtest/gtest.h"
#include "tests/testing/block_count.h"
#include "tests/testing/graph_shapes.h"
#include "tests/testing/status_matchers.h"

namespace sluice {
namespace {

// The blocks that each part of using a graph takes.
struct Work {
  int64_t load = 0, prepare = 0, run = 0;
};

template <typename Do>
int64_t BlocksOf(Do&& work) {
  const int64_t before = BlocksRun();
  work();
  return BlocksRun() - before;
}

class GrowthTest : public ::testing::TestWithParam<std::tuple<GraphShape, Driver>> {
 protected:
  static const GraphShape& shape() { return std::get<0>(GetParam()); }

  static SessionOptions Options(int size) {
    SessionOptions options;
    options.num_threads = 1;
    options.driver = std::get<1>(GetParam());
    options.num_cpu_devices = shape().num_devices != 0 ? shape().num_devices : size;
    return options;
  }

  // Loads, prepares and runs the graph of this size.
  static Work Measure(int size) {
    Work work;
    ShapedGraph made = shape().make(size);
    const std::string bytes = ExportGraph(made.graph);
    absl::StatusOr<Graph> graph = Graph(nullptr);
    work.load = BlocksOf([&] {
      GraphSource source;
      source.bytes = bytes;
      ImportOptions import;
      import.ops = NewOpRegistry();
      import.allow_internal_ops = true;
      graph = ImportGraph(std::move(source), import);
    });
    EXPECT_OK(graph);
    if (!graph.ok()) return work;
    absl::StatusOr<std::unique_ptr<Session>> session = Session::Create(Options(size), *std::move(graph));
    EXPECT_OK(session);
    if (!session.ok()) return work;
    if (!made.init.empty()) {
      EXPECT_OK((*session)->Run({}, {}, made.init));
    }
    absl::StatusOr<std::shared_ptr<const Callable>> callable;
    work.prepare = BlocksOf([&] { callable = (*session)->Prepare(made.spec); });
    EXPECT_OK(callable);
    if (!callable.ok()) return work;
    // The second run: the first one makes what later ones need again.
    for (int run = 0; run < 2; ++run) {
      std::vector<Tensor> inputs = made.feeds, outputs(made.spec.fetches.size());
      absl::Status status;
      work.run = BlocksOf([&] { status = (*callable)->Run(absl::MakeSpan(inputs), absl::MakeSpan(outputs)); });
      EXPECT_OK(status);
    }
    return work;
  }

  // What the second doubling adds must be little more than twice what the first one adds, whatever a part of any size
  // costs.
  static void ExpectLinear(const char* what, int64_t once, int64_t twice, int64_t four_times) {
    const double first = static_cast<double>(twice - once), second = static_cast<double>(four_times - twice);
    EXPECT_LT(second, 2.4 * first + 1000) << what << ": " << once << ", " << twice << ", " << four_times << " blocks";
    RecordProperty(what, std::to_string(four_times));
  }
};

TEST_P(GrowthTest, DoublingTheGraphDoublesTheWork) {
  if (!CountsBlocks()) {
    Measure(64);
    return;
  }
  constexpr int kSize = 500;
  const Work once = Measure(kSize), twice = Measure(2 * kSize), four_times = Measure(4 * kSize);
  EXPECT_GT(once.prepare, kSize);
  ExpectLinear("load", once.load, twice.load, four_times.load);
  ExpectLinear("prepare", once.prepare, twice.prepare, four_times.prepare);
  ExpectLinear("run", once.run, twice.run, four_times.run);
}

std::vector<std::tuple<GraphShape, Driver>> Params() {
  std::vector<std::tuple<GraphShape, Driver>> params;
  for (const GraphShape& shape : AllGraphShapes()) {
    if (!shape.is_dataflow_only) params.emplace_back(shape, Driver::kSerial);
    params.emplace_back(shape, Driver::kDataflow);
  }
  return params;
}

INSTANTIATE_TEST_SUITE_P(Shapes, GrowthTest, ::testing::ValuesIn(Params()),
                         [](const ::testing::TestParamInfo<std::tuple<GraphShape, Driver>>& info) {
                           const bool is_serial = std::get<1>(info.param) == Driver::kSerial;
                           return std::string(std::get<0>(info.param).name) + (is_serial ? "Serial" : "Dataflow");
                         });

// A partial run of a chain whose every node is fetched: what the fetches need overlaps.
TEST(PartialRunGrowthTest, FetchesShareWhatTheyNeed) {
  const auto measure = [](int size) {
    GraphBuilder b(NewOpRegistry());
    FeedFetchSpec spec;
    spec.feeds = {"x"};
    Output last = b.Placeholder("x", DType::kInt32);
    for (int i = 0; i < size; ++i) {
      spec.fetches.push_back(absl::StrCat("n", i));
      last = b.Op("Neg", spec.fetches.back(), {last});
    }
    SessionOptions options;
    options.num_threads = 1;
    const std::unique_ptr<Session> session = *Session::Create(options, *b.Build());
    int64_t setup = 0, all_at_once = 0, one_by_one = 0;
    std::string handle;
    setup = BlocksOf([&] { handle = *session->PRunSetup(spec); });
    const NamedTensors feeds = {{"x", Tensor::Scalar(int32_t{1})}};
    all_at_once = BlocksOf([&] { EXPECT_OK(session->PRun(handle, feeds, spec.fetches)); });
    handle = *session->PRunSetup(spec);
    one_by_one = BlocksOf([&] {
      EXPECT_OK(session->PRun(handle, feeds, {}));
      for (const std::string& fetch : spec.fetches) EXPECT_OK(session->PRun(handle, {}, {fetch}));
    });
    return std::vector<int64_t>{setup, all_at_once, one_by_one};
  };
  const int size = CountsBlocks() ? 200 : 20;
  const std::vector<int64_t> once = measure(size), twice = measure(2 * size), four_times = measure(4 * size);
  for (size_t i = 0; CountsBlocks() && i < once.size(); ++i) {
    EXPECT_LT(four_times[i] - twice[i], 2.4 * static_cast<double>(twice[i] - once[i]))
        << i << ": " << once[i] << ", " << twice[i] << ", " << four_times[i] << " blocks";
  }
}

// A step that waits at many places at once: 24 nodes for each dequeue. A wait that ends costs what it sets free,
// however many others there are.
class WaitingGrowthTest : public ::testing::TestWithParam<Driver> {
 protected:
  struct Work {
    int64_t begin = 0, waits = 0;
  };

  static Work Measure(int waits) {
    GraphBuilder b(NewOpRegistry());
    const GraphBuilder::Attrs types = {{"component_types", std::vector<DType>{DType::kInt32}}};
    GraphBuilder::Attrs of_queue = types;
    of_queue.emplace_back("shapes", std::vector<PartialShape>{PartialShape::Scalar()});
    const Output queue = b.Op("FIFOQueueV2", "queue", {}, of_queue);
    b.Op("QueueEnqueueV2", "put", {queue, b.Placeholder("value", DType::kInt32)});
    std::vector<Output> ends;
    for (int i = 0; i < waits; ++i) {
      Output last = b.Op("QueueDequeueV2", absl::StrCat("get", i), {queue}, types);
      for (int k = 0; k < 23; ++k) last = b.Op("Neg", absl::StrCat("n", i, "_", k), {last});
      ends.push_back(last);
    }
    b.Op("AddN", "sum", ends);
    SessionOptions options;
    options.num_threads = 1;
    options.driver = GetParam();
    const std::unique_ptr<Session> session = *Session::Create(options, *b.Build());
    const auto step = *session->Prepare({{}, {"sum"}, {}, {}}), put = *session->Prepare({{"value"}, {}, {"put"}, {}});
    Work work;
    Tensor sum;
    bool is_over = false;
    work.begin = BlocksOf([&] {
      step->RunAsync({}, absl::MakeSpan(&sum, 1), {}, [&is_over](const absl::Status& status) {
        EXPECT_OK(status);
        is_over = true;
      });
    });
    // This thread waits for nothing, and so continues the step itself.
    work.waits = BlocksOf([&] {
      for (int i = 0; i < waits; ++i) {
        EXPECT_FALSE(is_over);
        Tensor value = Tensor::Scalar(int32_t{1});
        put->RunAsync(absl::MakeSpan(&value, 1), {}, {}, [](const absl::Status& status) { EXPECT_OK(status); });
      }
    });
    EXPECT_TRUE(is_over);
    EXPECT_EQ(*sum.AsScalar<int32_t>(), -waits);
    return work;
  }
};

TEST_P(WaitingGrowthTest, WaitsThatEndCostTheSameHoweverManyThereAre) {
  if (!CountsBlocks()) {
    Measure(1000);
    return;
  }
  const Work once = Measure(250), twice = Measure(500), four_times = Measure(1000);
  const auto expect_linear = [&](auto member) {
    const auto first = static_cast<double>(twice.*member - once.*member);
    EXPECT_LT(static_cast<double>(four_times.*member - twice.*member), 2.4 * first)
        << once.*member << ", " << twice.*member << ", " << four_times.*member << " blocks";
  };
  expect_linear(&Work::begin);
  expect_linear(&Work::waits);
}

INSTANTIATE_TEST_SUITE_P(Drivers, WaitingGrowthTest, ::testing::Values(Driver::kSerial, Driver::kDataflow),
                         [](const ::testing::TestParamInfo<Driver>& info) {
                           return std::string(info.param == Driver::kSerial ? "Serial" : "Dataflow");
                         });

// Many signatures of one graph: each costs as much as the first, and asking for one again costs as much in a session of
// many.
TEST(SignatureGrowthTest, EverySignatureCostsTheSame) {
  constexpr int kSignatures[] = {50, 100, 200};
  std::vector<std::pair<int64_t, int64_t>> work;
  for (const int signatures : kSignatures) {
    ShapedGraph made = AllGraphShapes()[1].make(100);
    SessionOptions options;
    options.num_threads = 1;
    options.max_prepared = 1000;
    ASSERT_OK_AND_ASSIGN(const std::unique_ptr<Session> session, Session::Create(options, std::move(made.graph)));
    const auto ask = [&](int times) {
      for (int i = 0; i < signatures; ++i) {
        const std::vector<std::string> fetches(static_cast<size_t>(i % 10) + 1, "sum");
        const std::vector<std::string> targets(static_cast<size_t>(i / 10), "sum");
        for (int j = 0; j < times; ++j) EXPECT_OK(session->Run({{"x", made.feeds[0]}}, fetches, targets));
      }
    };
    work.emplace_back(BlocksOf([&] { ask(1); }), 0);
    work.back().second = BlocksOf([&] { ask(10); });
  }
  if (!CountsBlocks()) return;
  const auto expect_linear = [&](auto member) {
    const double first = static_cast<double>(work[1].*member - work[0].*member);
    EXPECT_LT(static_cast<double>(work[2].*member - work[1].*member), 2.4 * first)
        << work[0].*member << ", " << work[1].*member << ", " << work[2].*member;
  };
  expect_linear(&std::pair<int64_t, int64_t>::first);
  expect_linear(&std::pair<int64_t, int64_t>::second);
}

// Chains of nodes added to sessions that hold a chain of `size` nodes of no concern.
class ExtendGrowthTest : public ::testing::Test {
 protected:
  struct Work {
    int64_t extend = 0, run = 0;
  };

  // Adds `count` nodes to `graph`, all named after `prefix`, and gives the bytes of a GraphDef of them.
  static std::string AddChain(const std::string& prefix, int count, Graph* graph) {
    std::string bytes;
    Output last{graph->Find("x"), 0};
    for (int i = 0; i < count; ++i) {
      const std::string name = absl::StrCat(prefix, i);
      NodeSpec node;
      node.name = name;
      node.op = "Neg";
      node.inputs = {last};
      node.attrs = {{"T", DType::kInt32}};
      last = Output{*graph->AddNode(node), 0};
      WireWriter(&bytes).Bytes(1, ExportNode(*graph, last.node));
    }
    return bytes;
  }
  static void Extend(const std::string& bytes, Session* session) {
    GraphSource source;
    source.bytes = bytes;
    EXPECT_OK(session->Extend(std::move(source)));
  }

  // The work of adding `added` nodes, and of the first run of the last one.
  static Work Measure(int size, int added) {
    GraphBuilder b(NewOpRegistry());
    b.Placeholder("x", DType::kInt32);
    Graph graph = *b.Build();
    AddChain("old", size, &graph);
    SessionOptions options;
    options.num_threads = 1;
    const std::unique_ptr<Session> session = *Session::Create(options, graph);
    Extend(AddChain("first", 1, &graph), session.get());  // The graph's tables are full at first, and grow.
    const std::string bytes = AddChain("new", added, &graph);
    const std::string fetch = absl::StrCat("new", added - 1);
    Work work;
    work.extend = BlocksOf([&] { Extend(bytes, session.get()); });
    work.run = BlocksOf([&] { EXPECT_OK(session->Run({{"x", Tensor::Scalar(int32_t{1})}}, {fetch}, {})); });
    return work;
  }
};

// The work of adding nodes to a session and of running them is that of these nodes and of what they need, whatever the
// session holds otherwise.
TEST_F(ExtendGrowthTest, WorkIsThatOfWhatIsAddedAndNeeded) {
  const int size = CountsBlocks() ? 1000 : 100;
  for (const int added : {1, 100}) {
    const Work small = Measure(size, added), large = Measure(16 * size, added);
    RecordProperty(absl::StrCat("extend", added), std::to_string(large.extend));
    RecordProperty(absl::StrCat("run", added), std::to_string(large.run));
    if (!CountsBlocks()) continue;
    // Searching an id among more of them takes a few steps more.
    EXPECT_LT(large.extend, small.extend + small.extend / 10 + 100) << added;
    EXPECT_LT(large.run, small.run + small.run / 10 + 100) << added;
  }
  if (!CountsBlocks()) return;
  const Work once = Measure(size, 200), twice = Measure(size, 400), four_times = Measure(size, 800);
  EXPECT_LT(four_times.extend - twice.extend, 2.4 * static_cast<double>(twice.extend - once.extend));
  EXPECT_LT(four_times.run - twice.run, 2.4 * static_cast<double>(twice.run - once.run));
}

// The thousandth addition costs as much as the hundredth, and so does a run after it.
TEST_F(ExtendGrowthTest, EveryAdditionCostsTheSame) {
  GraphBuilder b(NewOpRegistry());
  b.Placeholder("x", DType::kInt32);
  SessionOptions options;
  options.num_threads = 1;
  options.max_prepared = 4;
  const std::unique_ptr<Session> session = *Session::Create(options, *b.Build());
  const int rounds = CountsBlocks() ? 400 : 20;
  const auto add = [&](int i) {
    GraphBuilder added(NewOpRegistry());
    const Output y = added.Op("Neg", absl::StrCat("n", i), {added.Placeholder("x", DType::kInt32)},
                              {{absl::StrCat("_mark", i), int64_t{i}}});
    std::string bytes;
    WireWriter(&bytes).Bytes(1, ExportNode(added.graph(), y.node));
    Extend(bytes, session.get());
    EXPECT_OK(session->Run({{"x", Tensor::Scalar(int32_t{1})}}, {absl::StrCat("n", i)}, {}));
  };
  std::vector<int64_t> work;
  for (int part = 0; part < 4; ++part) {
    work.push_back(BlocksOf([&] {
      for (int i = part * rounds; i < (part + 1) * rounds; ++i) add(i);
    }));
  }
  if (!CountsBlocks()) return;
  EXPECT_LT(work[3], work[1] + work[1] / 5) << work[0] << ", " << work[1] << ", " << work[2] << ", " << work[3];
}

}  // namespace
}  // namespace sluice

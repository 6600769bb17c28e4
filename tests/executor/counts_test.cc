// What a step costs in things that can be counted, so that none of them grows unseen: allocations, instructions and
// atomic instructions. Bounds are what was measured and a quarter more, for other compilers and C libraries; a figure
// that must rise is a decision to be made here. Times are in tests/bench.
//
// Sanitizers replace operator new and add instructions of their own, and a build without optimisation is no measure:
// in such builds the figures are left out, and what remains is that the graphs run. SLUICE_UBSAN comes from the BUILD
// file, since GCC has no macro for it.

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "executor/session/session.h"
#include "graph/base/check.h"
#include "graph/ir/builder.h"
#include "graph/ops/op_table.h"
#include "gtest/gtest.h"
#include "tests/testing/counting_new.h"
#include "tests/testing/instruction_count.h"
#include "tests/testing/status_matchers.h"

#if defined(SLUICE_COUNTS_NEW) && defined(__OPTIMIZE__) && !defined(SLUICE_UBSAN)
#define SLUICE_HAS_FIGURES 1
#endif

namespace sluice {
namespace {

// A chain of scalar additions.
Output AddChain(GraphBuilder& b, int nodes) {
  const Output x = b.Placeholder("x", DType::kFloat, PartialShape::Scalar());
  Output last = x;
  for (int i = 0; i < nodes; ++i) last = b.Op("AddV2", "", {last, x});
  return last;
}

// Nodes beside each other, and one that adds up what they give.
Output AddFan(GraphBuilder& b, int nodes) {
  const Output x = b.Placeholder("x", DType::kFloat, PartialShape::Scalar());
  std::vector<Output> leaves;
  for (int i = 0; i < nodes; ++i) leaves.push_back(b.Op("Relu", "", {x}));
  return b.Op("AddN", "", leaves);
}

// Counts x up to `iterations`.
Output AddLoop(GraphBuilder& b, int iterations) {
  const Output x = b.Placeholder("x", DType::kFloat, PartialShape::Scalar());
  const auto enter = [&](const Output& value, bool is_constant) {
    return b.Op("Enter", "", {value}, {{"frame_name", "loop"}, {"is_constant", is_constant}});
  };
  const Output limit = enter(b.Const("limit", Tensor::Scalar(static_cast<float>(iterations))), true);
  const Output one = enter(b.Const("one", Tensor::Scalar(1.0f)), true);
  const Output first = enter(x, false);
  const Output merge = b.Op("Merge", "", {first, first});
  const Output cond = b.Op("LoopCond", "", {b.Op("Less", "", {merge, limit})});
  const Output ports = b.Op("Switch", "", {merge, cond});
  b.SetInput(merge, 1, b.Op("NextIteration", "", {b.Op("AddV2", "", {GraphBuilder::Nth(ports, 1), one})}));
  return b.Op("Exit", "", {ports});
}

// A chain that changes its device at every node.
Output AddDeviceChain(GraphBuilder& b, int nodes) {
  const Output x = b.Placeholder("x", DType::kFloat, PartialShape::Scalar());
  Output last = x;
  for (int i = 0; i < nodes; ++i) {
    last = b.Op("Identity", "", {last});
    b.SetDevice(last, i % 2 == 0 ? "/device:CPU:0" : "/device:CPU:1");
  }
  return last;
}

using AddNodes = Output (*)(GraphBuilder& b, int size);

// One of the graphs above, prepared, warm, and called on this thread.
class CountedGraph {
 public:
  CountedGraph(AddNodes add, int size, Driver driver, bool cut_by_device = false) {
    GraphBuilder b(NewOpRegistry());
    b.Op("Identity", "y", {add(b, size)});
    absl::StatusOr<Graph> graph = b.Build();
    EXPECT_OK(graph);
    SessionOptions options;
    options.num_threads = 1;
    options.driver = driver;
    options.num_cpu_devices = 2;
    options.cut_by_device = cut_by_device;
    absl::StatusOr<std::unique_ptr<Session>> session = Session::Create(options, *std::move(graph));
    EXPECT_OK(session);
    session_ = *std::move(session);
    absl::StatusOr<std::shared_ptr<const Callable>> callable = session_->Prepare({{"x"}, {"y"}, {}, {}});
    EXPECT_OK(callable);
    callable_ = *std::move(callable);
    for (int i = 0; i < 3; ++i) Call();
  }

  void Call() {
    in_[0] = Tensor::Scalar(1.0f);
    SLUICE_CHECK(callable_->Run(absl::MakeSpan(in_), absl::MakeSpan(out_)).ok() && out_[0].has_value());
  }

  void CallAsync() {
    in_[0] = Tensor::Scalar(1.0f);
    bool is_over = false;
    callable_->RunAsync(absl::MakeSpan(in_), absl::MakeSpan(out_), {},
                        [&is_over](const absl::Status& status) { is_over = status.ok(); });
    SLUICE_CHECK(is_over && out_[0].has_value());
  }

  const Tensor& result() const { return out_[0]; }
  int64_t NewCallsOfOneCall() {
    const int64_t before = NewCalls();
    Call();
    return NewCalls() - before;
  }
  InstructionCount InstructionsOfOneCall() {
    return CountInstructions([this] { Call(); });
  }

 private:
  std::unique_ptr<Session> session_;
  std::shared_ptr<const Callable> callable_;
  Tensor in_[1], out_[1];
};

struct Case {
  const char* name;
  AddNodes add;
  // Most instructions per node or iteration.
  int64_t serial, dataflow;
};

class CountsTest : public ::testing::TestWithParam<Case> {
 protected:
  static constexpr int kFew = 10, kMore = 30;

  // Also kept as a property of the test, for reports: --gtest_output=json.
  static double PerNode(const InstructionCount& few, const InstructionCount& more) {
    const double figure = static_cast<double>(more.all - few.all) / (kMore - kFew);
    RecordProperty("instructions", std::to_string(figure));
    return figure;
  }
};

TEST_P(CountsTest, BothDriversGiveAResultEveryTime) {
  for (const Driver driver : {Driver::kSerial, Driver::kDataflow}) {
    CountedGraph graph(GetParam().add, kMore, driver);
    graph.Call();
    EXPECT_GT(*graph.result().AsScalar<float>(), 0);
  }
}

#ifdef SLUICE_HAS_FIGURES

// Of a run of the dataflow driver, whatever the graph: its state, and lists that grow.
constexpr int64_t kDataflowNewCalls = 8;

TEST_P(CountsTest, ASerialCallAllocatesNothing) {
  CountedGraph graph(GetParam().add, kMore, Driver::kSerial);
  EXPECT_EQ(graph.NewCallsOfOneCall(), 0);
}

TEST_P(CountsTest, ADataflowCallAllocatesTheSameForAnyNumberOfNodes) {
  CountedGraph few(GetParam().add, kFew, Driver::kDataflow), more(GetParam().add, kMore, Driver::kDataflow);
  const int64_t allocations = more.NewCallsOfOneCall();
  RecordProperty("allocations", std::to_string(allocations));
  EXPECT_EQ(allocations, few.NewCallsOfOneCall());
  EXPECT_LE(allocations, kDataflowNewCalls);
}

TEST_P(CountsTest, ANodeOfASerialProgramTakesFewInstructionsAndNoAtomicOne) {
  CountedGraph few(GetParam().add, kFew, Driver::kSerial), more(GetParam().add, kMore, Driver::kSerial);
  const InstructionCount of_few = few.InstructionsOfOneCall(), of_more = more.InstructionsOfOneCall();
  EXPECT_LE(PerNode(of_few, of_more), static_cast<double>(GetParam().serial));
  EXPECT_EQ(of_few.atomic, of_more.atomic);
}

TEST_P(CountsTest, ANodeOfTheDataflowDriverTakesFewInstructionsAndNoAtomicOne) {
  CountedGraph few(GetParam().add, kFew, Driver::kDataflow), more(GetParam().add, kMore, Driver::kDataflow);
  const InstructionCount of_few = few.InstructionsOfOneCall(), of_more = more.InstructionsOfOneCall();
  EXPECT_LE(PerNode(of_few, of_more), static_cast<double>(GetParam().dataflow));
  EXPECT_EQ(of_few.atomic, of_more.atomic);
}

#endif  // SLUICE_HAS_FIGURES

INSTANTIATE_TEST_SUITE_P(Graphs, CountsTest,
                         ::testing::Values(Case{"chain", &AddChain, 225, 630}, Case{"fan", &AddFan, 240, 640},
                                           Case{"loop", &AddLoop, 620, 3330}),
                         [](const ::testing::TestParamInfo<Case>& info) { return std::string(info.param.name); });

TEST(CallCountsTest, AChainOverTwoDevicesHandsTheValueThrough) {
  for (const bool cut : {false, true}) {
    CountedGraph graph(&AddDeviceChain, 9, Driver::kAuto, cut);
    graph.Call();
    EXPECT_EQ(*graph.result().AsScalar<float>(), 1.0f);
  }
}

#ifdef SLUICE_HAS_FIGURES

TEST(CallCountsTest, ACallOfOneNodeTakesFewInstructionsAndAtomics) {
  CountedGraph graph(&AddChain, 1, Driver::kAuto);
  const InstructionCount count = graph.InstructionsOfOneCall() - CountInstructions([] {});
  RecordProperty("instructions", std::to_string(count.all));
  RecordProperty("atomics", std::to_string(count.atomic));
  EXPECT_GT(count.all, 0);
  EXPECT_LE(count.all, 1450);  // 1,400 before a call that waits kept others off its thread (ThreadRuns::AwaitScope).
  EXPECT_LE(count.atomic, 4);
}

// RunAsync beside Run: the same whatever the graph, since a call that does not wait is Run's, and `done` after it. What
// is added: a reference to the callable taken and given back, a look at what the executor does, and the callback.
TEST(CallCountsTest, ACallThatNobodyWaitsForTakesFewInstructionsMoreAndNoMemory) {
  for (const int nodes : {1, 1000}) {
    CountedGraph graph(&AddChain, nodes, Driver::kAuto);
    graph.CallAsync();
    const InstructionCount waited = CountInstructions([&graph] { graph.Call(); });
    const InstructionCount count = CountInstructions([&graph] { graph.CallAsync(); }) - waited;
    RecordProperty("instructions_" + std::to_string(nodes), std::to_string(count.all));
    RecordProperty("atomics_" + std::to_string(nodes), std::to_string(count.atomic));
    EXPECT_LE(count.all, 400) << nodes;
    EXPECT_LE(count.atomic, 4) << nodes;
    const int64_t before = NewCalls();
    graph.CallAsync();
    EXPECT_EQ(NewCalls() - before, 0) << nodes;
  }
}

TEST(CallCountsTest, AChangeOfDeviceTakesNoInstructionsWhereDevicesAreJoined) {
  CountedGraph few(&AddDeviceChain, 20, Driver::kAuto), more(&AddDeviceChain, 36, Driver::kAuto);
  EXPECT_LE((more.InstructionsOfOneCall() - few.InstructionsOfOneCall()).all, 16);
}

TEST(CallCountsTest, AChangeOfDeviceTakesFewInstructionsAndAllocations) {
  constexpr int kFew = 20, kMore = 36, kChanges = kMore - kFew;
  CountedGraph few(&AddDeviceChain, kFew, Driver::kAuto, true), more(&AddDeviceChain, kMore, Driver::kAuto, true);
  const InstructionCount count = more.InstructionsOfOneCall() - few.InstructionsOfOneCall();
  const double instructions = static_cast<double>(count.all) / kChanges;
  const double atomics = static_cast<double>(count.atomic) / kChanges;
  const double allocations = static_cast<double>(more.NewCallsOfOneCall() - few.NewCallsOfOneCall()) / kChanges;
  RecordProperty("instructions", std::to_string(instructions));
  RecordProperty("atomics", std::to_string(atomics));
  RecordProperty("allocations", std::to_string(allocations));
  EXPECT_LE(instructions, 3600);
  EXPECT_LE(atomics, 14);
  EXPECT_LE(allocations, 1.5);
}

#endif  // SLUICE_HAS_FIGURES

}  // namespace
}  // namespace sluice

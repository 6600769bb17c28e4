// How steps that wait end early, by each driver: errors of calls, cancellation, deadlines, and what observers hear of
// it.

#include <atomic>
#include <memory>
#include <new>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "executor/compiled/compiled_graph.h"
#include "executor/compiled/driver_choice.h"
#include "executor/threads/thread_pool.h"
#include "executor/trace/node_observer.h"
#include "graph/base/cancellation.h"
#include "graph/base/error.h"
#include "gtest/gtest.h"
#include "rendezvous/local_rendezvous.h"
#include "tests/executor/compiled/waiting_fixture.h"
#include "tests/testing/executor_harness.h"

namespace sluice {
namespace {

class WaitingEndsTest : public WaitingFixture {};

INSTANTIATE_TEST_SUITE_P(Drivers, WaitingEndsTest, WaitingDrivers(), NameOfDriver);

TEST_P(WaitingEndsTest, TheFirstErrorEndsTheStepWhenItsCallsHaveEnded) {
  Return(0, Add(Wait("w", Arg(0)), Arg(1)));
  Return(1, b_.Op("FloorDiv", "quotient", {Wait("v", Arg(0)), b_.Const("zero", Int(0))}));
  const std::unique_ptr<Executor> executor = MakeIt();
  CancellationManager cancellation;
  Executor::Args args;
  args.cancellation = &cancellation;
  Step step({Int(1), Int(2)}, 2);
  Begin(*executor, step, args);
  ASSERT_EQ(gate_.num_waiting(), 2u);
  EXPECT_TRUE(gate_.EndOne());
  EXPECT_TRUE(gate_.EndOne());
  ASSERT_EQ(step.num_ends, 1);
  EXPECT_THAT(step.status, StatusIs(absl::StatusCode::kInvalidArgument, "'quotient'"));
  EXPECT_TRUE(cancellation.IsCancelled());

  Step failing({Int(1), Int(2)}, 2);
  Begin(*executor, failing);
  EXPECT_TRUE(gate_.EndOne(absl::UnavailableError("the queue is closed")));
  EXPECT_FALSE(failing.is_over()) << "a call is under way";
  EXPECT_TRUE(gate_.EndOne(absl::DataLossError("later")));
  ASSERT_EQ(failing.num_ends, 1);
  EXPECT_THAT(failing.status, StatusIs(absl::StatusCode::kUnavailable, "the queue is closed"));
  EXPECT_TRUE(absl::StrContains(failing.status.message(), "'w'") || absl::StrContains(failing.status.message(), "'v'"))
      << failing.status;
}

TEST_P(WaitingEndsTest, ACancellationAndADeadlineEndAWait) {
  Return(0, Add(Recv("never"), Arg(0)));
  const std::unique_ptr<Executor> executor = MakeIt();
  for (const bool cancel_on_error : {true, false}) {
    const auto rendezvous = MakeCounted<LocalRendezvous>(edges_);
    CancellationManager cancellation;
    Executor::Args args;
    args.rendezvous = rendezvous.get();
    args.cancellation = &cancellation;
    args.cancel_on_error = cancel_on_error;
    Step step({Int(1)});
    Begin(*executor, step, args);
    EXPECT_FALSE(step.is_over());
    cancellation.StartCancelWithStatus(absl::UnavailableError("the host goes home"));
    ASSERT_EQ(step.num_ends, 1);
    EXPECT_THAT(step.status, StatusIs(absl::StatusCode::kUnavailable, "goes home"));
  }
  const auto rendezvous = MakeCounted<LocalRendezvous>(edges_);
  VectorCallFrame frame({Int(1)}, 1);
  Executor::Args args;
  args.rendezvous = rendezvous.get();
  args.call_frame = &frame;
  args.deadline = absl::Now() + absl::Milliseconds(20);
  EXPECT_THAT(RunAsyncAndWait(*executor, args), IsError(ErrorCode::kDeadline));
  args.deadline = absl::Now() + absl::Milliseconds(20);
  EXPECT_THAT(executor->Run(args), IsError(ErrorCode::kDeadline));
}

class Recorder final : public NodeObserver {
 public:
  explicit Recorder(const Graph& graph) : graph_(graph) {}
  void OnNode(NodeId node, int64_t start_ns, int64_t end_ns, const KernelContext&) override {
    EXPECT_GT(start_ns, 0);
    EXPECT_LE(start_ns, end_ns);
    absl::StrAppend(&text, graph_.name(node), " ");
  }
  void OnFailure(NodeId node, int64_t) override { absl::StrAppend(&text, "!", graph_.name(node), " "); }
  std::string text;

 private:
  const Graph& graph_;
};

TEST_P(WaitingEndsTest, AnObserverHearsOfEveryKernel) {
  Return(0, b_.Op("Mul", "after", {Wait("w", b_.Op("AddV2", "before", {Arg(0), Arg(0)})), Arg(0)}));
  LocalExecutorParams params = Params(GetParam());
  params.observes_ports = false;
  ASSERT_OK_AND_ASSIGN(const std::shared_ptr<const CompiledGraph> compiled, CompiledGraph::Create(b_.graph(), params));
  ASSERT_OK_AND_ASSIGN(const std::unique_ptr<Executor> executor, NewExecutor("", compiled));
  for (const bool fails : {false, true}) {
    Recorder recorder(compiled->graph());
    Executor::Args args;
    args.observer = &recorder;
    Step step({Int(3)});
    Begin(*executor, step, args);
    gate_.EndOne(fails ? absl::InternalError("lost") : absl::OkStatus());
    ASSERT_EQ(step.num_ends, 1);
    // Arguments and results are nodes with kernels in the dataflow driver.
    const std::string heard = fails ? "before !w " : "before w after ";
    EXPECT_EQ(recorder.text, is_dataflow() ? "arg0 " + heard + (fails ? "" : "result0 ") : heard);
  }
}

// Counts the calls of some nodes.
class SomeCalls final : public NodeObserver {
 public:
  explicit SomeCalls(const Graph& graph) : graph_(graph) {}
  void OnNode(NodeId node, int64_t, int64_t, const KernelContext&) override {
    if (graph_.name(node) == "left" || graph_.name(node) == "right") ++num_sides;
    if (graph_.name(node) == "arg0") ++num_args;
  }
  std::atomic<int> num_sides{0}, num_args{0};

 private:
  const Graph& graph_;
};

// Whether several threads pay off is found out where every run is observed, too, as with a stall_timeout.
TEST_P(WaitingEndsTest, ObservedRunsGetThreadsWhereThesePayOff) {
  UseKernel([](KernelContext& context) {
    absl::SleepFor(absl::Milliseconds(1));
    context.SetOutput(0, context.input(0));
    return absl::OkStatus();
  });
  const Output w = Wait("w", Arg(0));
  Return(0, Add(b_.Op("Neg", "left", {w}), b_.Op("Neg", "right", {w})));
  LocalExecutorParams params = Params(GetParam());
  params.observes_ports = false;
  ASSERT_OK_AND_ASSIGN(const std::shared_ptr<const CompiledGraph> compiled, CompiledGraph::Create(b_.graph(), params));
  ASSERT_OK_AND_ASSIGN(const std::unique_ptr<Executor> executor, NewExecutor("", compiled));
  ThreadPool pool(ThreadPoolOptions{2});
  for (int64_t run = 0; run <= DriverChoice::kMeasuredRuns; ++run) {
    SomeCalls calls(compiled->graph());
    Executor::Args args;
    args.observer = &calls;
    args.task_runner = &pool;
    Step step({Int(3)});
    Begin(*executor, step, args);
    while (!gate_.EndOne()) absl::SleepFor(absl::Microseconds(50));
    while (!step.is_over()) absl::SleepFor(absl::Microseconds(50));
    ASSERT_OK(step.status);
    EXPECT_EQ(step.result(), 6);
    EXPECT_EQ(calls.num_sides, 2) << "every kernel is heard of, whatever the driver";
    // Arguments are nodes with kernels in the dataflow driver alone.
    const bool gets_threads = GetParam() == Driver::kAuto && run == DriverChoice::kMeasuredRuns;
    EXPECT_EQ(calls.num_args, is_dataflow() || gets_threads ? 1 : 0) << "run " << run;
  }
}

// Has no memory for what it would note of one node.
class Thrower final : public NodeObserver {
 public:
  Thrower(const Graph& graph, std::string name) : graph_(graph), name_(std::move(name)) {}
  void OnStart(NodeId node, int64_t) override {
    if (graph_.name(node) == name_) throw std::bad_alloc();
  }
  void OnNode(NodeId, int64_t, int64_t, const KernelContext&) override {}

 private:
  const Graph& graph_;
  const std::string name_;
};

TEST_P(WaitingEndsTest, AnObserverThatThrowsEndsTheStepAtItsNode) {
  const Output got = Recv("in");
  Send("out", got);
  const Output again = Recv("again");
  b_.AddControl(again, got);
  Return(0, Wait("w", again));
  LocalExecutorParams params = Params(GetParam());
  params.edges = &edges_;
  params.observes_ports = false;
  ASSERT_OK_AND_ASSIGN(const std::shared_ptr<const CompiledGraph> compiled, CompiledGraph::Create(b_.graph(), params));
  ASSERT_OK_AND_ASSIGN(const std::unique_ptr<Executor> executor, NewExecutor("", compiled));
  for (const bool is_dead : {false, true}) {
    for (const char* node : {"recv_in", "send_out", "recv_again", "w"}) {
      if (is_dead && node == std::string("w")) continue;  // Is not called.
      SCOPED_TRACE(testing::Message() << node << " " << is_dead);
      Thrower thrower(compiled->graph(), node);
      const auto rendezvous = MakeCounted<LocalRendezvous>(edges_);
      ASSERT_OK(rendezvous->Send(Key("in"), {}, {is_dead ? Tensor() : Int(1), is_dead}));
      ASSERT_OK(rendezvous->Send(Key("again"), {}, {Int(1), false}));
      Executor::Args args;
      args.rendezvous = rendezvous.get();
      args.observer = &thrower;
      Step step(std::vector<Tensor>{}, 1);
      Begin(*executor, step, args);
      ASSERT_EQ(step.num_ends, 1);
      EXPECT_THAT(step.status, IsError(ErrorCode::kOutOfMemory, absl::StrCat("'", node, "'")));
    }
  }
}

// The wait fails while the loop, which does not depend on it, is under way.
TEST_P(WaitingEndsTest, AnErrorOfACallEndsALoopThatIsUnderWay) {
  constexpr int32_t kIterations = 100'000;
  Return(0, Wait("w", Arg(0)));
  int num_calls = 0;
  UseKernel([&](KernelContext& context) {
    if (++num_calls == 1) {
      EXPECT_TRUE(gate_.EndOne(absl::DataLossError("lost")));
    }
    context.SetOutput(0, context.input(0));
    return absl::OkStatus();
  });
  const auto enter = [&](int32_t value, bool is_constant) {
    return b_.Op("Enter", "", {b_.Const("", Int(value))}, {{"frame_name", "f"}, {"is_constant", is_constant}});
  };
  const Output limit = enter(kIterations, true), one = enter(1, true), first = enter(0, false);
  const Output merge = b_.Op("Merge", "", {first, first});
  const Output ports = b_.Op("Switch", "", {merge, b_.Op("LoopCond", "", {b_.Op("Less", "", {merge, limit})})});
  const Output next = Add(b_.Op("Neg", "", {GraphBuilder::Nth(ports, 1)}), one);
  b_.SetInput(merge, 1, b_.Op("NextIteration", "", {next}));
  Return(1, b_.Op("Exit", "", {ports}));
  const std::unique_ptr<Executor> executor = MakeIt();
  CancellationManager cancellation;
  Executor::Args args;
  args.cancellation = &cancellation;
  Step step({Int(1)}, 2);
  Begin(*executor, step, args);
  ASSERT_EQ(step.num_ends, 1);
  EXPECT_THAT(step.status, StatusIs(absl::StatusCode::kDataLoss, "lost"));
  EXPECT_LT(num_calls, kIterations);
}

}  // namespace
}  // namespace sluice

#include "executor/session/partitioned_step.h"

#include <atomic>
#include <map>
#include <memory>
#include <new>
#include <thread>
#include <utility>

#include "absl/time/clock.h"
#include "executor/trace/step_stats_collector.h"
#include "graph/base/mutex.h"
#include "kernels/device/device.h"
#include "kernels/device/shard_plan.h"
#include "kernels/device/task_runner.h"
#include "kernels/families/register_all.h"
#include "rendezvous/local_rendezvous.h"
#include "tests/executor/session/session_fixture.h"
#include "tests/testing/function_defs.h"
#include "tests/testing/function_kernel.h"

namespace sluice {
namespace {

constexpr absl::string_view kFirst = "/job:localhost/replica:0/task:0/device:CPU:0";
constexpr absl::string_view kSecond = "/job:localhost/replica:0/task:0/device:CPU:1";

// Graphs on two CPU devices of one process: cut at the border, and as one graph.
class PartitionedStepTest : public SessionFixture, public ::testing::WithParamInterface<bool> {
 protected:
  PartitionedStepTest() { RegisterAllKernels(registry_); }

  void OpenOnTwo(int num_threads = 2) {
    SessionOptions options;
    options.num_cpu_devices = 2;
    options.num_threads = num_threads;
    options.cut_by_device = GetParam();
    options.kernels = &registry_;
    Open(options);
  }

  KernelRegistry registry_;
};

INSTANTIATE_TEST_SUITE_P(Steps, PartitionedStepTest, ::testing::Bool(),
                         [](const ::testing::TestParamInfo<bool>& info) { return info.param ? "Cut" : "Joined"; });

// State stands on one device for all signatures, also those that do not need the node that asks for one.
TEST_P(PartitionedStepTest, StateIsWhereAllSignaturesFindIt) {
  const GraphBuilder::Attrs of = {{"dtype", DType::kInt32}, {"shape", PartialShape::Scalar()}};
  const auto variable = [&](const std::string& name) {
    GraphBuilder::Attrs attrs = of;
    attrs.emplace_back("shared_name", name);
    const Output v = b_.Op("VarHandleOp", name, {}, attrs);
    b_.Op("AssignVariableOp", absl::StrCat("set_", name), {v, b_.Const(absl::StrCat("c_", name), Int(7))});
    return v;
  };
  const Output moved = variable("moved"), captured = variable("captured");
  const Output old = b_.Op("VariableV2", "old", {}, of);
  b_.Op("Assign", "set_old", {old, b_.Const("c_old", Int(7))});
  b_.WithDevice(kSecond);
  b_.Op("ReadVariableOp", "read_moved", {moved}, {{"dtype", DType::kInt32}});
  b_.Op("AssignAdd", "count_old", {old, b_.Const("one", Int(1))});
  FunctionText text("Reader");  // Its body asks for the second device, and runs where the variable is.
  text.Arg("v: resource").Result("y: int32", "r:value:0").Stateful();
  text.Node(absl::StrCat("r = ReadVariableOp(v) @ ", kSecond), {{"dtype", DType::kInt32}}).AddTo(b_.graph());
  const Output call = Call(b_, "call", "Reader", {captured}, {DType::kInt32}, {}, "StatefulPartitionedCall");
  b_.WithDevice("");
  b_.Op("Identity", "read_captured", {call});
  OpenOnTwo();
  ASSERT_OK(session_->Run({}, {}, {"set_moved", "set_captured", "set_old"}));
  ExpectFetch("read_moved", 7);
  ExpectFetch("count_old", 8);
  ExpectFetch("read_captured", 7);
}

TEST_P(PartitionedStepTest, ValuesCrossBothWays) {
  const Output x = b_.Placeholder("x", DType::kInt32);
  Output y = x;
  for (int i = 0; i < 20; ++i) {
    b_.WithDevice(i % 2 == 0 ? kSecond : kFirst);
    y = b_.Op("AddV2", absl::StrCat("add", i), {y, y});
  }
  for (const int threads : {1, 2, 4}) {
    OpenOnTwo(threads);
    for (int32_t i = 0; i < 20; ++i) ExpectFetch("add19", i << 20, {{"x", Int(i)}});
    ASSERT_OK_AND_ASSIGN(const std::vector<Tensor> both, session_->Run({{"x", Int(1)}}, {"add1", "add0"}, {}));
    EXPECT_EQ(*both[0].AsScalar<int32_t>(), 4);
    EXPECT_EQ(*both[1].AsScalar<int32_t>(), 2);
  }
}

TEST_P(PartitionedStepTest, ADeadBranchCrosses) {
  const Output x = b_.Placeholder("x", DType::kInt32), p = b_.Placeholder("p", DType::kBool);
  const Output ports = b_.Op("Switch", "s", {x, p});
  b_.WithDevice(kSecond);
  const Output negative = b_.Op("Neg", "n", {ports});
  b_.WithDevice(kFirst);
  b_.Op("Merge", "m", {negative, GraphBuilder::Nth(ports, 1)});
  OpenOnTwo();
  ExpectFetch("m", -3, {{"x", Int(3)}, {"p", Tensor::Scalar(false)}});
  ExpectFetch("m", 3, {{"x", Int(3)}, {"p", Tensor::Scalar(true)}});
  EXPECT_THAT(Fetch("n", {{"x", Int(3)}, {"p", Tensor::Scalar(true)}}), IsError(ErrorCode::kFetchDead));
}

TEST_P(PartitionedStepTest, ALoopOverTwoDevicesRuns) {
  b_.WithDevice(kFirst);
  const Output x = b_.Placeholder("x", DType::kInt32);
  const Output enter = b_.Op("Enter", "enter", {b_.Const("zero", Int(0))}, {{"frame_name", "f"}});
  const Output merge = b_.Op("Merge", "merge", {enter, Output()}, {{"T", DType::kInt32}, {"N", 2}});
  const Output limit = b_.Op("Enter", "limit", {x}, {{"frame_name", "f"}, {"is_constant", true}});
  const Output condition = b_.Op("LoopCond", "cond", {b_.Op("Less", "less", {merge, limit})});
  const Output ports = b_.Op("Switch", "switch", {merge, condition});
  const Output one = b_.Op("Enter", "one", {b_.Const("c1", Int(1))}, {{"frame_name", "f"}, {"is_constant", true}});
  b_.WithDevice(kSecond);
  const Output plus = b_.Op("AddV2", "plus", {GraphBuilder::Nth(ports, 1), one});
  b_.WithDevice(kFirst);
  b_.SetInput(merge, 1, b_.Op("NextIteration", "next", {plus}));
  b_.Op("Exit", "out", {ports});
  for (const int threads : {1, 2}) {
    OpenOnTwo(threads);
    for (const int32_t n : {0, 1, 100}) ExpectFetch("out", n, {{"x", Int(n)}});
  }
}

TEST_P(PartitionedStepTest, AnErrorOnOneDeviceEndsTheOther) {
  const Output x = b_.Placeholder("x", DType::kInt32);
  b_.WithDevice(kSecond);
  const Output quotient = b_.Op("FloorDiv", "quotient", {x, b_.Const("zero", Int(0))});
  b_.WithDevice(kFirst);
  b_.Op("Neg", "after", {quotient});
  OpenOnTwo();
  for (int i = 0; i < 20; ++i) {
    EXPECT_THAT(Fetch("after", {{"x", Int(1)}}), StatusIs(absl::StatusCode::kInvalidArgument, "quotient"));
  }
}

TEST_P(PartitionedStepTest, DeadlinesAndCancellationReachAllParts) {
  b_.WithDevice(kSecond);
  AddEndlessLoop();
  b_.WithDevice(kFirst);
  b_.Op("Neg", "after", {Output{b_.graph().Find("endless"), 0}});
  OpenOnTwo();
  CallOptions call;
  call.deadline = absl::Now() + absl::Milliseconds(30);
  const absl::Time start = absl::Now();
  EXPECT_THAT(Fetch("after", {}, call), StatusIs(absl::StatusCode::kDeadlineExceeded));
  EXPECT_LT(absl::Now() - start, absl::Milliseconds(500));
  CancellationManager cancellation;
  CallOptions cancelled;
  cancelled.cancellation = &cancellation;
  std::thread canceller([&] {
    absl::SleepFor(absl::Milliseconds(20));
    cancellation.StartCancel();
  });
  EXPECT_THAT(Fetch("after", {}, cancelled), StatusIs(absl::StatusCode::kCancelled));
  canceller.join();
}

TEST_P(PartitionedStepTest, VariablesStayOnTheirDevices) {
  b_.WithDevice(kSecond);
  AddCounter();
  b_.WithDevice(kFirst);
  OpenOnTwo();
  ASSERT_OK(session_->Run({}, {}, {"start"}));
  ExpectFetch("count", 1);
  ExpectFetch("count", 2);
}

TEST_P(PartitionedStepTest, AResourceIsItsDevicesAndKnowsIt) {
  const GraphBuilder::Attrs variable = {{"dtype", DType::kInt32}, {"shape", Shape()}, {"shared_name", "v"}};
  b_.WithDevice(kFirst);
  const Output near = b_.Op("VarHandleOp", "near", {}, variable);
  b_.Op("AssignVariableOp", "set_near", {near, b_.Const("c1", Int(1))}, {{"dtype", DType::kInt32}});
  b_.WithDevice(kSecond);
  const Output far = b_.Op("VarHandleOp", "far", {}, variable);
  b_.Op("AssignVariableOp", "set_far", {far, b_.Const("c2", Int(2))}, {{"dtype", DType::kInt32}});
  b_.Op("ReadVariableOp", "read_far", {far}, {{"dtype", DType::kInt32}});
  b_.WithDevice(kFirst);
  b_.Op("ReadVariableOp", "read_near", {near}, {{"dtype", DType::kInt32}});
  OpenOnTwo();
  ASSERT_OK(session_->Run({}, {}, {"set_near", "set_far"}));
  ExpectFetch("read_near", 1);
  ExpectFetch("read_far", 2);
}

TEST_P(PartitionedStepTest, KernelsFindTheDeviceOfTheirNode) {
  Mutex mu;
  std::map<std::string, std::string> devices;
  const auto note = [&](KernelContext& context) {
    MutexLock lock(&mu);
    devices[absl::StrCat(*context.input(0).AsScalar<int32_t>())] = context.run().device->name();
    EXPECT_EQ(context.run().resources, &context.run().device->resources());
    context.SetOutput(0, Int(*context.input(0).AsScalar<int32_t>() + 1));
    return absl::OkStatus();
  };
  ASSERT_OK(registry_.Add(OwnedKernelRow("Neg", MakeFunction(note, CostHint::kCheap))));
  ASSERT_OK(registry_.Add(OwnedKernelRow("Abs", MakeAsyncFunction(note))));
  // As rows of plug-ins are by default: that equal nodes share a kernel does not say that it never looks.
  ASSERT_OK(registry_.Add(OwnedKernelRow("Sign", MakeFunction(note, CostHint::kCheap)).Shared(Sharing::kBySchema)));
  Output last = b_.Placeholder("x", DType::kInt32);
  for (const absl::string_view op : {"Neg", "Abs", "Sign"}) {
    for (const absl::string_view device : {kFirst, kSecond}) {
      b_.WithDevice(std::string(device));
      last = b_.Op(std::string(op), "", {last});
    }
  }
  b_.WithDevice(std::string(kFirst));
  b_.Op("Identity", "y", {last});
  OpenOnTwo();
  ExpectFetch("y", 6, {{"x", Int(0)}});
  const std::string first(kFirst), second(kSecond);
  const std::map<std::string, std::string> expected = {{"0", first},  {"1", second}, {"2", first},
                                                       {"3", second}, {"4", first},  {"5", second}};
  EXPECT_EQ(devices, expected);
}

// Where a loop begins may decide which NaN an element gets.
TEST_P(PartitionedStepTest, DeterministicLoopsAreCutAlikeWithAndWithoutThreads) {
  std::atomic<int> parts{0};
  ASSERT_OK(registry_.Add(OwnedKernelRow("Neg", MakeFunction([&parts](KernelContext& context) {
                                           context.ParallelFor(1003, 1e5, [&parts](int64_t, int64_t) { ++parts; });
                                           context.SetOutput(0, context.input(0));
                                           return absl::OkStatus();
                                         }))));
  b_.WithDevice(kSecond);
  const Output y = b_.Op("Neg", "y", {b_.Placeholder("x", DType::kInt32)});
  b_.WithDevice(kFirst);
  b_.Op("Identity", "z", {y});
  for (const int threads : {1, 2, 4}) {
    SessionOptions options;
    options.num_cpu_devices = 2;
    options.num_threads = threads;
    options.deterministic = true;
    options.cut_by_device = GetParam();
    options.kernels = &registry_;
    Open(options);
    parts = 0;
    ExpectFetch("z", 5, {{"x", Int(5)}});
    EXPECT_EQ(parts, ShardPlan(1003, 1e5, 0).size()) << threads;
  }
}

TEST_P(PartitionedStepTest, AReferenceCrossesAsAValue) {
  b_.WithDevice(kSecond);
  const Output v = b_.Op("VariableV2", "v", {}, {{"dtype", DType::kInt32}, {"shape", Shape()}});
  b_.Op("Assign", "set", {v, b_.Const("seven", Int(7))});
  b_.WithDevice(kFirst);
  b_.Op("Neg", "y", {v});
  OpenOnTwo();
  EXPECT_THAT(Fetch("y"), StatusIs(absl::StatusCode::kFailedPrecondition));
  ASSERT_OK(session_->Run({}, {}, {"set"}));
  ExpectFetch("y", -7);
}

// A host's runner that is shut down.
class DroppingRunner final : public TaskRunner {
 public:
  explicit DroppingRunner(bool throws) : throws_(throws) {}
  void Schedule(absl::AnyInvocable<void()>) override {
    if (throws_) throw std::bad_alloc();
  }
  int num_threads() const override { return 2; }
  void ParallelFor(int64_t total, double, bool, absl::FunctionRef<void(int64_t, int64_t)> work) override {
    if (total > 0) work(0, total);
  }

 private:
  const bool throws_;
};

TEST_F(SessionFixture, AStepEndsWhereTheTaskRunnerDropsAPartOfIt) {
  b_.WithDevice(kFirst);
  const Output x = b_.Const("x", Int(1));
  b_.WithDevice(kSecond);
  const Output y = b_.Op("Neg", "y", {x});
  b_.WithDevice(kFirst);
  b_.Op("Neg", "z", {y});
  ASSERT_OK(b_.status());
  SessionOptions options;
  options.num_cpu_devices = 2;
  options.num_threads = 1;
  options.allocator = &allocator_;
  ASSERT_OK_AND_ASSIGN(const std::shared_ptr<SessionCore> core, SessionCore::Create(options));
  EdgeTable edges;
  const CallStore call_store(std::make_shared<const PlanScope>(&core->kernel_store()));
  ASSERT_OK_AND_ASSIGN(const std::unique_ptr<const PartitionedStep> step,
                       PartitionedStep::Create(core, b_.graph(), /*is_cut=*/true, edges, call_store,
                                               /*functions=*/nullptr));
  ASSERT_EQ(step->num_parts(), 2u);
  for (const bool throws : {false, true}) {
    DroppingRunner runner(throws);
    const auto rendezvous = MakeCounted<LocalRendezvous>(edges);
    Executor::Args args;
    args.rendezvous = rendezvous.get();
    args.task_runner = &runner;
    int num_ends = 0;
    absl::Status status;
    step->RunAsync(args, [&](absl::Status answer) {
      status = std::move(answer);
      ++num_ends;
    });
    ASSERT_EQ(num_ends, 1);
    EXPECT_THAT(status, IsError(throws ? ErrorCode::kOutOfMemory : ErrorCode::kRunCancelled));
  }
}

// A kernel that calls the function of its attr "f" once.
class CallsOnce final : public Kernel {
 public:
  explicit CallsOnce(std::shared_ptr<const CallableFunction> function) : function_(std::move(function)) {}

  static absl::StatusOr<std::unique_ptr<Kernel>> Make(const KernelConstruction& construction) {
    SLUICE_ASSIGN_OR_RETURN(std::shared_ptr<const CallableFunction> function, construction.Function("f"));
    return std::make_unique<CallsOnce>(std::move(function));
  }
  absl::Status Compute(KernelContext& context) const override {
    Tensor arguments[] = {context.input(0)}, results[1];
    SLUICE_RETURN_IF_ERROR(function_->Run(context, absl::MakeSpan(arguments), absl::MakeSpan(results)));
    context.SetOutput(0, std::move(results[0]));
    return absl::OkStatus();
  }

 private:
  const std::shared_ptr<const CallableFunction> function_;
};

TEST_P(PartitionedStepTest, ObserversAreToldOfNodesInFunctionsThatKernelsCall) {
  ASSERT_OK(registry_.Add(OwnedKernelRow("MapDefun", KernelFunction(&CallsOnce::Make))));
  FunctionText("Minus")
      .Arg("x: float")
      .Result("y: float", "n:y:0")
      .Node("n = Neg(x)", {{"T", DType::kFloat}})
      .AddTo(b_.graph());
  const Output x = b_.Placeholder("x", DType::kFloat);
  b_.WithDevice(kSecond);
  const Output sum = b_.Op("AddV2", "sum", {x, x});
  b_.WithDevice(kFirst);
  b_.Op("MapDefun", "map", {sum},
        {{"Targuments", std::vector<DType>{DType::kFloat}},
         {"Tcaptured", std::vector<DType>()},
         {"output_types", std::vector<DType>{DType::kFloat}},
         {"output_shapes", std::vector<PartialShape>{PartialShape()}},
         {"f", AttrValue::Func("Minus", {})}});
  OpenOnTwo();
  ASSERT_OK_AND_ASSIGN(const std::shared_ptr<const Callable> callable, session_->Prepare({{"x"}, {"map"}, {}, {}}));
  StepStatsCollector collector(callable->graph(), "d");
  CallOptions options;
  options.observer = &collector;
  Tensor input[] = {Tensor::Vector<float>({7})}, output[1];
  ASSERT_OK(callable->Run(input, absl::MakeSpan(output), options));
  EXPECT_EQ(output[0].flat<float>()[0], -14);
  int num_told = 0;
  for (const NodeRecord& record : collector.Records()) num_told += collector.NameOf(record) == "map/n" ? 1 : 0;
  EXPECT_EQ(num_told, 1);
}

}  // namespace
}  // namespace sluice

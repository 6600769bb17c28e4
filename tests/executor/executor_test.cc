// What a run of the executor does, seen from outside: values through the rendezvous, errors, aborts.

#include "executor/executor.h"

#include <thread>

#include "absl/strings/str_cat.h"
#include "executor/threads/thread_pool.h"
#include "graph/ir/builder.h"
#include "graph/ops/op_table.h"
#include "graph/value/allocator.h"
#include "gtest/gtest.h"
#include "tests/testing/executor_harness.h"
#include "tests/testing/function_kernel.h"
#include "tests/testing/status_matchers.h"

namespace sluice {
namespace {

// Graphs whose inputs and outputs are Recv and Send nodes.
class ExecutorTest : public testing::Test {
 protected:
  Output Recv(const std::string& name, DType type = DType::kFloat) {
    GraphBuilder::Attrs attrs = ExecutorHarness::TransferAttrs(name);
    attrs.emplace_back("tensor_type", type);
    return b_.Op("_Recv", "recv_" + name, {}, attrs);
  }
  Output SendOf(const std::string& name, Output value) {
    GraphBuilder::Attrs attrs = ExecutorHarness::TransferAttrs(name);
    return b_.Op("_Send", "send_" + name, {value}, attrs);
  }
  void Build(absl::string_view kind = "") {
    ASSERT_OK_AND_ASSIGN(Graph graph, b_.Build());
    ASSERT_OK(harness_.Build(std::move(graph), kind));
  }
  void AddKernel(const std::string& op, KernelFunction make) {
    ASSERT_OK(harness_.registry().Add(OwnedKernelRow(op, std::move(make))));
  }
  float Received(const std::string& name) {
    absl::StatusOr<RendezvousValue> value = harness_.Recv(name);
    EXPECT_OK(value);
    if (!value.ok() || value->is_dead) return -1e9f;
    return value->tensor.flat<float>()[0];
  }

  // After any run, no reference to the rendezvous is left, and the executor frees all tensors, slots and frames.
  void TearDown() override {
    EXPECT_TRUE(harness_.rendezvous().RefCountIsOne());
    b_ = GraphBuilder(NewOpRegistry());
    harness_owner_.reset();
    EXPECT_EQ(HostAllocatorLiveBytes(), bytes_before_);
  }

  const int64_t bytes_before_ = HostAllocatorLiveBytes();
  GraphBuilder b_{NewOpRegistry()};
  std::unique_ptr<ExecutorHarness> harness_owner_ = std::make_unique<ExecutorHarness>();
  ExecutorHarness& harness_ = *harness_owner_;
};

TEST_F(ExecutorTest, AddsWhatItReceives) {
  SendOf("c", b_.Op("Add", "add", {Recv("a"), Recv("b")}));
  Build();
  ASSERT_OK(harness_.Send("a", Tensor::Scalar(1.0f)));
  ASSERT_OK(harness_.Send("b", Tensor::Scalar(1.0f)));
  ASSERT_OK(harness_.Run());
  EXPECT_EQ(Received("c"), 2.0f);
  EXPECT_EQ(harness_.rendezvous().num_waiting_keys(), 0u);
  EXPECT_TRUE(harness_.rendezvous().RefCountIsOne());
}

TEST_F(ExecutorTest, ValuesMayComeWhileItRuns) {
  SendOf("c", b_.Op("Add", "add", {Recv("a"), Recv("b")}));
  Build();
  Notification done;
  absl::Status status;
  harness_.executor().RunAsync(harness_.args(), [&](absl::Status s) {
    status = std::move(s);
    done.Notify();
  });
  EXPECT_FALSE(done.HasBeenNotified());
  ASSERT_OK(harness_.Send("a", Tensor::Scalar(1.0f)));
  ASSERT_OK(harness_.Send("b", Tensor::Scalar(2.0f)));
  done.WaitForNotification();
  ASSERT_OK(status);
  EXPECT_EQ(Received("c"), 3.0f);
}

TEST_F(ExecutorTest, OneValueOnBothInputsIsReadTwice) {
  for (const int elements : {1, 100}) {
    b_ = GraphBuilder(NewOpRegistry());
    Output v = Recv("a");
    for (int i = 0; i < 10; ++i) v = b_.Op("Add", absl::StrCat("add", i), {v, v});
    SendOf("b", v);
    Build();
    const std::vector<float> ones(static_cast<size_t>(elements), 1.0f);
    ASSERT_OK(harness_.Send("a", Tensor::Vector<float>(ones)));
    ASSERT_OK(harness_.Run());
    EXPECT_EQ(Received("b"), 1024.0f);
  }
}

TEST_F(ExecutorTest, SmallValuesAreNotTakenAwayWhereLargeOnesHaveLain) {
  const Output x = b_.Op("AddV2", "x", {Recv("a"), b_.Const("zero", Tensor::Scalar(0.0f))});
  for (int i = 0; i < 3; ++i) {
    SendOf(absl::StrCat("b", i), b_.Op("IdentityN", "", {x}, {{"T", std::vector<DType>{DType::kFloat}}}));
  }
  Build();
  for (const size_t elements : {100, 1, 100, 1}) {
    ASSERT_OK(harness_.Send("a", Tensor::Vector<float>(std::vector<float>(elements, 5.0f))));
    ASSERT_OK(harness_.Run());
    for (int i = 0; i < 3; ++i) EXPECT_EQ(Received(absl::StrCat("b", i)), 5.0f);
  }
}

TEST_F(ExecutorTest, ManyReadersOfOneValueInRandomOrder) {
  // 4096 Identities of one value, added up in random pairs.
  const Output one = Recv("a");
  std::vector<Output> values;
  for (int i = 0; i < 4096; ++i) values.push_back(b_.Op("Identity", "", {one}));
  uint32_t random = 17;
  while (values.size() > 1) {
    Output pair[2];
    for (Output& value : pair) {
      random = random * 1664525 + 1013904223;
      const size_t at = (random >> 8) % values.size();
      value = values[at];
      values.erase(values.begin() + static_cast<int64_t>(at));
    }
    values.push_back(b_.Op("Add", "", {pair[0], pair[1]}));
  }
  SendOf("b", values[0]);
  Build();
  ASSERT_OK(harness_.Send("a", Tensor::Vector<float>(std::vector<float>(10, 1.0f))));
  ThreadPool pool;
  Executor::Args args = harness_.args();
  args.task_runner = &pool;
  ASSERT_OK(harness_.executor().Run(args));
  EXPECT_EQ(Received("b"), 4096.0f);
}

TEST_F(ExecutorTest, TheChosenPortArrivesLive) {
  const Output sw = b_.Op("Switch", "switch", {Recv("a"), b_.Const("false", Tensor::Scalar(false))});
  SendOf("c", sw);
  Build();
  ASSERT_OK(harness_.Send("a", Tensor::Scalar(1.0f)));
  ASSERT_OK(harness_.Run());
  EXPECT_EQ(Received("c"), 1.0f);
}

TEST_F(ExecutorTest, TheOtherPortArrivesDead) {
  const Output sw = b_.Op("Switch", "switch", {Recv("a"), b_.Const("true", Tensor::Scalar(true))});
  SendOf("c", sw);
  Build();
  ASSERT_OK(harness_.Send("a", Tensor::Scalar(1.0f)));
  ASSERT_OK(harness_.Run());
  ASSERT_OK_AND_ASSIGN(const RendezvousValue value, harness_.Recv("c"));
  EXPECT_TRUE(value.is_dead);
}

TEST_F(ExecutorTest, ADeadReceivedValueIsDeadHereToo) {
  const Output x = b_.Op("Neg", "neg", {Recv("a")});
  AddKernel("Neg", MakeFunction([](KernelContext&) { return absl::InternalError("ran"); }));
  SendOf("c", x);
  Build();
  ASSERT_OK(harness_.Send("a", Tensor(), /*is_dead=*/true));
  ASSERT_OK(harness_.Run());
  ASSERT_OK_AND_ASSIGN(const RendezvousValue value, harness_.Recv("c"));
  EXPECT_TRUE(value.is_dead);
}

TEST_F(ExecutorTest, AConstantOfABranchIsSentDeadOrLiveAnewInEachRun) {
  const Output sw = b_.Op("Switch", "switch", {Recv("a"), Recv("p", DType::kBool)});
  const Output c = b_.Const("c", Tensor::Scalar(5.0f));
  b_.AddControl(c, b_.Op("Identity", "pivot", {GraphBuilder::Nth(sw, 1)}));
  SendOf("c", c);
  Build();
  for (const bool p : {false, true, false, true}) {
    ASSERT_OK(harness_.Send("a", Tensor::Scalar(1.0f)));
    ASSERT_OK(harness_.Send("p", Tensor::Scalar(p)));
    ASSERT_OK(harness_.Run());
    ASSERT_OK_AND_ASSIGN(const RendezvousValue value, harness_.Recv("c"));
    ASSERT_EQ(value.is_dead, !p);
    EXPECT_TRUE(!p || value.tensor.flat<float>()[0] == 5.0f);
  }
}

TEST_F(ExecutorTest, AnAbortOfTheRendezvousEndsTheRun) {
  SendOf("c", b_.Op("Add", "add", {Recv("a"), Recv("b")}));
  Build();
  ASSERT_OK(harness_.Send("a", Tensor::Scalar(1.0f)));
  std::thread aborter([&] { harness_.rendezvous().StartAbort(absl::AbortedError("peer gone")); });
  EXPECT_THAT(harness_.Run(), StatusIs(absl::StatusCode::kAborted));
  aborter.join();
  EXPECT_THAT(harness_.Recv("c"), StatusIs(absl::StatusCode::kAborted));
}

TEST_F(ExecutorTest, AReceivedValueOfAnotherDTypeIsInternalAndAborts) {
  SendOf("b", Recv("a", DType::kFloat));
  Build();
  ASSERT_OK(harness_.Send("a", Tensor::Scalar(1.0)));
  EXPECT_THAT(harness_.Run(), IsError(ErrorCode::kOutputType, "recv_a"));
  EXPECT_THAT(harness_.Recv("b"), StatusIs(absl::StatusCode::kInternal));
}

TEST_F(ExecutorTest, AReferenceOfAnotherDTypeIsInternal) {
  static RefCell& cell = *new RefCell(DType::kInt32);
  AddKernel("VariableV2", MakeFunction([](KernelContext& context) {
              context.SetRefOutput(0, &cell);
              return absl::OkStatus();
            }));
  b_.Op("VariableV2", "v", {}, {{"dtype", DType::kFloat}, {"shape", Shape()}});
  Build();
  EXPECT_THAT(harness_.Run(), IsError(ErrorCode::kOutputType, "VariableV2 'v'"));
}

TEST_F(ExecutorTest, AGraphOfConstantsCompletes) {
  b_.Const("c", Tensor::Scalar(1.0f));
  Build();
  EXPECT_OK(harness_.Run());
}

TEST_F(ExecutorTest, AnEmptyGraphIsDoneAtOnce) {
  Build();
  bool is_done = false;
  harness_.executor().RunAsync(harness_.args(), [&](absl::Status status) { is_done = status.ok(); });
  EXPECT_TRUE(is_done);
}

TEST_F(ExecutorTest, AKernelMustSetItsOutputs) {
  AddKernel("Neg", MakeFunction([](KernelContext&) { return absl::OkStatus(); }));
  const Output x = b_.Op("Neg", "darth", {b_.Const("c", Tensor::Scalar(1.0f))});
  b_.Op("Identity", "reader", {x});
  Build();
  EXPECT_THAT(harness_.Run(), IsError(ErrorCode::kOutputMissing, "Neg 'darth'"));
}

TEST_F(ExecutorTest, OutputsThatNobodyReadsMayBeMissing) {
  AddKernel("Neg", MakeFunction([](KernelContext&) { return absl::OkStatus(); }));
  b_.Op("Neg", "darth", {b_.Const("c", Tensor::Scalar(1.0f))});
  Build();
  EXPECT_OK(harness_.Run());
}

TEST_F(ExecutorTest, ErrorsNameNodeOpAndInput) {
  AddKernel("Neg", MakeFunction([](KernelContext&) {
              return absl::Status(Error(ErrorCode::kOpShape).Input(0).Found("[]").Expected("a matrix"));
            }));
  b_.Op("Neg", "n", {b_.Const("c", Tensor::Scalar(1.0f))});
  Build();
  const absl::Status status = harness_.Run();
  EXPECT_THAT(status, IsError(ErrorCode::kOpShape, "Neg 'n': input 0 'c"));
}

TEST_F(ExecutorTest, ExceptionsOfKernelsBecomeErrors) {
  AddKernel("Neg", MakeFunction([](KernelContext&) -> absl::Status { throw std::runtime_error("bad plan"); }));
  b_.Op("Neg", "n", {b_.Const("c", Tensor::Scalar(1.0f))});
  Build();
  EXPECT_THAT(harness_.Run(), IsError(ErrorCode::kKernelException, "bad plan"));
  EXPECT_THAT(harness_.Run(), IsError(ErrorCode::kKernelException, "Neg 'n'")) << "and the next run is as the first";
}

TEST_F(ExecutorTest, AnUninitializedVariableIsNamed) {
  static RefCell& cell = *new RefCell(DType::kFloat);
  AddKernel("VariableV2", MakeFunction([](KernelContext& context) {
              context.SetRefOutput(0, &cell);
              return absl::OkStatus();
            }));
  const Output v = b_.Op("VariableV2", "v", {}, {{"dtype", DType::kFloat}, {"shape", Shape()}});
  b_.Op("Add", "add", {v, b_.Const("c", Tensor::Scalar(1.0f))});
  Build();
  const absl::Status status = harness_.Run();
  EXPECT_THAT(status, IsError(ErrorCode::kUninitialized, "Add 'add': input 0 'v"));
  EXPECT_THAT(status, StatusIs(absl::StatusCode::kFailedPrecondition));
}

// A host's frame need not look at the index.
TEST_F(ExecutorTest, ACallFrameIsAskedForNoMoreThanItHas) {
  const Output x = b_.Op("_Arg", "x", {}, {{"T", DType::kFloat}, {"index", int64_t{1}}});
  b_.Op("_Retval", "y", {x}, {{"index", int64_t{1}}});
  Build();
  const Tensor one = Tensor::Scalar(1.0f);
  const auto run = [&](size_t args, size_t results) {
    VectorCallFrame frame(std::vector<Tensor>(args, one), results);
    Executor::Args call = harness_.args();
    call.call_frame = &frame;
    return harness_.executor().Run(call);
  };
  EXPECT_OK(run(2, 2));
  EXPECT_THAT(run(1, 2), IsError(ErrorCode::kFeedMissing, "_Arg 'x': argument 1"));
  EXPECT_THAT(run(2, 1), IsError(ErrorCode::kWrongUse, "_Retval 'y': there is no place for result 1"));
}

TEST_F(ExecutorTest, ATransferWithoutARendezvousSaysSo) {
  Recv("a");
  Build();
  Executor::Args args = harness_.args();
  args.rendezvous = nullptr;
  EXPECT_THAT(harness_.executor().Run(args), IsError(ErrorCode::kFacilityMissing, "recv_a"));
}

TEST_F(ExecutorTest, TwoLiveInputsOfAMergeAreInternal) {
  const Output c = b_.Const("c", Tensor::Scalar(1.0f));
  b_.Op("Merge", "m", {b_.Op("Identity", "x", {c}), b_.Op("Identity", "y", {c})});
  Build();
  EXPECT_THAT(harness_.Run(), IsError(ErrorCode::kMergeTwice, "Merge 'm'"));
}

TEST_F(ExecutorTest, ASwitchNeedsAScalarPredicate) {
  const Output c = b_.Const("c", Tensor::Scalar(1.0f));
  const bool two[] = {true, false};
  b_.Op("Switch", "s", {c, b_.Const("p", Tensor::Vector<bool>(two))});
  Build();
  EXPECT_THAT(harness_.Run(), IsError(ErrorCode::kOpShape, "Switch 's'"));
}

TEST_F(ExecutorTest, ExecutorsAreChosenByName) {
  b_.Const("c", Tensor::Scalar(1.0f));
  ASSERT_OK_AND_ASSIGN(const Graph graph, b_.Build());
  for (const absl::string_view kind : {"", "DEFAULT", "SINGLE_THREADED_EXECUTOR"}) {
    ASSERT_OK(harness_.Build(graph, kind));
    EXPECT_OK(harness_.Run());
  }
  EXPECT_THAT(harness_.Build(graph, "NO_SUCH_EXECUTOR"), StatusIs(absl::StatusCode::kNotFound));
}

}  // namespace
}  // namespace sluice

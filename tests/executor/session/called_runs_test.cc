// What runs with called functions do: time limits, effects, observers, memory.

#include <atomic>
#include <memory>
#include <new>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "executor/trace/node_observer.h"
#include "executor/trace/step_stats_collector.h"
#include "graph/base/cancellation.h"
#include "graph/base/error.h"
#include "kernels/families/register_all.h"
#include "tests/executor/session/called_functions_fixture.h"
#include "tests/testing/function_kernel.h"

namespace sluice {
namespace {

class CalledRunsTest : public CalledFunctionsTest {
 protected:
  CalledRunsTest() { RegisterAllKernels(registry_); }

  void OpenWith(CallPolicy policy, Driver driver) {
    SessionOptions options;
    options.kernels = &registry_;
    CalledFunctionsTest::OpenWith(policy, driver, options);
  }
  void AddHostKernel(absl::string_view op, FunctionKernel::Function function) {
    ASSERT_OK(registry_.Add(OwnedKernelRow(op, MakeFunction(std::move(function)))));
  }
  // "y" calls a body that takes for ever, or nearly.
  void ExpectThatADeadlineEndsY() {
    for (const Driver driver : kDrivers) {
      OpenWith(CallPolicy::kCall, driver);
      ASSERT_EQ(CallsLeft({{"x"}, {"y"}, {}, {}}), 1);
      CallOptions options;
      options.deadline = absl::Now() + absl::Milliseconds(50);
      EXPECT_THAT(Fetch("y", {{"x", Float(1)}}, options), IsError(ErrorCode::kDeadline));
    }
  }

  KernelRegistry registry_;
};

TEST_F(CalledRunsTest, ADeadlineEndsALoopInABody) {
  Forever().AddTo(b_.graph());
  AddOne().AddTo(b_.graph());
  Loop("Loops", "Forever", "AddOne").AddTo(b_.graph());
  Call(b_, "y", "Loops", {PlaceholderX()}, {DType::kFloat});
  ExpectThatADeadlineEndsY();
}

// 2^28 calls take seconds, and no kernel runs in any of them.
TEST_F(CalledRunsTest, ADeadlineEndsCallsWithoutKernels) {
  FunctionText("f0").Arg("x: float").Result("y: float", "x").AddTo(b_.graph());
  for (int i = 1; i <= 28; ++i) {
    const std::string callee = absl::StrCat("f", i - 1);
    FunctionText(absl::StrCat("f", i))
        .Arg("x: float")
        .Result("y: float", "b:y:0")
        .Node(absl::StrCat("a = ", callee, "(x)"))
        .Node(absl::StrCat("b = ", callee, "(a:y:0)"))
        .AddTo(b_.graph());
  }
  Call(b_, "y", "f28", {PlaceholderX()}, {DType::kFloat});
  ExpectThatADeadlineEndsY();
}

// Counts calls of kernels that have begun and not ended; throws when a call of `throws_at` is reported.
class OpenCalls final : public NodeObserver {
 public:
  void OnStart(NodeId, int64_t) override { ++open; }
  void OnFailure(NodeId, int64_t) override { --open; }
  void OnNode(NodeId node, int64_t, int64_t, const KernelContext&) override {
    --open;
    if (node == throws_at) throw std::bad_alloc();
  }

  std::atomic<int> open{0};
  NodeId throws_at;
};

TEST_F(CalledRunsTest, ObserversAreToldOfCallsThatFail) {
  AddHostKernel("Neg", [](KernelContext&) { return absl::InvalidArgumentError("no"); });
  Unary("Inner", "Neg").AddTo(b_.graph());
  FunctionText("Outer").Arg("x: float").Result("y: float", "in:y:0").Node("in = Inner(x)").AddTo(b_.graph());
  Call(b_, "y", "Outer", {PlaceholderX()}, {DType::kFloat});
  for (const Driver driver : kDrivers) {
    OpenWith(CallPolicy::kCall, driver);
    OpenCalls observer;
    CallOptions options;
    options.observer = &observer;
    EXPECT_FALSE(Fetch("y", {{"x", Float(1)}}, options).ok());
    EXPECT_EQ(observer.open, 0);
  }
}

TEST_F(CalledRunsTest, WhatAnObserverThrowsAtTheEndOfACallIsAnErrorOfTheCall) {
  SquarePlusOne().AddTo(b_.graph());
  const Output call = Call(b_, "call", "SquarePlusOne", {PlaceholderX()}, {DType::kFloat});
  b_.Op("Neg", "y", {call});
  OpenWith(CallPolicy::kCall, Driver::kSerial);
  ASSERT_OK_AND_ASSIGN(const std::shared_ptr<const Callable> callable, session_->Prepare({{"x"}, {"y"}, {}, {}}));
  OpenCalls observer;
  observer.throws_at = callable->graph().Find("call");
  CallOptions options;
  options.observer = &observer;
  Tensor input[] = {Float(3)}, output[1];
  EXPECT_THAT(callable->Run(input, absl::MakeSpan(output), options), IsError(ErrorCode::kOutOfMemory, "'call'"));
}

TEST_F(CalledRunsTest, ACancellationEndsABody) {
  CancellationManager cancellation;
  AddHostKernel("Neg", [&cancellation](KernelContext& context) {
    cancellation.StartCancel();
    context.SetOutput(0, context.TakeInput(0));
    return absl::OkStatus();
  });
  std::atomic<int> reached{0};
  AddHostKernel("Abs", [&reached](KernelContext& context) {
    ++reached;
    context.SetOutput(0, context.TakeInput(0));
    return absl::OkStatus();
  });
  FunctionText("F")
      .Arg("x: float")
      .Result("y: float", "a:y:0")
      .Node("n = Neg(x)", {{"T", DType::kFloat}})
      .Node("a = Abs(n:y:0)", {{"T", DType::kFloat}})
      .AddTo(b_.graph());
  Call(b_, "y", "F", {PlaceholderX()}, {DType::kFloat});
  OpenWith(CallPolicy::kCall, Driver::kAuto);
  CallOptions options;
  options.cancellation = &cancellation;
  EXPECT_THAT(Fetch("y", {{"x", Float(1)}}, options), StatusIs(absl::StatusCode::kCancelled));
  EXPECT_EQ(reached, 0);
}

// Nodes that wait for a call see the effects of its body.
TEST_F(CalledRunsTest, EffectsHappenInTheirOrder) {
  std::vector<float> seen;
  AddHostKernel("Print", [&seen](KernelContext& context) {
    seen.push_back(*context.input(1).AsScalar<float>());
    context.SetOutput(0, context.TakeInput(0));
    return absl::OkStatus();
  });
  FunctionText("Say")
      .Arg("x: float")
      .Stateful()
      .Node("say = Print(x, x)", {{"T", DType::kFloat}, {"U", std::vector<DType>{DType::kFloat}}})
      .FunctionAttr("_noinline", true)
      .ControlResult("said", "say")
      .AddTo(b_.graph());
  Output last;
  for (int i = 0; i < 20; ++i) {
    const Output call = Call(b_, absl::StrCat("say", i), "Say", {b_.Const(absl::StrCat("c", i), Float(i))}, {}, {},
                             "StatefulPartitionedCall");
    if (i > 0) b_.AddControl(call, last);
    last = call;
  }
  for (const CallPolicy policy : kPolicies) {
    for (const Driver driver : kDrivers) {
      OpenWith(policy, driver);
      seen.clear();
      ASSERT_OK(session_->Run({}, {}, {"say19"}).status());
      ASSERT_EQ(seen.size(), 20u);
      for (size_t i = 0; i < seen.size(); ++i) EXPECT_EQ(seen[i], static_cast<float>(i));
    }
  }
}

// An asynchronous kernel may take its time, and an inlined body would begin before it.
TEST_F(CalledRunsTest, ACallAfterAKernelThatWaitsIsInlined) {
  ASSERT_OK(registry_.Add(OwnedKernelRow("Neg", MakeAsyncFunction([](KernelContext& context) {
                                           context.SetOutput(0, context.TakeInput(0));
                                           return absl::OkStatus();
                                         }))));
  SquarePlusOne().AddTo(b_.graph());
  Unary("Waits", "Neg").AddTo(b_.graph());
  const Output x = PlaceholderX();
  const Output neg = b_.Op("Neg", "neg", {x});
  Call(b_, "late", "SquarePlusOne", {neg}, {DType::kFloat});
  const Output early = Call(b_, "early", "SquarePlusOne", {x}, {DType::kFloat});
  b_.Op("AddV2", "both", {early, neg});
  Call(b_, "waits", "Waits", {x}, {DType::kFloat});
  OpenWith(CallPolicy::kCall, Driver::kAuto);
  EXPECT_EQ(CallsLeft({{"x"}, {"late"}, {}, {}}), 0);
  EXPECT_EQ(CallsLeft({{"x"}, {"early"}, {}, {}}), 1);
  EXPECT_EQ(CallsLeft({{"x"}, {"waits"}, {}, {}}), 0);
  EXPECT_EQ(CallsLeft({{"x"}, {"both"}, {}, {}}), 1);
  ASSERT_OK_AND_ASSIGN(const Tensor value, Fetch("late", {{"x", Float(2)}}));
  EXPECT_EQ(*value.AsScalar<float>(), 5);
  ASSERT_OK_AND_ASSIGN(const Tensor both, Fetch("both", {{"x", Float(2)}}));
  EXPECT_EQ(*both.AsScalar<float>(), 7);
  OpenWith(CallPolicy::kCall, Driver::kSerial);
  EXPECT_EQ(CallsLeft({{"x"}, {"both"}, {}, {}}), 0) << "segments call nothing";
  ASSERT_OK_AND_ASSIGN(const Tensor serial, Fetch("both", {{"x", Float(2)}}));
  EXPECT_EQ(*serial.AsScalar<float>(), 7);
}

TEST_F(CalledRunsTest, NodesOfBodiesAreToldOfByTheirCallPath) {
  XTimesTwo().AddTo(b_.graph());
  XTimesFour().AddTo(b_.graph());
  Call(b_, "y", "XTimesFour", {PlaceholderX()}, {DType::kFloat}, {{"T", DType::kFloat}});
  for (const Driver driver : kDrivers) {
    OpenWith(CallPolicy::kCall, driver);
    ASSERT_OK_AND_ASSIGN(const std::shared_ptr<const Callable> callable, session_->Prepare({{"x"}, {"y"}, {}, {}}));
    StepStatsCollector collector(callable->graph());
    CallOptions options;
    options.observer = &collector;
    Tensor input[] = {Float(3)}, output[1];
    ASSERT_OK(callable->Run(input, absl::MakeSpan(output), options));
    std::vector<std::string> names;
    for (const NodeRecord& record : collector.Records()) {
      const std::string name(collector.NameOf(record));
      if (!absl::StrContains(name, "_arg_") && !absl::StrContains(name, "_retval_")) names.push_back(name);
    }
    EXPECT_THAT(names, testing::UnorderedElementsAre("y", "y/x2", "y/x2/scale", "y/x2/y", "y/y", "y/y/scale", "y/y/y"));
  }
}

// A large constant is decoded once, however many calls and bindings need it.
TEST_F(CalledRunsTest, BodiesShareConstants) {
  std::vector<float> values(1000);
  for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i);
  const Tensor large = Tensor::Vector<float>(values);
  FunctionText("AddLarge")
      .Arg("x: float")
      .Result("y: float", "y:z:0")
      .Node("c = Const()", {{"dtype", DType::kFloat}, {"value", large}})
      .Node("y = AddV2(x, c:output:0)", {{"T", DType::kFloat}})
      .AddTo(b_.graph());
  Output y = PlaceholderX();
  for (int i = 0; i < 10; ++i) y = Call(b_, absl::StrCat("c", i), "AddLarge", {y}, {DType::kFloat});
  OpenWith(CallPolicy::kCall, Driver::kAuto);
  ASSERT_OK_AND_ASSIGN(const Tensor value, Fetch("c9", {{"x", Float(0)}}));
  EXPECT_EQ(value.flat<float>()[999], 9990);
  EXPECT_EQ(session_->core().kernel_store().num_constants(), 1u);
  EXPECT_EQ(session_->core().body_store().num_bodies(), 1u);
}

// An argument that nothing else reads is the body's own: it works in place.
TEST_F(CalledRunsTest, BodiesWorkInPlace) {
  std::atomic<int> in_place{0};
  AddHostKernel("Neg", [&in_place](KernelContext& context) {
    in_place += context.InputIsWritable(0) ? 1 : 0;
    context.SetOutput(0, context.TakeInput(0));
    return absl::OkStatus();
  });
  Unary("F", "Neg").AddTo(b_.graph());
  const Output doubled = b_.Op("AddV2", "doubled", {PlaceholderX(), b_.Const("one", Tensor::Vector<float>({1, 2}))});
  Call(b_, "b", "F", {Call(b_, "a", "F", {doubled}, {DType::kFloat})}, {DType::kFloat});
  for (const Driver driver : kDrivers) {
    OpenWith(CallPolicy::kCall, driver);
    in_place = 0;
    ASSERT_OK(Fetch("b", {{"x", Tensor::Vector<float>({1, 2})}}).status());
    EXPECT_EQ(in_place, 2);
  }
}

TEST_F(CalledRunsTest, ResetForgetsBodiesAndPlansKeepTheirs) {
  Unary("F", "Neg", true).AddTo(b_.graph());
  Call(b_, "y", "F", {PlaceholderX()}, {DType::kFloat});
  OpenWith(CallPolicy::kByCost, Driver::kAuto);
  ASSERT_OK_AND_ASSIGN(const std::shared_ptr<const Callable> callable, session_->Prepare({{"x"}, {"y"}, {}, {}}));
  EXPECT_EQ(session_->core().body_store().num_bodies(), 1u);
  session_->core().body_store().Clear();
  EXPECT_EQ(session_->core().body_store().num_bodies(), 0u);
  Tensor input[] = {Float(3)}, output[1];
  ASSERT_OK(callable->Run(input, absl::MakeSpan(output)));
  EXPECT_EQ(*output[0].AsScalar<float>(), -3);
}

}  // namespace
}  // namespace sluice

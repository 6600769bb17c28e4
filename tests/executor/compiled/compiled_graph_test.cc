#include "executor/compiled/compiled_graph.h"

#include <atomic>
#include <thread>

#include "absl/strings/match.h"
#include "absl/time/clock.h"
#include "graph/base/error.h"
#include "graph/base/stop_poll.h"
#include "tests/executor/compiled/executor_fixture.h"
#include "tests/testing/executor_harness.h"

namespace sluice {
namespace {

class CompiledGraphTest : public ExecutorFixture {
 protected:
  absl::StatusOr<std::shared_ptr<const CompiledGraph>> Compile(const CompiledGraph::Options& options) {
    SLUICE_RETURN_IF_ERROR(b_.status());
    return CompiledGraph::Create(b_.graph(), options);
  }
  // A kernel of Neg that counts how many were made.
  void CountNegs() {
    ASSERT_OK(registry_.Add(OwnedKernelRow("Neg", [this](const KernelConstruction&) {
      ++num_made_;
      return std::make_unique<FunctionKernel>(
          [](KernelContext& context) {
            context.SetOutput(0, context.input(0));
            return absl::OkStatus();
          },
          CostHint::kCheap);
    })));
  }

  std::atomic<int> num_made_{0};
};

TEST_F(CompiledGraphTest, TheKernelsAreMadeOnceForAllPlansAndExecutors) {
  CountNegs();
  Return(0, b_.Op("Neg", "", {Arg(0)}));
  ASSERT_OK_AND_ASSIGN(std::shared_ptr<const CompiledGraph> compiled, Compile(Params(Driver::kAuto)));
  EXPECT_NE(compiled->program(), nullptr) << compiled->why_no_program();
  EXPECT_FALSE(compiled->HasDataflowPlan());
  ASSERT_OK_AND_ASSIGN(const ExecutorPlan* const plan, compiled->MakeDataflowPlan(nullptr));
  ASSERT_OK_AND_ASSIGN(const ExecutorPlan* const again, compiled->MakeDataflowPlan(nullptr));
  EXPECT_EQ(plan, again);
  EXPECT_EQ(plan->graph, &compiled->graph());
  std::vector<std::unique_ptr<Executor>> executors;
  for (const absl::string_view kind : {kDefaultExecutor, kSingleThreadedExecutor}) {
    ASSERT_OK_AND_ASSIGN(std::unique_ptr<Executor> executor, NewExecutor(kind, compiled));
    executors.push_back(std::move(executor));
  }
  compiled.reset();  // They keep it.
  for (const std::unique_ptr<Executor>& executor : executors) {
    VectorCallFrame frame({Int(3)}, 1);
    Executor::Args args;
    args.call_frame = &frame;
    ASSERT_OK(executor->Run(args));
    EXPECT_EQ(*frame.results()[0].AsScalar<int32_t>(), 3);
  }
  EXPECT_EQ(num_made_, 1);
}

TEST_F(CompiledGraphTest, ManyThreadsMakeOneDataflowPlan) {
  AddPolynomial();
  ASSERT_OK_AND_ASSIGN(const std::shared_ptr<const CompiledGraph> compiled, Compile(Params(Driver::kAuto)));
  std::vector<const ExecutorPlan*> plans(8);
  std::vector<std::thread> threads;
  for (const ExecutorPlan*& plan : plans) threads.emplace_back([&] { plan = *compiled->MakeDataflowPlan(nullptr); });
  for (std::thread& thread : threads) thread.join();
  for (const ExecutorPlan* const plan : plans) EXPECT_EQ(plan, plans[0]);
}

TEST_F(CompiledGraphTest, TheDriverSaysWhichPlansAreMade) {
  AddPolynomial();
  ASSERT_OK_AND_ASSIGN(std::shared_ptr<const CompiledGraph> serial, Compile(Params(Driver::kSerial)));
  EXPECT_NE(serial->program(), nullptr);
  EXPECT_FALSE(serial->HasDataflowPlan());
  ASSERT_OK_AND_ASSIGN(std::shared_ptr<const CompiledGraph> dataflow, Compile(Params(Driver::kDataflow)));
  EXPECT_EQ(dataflow->program(), nullptr);
  EXPECT_TRUE(dataflow->HasDataflowPlan());
}

TEST_F(CompiledGraphTest, WhatWaitsHasAProgramWithSegments) {
  ASSERT_OK(registry_.Add(OwnedKernelRow("Neg", MakeAsyncFunction([](KernelContext& context) {
                                           context.SetOutput(0, context.input(0));
                                           return absl::OkStatus();
                                         }))));
  const Output waits = b_.Op("Neg", "waits", {Arg(0)});
  Return(0, waits);
  for (const Driver driver : {Driver::kAuto, Driver::kSerial}) {
    ASSERT_OK_AND_ASSIGN(const std::shared_ptr<const CompiledGraph> compiled, Compile(Params(driver)));
    EXPECT_EQ(compiled->program(), nullptr);
    ASSERT_NE(compiled->waiting_program(), nullptr) << compiled->why_no_program();
    EXPECT_EQ(compiled->waiting_program()->segments()->num_segments(), 2);
    EXPECT_FALSE(compiled->HasDataflowPlan());
  }
  b_.AddControl(b_.Op("ControlTrigger", "trigger", {}), waits);
  ASSERT_OK_AND_ASSIGN(const std::shared_ptr<const CompiledGraph> compiled, Compile(Params(Driver::kAuto)));
  EXPECT_EQ(compiled->waiting_program(), nullptr);
  EXPECT_TRUE(absl::StrContains(compiled->why_no_program(), "'trigger'")) << compiled->why_no_program();
  EXPECT_TRUE(compiled->HasDataflowPlan());
  EXPECT_THAT(Compile(Params(Driver::kSerial)).status(), IsError(ErrorCode::kCannotRun, "no serial program"));
}

// They may want to be called where a program needs no call.
TEST_F(CompiledGraphTest, KernelsThatTheHostMakesAreAllCalled) {
  std::atomic<int> calls{0};
  const CreateKernel create = [&](const KernelConstruction&) -> absl::StatusOr<std::shared_ptr<const Kernel>> {
    return std::make_shared<const FunctionKernel>(
        [&](KernelContext& context) {
          ++calls;
          if (context.num_outputs() == 1) context.SetOutput(0, Int(1));
          return absl::OkStatus();
        },
        CostHint::kCheap);
  };
  Return(0, b_.Op("Identity", "", {b_.Op("Identity", "", {Arg(0)})}));
  CompiledGraph::Options options = Params(Driver::kAuto);
  options.create_kernel = &create;
  ASSERT_OK_AND_ASSIGN(const std::shared_ptr<const CompiledGraph> compiled, Compile(options));
  EXPECT_EQ(compiled->program(), nullptr);
  ASSERT_OK_AND_ASSIGN(const std::unique_ptr<Executor> executor, NewExecutor(kDefaultExecutor, compiled));
  ASSERT_OK(executor->Run({}));
  EXPECT_EQ(calls, 4);
}

TEST_F(CompiledGraphTest, PortsThatCallsCannotNumberGoByTheDataflowDriver) {
  for (const int64_t second : {int64_t{0}, int64_t{1} << 60}) {
    b_ = GraphBuilder(NewOpRegistry());
    const Output x = Arg(0);
    Return(0, x);
    b_.Op("_Retval", "other", {x}, {{"index", second}});
    ASSERT_OK_AND_ASSIGN(const std::shared_ptr<const CompiledGraph> compiled, Compile(Params(Driver::kAuto)));
    EXPECT_EQ(compiled->program(), nullptr);
    ASSERT_OK_AND_ASSIGN(const std::unique_ptr<Executor> executor, NewExecutor(kDefaultExecutor, compiled));
    Tensor in[] = {Int(1)}, out[1];
    SpanCallFrame frame(absl::MakeSpan(in), absl::MakeSpan(out));
    Executor::Args args;
    args.call_frame = &frame;
    EXPECT_THAT(executor->Run(args), IsError(second == 0 ? ErrorCode::kInternal : ErrorCode::kWrongUse));
  }
}

TEST_F(CompiledGraphTest, CompilingStopsAtADeadline) {
  AddPolynomial();
  for (const Driver driver : {Driver::kAuto, Driver::kDataflow}) {
    StopPoll stop(absl::Now() - absl::Seconds(1), nullptr);
    CompiledGraph::Options options = Params(driver);
    options.stop = &stop;
    EXPECT_THAT(Compile(options).status(), IsError(ErrorCode::kDeadline));
  }
  ASSERT_OK_AND_ASSIGN(const std::shared_ptr<const CompiledGraph> compiled, Compile(Params(Driver::kAuto)));
  StopPoll stop(absl::Now() - absl::Seconds(1), nullptr);
  EXPECT_THAT(compiled->MakeDataflowPlan(&stop).status(), IsError(ErrorCode::kDeadline));
  EXPECT_OK(compiled->MakeDataflowPlan(nullptr).status());
}

TEST_F(CompiledGraphTest, FramesBeyondTheLimitAreRefusedWhateverTheDriver) {
  AddEndlessLoop();
  for (const Driver driver : {Driver::kAuto, Driver::kSerial, Driver::kDataflow}) {
    CompiledGraph::Options options = Params(driver);
    options.limits.max_frame_depth = 0;
    EXPECT_EQ(Compile(options).status().code(), absl::StatusCode::kResourceExhausted);
  }
}

TEST_F(CompiledGraphTest, ANodeWithoutAKernelIsNamed) {
  KernelRegistry empty;
  CompiledGraph::Options options = Params(Driver::kAuto);
  options.registry = &empty;
  AddPolynomial();
  EXPECT_THAT(Compile(options).status(), IsError(ErrorCode::kNoKernel));
}

}  // namespace
}  // namespace sluice

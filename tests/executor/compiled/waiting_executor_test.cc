// Steps of graphs that wait, segment by segment: what runs before a wait and after it, and what a waiting step holds.
// Each case runs by the dataflow driver too, but for that of memory.

#include "executor/compiled/waiting_executor.h"

#include <atomic>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "executor/threads/thread_pool.h"
#include "gtest/gtest.h"
#include "rendezvous/local_rendezvous.h"
#include "tests/executor/compiled/waiting_fixture.h"
#include "tests/testing/counting_new.h"
#include "tests/testing/executor_harness.h"

namespace sluice {
namespace {

class WaitingExecutorTest : public WaitingFixture {};

INSTANTIATE_TEST_SUITE_P(Drivers, WaitingExecutorTest, WaitingDrivers(), NameOfDriver);

TEST_P(WaitingExecutorTest, AStepGoesOnWhereItsWaitEnds) {
  const Output x = Add(Arg(0), Arg(1));
  Return(0, Add(Wait("w", x), x));
  const std::unique_ptr<Executor> executor = MakeIt();
  for (int32_t i = 0; i < 3; ++i) {
    Step step({Int(i), Int(10)});
    Begin(*executor, step);
    EXPECT_FALSE(step.is_over());
    EXPECT_TRUE(gate_.EndOne());
    ASSERT_EQ(step.num_ends, 1);
    EXPECT_OK(step.status);
    EXPECT_EQ(step.result(), 2 * (i + 10));
  }
}

TEST_P(WaitingExecutorTest, WhatDoesNotDependOnAWaitRunsBeforeIt) {
  const Output w = Wait("w", Arg(0)), v = Wait("v", Arg(1));
  Return(0, Effect("only_w", w));
  Return(1, Effect("only_v", v));
  Return(2, Effect("neither", Arg(2)));
  Return(3, Add(w, v));
  const std::unique_ptr<Executor> executor = MakeIt();
  Step step({Int(2), Int(3), Int(4)}, 4);
  Begin(*executor, step);
  EXPECT_EQ(gate_.num_waiting(), 2u);
  EXPECT_EQ(num_effects_, 1);
  EXPECT_TRUE(gate_.EndOne());
  EXPECT_EQ(num_effects_, 2) << "what came after one wait is held up by another";
  EXPECT_FALSE(step.is_over());
  EXPECT_TRUE(gate_.EndOne());
  ASSERT_EQ(step.num_ends, 1);
  EXPECT_OK(step.status);
  EXPECT_EQ(step.result(0), 4);
  EXPECT_EQ(step.result(1), 9);
  EXPECT_EQ(step.result(2), 16);
  EXPECT_EQ(step.result(3), 5);
}

// The peer feeds the step only when it has got what the step sends.
TEST_P(WaitingExecutorTest, APeerMayWaitForASendBeforeItSends) {
  Send("out", Add(Arg(0), Arg(0)));
  Return(0, Add(Recv("in"), Arg(0)));
  const std::unique_ptr<Executor> executor = MakeIt();
  const auto rendezvous = MakeCounted<LocalRendezvous>(edges_);
  Executor::Args args;
  args.rendezvous = rendezvous.get();
  bool was_asked = false;
  rendezvous->RecvAsync(
      Key("out"), {}, nullptr,
      [&](const absl::Status& status, RendezvousValue value, const TransferArgs&, const TransferArgs&) {
        EXPECT_OK(status);
        EXPECT_EQ(*value.tensor.AsScalar<int32_t>(), 10);
        was_asked = true;
        EXPECT_OK(rendezvous->Send(Key("in"), {}, {Int(7), false}));
      });
  Step step({Int(5)});
  Begin(*executor, step, args);
  EXPECT_TRUE(was_asked);
  ASSERT_EQ(step.num_ends, 1);
  EXPECT_OK(step.status);
  EXPECT_EQ(step.result(), 12);
}

TEST_P(WaitingExecutorTest, AStepMaySendToItself) {
  Send("edge", Add(Recv("in"), Arg(0)));
  Return(0, Effect("square", Recv("edge")));
  const std::unique_ptr<Executor> executor = MakeIt();
  const auto rendezvous = MakeCounted<LocalRendezvous>(edges_);
  Executor::Args args;
  args.rendezvous = rendezvous.get();
  Step step({Int(5)});
  Begin(*executor, step, args);
  EXPECT_FALSE(step.is_over());
  EXPECT_OK(rendezvous->Send(Key("in"), {}, {Int(1), false}));
  ASSERT_EQ(step.num_ends, 1);
  EXPECT_OK(step.status);
  EXPECT_EQ(step.result(), 36);
  EXPECT_EQ(rendezvous->num_waiting_keys(), 0u);
}

TEST_P(WaitingExecutorTest, WhatComesAfterADeadValueIsDeadAndSaysSo) {
  const Output sum = Add(Recv("in"), Wait("w", Arg(0)));
  Send("out", sum);
  Return(0, Effect("effect", sum));
  Return(1, Add(Arg(0), Arg(0)));
  Return(2, Add(Wait("late", sum), Arg(0)));
  const std::unique_ptr<Executor> executor = MakeIt();
  for (const bool is_dead : {true, false, true}) {
    const auto rendezvous = MakeCounted<LocalRendezvous>(edges_);
    Executor::Args args;
    args.rendezvous = rendezvous.get();
    num_effects_ = 0;
    Step step({Int(5)}, 3);
    Begin(*executor, step, args);
    EXPECT_EQ(gate_.num_waiting(), 1u);
    EXPECT_OK(rendezvous->Send(Key("in"), {}, {is_dead ? Tensor() : Int(1), is_dead}));
    gate_.EndAll();
    ASSERT_EQ(step.num_ends, 1);
    EXPECT_OK(step.status);
    EXPECT_EQ(num_effects_, is_dead ? 0 : 1);
    EXPECT_EQ(step.frame.results()[0].has_value(), !is_dead);
    EXPECT_EQ(step.result(1), 10);
    EXPECT_EQ(step.frame.results()[2].has_value(), !is_dead);
    bool was_sent_dead = false;
    rendezvous->RecvAsync(
        Key("out"), {}, nullptr,
        [&](const absl::Status& status, const RendezvousValue& value, const TransferArgs&, const TransferArgs&) {
          EXPECT_OK(status);
          was_sent_dead = value.is_dead;
        });
    EXPECT_EQ(was_sent_dead, is_dead);
    EXPECT_EQ(rendezvous->num_waiting_keys(), 0u);
  }
}

// A host's kernel may answer like a Switch that waits.
TEST_P(WaitingExecutorTest, AWaitMayLeaveSomeOfItsOutputsDead) {
  EXPECT_OK(registry_.Add(OwnedKernelRow("Unpack", MakeAsyncFunction([](KernelContext& context) {
                                           const int32_t dead = *context.input(0).AsScalar<int32_t>();
                                           for (int i = 0; i < 2; ++i) {
                                             if ((dead >> i & 1) == 0) {
                                               context.SetOutput(i, Int(2 + i));
                                             } else {
                                               context.SetDeadOutput(i);
                                             }
                                           }
                                           return absl::OkStatus();
                                         }))));
  const Output u = b_.Op("Unpack", "", {Arg(0)}, {{"num", 2}}), v = GraphBuilder::Nth(u, 1);
  Return(0, Effect("first", u));
  Return(1, Add(Wait("w", v), Arg(1)));
  Return(2, Add(u, v));
  const Output after = Add(Arg(1), Arg(1));
  b_.AddControl(after, u);
  Return(3, after);
  const std::unique_ptr<Executor> executor = MakeIt();
  for (const int32_t dead : {0, 1, 2, 3, 0}) {
    SCOPED_TRACE(dead);
    num_effects_ = 0;
    Step step({Int(dead), Int(5)}, 4);
    Begin(*executor, step);
    EXPECT_EQ(gate_.num_waiting(), dead < 2 ? 1u : 0u);
    gate_.EndAll();
    ASSERT_EQ(step.num_ends, 1);
    EXPECT_OK(step.status);
    EXPECT_EQ(num_effects_, dead % 2 == 0 ? 1 : 0);
    for (size_t i = 0; i < 3; ++i) {
      const bool is_dead = i == 2 ? dead != 0 : (dead >> i & 1) != 0;
      EXPECT_EQ(step.frame.results()[i].has_value(), !is_dead) << i;
    }
    if (dead == 0) {
      EXPECT_EQ(step.result(2), 5);
    }
    EXPECT_EQ(step.result(3), 10) << "a control edge is not dead";
  }
}

TEST_P(WaitingExecutorTest, AControlEdgeOfADeadReceiveIsNotDead) {
  const Output got = Recv("in");
  Return(0, Add(got, Arg(0)));
  const Output after = Add(Arg(0), Arg(0));
  b_.AddControl(after, got);
  Return(1, after);
  const std::unique_ptr<Executor> executor = MakeIt();
  for (const bool is_dead : {true, false}) {
    const auto rendezvous = MakeCounted<LocalRendezvous>(edges_);
    Executor::Args args;
    args.rendezvous = rendezvous.get();
    Step step({Int(5)}, 2);
    Begin(*executor, step, args);
    EXPECT_OK(rendezvous->Send(Key("in"), {}, {is_dead ? Tensor() : Int(1), is_dead}));
    ASSERT_EQ(step.num_ends, 1);
    EXPECT_OK(step.status);
    EXPECT_EQ(step.frame.results()[0].has_value(), !is_dead);
    EXPECT_EQ(step.result(1), 10);
  }
}

TEST_P(WaitingExecutorTest, AWaitInABranchThatIsNotTakenIsPassed) {
  const Output ports = b_.Op("Switch", "", {Arg(0), b_.Op("Less", "", {Arg(1), Arg(2)})});
  const Output waits = Add(Wait("w", GraphBuilder::Nth(ports, 1)), Arg(1));
  Return(0, Effect("after", b_.Op("Merge", "", {b_.Op("Neg", "", {ports}), waits})));
  Return(1, Effect("in_branch", waits));
  const std::unique_ptr<Executor> executor = MakeIt();
  for (const bool is_taken : {false, true, false}) {
    Step step({Int(3), Int(1), Int(is_taken ? 2 : 0)}, 2);
    Begin(*executor, step);
    EXPECT_EQ(step.is_over(), !is_taken);
    EXPECT_EQ(gate_.EndOne(), is_taken);
    ASSERT_EQ(step.num_ends, 1);
    EXPECT_OK(step.status);
    EXPECT_EQ(step.result(), is_taken ? 16 : 9);
    EXPECT_EQ(step.frame.results()[1].has_value(), is_taken);
  }
}

TEST_P(WaitingExecutorTest, RunWaitsAndGivesTheOutcome) {
  Return(0, Effect("square", Wait("w", Arg(0))));
  const std::unique_ptr<Executor> executor = MakeIt();
  ThreadPool pool(ThreadPoolOptions{3});
  for (int i = 0; i < 50; ++i) {
    VectorCallFrame frame({Int(3)}, 1);
    Executor::Args args;
    args.call_frame = &frame;
    if (i % 2 == 1) args.task_runner = &pool;
    std::thread ender([&] {
      while (!gate_.EndOne()) absl::SleepFor(absl::Microseconds(50));
    });
    ASSERT_OK(executor->Run(args));
    ender.join();
    EXPECT_EQ(*frame.results()[0].AsScalar<int32_t>(), 9);
  }
}

TEST_P(WaitingExecutorTest, StepsGoOnWhereTheRunnerTakesThem) {
  std::atomic<int> elsewhere{0};
  UseKernel([&](KernelContext& context) {
    context.SetOutput(0, context.input(0));
    return absl::OkStatus();
  });
  Return(0, b_.Op("Neg", "", {Wait("w", Arg(0))}));
  const std::unique_ptr<Executor> executor = MakeIt();
  std::vector<absl::AnyInvocable<void()>> work;
  const Runner runner = [&](absl::AnyInvocable<void()> task) { work.push_back(std::move(task)); };
  Executor::Args args;
  args.runner = &runner;
  Step step({Int(3)});
  Begin(*executor, step, args);
  ASSERT_EQ(work.size(), 1u);
  std::exchange(work, {})[0]();
  EXPECT_TRUE(gate_.EndOne());
  EXPECT_FALSE(step.is_over());
  ASSERT_EQ(work.size(), 1u);
  work.clear();  // Dropped.
  ASSERT_EQ(step.num_ends, 1);
  EXPECT_THAT(step.status, IsError(ErrorCode::kRunCancelled, "dropped"));
}

// Values are given up by their last reader, so that it may work in place, and otherwise as soon as no node needs them.
TEST_P(WaitingExecutorTest, NoBufferOutlivesItsReaders) {
  std::vector<bool> writable;
  UseKernel([&](KernelContext& context) {
    writable.push_back(context.InputIsWritable(0));
    context.SetOutput(0, Int(1));
    return absl::OkStatus();
  });
  const Output big = b_.Op("Fill", "big", {b_.Const("n", Tensor::Vector<int32_t>({1000})), Arg(0)});
  const Output w = Wait("w", Arg(0));
  const Output late = b_.Op("Neg", "late", {big});
  b_.AddControl(late, w);
  const Output v = Wait("v", Add(late, w));
  Return(0, v);
  const std::unique_ptr<Executor> executor = MakeIt();
  const int64_t before = HostAllocatorLiveBytes();
  Step step({Int(3)});
  Begin(*executor, step);
  EXPECT_GE(HostAllocatorLiveBytes() - before, 4000);
  EXPECT_TRUE(gate_.EndOne());
  EXPECT_EQ(writable, std::vector<bool>({true}));
  EXPECT_LT(HostAllocatorLiveBytes() - before, 4000) << "nobody reads it any more, and the step waits";
  EXPECT_TRUE(gate_.EndOne());
  ASSERT_EQ(step.num_ends, 1);
  EXPECT_OK(step.status);
}

TEST_P(WaitingExecutorTest, ManyStepsAtOnceOnSeveralThreads) {
  Output x = Arg(0);
  for (int i = 0; i < 5; ++i) x = Add(Wait("", Add(x, Arg(1))), Wait("", x));
  Return(0, x);
  const std::unique_ptr<Executor> executor = MakeIt();
  ThreadPool pool(ThreadPoolOptions{2});
  constexpr int kSteps = 200;
  std::vector<std::unique_ptr<Step>> steps;
  std::atomic<int> num_over{0};
  std::atomic<bool> is_done{false};
  std::vector<std::thread> enders;
  for (int i = 0; i < 2; ++i) {
    enders.emplace_back([&] {
      while (!is_done) {
        if (!gate_.EndOne()) std::this_thread::yield();
      }
    });
  }
  for (int i = 0; i < kSteps; ++i) {
    steps.push_back(std::make_unique<Step>(std::vector<Tensor>{Int(i), Int(1)}));
    Step& step = *steps.back();
    Executor::Args args;
    args.call_frame = &step.frame;
    if (i % 2 == 1) args.task_runner = &pool;
    executor->RunAsync(args, [&](absl::Status status) {
      step.status = std::move(status);
      ++step.num_ends;
      ++num_over;
    });
  }
  while (num_over < kSteps) absl::SleepFor(absl::Milliseconds(1));
  is_done = true;
  for (std::thread& ender : enders) ender.join();
  for (int i = 0; i < kSteps; ++i) {
    int32_t expected = i;
    for (int k = 0; k < 5; ++k) expected = 2 * expected + 1;
    ASSERT_OK(steps[static_cast<size_t>(i)]->status);
    ASSERT_EQ(steps[static_cast<size_t>(i)]->result(), expected);
  }
}

// Calls of `done`, and what they free, from where the wait ends: not inside of a kernel.
TEST_P(WaitingExecutorTest, DoneIsNotCalledInsideOfAKernelOfAnotherRun) {
  Return(0, Add(Wait("w", Arg(0)), Arg(0)));
  const std::unique_ptr<Executor> waiting = MakeIt();
  bool is_in_kernel = false, was_in_kernel = false;
  UseKernel([&](KernelContext& context) {
    is_in_kernel = true;
    gate_.EndOne();
    is_in_kernel = false;
    context.SetOutput(0, context.input(0));
    return absl::OkStatus();
  });
  b_ = GraphBuilder(NewOpRegistry());
  args_.clear();
  Return(0, b_.Op("Neg", "", {Arg(0)}));
  const std::unique_ptr<Executor> ending = MakeIt();
  Step step({Int(4)});
  Executor::Args args;
  args.call_frame = &step.frame;
  waiting->RunAsync(args, [&](absl::Status status) {
    step.status = std::move(status);
    ++step.num_ends;
    was_in_kernel = is_in_kernel;
  });
  Step other({Int(1)});
  Begin(*ending, other);
  EXPECT_EQ(other.num_ends, 1);
  ASSERT_EQ(step.num_ends, 1);
  EXPECT_FALSE(was_in_kernel);
  EXPECT_EQ(step.result(), 8);
}

// By the drivers with segments: a step of the dataflow driver holds a slot for each output.
class WaitingMemoryTest : public WaitingFixture {};

INSTANTIATE_TEST_SUITE_P(Drivers, WaitingMemoryTest, ::testing::Values(Driver::kAuto, Driver::kSerial), NameOfDriver);

// 10,000 nodes, one value alive at the wait.
TEST_P(WaitingMemoryTest, AStepThatWaitsHoldsWhatIsAliveAtTheWait) {
  Output x = Arg(0);
  for (int i = 0; i < 5'000; ++i) x = Add(x, Arg(1));
  x = Wait("w", x);
  for (int i = 0; i < 5'000; ++i) x = b_.Op("Neg", "", {x});
  Return(0, x);
  const std::unique_ptr<Executor> executor = MakeIt();
  constexpr size_t kSteps = 10'000;
  std::vector<Tensor> in(2 * kSteps), out(kSteps);
  std::vector<SpanCallFrame> frames;
  for (size_t i = 0; i < kSteps; ++i) {
    in[2 * i] = Int(static_cast<int32_t>(i));
    in[2 * i + 1] = Int(1);
    frames.emplace_back(absl::MakeSpan(in).subspan(2 * i, 2), absl::MakeSpan(out).subspan(i, 1));
  }
  size_t num_ok = 0, num_begun = 0;
  const auto begin = [&] {
    Executor::Args args;
    args.call_frame = &frames[num_begun++];
    executor->RunAsync(args, [&](const absl::Status& status) { num_ok += status.ok() ? 1 : 0; });
  };
  for (int i = 0; i < 64; ++i) begin();  // Pools and the gate have their memory.
  const int64_t before = LiveNewBytes();
  const int64_t calls_before = NewCalls();
  while (num_begun < kSteps) begin();
  EXPECT_EQ(gate_.num_waiting(), kSteps);
  const int64_t steps = static_cast<int64_t>(kSteps) - 64;
  const int64_t bytes = (LiveNewBytes() - before) / steps, calls = (NewCalls() - calls_before) / steps;
  RecordProperty("bytes", std::to_string(bytes));
  RecordProperty("calls", std::to_string(calls));
  EXPECT_LE(bytes, 2048 + 64 * 2);
  EXPECT_LE(calls, 6);
  gate_.EndAll();
  EXPECT_EQ(num_ok, kSteps);
  for (size_t i = 0; i < kSteps; ++i) ASSERT_EQ(*out[i].AsScalar<int32_t>(), static_cast<int32_t>(i) + 5'000);
}

}  // namespace
}  // namespace sluice

// Threads, and the places where passes are: more of group H of reference/pytorch-autograd.md, 4.

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <iterator>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "executor/tape/call_limits.h"
#include "executor/tape/grad_mode.h"
#include "executor/tape/tape_node.h"
#include "executor/threads/service_threads.h"
#include "gmock/gmock.h"
#include "graph/base/cancellation.h"
#include "graph/base/error.h"
#include "gtest/gtest.h"
#include "tests/executor/tape/tape_fixture.h"
#include "tests/testing/status_matchers.h"

namespace sluice {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;

class TapeThreadsTest : public TapeFixture {};

TEST_F(TapeThreadsTest, H01PlacesAreKnownInDeepPasses) {
  const AnomalyScope anomaly(/*checks_nan=*/false);
  const PlaceScope place("deep");
  std::string origin;
  std::function<Var(int)> nested = [&](int depth) {
    Var y = Leaf(1) * 2.0;
    EXPECT_OK(y.AddHook([&, depth](const Var&) -> absl::StatusOr<Var> {
                 const GradModeScope grad(true);
                 const absl::Status status = depth > 0 ? nested(depth - 1).Backward() : absl::OkStatus();
                 if (!status.ok()) return status;
                 if (depth == 0) origin = (Leaf(1) * 3.0).grad_fn().node()->origin->ToString();
                 return Var();
               }).status());
    return y;
  };
  ASSERT_OK(nested(62).Backward());
  EXPECT_THAT(origin, ::testing::StartsWith("deep/Mul"));
  EXPECT_THAT(origin, ::testing::HasSubstr("while MulBackward ran"));
}

TEST_F(TapeThreadsTest, H09ARetainedGradientIsTheSumOfAllThreads) {
  const Var x = Leaf(std::vector<float>(1000, 1.0f));
  Var y = x * 1.0;
  ASSERT_OK(y.RetainGrad());
  const Var z = Sum(y * 2.0);
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 100; ++i) EXPECT_OK(Retained(z));
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_THAT(GradOf(y), Each(800));
  EXPECT_THAT(GradOf(x), Each(800));
}

// What hooks of several threads take of one leaf's gradient is all that their passes add.
TEST_F(TapeThreadsTest, E07HooksOfSeveralThreadsTakeAllThatIsAdded) {
  Var x = Leaf(std::vector<float>(1000, 1.0f));
  std::atomic<int64_t> taken{0};
  ASSERT_OK(x.AddAccumulateHook([&](Var leaf) {
               const Var grad = leaf.TakeGrad();
               // A pass that came between has taken both.
               if (!grad.defined()) return absl::OkStatus();
               const float first = grad.value().flat<float>()[0];
               for (const float other : grad.value().flat<float>()) {
                 if (other != first) return absl::InternalError("the gradient was written to");
               }
               taken += static_cast<int64_t>(first);
               return absl::OkStatus();
             }).status());
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 200; ++i) EXPECT_OK(Sum(x * 3.0).Backward());
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_FALSE(x.grad().defined());
  EXPECT_EQ(taken, 4 * 200 * 3);
  EXPECT_FALSE(Var().TakeGrad().defined());
}

// An error, an exception, inside of more passes than one thread takes: from the threads that go on, through all outer
// passes, to the caller, with its place.
TEST_F(TapeThreadsTest, H10ErrorsComeToTheCallingThread) {
  for (const bool throws : {false, true}) {
    std::function<Var(int)> nested = [&](int depth) {
      Var y = Leaf(1) * 2.0;
      EXPECT_OK(y.AddHook([&, depth](const Var&) -> absl::StatusOr<Var> {
                   const GradModeScope grad(true);
                   if (depth == 0 && throws) throw std::runtime_error("from below");
                   if (depth == 0) return absl::AbortedError("from below");
                   const absl::Status status = nested(depth - 1).Backward();
                   if (!status.ok()) return status;
                   return Var();
                 }).status());
      return y;
    };
    const absl::Status status = nested(130).Backward();
    EXPECT_THAT(std::string(status.message()), ::testing::HasSubstr("from below"));
    if (throws) {
      EXPECT_THAT(status, IsError(ErrorCode::kKernelException));
    } else {
      EXPECT_THAT(status, StatusIs(absl::StatusCode::kAborted));
    }
    // Nothing is left behind: this thread is in no pass, and begins others.
    EXPECT_THAT(Tape::QueueCallback([] { return absl::OkStatus(); }), IsError(ErrorCode::kTapeHook));
    const Var x = Leaf(3);
    ASSERT_OK((x * x).Backward());
    EXPECT_THAT(GradOf(x), ElementsAre(6));
  }
}

// Limits of the thread that waits: a hook below more passes than one thread takes calls an op.
TEST_F(TapeThreadsTest, H10LimitsAreObeyedInDeepPasses) {
  CancellationManager cancellation;
  absl::Status of_op, of_pass;
  std::function<Var(int)> nested = [&](int depth) {
    Var y = Leaf(1) * 2.0;
    EXPECT_OK(y.AddHook([&, depth](const Var&) -> absl::StatusOr<Var> {
                 const GradModeScope grad(true);
                 if (depth > 0) {
                   const absl::Status status = nested(depth - 1).Backward();
                   if (depth == 65) of_pass = status;
                   return Var();
                 }
                 cancellation.StartCancelWithStatus(absl::AbortedError("by the test"));
                 of_op = (Leaf(1) * 3.0).status();
                 return Var();
               }).status());
    return y;
  };
  const Var y = nested(65);
  const CallLimitsScope limits(&cancellation);
  EXPECT_FALSE(y.Backward().ok());
  EXPECT_THAT(of_op, StatusIs(absl::StatusCode::kAborted, "by the test"));
  EXPECT_THAT(of_pass, StatusIs(absl::StatusCode::kAborted, "by the test"));
}

// A pass inside of one with a cancellation obeys the limits that were set between them, too.
TEST_F(TapeThreadsTest, H10LimitsAreObeyedInsideOfPassesWithOthers) {
  CancellationManager outer, inner;
  inner.StartCancelWithStatus(absl::AbortedError("by the test"));
  absl::Status of_pass;
  const Var x = Leaf(1), of_inner = x * 3.0;
  Var y = Leaf(1) * 2.0;
  ASSERT_OK(y.AddHook([&](const Var&) {
               const CallLimitsScope limits(&inner);
               of_pass = of_inner.Backward();
               return Var();
             }).status());
  BackwardOptions options;
  options.cancellation = &outer;
  EXPECT_OK(tape_.Backward({y}, {}, options));
  EXPECT_THAT(of_pass, StatusIs(absl::StatusCode::kAborted, "by the test"));
  EXPECT_FALSE(x.grad().defined());
}

// Threads that take over are used again, or end.
TEST_F(TapeThreadsTest, H04ThreadsOfDeepPassesAreUsedAgain) {
  std::function<Var(int)> nested = [&](int depth) {
    Var y = Leaf(1) * 2.0;
    EXPECT_OK(y.AddHook([&, depth](const Var&) -> absl::StatusOr<Var> {
                 const GradModeScope grad(true);
                 const absl::Status status = depth > 0 ? nested(depth - 1).Backward() : absl::OkStatus();
                 return status.ok() ? absl::StatusOr<Var>(Var()) : status;
               }).status());
    return y;
  };
  ASSERT_OK(nested(130).Backward());
  const int after = ServiceThreads::Global().num_threads();
  for (int i = 0; i < 5; ++i) ASSERT_OK(nested(130).Backward());
  EXPECT_LE(ServiceThreads::Global().num_threads(), after + 2);
}

int64_t NumThreads() {
  return std::distance(std::filesystem::directory_iterator("/proc/self/task"), std::filesystem::directory_iterator());
}

TEST_F(TapeThreadsTest, H11TapesEndWithTheirThreads) {
  const int64_t before = NumThreads();
  for (int i = 0; i < 5; ++i) {
    TapeOptions options;
    options.num_threads = 4;
    Tape tape(options);
    const Var x = tape.Leaf(Tensor::Vector<float>(std::vector<float>(100000, 1.0f)));
    for (int k = 0; k < 3; ++k) ASSERT_OK(Sum(Tanh(x) * x).Backward());
  }
  EXPECT_EQ(NumThreads(), before);
}

TEST_F(TapeThreadsTest, H12HooksRunOnTheThreadThatBeganThePass) {
  Var x = Leaf(1);
  std::vector<std::thread::id> ids;
  ASSERT_OK(x.AddHook([&](const Var&) {
               ids.push_back(std::this_thread::get_id());
               return Var();
             }).status());
  ASSERT_OK((x * 2.0).Backward());
  std::thread other([&] { EXPECT_OK((x * 2.0).Backward()); });
  const std::thread::id id = other.get_id();
  other.join();
  EXPECT_THAT(ids, ElementsAre(std::this_thread::get_id(), id));
}

TEST_F(TapeThreadsTest, H13GradientsAreThereWhenThePassReturns) {
  TapeOptions options;
  options.num_threads = 4;
  Tape tape(options);
  const std::vector<float> ones(1 << 18, 1.0f);
  for (int i = 0; i < 5; ++i) {
    const Var x = tape.Leaf(Tensor::Vector<float>(ones)), y = tape.Leaf(Tensor::Vector<float>(ones));
    ASSERT_OK(Sum(x * y + x).Backward());
    EXPECT_THAT(GradOf(x), Each(2));
    EXPECT_THAT(GradOf(y), Each(1));
  }
}

}  // namespace
}  // namespace sluice

#include "executor/once_callback.h"

#include <stdexcept>
#include <utility>

#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"
#include "executor/executor.h"
#include "executor/hand_off.h"
#include "graph/base/error.h"
#include "graph/value/counted.h"
#include "gtest/gtest.h"
#include "tests/testing/status_matchers.h"

namespace sluice {
namespace {

// Counts what reaches it. As a run, it answers a task that is dropped as Scheduler does.
struct Owner final : Counted {
  void Call() noexcept { ++calls; }
  void Drop() noexcept { ++drops; }
  void DropTask() noexcept {
    ++drops;
    at_drop = TaskWasDropped(*this);
  }

  int calls = 0, drops = 0;
  absl::Status at_drop;
};

using Callback = OnceCallback<Owner*, &Owner::Call, &Owner::Drop>;
using Task = OnceCallback<CountedPtr<Owner>, &Owner::Call, &Owner::DropTask>;

TEST(OnceCallbackTest, ReachesItsOwnerOnceWhereverItIsMoved) {
  Owner run;
  {
    Callback first(&run);
    absl::AnyInvocable<void()> second = std::move(first);
    absl::AnyInvocable<void()> third = std::move(second);
    EXPECT_EQ(run.calls + run.drops, 0);
    third();
    third();
  }
  EXPECT_EQ(run.calls, 1);
  EXPECT_EQ(run.drops, 0);
}

TEST(OnceCallbackTest, TellsItsOwnerWhenItGoesUncalled) {
  Owner run;
  { const absl::AnyInvocable<void()> moved = Callback(&run); }
  EXPECT_EQ(run.calls, 0);
  EXPECT_EQ(run.drops, 1);
}

TEST(OnceCallbackTest, HoldsItsOwnerWhileThatIsReached) {
  CountedPtr<Owner> run = MakeCounted<Owner>();
  absl::AnyInvocable<void()> task = Task(run);
  EXPECT_FALSE(run->RefCountIsOne());
  task();
  EXPECT_TRUE(run->RefCountIsOne());
}

TEST(HandToThreadsTest, ReportsWhatIsDroppedInsideOfIt) {
  const CountedPtr<Owner> run = MakeCounted<Owner>();
  const Runner drops = [](absl::AnyInvocable<void()>) {};
  EXPECT_THAT(HandToThreads(*run, &drops, nullptr, Task(run)), IsError(ErrorCode::kRunCancelled));
  EXPECT_THAT(run->at_drop, IsOk());
  const Runner throws = [](absl::AnyInvocable<void()>) { throw std::runtime_error("no threads"); };
  EXPECT_THAT(HandToThreads(*run, &throws, nullptr, Task(run)), IsError(ErrorCode::kKernelException));
  EXPECT_EQ(run->drops, 2);
}

TEST(HandToThreadsTest, LeavesLaterDropsToTheTask) {
  const CountedPtr<Owner> run = MakeCounted<Owner>();
  absl::AnyInvocable<void()> kept;
  const Runner keeps = [&kept](absl::AnyInvocable<void()> task) {
    kept = std::move(task);
    throw std::runtime_error("after it was taken");
  };
  EXPECT_THAT(HandToThreads(*run, &keeps, nullptr, Task(run)), IsOk());
  kept = nullptr;
  EXPECT_THAT(run->at_drop, IsError(ErrorCode::kRunCancelled));
}

TEST(HandToThreadsTest, TellsRunsApartThatAreHandedOffInsideOfOneAnother) {
  const CountedPtr<Owner> outer = MakeCounted<Owner>(), inner = MakeCounted<Owner>();
  const Runner drops = [](absl::AnyInvocable<void()>) {};
  absl::Status of_inner;
  const Runner hands_off = [&](absl::AnyInvocable<void()> task) {
    of_inner = HandToThreads(*inner, &drops, nullptr, Task(inner));
    std::move(task)();
  };
  EXPECT_THAT(HandToThreads(*outer, &hands_off, nullptr, Task(outer)), IsOk());
  EXPECT_THAT(of_inner, IsError(ErrorCode::kRunCancelled));
  EXPECT_EQ(outer->calls, 1);
}

}  // namespace
}  // namespace sluice

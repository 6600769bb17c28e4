#include "executor/session/step_tasks.h"

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "executor/threads/thread_runs.h"
#include "graph/base/strong_id.h"
#include "gtest/gtest.h"
#include "tests/testing/status_matchers.h"

namespace sluice {
namespace {

// A run with threads of its own that notes whether it was handed to them.
class RunWithThreads final : public DeferredRun {
 public:
  explicit RunWithThreads(StepId step_id) : DeferredRun(step_id) {}
  void RunTask() noexcept override { ++num_here; }
  bool HandOver(To) noexcept override {
    ++num_elsewhere;
    return true;
  }

  int num_here = 0, num_elsewhere = 0;
};

// The thread that waits for a step continues parts of the step, which its tasks have set free, and no other runs.
TEST(StepTasksTest, TheWaitingThreadWorksForItsStepOnly) {
  RunWithThreads part(StepId(1)), other(StepId(2)), unknown{StepId()};
  StepTasks tasks(/*threads=*/nullptr, StepId(1));
  tasks.Schedule([&] {
    const ThreadRuns::Scope scope;
    for (RunWithThreads* const run : {&other, &part, &unknown}) ThreadRuns::Current().Push(run);
  });
  tasks.Schedule([&] { tasks.End(absl::OkStatus()); });
  ASSERT_TRUE(tasks.WorkUntil(absl::InfiniteFuture()));
  EXPECT_OK(tasks.WorkToEnd());
  EXPECT_EQ(part.num_here, 1);
  EXPECT_EQ(part.num_elsewhere, 0);
  for (const RunWithThreads* const run : {&other, &unknown}) {
    EXPECT_EQ(run->num_here, 0);
    EXPECT_EQ(run->num_elsewhere, 1);
  }
}

}  // namespace
}  // namespace sluice

#include "executor/compiled/auto_executor.h"

#include <atomic>

#include "absl/time/clock.h"
#include "executor/compiled/serial_executor.h"
#include "executor/threads/thread_pool.h"
#include "tests/executor/compiled/executor_fixture.h"
#include "tests/testing/executor_harness.h"

namespace sluice {
namespace {

// Four calls of a kernel beside each other, each as long as a test wants.
class AutoExecutorTest : public ExecutorFixture {
 protected:
  void Build(absl::Duration time) {
    UseKernel([time](KernelContext& context) {
      const absl::Time end = absl::Now() + time;
      while (absl::Now() < end) {
      }
      context.SetOutput(0, context.input(0));
      return absl::OkStatus();
    });
    const Output x = Arg(0);
    std::vector<Output> parts;
    for (int i = 0; i < 4; ++i) parts.push_back(b_.Op("Neg", "", {x}));
    Return(0, b_.Op("AddN", "", parts));
    absl::StatusOr<std::shared_ptr<const CompiledGraph>> compiled =
        CompiledGraph::Create(b_.graph(), Params(Driver::kAuto));
    ASSERT_OK(compiled);
    compiled_ = *std::move(compiled);
    executor_ = std::make_unique<AutoExecutor>(compiled_, std::make_unique<SerialExecutor>(compiled_));
  }
  void Run(int64_t times, Executor::Args args, bool is_async = false) {
    for (int64_t i = 0; i < times; ++i) {
      VectorCallFrame frame({Int(2)}, 1);
      args.call_frame = &frame;
      ASSERT_OK(is_async ? RunAsyncAndWait(*executor_, args) : executor_->Run(args));
      EXPECT_EQ(*frame.results()[0].AsScalar<int32_t>(), 8);
    }
  }

  std::shared_ptr<const CompiledGraph> compiled_;
  std::unique_ptr<AutoExecutor> executor_;
  ThreadPool pool_{ThreadPoolOptions{2}};
};

TEST_F(AutoExecutorTest, GraphsThatTakeLongAreTriedWithThreads) {
  Build(absl::Nanoseconds(DriverChoice::kWorthHandingOverNs));
  Executor::Args args;
  args.task_runner = &pool_;
  Run(DriverChoice::kMeasuredRuns, args);
  EXPECT_FALSE(compiled_->HasDataflowPlan());
  Run(1, args);
  EXPECT_TRUE(compiled_->HasDataflowPlan());
}

TEST_F(AutoExecutorTest, SoAreThoseThatNobodyWaitsFor) {
  Build(absl::Nanoseconds(DriverChoice::kWorthHandingOverNs));
  Executor::Args args;
  args.task_runner = &pool_;
  Run(DriverChoice::kMeasuredRuns, args, /*is_async=*/true);
  EXPECT_FALSE(compiled_->HasDataflowPlan());
  Run(1, args, /*is_async=*/true);
  EXPECT_TRUE(compiled_->HasDataflowPlan());
}

TEST_F(AutoExecutorTest, RunsWithoutThreadsOrThatMustRepeatThemselvesHaveNoChoice) {
  Build(absl::Nanoseconds(DriverChoice::kWorthHandingOverNs));
  ThreadPool alone(ThreadPoolOptions{1});
  Executor::Args none, one, deterministic, inline_only;
  one.task_runner = &alone;
  deterministic.task_runner = inline_only.task_runner = &pool_;
  deterministic.deterministic = true;
  inline_only.run_all_kernels_inline = true;
  for (const Executor::Args& args : {none, one, deterministic, inline_only}) Run(2 * DriverChoice::kMeasuredRuns, args);
  EXPECT_FALSE(compiled_->HasDataflowPlan());
}

// Another run tries again.
TEST_F(AutoExecutorTest, ARunThatIsStoppedWhileItMakesTheOtherDriverEndsAsItIsTold) {
  Build(absl::Nanoseconds(DriverChoice::kWorthHandingOverNs));
  Executor::Args args;
  args.task_runner = &pool_;
  Run(DriverChoice::kMeasuredRuns, args);
  VectorCallFrame frame({Int(2)}, 1);
  Executor::Args late = args;
  late.call_frame = &frame;
  late.deadline = absl::Now() - absl::Seconds(1);
  EXPECT_THAT(executor_->Run(late), IsError(ErrorCode::kDeadline));
  EXPECT_FALSE(compiled_->HasDataflowPlan());
  Run(1, args);
  EXPECT_TRUE(compiled_->HasDataflowPlan());
}

}  // namespace
}  // namespace sluice

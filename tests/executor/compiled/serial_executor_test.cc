#include "executor/compiled/serial_executor.h"

#include <algorithm>
#include <atomic>
#include <thread>

#include "executor/threads/thread_pool.h"
#include "executor/threads/thread_runs.h"
#include "graph/base/error.h"
#include "tests/executor/compiled/executor_fixture.h"
#include "tests/testing/executor_harness.h"

namespace sluice {
namespace {

class SerialExecutorTest : public ExecutorFixture {
 protected:
  std::unique_ptr<SerialExecutor> MakeSerial() {
    EXPECT_OK(b_.status());
    absl::StatusOr<std::shared_ptr<const CompiledGraph>> compiled =
        CompiledGraph::Create(b_.graph(), Params(Driver::kSerial));
    EXPECT_OK(compiled);
    return compiled.ok() ? std::make_unique<SerialExecutor>(*std::move(compiled)) : nullptr;
  }
  // y = Neg(x), by a kernel that does `first`.
  void AddNeg(FunctionKernel::Function first) {
    UseKernel([first = std::move(first)](KernelContext& context) -> absl::Status {
      SLUICE_RETURN_IF_ERROR(first(context));
      context.SetOutput(0, Int(-*context.input(0).AsScalar<int32_t>()));
      return absl::OkStatus();
    });
    Return(0, b_.Op("Neg", "neg", {Arg(0)}));
  }
};

TEST_F(SerialExecutorTest, DoneComesOnTheCallersThreadBeforeRunAsyncReturns) {
  AddPolynomial();
  const std::unique_ptr<SerialExecutor> executor = MakeSerial();
  ThreadPool pool(ThreadPoolOptions{2});
  VectorCallFrame frame({Int(3)}, 1);
  Executor::Args args;
  args.call_frame = &frame;
  args.task_runner = &pool;
  std::thread::id thread;
  executor->RunAsync(args, [&](const absl::Status& status) {
    EXPECT_OK(status);
    thread = std::this_thread::get_id();
  });
  EXPECT_EQ(thread, std::this_thread::get_id());
}

TEST_F(SerialExecutorTest, ArgumentsOfSpansAreGivenUpToTheirLastReader) {
  int64_t num_owned = 0;
  UseKernel([&](KernelContext& context) {
    num_owned += context.InputIsWritable(0) ? 1 : 0;
    context.SetOutput(0, context.TakeInput(0));
    return absl::OkStatus();
  });
  const Output x = b_.Op("_Arg", "arg0", {}, {{"T", DType::kFloat}, {"index", int64_t{0}}});
  Return(0, b_.Op("Neg", "", {x}));
  const std::unique_ptr<SerialExecutor> executor = MakeSerial();
  ASSERT_OK_AND_ASSIGN(Tensor large, Tensor::Make(DType::kFloat, Shape::Of({1000}), HostAllocator()));
  Tensor in[] = {std::move(large)}, out[1];
  SpanCallFrame frame(absl::MakeSpan(in), absl::MakeSpan(out));
  Executor::Args args;
  args.call_frame = &frame;
  ASSERT_OK(executor->Run(args));
  EXPECT_EQ(num_owned, 1);
  EXPECT_FALSE(in[0].has_value());
  EXPECT_TRUE(out[0].IsUniquelyOwned());
}

TEST_F(SerialExecutorTest, ADeadResultIsNotSet) {
  const Output ports = b_.Op("Switch", "", {Arg(0), b_.Op("Greater", "", {Arg(1), b_.Const("zero", Int(0))})});
  Return(0, ports);
  Return(1, GraphBuilder::Nth(ports, 1));
  const std::unique_ptr<SerialExecutor> executor = MakeSerial();
  for (const int32_t sign : {-1, 1}) {
    Tensor in[] = {Int(5), Int(sign)}, out[2];
    SpanCallFrame spans(absl::MakeSpan(in), absl::MakeSpan(out));
    VectorCallFrame vectors({Int(5), Int(sign)}, 2);
    Executor::Args args;
    args.call_frame = &spans;
    ASSERT_OK(executor->Run(args));
    args.call_frame = &vectors;
    ASSERT_OK(executor->Run(args));
    for (const size_t i : {size_t{0}, size_t{1}}) {
      EXPECT_EQ(out[i].has_value(), (sign > 0) == (i == 1));
      EXPECT_EQ(vectors.results()[i].has_value(), (sign > 0) == (i == 1));
    }
  }
}

// A kernel that runs the graph again, inside of itself: some runs begin there, the others when the thread has left
// them. The thread waits for none of them, or it would leave the others to service threads.
TEST_F(SerialExecutorTest, RunsInsideOfKernelsAreDeferredWhereTheyAreTooMany) {
  constexpr int kRuns = 1000;
  SerialExecutor* inner = nullptr;
  Executor::Args args;
  int begun = 0, ended = 0, depth = 0, deepest = 0;
  AddNeg([&](KernelContext&) {
    deepest = std::max(deepest, ++depth);
    if (++begun < kRuns) {
      auto* const frame = new VectorCallFrame({Int(begun)}, 1);
      Executor::Args own = args;
      own.call_frame = frame;
      inner->RunAsync(own, [&, frame](const absl::Status& status) {
        EXPECT_OK(status);
        ++ended;
        delete frame;
      });
    }
    --depth;
    return absl::OkStatus();
  });
  const std::unique_ptr<SerialExecutor> executor = MakeSerial();
  inner = executor.get();
  VectorCallFrame frame({Int(3)}, 1);
  args.call_frame = &frame;
  absl::Status outermost = absl::UnknownError("It did not end.");
  executor->RunAsync(args, [&](const absl::Status& status) { outermost = status; });
  ASSERT_OK(outermost);
  EXPECT_EQ(begun, kRuns);
  EXPECT_EQ(ended, kRuns - 1);
  EXPECT_GT(deepest, 1);
  EXPECT_LE(deepest, ThreadRuns::kMaxNested + 1);
}

TEST_F(SerialExecutorTest, ADeferredRunGoesToThreadsOfItsOwn) {
  SerialExecutor* inner = nullptr;
  ThreadPool pool(ThreadPoolOptions{2});
  Notification over;
  int begun = 0;
  // The runs that kernels begin. One that was begun last may end before the one whose kernel began it.
  std::atomic<int> left{ThreadRuns::kMaxNested + 2};
  Tensor in[64], out[64];
  std::vector<std::unique_ptr<SpanCallFrame>> frames;
  for (size_t i = 0; i < 64; ++i) {
    in[i] = Int(1);
    frames.push_back(
        std::make_unique<SpanCallFrame>(absl::MakeSpan(in).subspan(i, 1), absl::MakeSpan(out).subspan(i, 1)));
  }
  AddNeg([&](KernelContext&) {
    const int run = begun++;
    if (run > ThreadRuns::kMaxNested + 1) return absl::OkStatus();
    Executor::Args args;
    args.task_runner = &pool;
    args.call_frame = frames[static_cast<size_t>(begun)].get();
    inner->RunAsync(args, [&over, &left](const absl::Status& status) {
      EXPECT_OK(status);
      if (--left == 0) over.Notify();
    });
    return absl::OkStatus();
  });
  const std::unique_ptr<SerialExecutor> executor = MakeSerial();
  inner = executor.get();
  Executor::Args args;
  args.call_frame = frames[0].get();
  ASSERT_OK(executor->Run(args));
  over.WaitForNotification();
}

// It has no thread but the one that waits: a service thread begins it then.
TEST_F(SerialExecutorTest, ADeferredRunThatKeepsToOneThreadDoesNotUseTheTaskRunner) {
  AddPolynomial();
  const std::unique_ptr<SerialExecutor> executor = MakeSerial();
  ThreadPool pool(ThreadPoolOptions{2});
  for (const bool is_inline : {false, true}) {
    VectorCallFrame frame({Int(3)}, 1);
    Executor::Args args;
    args.call_frame = &frame;
    args.task_runner = &pool;
    args.run_all_kernels_inline = is_inline;
    Notification over;
    bool was_in_pool = false;
    std::vector<std::unique_ptr<ThreadRuns::Scope>> runs;  // As many as a thread may be in.
    while (ThreadRuns::Current().depth() < ThreadRuns::kMaxNested) {
      runs.push_back(std::make_unique<ThreadRuns::Scope>());
    }
    executor->RunAsync(args, [&](const absl::Status& status) {
      EXPECT_OK(status);
      was_in_pool = pool.IsOwnThread();
      over.Notify();
    });
    EXPECT_FALSE(over.HasBeenNotified());
    ThreadRuns::Current().HandToAnyThread();
    over.WaitForNotification();
    EXPECT_EQ(was_in_pool, !is_inline);
    EXPECT_EQ(*frame.results()[0].AsScalar<int32_t>(), 12);
  }
}

TEST_F(SerialExecutorTest, ManyThreadsRunItAtOnce) {
  AddPolynomial();
  const std::unique_ptr<SerialExecutor> executor = MakeSerial();
  std::atomic<int> wrong{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 8; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 1000; ++i) {
        Tensor in[] = {Int(t)}, out[1];
        SpanCallFrame frame(absl::MakeSpan(in), absl::MakeSpan(out));
        Executor::Args args;
        args.call_frame = &frame;
        if (!executor->Run(args).ok() || *out[0].AsScalar<int32_t>() != t * t + t) ++wrong;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
}

}  // namespace
}  // namespace sluice

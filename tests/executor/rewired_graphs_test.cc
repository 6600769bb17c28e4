// The dataflow driver on unstructured graphs: random programs with some inputs rewired. Whatever they do, a run ends,
// keeps nothing and touches nothing of others; where the rules of tokens give one answer, it is that.

#include <cstdlib>
#include <iostream>
#include <memory>
#include <vector>

#include "absl/time/clock.h"
#include "executor/threads/thread_pool.h"
#include "graph/ir/control_flow_check.h"
#include "graph/value/allocator.h"
#include "gtest/gtest.h"
#include "kernels/families/register_all.h"
#include "tests/testing/executor_harness.h"
#include "tests/testing/random_program.h"
#include "tests/testing/serial_runner.h"
#include "tests/testing/status_matchers.h"

namespace sluice {
namespace {

bool SameBits(const Tensor& a, const Tensor& b) {
  return a.dtype() == b.dtype() && a.shape() == b.shape() && a.bytes() == b.bytes();
}

class RewiredGraphsTest : public ::testing::TestWithParam<int> {
 protected:
  static ThreadPoolOptions Options(int threads) {
    ThreadPoolOptions options;
    options.num_threads = threads;
    return options;
  }

  static bool HasResultInLoop(const Graph& graph) {
    const absl::StatusOr<ControlFlowInfo> info = BuildControlFlowInfo(graph, LoadLimits());
    EXPECT_OK(info);
    for (const NodeId id : graph.Nodes()) {
      if (info.ok() && graph.Is(id, "_Retval") && info->frame(id) != 0) return true;
    }
    return false;
  }
  // More iterations may live at once than any of these loops has.
  static void WidenLoops(Graph* graph) {
    for (const NodeId id : graph->Nodes()) {
      if (!graph->Is(id, "Enter")) continue;
      EXPECT_OK(graph->SetAttr(id, "parallel_iterations", AttrValue(int64_t{60})));
    }
  }

  void Check(uint32_t seed) {
    RandomProgramOptions options;
    options.with_state = false;
    options.max_depth = 2;
    options.max_statements = 4;
    ASSERT_OK_AND_ASSIGN(Graph graph, RandomStructuredProgram(seed, options));
    RewireAtRandom(seed, 1 + static_cast<int>(seed % 4), &graph);
    // Where a loop waits for what comes out of it, how far it gets depends on how many iterations may live at once.
    const bool has_one_answer = seed % 2 == 0 && !HasResultInLoop(graph);
    if (has_one_answer) WidenLoops(&graph);
    SerialRunner rules(graph);
    ASSERT_OK(rules.Prepare());
    std::unique_ptr<TokenEvaluator> evaluator;
    const absl::Status expected = rules.Evaluate(RandomArguments(seed), &evaluator, 20'000);
    const bool is_endless = expected.code() == absl::StatusCode::kResourceExhausted;
    ExecutorHarness harness;
    RegisterAllKernels(harness.registry());
    ASSERT_OK(harness.Build(graph));
    for (int run = 0; run < 2; ++run) {
      VectorCallFrame frame(RandomArguments(seed), 5);
      Executor::Args args = harness.args();
      args.call_frame = &frame;
      args.task_runner = &pool_;
      args.deadline = absl::Now() + (is_endless ? absl::Milliseconds(3) : absl::Seconds(60));
      const absl::Status status = harness.executor().Run(args);
      EXPECT_TRUE(is_endless || status.code() != absl::StatusCode::kDeadlineExceeded) << "it hangs";
      // Where the rules leave something waiting for ever, dead cones may settle it: they need not see every token.
      if (!expected.ok() || evaluator->is_ambiguous() || evaluator->is_stuck() || !has_one_answer) continue;
      ++num_compared_;
      ASSERT_OK(status);
      for (size_t i = 0; i < 5; ++i) {
        const Tensor wanted = i < evaluator->results().size() ? evaluator->results()[i] : Tensor();
        EXPECT_TRUE(SameBits(frame.results()[i], wanted))
            << "result " << i << ": " << frame.results()[i].ToString(32) << " instead of " << wanted.ToString(32);
      }
    }
  }

  ThreadPool pool_{Options(GetParam())};
  int num_compared_ = 0;
};

TEST_P(RewiredGraphsTest, RunsEndAndAreRightWhereThereIsOneAnswer) {
  const char* const count_text = std::getenv("SLUICE_RANDOM_GRAPHS");
  const uint32_t count = count_text != nullptr ? static_cast<uint32_t>(std::atoi(count_text)) : 500;
  const uint32_t first = 100'000 * static_cast<uint32_t>(GetParam());
  std::cout << "seeds " << first << " to " << first + count - 1 << "\n";
  for (uint32_t seed = first; seed < first + count; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    const int64_t before = HostAllocatorLiveBytes();
    Check(seed);
    EXPECT_EQ(HostAllocatorLiveBytes(), before) << "values, slabs and views are all gone";
  }
  EXPECT_GT(num_compared_, static_cast<int>(count / 5));
}

INSTANTIATE_TEST_SUITE_P(Threads, RewiredGraphsTest, testing::Values(1, 4));

}  // namespace
}  // namespace sluice

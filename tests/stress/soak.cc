// soak [SECONDS] [THREADS] [FIRST_SEED]: random graphs run by the dataflow executor, and random programs run by
// sessions over three CPU devices, on THREADS threads for SECONDS (default 600, 4), some of the runs cancelled or given
// a short deadline. Every run that ends well must answer what the reference evaluator, or a session on one device,
// does; the others must say CANCELLED or DEADLINE_EXCEEDED. Prints counts; exit status 1 when an answer was wrong or
// tensor memory is left over. Meant for AddressSanitizer builds, which find leaks of all kinds.

#include <cstdlib>
#include <iostream>
#include <random>
#include <string>
#include <vector>

#include "absl/time/clock.h"
#include "executor/thread_pool.h"
#include "graph/base/error.h"
#include "graph/value/allocator.h"
#include "kernels/families/register_all.h"
#include "tests/stress/session_soak.h"
#include "tests/stress/soak_counts.h"
#include "tests/testing/executor_harness.h"
#include "tests/testing/random_graph.h"
#include "tests/testing/reference_evaluator.h"

namespace sluice {
namespace {

// Whether `results` are what the reference says.
bool IsRight(const std::vector<Tensor>& results, const std::vector<ReferenceValue>& expected) {
  for (size_t i = 0; i < expected.size(); ++i) {
    if (results[i].has_value() != expected[i].has_value()) return false;
    if (!results[i].has_value()) continue;
    const absl::Span<const float> values = results[i].flat<float>();
    if (std::vector<float>(values.begin(), values.end()) != *expected[i]) return false;
  }
  return true;
}

void RunOnce(ExecutorHarness& harness, ThreadPool& pool, const std::vector<ReferenceValue>& expected,
             std::mt19937& random, uint32_t seed, SoakCounts* counts) {
  VectorCallFrame frame({}, expected.size());
  Mishap mishap(random);
  Executor::Args args = harness.args();
  args.call_frame = &frame;
  args.task_runner = &pool;
  args.cancellation_manager = &mishap.cancellation();
  args.deadline = mishap.deadline();
  const absl::Status status = harness.executor().Run(args);
  mishap.End();
  const bool is_right = status.ok() && IsRight(frame.results(), expected);
  if (!mishap.Count(status, is_right, counts)) {
    std::cerr << "seed " << seed << ": wrong answer: " << FormatError(status) << "\n";
  }
}

int Main(int seconds, int threads, uint32_t seed) {
  ThreadPoolOptions options;
  options.num_threads = threads;
  ThreadPool pool(options);
  SoakCounts counts;
  const int64_t memory = HostAllocatorLiveBytes();
  const absl::Time end = absl::Now() + absl::Seconds(seconds);
  for (; absl::Now() < end; ++seed) {
    std::mt19937 random(seed);
    RandomGraph made = MakeRandomGraph(seed, 40);
    ReferenceEvaluator reference(made.graph, made.constants);
    std::vector<ReferenceValue> expected;
    for (const Output& watched : made.watched) expected.push_back(reference.Evaluate(watched));
    ExecutorHarness harness;
    RegisterAllKernels(harness.registry());
    const absl::Status built = harness.Build(made.graph);
    if (!built.ok()) {
      std::cerr << "seed " << seed << ": " << FormatError(built) << "\n";
      return 1;
    }
    ++counts.graphs;
    for (int run = 0; run < 8; ++run) RunOnce(harness, pool, expected, random, seed, &counts);
    SoakSessions(seed, pool, random, &counts);
  }
  const int64_t left = HostAllocatorLiveBytes() - memory;
  std::cout << counts.graphs << " graphs, " << counts.runs << " runs: " << counts.finished << " finished, "
            << counts.cancelled << " cancelled, " << counts.late << " past their deadline, " << counts.wrong
            << " wrong; tensor bytes left over: " << left << "\n";
  return counts.wrong == 0 && left == 0 ? 0 : 1;
}

}  // namespace
}  // namespace sluice

int main(int argc, char** argv) {
  const int seconds = argc > 1 ? std::atoi(argv[1]) : 600;
  const int threads = argc > 2 ? std::atoi(argv[2]) : 4;
  const uint32_t seed = argc > 3 ? static_cast<uint32_t>(std::atoll(argv[3])) : 1;
  return sluice::Main(seconds, threads, seed);
}

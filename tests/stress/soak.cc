// soak [SECONDS] [THREADS] [FIRST_SEED]: random graphs run by the dataflow executor on THREADS threads for SECONDS
// (default 600, 4), some of the runs cancelled or given a short deadline. Every run that ends well must answer what the
// reference evaluator does; the others must say CANCELLED or DEADLINE_EXCEEDED. Prints counts; exit status 1 when an
// answer was wrong or tensor memory is left over. Meant for AddressSanitizer builds, which find leaks of all kinds.

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <iostream>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "absl/time/clock.h"
#include "executor/thread_pool.h"
#include "graph/base/cancellation.h"
#include "graph/base/error.h"
#include "graph/value/allocator.h"
#include "kernels/families/register_all.h"
#include "tests/testing/executor_harness.h"
#include "tests/testing/random_graph.h"
#include "tests/testing/reference_evaluator.h"

namespace sluice {
namespace {

struct Counts {
  int64_t graphs = 0, runs = 0, finished = 0, cancelled = 0, late = 0, wrong = 0;
};

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

// Cancels `manager` after a random while, on a thread of its own.
class Canceller {
 public:
  Canceller(CancellationManager& manager, int64_t after_us)
      : thread_([&manager, after_us] {
          std::this_thread::sleep_for(std::chrono::microseconds(after_us));
          manager.StartCancel();
        }) {}
  ~Canceller() { thread_.join(); }

 private:
  std::thread thread_;
};

void RunOnce(ExecutorHarness& harness, ThreadPool& pool, const std::vector<ReferenceValue>& expected,
             std::mt19937& random, uint32_t seed, Counts* counts) {
  VectorCallFrame frame({}, expected.size());
  CancellationManager cancellation;
  Executor::Args args = harness.args();
  args.call_frame = &frame;
  args.task_runner = &pool;
  args.cancellation_manager = &cancellation;
  const uint32_t kind = random() % 4;
  if (kind == 1) args.deadline = absl::Now() + absl::Microseconds(static_cast<int64_t>(random() % 300));
  absl::Status status;
  {
    std::unique_ptr<Canceller> canceller;
    if (kind == 2) canceller = std::make_unique<Canceller>(cancellation, random() % 300);
    status = harness.executor().Run(args);
  }
  ++counts->runs;
  if (status.ok()) {
    ++counts->finished;
    if (IsRight(frame.results(), expected)) return;
  } else if (kind == 1 && status.code() == absl::StatusCode::kDeadlineExceeded) {
    ++counts->late;
    return;
  } else if (kind == 2 && status.code() == absl::StatusCode::kCancelled) {
    ++counts->cancelled;
    return;
  }
  ++counts->wrong;
  std::cerr << "seed " << seed << ": wrong answer: " << FormatError(status) << "\n";
}

int Main(int seconds, int threads, uint32_t seed) {
  ThreadPoolOptions options;
  options.num_threads = threads;
  ThreadPool pool(options);
  Counts counts;
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

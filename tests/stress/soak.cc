// soak [SECONDS] [THREADS] [FIRST_SEED] [--faults | --train | --tape]: random graphs run by the dataflow executor, and
// random programs run by sessions over three CPU devices, on THREADS threads for SECONDS (default 600, 4), some of the
// runs cancelled or given a short deadline. Every run that ends well must answer what the reference evaluator, or a
// session on one device, does; the others must say CANCELLED or DEADLINE_EXCEEDED. With --faults, instead: random
// programs whose allocations fail, whose kernels and shards throw, whose callbacks are dropped (fault_soak.h); with
// --train, networks that are trained (train_soak.h); with --tape, define-by-run programs (tape_soak.h). Prints counts;
// exit status 1 when an answer was wrong, an error had no cause, a run did not end within a minute, or tensor memory is
// left over. Meant for AddressSanitizer builds, which find leaks of all kinds.

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <optional>
#include <random>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/time/clock.h"
#include "executor/threads/thread_pool.h"
#include "graph/base/error.h"
#include "graph/value/allocator.h"
#include "kernels/families/register_all.h"
#include "tests/stress/fault_soak.h"
#include "tests/stress/session_soak.h"
#include "tests/stress/soak_counts.h"
#include "tests/stress/tape_soak.h"
#include "tests/stress/train_soak.h"
#include "tests/testing/executor_harness.h"
#include "tests/testing/random_graph.h"
#include "tests/testing/reference_evaluator.h"

namespace sluice {
namespace {

// With 0 seconds: so many seeds, whatever the time.
constexpr uint32_t kDeterministicSeeds = 300;

// The command line.
struct Options {
  int seconds = 600, threads = 4;
  uint32_t seed = 1;
  enum class Kind { kGraphs, kFaults, kTraining, kTapes } kind = Kind::kGraphs;
};

// What all kinds have counted.
struct Counts {
  SoakCounts runs;
  FaultCounts faults;
  TapeCounts tapes;

  bool is_clean() const { return runs.wrong == 0 && faults.is_clean() && tapes.wrong == 0; }
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

void RunOnce(ExecutorHarness& harness, ThreadPool& pool, const std::vector<ReferenceValue>& expected,
             std::mt19937& random, uint32_t seed, SoakCounts* counts) {
  VectorCallFrame frame({}, expected.size());
  Mishap mishap(random);
  Executor::Args args = harness.args();
  args.call_frame = &frame;
  args.task_runner = &pool;
  args.cancellation = &mishap.cancellation();
  args.deadline = mishap.deadline();
  const absl::Status status = harness.executor().Run(args);
  mishap.End();
  const bool is_right = status.ok() && IsRight(frame.results(), expected);
  if (!mishap.Count(status, is_right, counts)) {
    std::cerr << "seed " << seed << ": wrong answer: " << FormatError(status) << "\n";
  }
}

// Ends the process when nothing was finished for a minute: something hangs. Lives as long as the soak.
class HangWatch {
 public:
  HangWatch() : watcher_([this] { Watch(); }) {}
  ~HangWatch() {
    is_over_ = true;
    watcher_.join();
  }
  void Beat(uint32_t seed) { seed_ = seed; }

 private:
  void Watch() {
    uint32_t last = 0;
    for (int idle = 0; !is_over_; ++idle) {
      std::this_thread::sleep_for(std::chrono::milliseconds(200));
      if (seed_ != last) idle = 0;
      last = seed_;
      if (idle < 300) continue;
      std::cerr << "seed " << last << ": hangs\n";
      std::abort();
    }
  }

  std::atomic<uint32_t> seed_{0};
  std::atomic<bool> is_over_{false};
  std::thread watcher_;
};

int SoakGraphs(uint32_t seed, ThreadPool& pool, SoakCounts* counts) {
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
  ++counts->graphs;
  for (int run = 0; run < 8; ++run) RunOnce(harness, pool, expected, random, seed, counts);
  SoakSessions(seed, pool, random, counts);
  return 0;
}

void Print(const SoakCounts& counts, int64_t left) {
  std::cout << counts.graphs << " graphs, " << counts.runs << " runs: " << counts.finished << " finished, "
            << counts.cancelled << " cancelled, " << counts.late << " past their deadline, " << counts.wrong
            << " wrong; tensor bytes left over: " << left << "\n";
}

void Print(const FaultCounts& counts, int64_t left) {
  std::cout << counts.graphs << " sessions, " << counts.runs << " steps: " << counts.finished << " finished";
  for (int fault = 1; fault < kNumFaults; ++fault) {
    std::cout << ", " << counts.struck[static_cast<size_t>(fault)] << " " << FaultName(static_cast<Fault>(fault));
  }
  std::cout << "; " << counts.wrong << " wrong, " << counts.unexplained << " errors without a cause, "
            << counts.left_blocks << " blocks and " << left << " bytes left over\n";
}

void Print(const TapeCounts& counts, int64_t left) {
  std::cout << counts.programs << " programs, " << counts.passes << " times: " << counts.finished << " finished, "
            << counts.refused << " ended by a hook's error, " << counts.thrown << " by its exception, "
            << counts.cancelled << " cancelled, " << counts.wrong << " wrong; tensor bytes left over: " << left << "\n";
}

// Of the whole process.
int64_t ResidentKiB() {
  std::ifstream file("/proc/self/statm");
  int64_t size = 0, resident = 0;
  file >> size >> resident;
  return resident * 4;
}

int SoakOne(const Options& soak, uint32_t seed, ThreadPool& pool, TapePair& tapes, Counts* counts) {
  std::mt19937 random(seed);
  switch (soak.kind) {
    case Options::Kind::kGraphs:
      return SoakGraphs(seed, pool, &counts->runs);
    case Options::Kind::kFaults:
      SoakWithFaults(seed, pool, &counts->faults);
      return 0;
    case Options::Kind::kTraining:
      SoakTraining(seed, pool, random, &counts->runs);
      return 0;
    case Options::Kind::kTapes:
      SoakTapes(seed, soak.threads, tapes, &counts->tapes);
      return 0;
  }
  return 0;
}

int Main(const Options& soak) {
  ThreadPoolOptions options;
  options.num_threads = soak.threads;
  ThreadPool pool(options);
  Counts counts;
  HangWatch watch;
  const int64_t memory = HostAllocatorLiveBytes();
  int64_t resident = 0;
  std::optional<TapePair> tapes(std::in_place);
  const absl::Time end = absl::Now() + absl::Seconds(soak.seconds);
  const uint32_t stop = soak.seconds == 0 ? soak.seed + kDeterministicSeeds : UINT32_MAX;
  for (uint32_t seed = soak.seed; seed < stop && (soak.seconds == 0 || absl::Now() < end); ++seed) {
    watch.Beat(seed);
    if (SoakOne(soak, seed, pool, *tapes, &counts) != 0) return 1;
    if (resident == 0 && absl::Now() > end - absl::Seconds(soak.seconds) * 0.8) resident = ResidentKiB();
  }
  tapes.reset();
  const int64_t left = HostAllocatorLiveBytes() - memory;
  if (soak.kind == Options::Kind::kFaults) {
    Print(counts.faults, left);
  } else if (soak.kind == Options::Kind::kTapes) {
    Print(counts.tapes, left);
  } else {
    Print(counts.runs, left);
  }
  std::cout << "resident: " << resident << " KiB after a fifth of the time, " << ResidentKiB() << " KiB at the end\n";
  return counts.is_clean() && left == 0 ? 0 : 1;
}

}  // namespace
}  // namespace sluice

int main(int argc, char** argv) {
  sluice::Options options;
  using Kind = sluice::Options::Kind;
  std::vector<std::string> numbers;
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    if (word == "--faults") {
      options.kind = Kind::kFaults;
    } else if (word == "--train") {
      options.kind = Kind::kTraining;
    } else if (word == "--tape") {
      options.kind = Kind::kTapes;
    } else {
      numbers.push_back(word);
    }
  }
  if (numbers.size() > 0) options.seconds = std::atoi(numbers[0].c_str());
  if (numbers.size() > 1) options.threads = std::atoi(numbers[1].c_str());
  if (numbers.size() > 2) options.seed = static_cast<uint32_t>(std::atoll(numbers[2].c_str()));
  return sluice::Main(options);
}

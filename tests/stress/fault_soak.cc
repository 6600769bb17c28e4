#include "tests/stress/fault_soak.h"

#include <chrono>
#include <iostream>
#include <map>
#include <random>
#include <string>
#include <thread>

#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "executor/session/session.h"
#include "graph/base/cancellation.h"
#include "graph/base/check.h"
#include "graph/base/error.h"
#include "kernels/families/register_all.h"
#include "tests/stress/faulty_kernels.h"
#include "tests/testing/random_program.h"
#include "tests/testing/session_program.h"

namespace sluice {
namespace {

constexpr int kDevices = 3;
constexpr uint32_t kMaxChances = 60;

// One program, its right answers, and the faults that befall it. Not thread-safe.
class FaultyProgram {
 public:
  FaultyProgram(uint32_t seed, ThreadPool& pool, FaultCounts* counts)
      : seed_(seed), pool_(pool), counts_(*counts), random_(seed), allocator_(&plan_) {
    RandomProgramOptions program;
    program.max_statements = 4;
    program.with_state = false;  // A step that was stopped leaves no trace.
    absl::StatusOr<Graph> graph = RandomStructuredProgram(seed, program);
    SLUICE_CHECK_OK(graph.status());
    SLUICE_CHECK_OK(ArgumentsToPlaceholders(&*graph));
    graph_ = *std::move(graph);
    feeds_ = PlaceholderValues(graph_, seed);
    RegisterAllKernels(kernels_);
    AddFaultyKernels(&plan_, &kernels_);
  }

  void Run();

 private:
  void FindAnswers();
  void RunSession(const SessionOptions& options, const Graph& graph);
  void RunStep(Session& session, Fault fault);
  // Counts a step. `fault` may have befallen it.
  void Judge(Fault fault, const Answer& expected, const Answer& found);

  const uint32_t seed_;
  ThreadPool& pool_;
  FaultCounts& counts_;
  std::mt19937 random_;
  FaultPlan plan_;
  FaultyAllocator allocator_;
  KernelRegistry kernels_;
  Graph graph_ = Graph(nullptr);
  NamedTensors feeds_;
  std::map<std::string, Answer> answers_;
};

void FaultyProgram::FindAnswers() {
  SessionOptions options;
  options.num_threads = 1;
  absl::StatusOr<std::unique_ptr<Session>> session = Session::Create(options, graph_);
  SLUICE_CHECK_OK(session.status());
  for (const std::string& result : ResultsOf(graph_)) {
    answers_.emplace(result, Answer((*session)->Run(feeds_, {result}, {})));
  }
}

// Whether `status` is what `fault` leads to.
bool Explains(Fault fault, const absl::Status& status) {
  switch (fault) {
    case Fault::kCancel:
      return status.code() == absl::StatusCode::kCancelled;
    case Fault::kDeadline:
      return status.code() == absl::StatusCode::kDeadlineExceeded;
    case Fault::kAllocation:
    case Fault::kThrowBadAlloc:
      return status.code() == absl::StatusCode::kResourceExhausted;
    case Fault::kNone:
      return false;
    default:
      return ErrorInfoOf(status).has_value();
  }
}

void FaultyProgram::Judge(Fault fault, const Answer& expected, const Answer& found) {
  ++counts_.runs;
  const bool may_explain = fault == Fault::kCancel || fault == Fault::kDeadline || plan_.has_struck();
  if (found == expected) {
    ++counts_.finished;
  } else if (found.status.ok()) {
    ++counts_.wrong;
    std::cerr << "seed " << seed_ << ", " << FaultName(fault) << ": wrong answer\n";
  } else if (may_explain && Explains(fault, found.status)) {
    ++counts_.struck[static_cast<size_t>(fault)];
  } else {
    ++counts_.unexplained;
    std::cerr << "seed " << seed_ << ", " << FaultName(fault) << ": " << FormatError(found.status, true) << "\n";
  }
}

void FaultyProgram::RunStep(Session& session, Fault fault) {
  const auto wanted = std::next(answers_.begin(), static_cast<int64_t>(random_() % answers_.size()));
  // Mostly early: many programs do not have many chances.
  plan_.Arm(fault, static_cast<int64_t>(random_() % (1 + random_() % kMaxChances)));
  CancellationManager cancellation;
  CallOptions call;
  call.cancellation = &cancellation;
  const auto after = std::chrono::microseconds(random_() % 300);
  if (fault == Fault::kDeadline) call.deadline = absl::Now() + absl::FromChrono(after);
  std::thread canceller;
  if (fault == Fault::kCancel) {
    canceller = std::thread([&] {
      std::this_thread::sleep_for(after);
      cancellation.StartCancel();
    });
  }
  const Answer found(session.Run(feeds_, {wanted->first}, {}, call));
  if (canceller.joinable()) canceller.join();
  Judge(fault, wanted->second, found);
}

void FaultyProgram::RunSession(const SessionOptions& options, const Graph& graph) {
  {
    plan_.Arm(Fault::kNone, 0);
    absl::StatusOr<std::unique_ptr<Session>> session = Session::Create(options, graph);
    SLUICE_CHECK_OK(session.status());
    ++counts_.graphs;
    for (int fault = 1; fault < kNumFaults; ++fault) {
      RunStep(**session, static_cast<Fault>(fault));
      RunStep(**session, Fault::kNone);
    }
  }
  if (allocator_.live() == 0) return;
  counts_.left_blocks += allocator_.live();
  std::cerr << "seed " << seed_ << ": " << allocator_.live() << " blocks left\n";
}

void FaultyProgram::Run() {
  FindAnswers();
  SessionOptions options;
  options.kernels = &kernels_;
  options.allocator = &allocator_;
  options.max_prepared = 2;  // So that steps are prepared again, under faults too.
  options.num_threads = 1;
  RunSession(options, graph_);
  options.pool = &pool_;
  options.driver = Driver::kDataflow;
  RunSession(options, graph_);
  Graph spread = graph_;
  SpreadOverDevices(seed_, kDevices, &spread);
  options.num_cpu_devices = kDevices;
  options.cut_by_device = true;
  RunSession(options, spread);
}

}  // namespace

void SoakWithFaults(uint32_t seed, ThreadPool& pool, FaultCounts* counts) { FaultyProgram(seed, pool, counts).Run(); }

}  // namespace sluice

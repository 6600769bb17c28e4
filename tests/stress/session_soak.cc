#include "tests/stress/session_soak.h"

#include <iostream>
#include <map>
#include <string>

#include "executor/session/session.h"
#include "graph/base/check.h"
#include "graph/base/error.h"
#include "tests/testing/random_program.h"
#include "tests/testing/session_program.h"

namespace sluice {
namespace {

constexpr int kDevices = 3;
constexpr int kSteps = 8;

void RunStep(Session& session, const std::map<std::string, Answer>& expected, const NamedTensors& feeds, uint32_t seed,
             std::mt19937& random, SoakCounts* counts) {
  const auto wanted = std::next(expected.begin(), static_cast<int64_t>(random() % expected.size()));
  Mishap mishap(random);
  CallOptions call;
  call.deadline = mishap.deadline();
  call.cancellation = &mishap.cancellation();
  const Answer found(session.Run(feeds, {wanted->first}, {}, call));
  mishap.End();
  if (mishap.Count(found.status, found == wanted->second, counts)) return;
  std::cerr << "seed " << seed << ", " << wanted->first << ": wrong answer: " << FormatError(found.status) << "\n";
}

}  // namespace

void SoakSessions(uint32_t seed, ThreadPool& pool, std::mt19937& random, SoakCounts* counts) {
  RandomProgramOptions program;
  program.max_statements = 4;
  program.with_state = false;  // A step that was stopped leaves no trace.
  absl::StatusOr<Graph> graph = RandomStructuredProgram(seed, program);
  SLUICE_CHECK_OK(graph.status());
  SLUICE_CHECK_OK(ArgumentsToPlaceholders(&*graph));
  const NamedTensors feeds = PlaceholderValues(*graph, seed);
  SessionOptions options;
  options.num_threads = 1;
  absl::StatusOr<std::unique_ptr<Session>> alone = Session::Create(options, *graph);
  SLUICE_CHECK_OK(alone.status());
  std::map<std::string, Answer> expected;
  for (const std::string& result : ResultsOf(*graph)) {
    expected.emplace(result, Answer((*alone)->Run(feeds, {result}, {})));
  }
  SpreadOverDevices(seed, kDevices, &*graph);
  options.num_cpu_devices = kDevices;
  options.pool = &pool;
  for (const bool cut : {false, true}) {
    options.cut_by_device = cut;
    absl::StatusOr<std::unique_ptr<Session>> session = Session::Create(options, *graph);
    SLUICE_CHECK_OK(session.status());
    ++counts->graphs;
    for (int step = 0; step < kSteps; ++step) RunStep(**session, expected, feeds, seed, random, counts);
  }
}

}  // namespace sluice

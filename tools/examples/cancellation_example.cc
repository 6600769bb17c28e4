// Two ways to stop a run that would go on for ever: another thread cancels it, or its deadline passes. When Run
// returns, all work of the step has stopped, and the session can be used again.

#include <cstdio>
#include <thread>

#include "absl/time/clock.h"
#include "executor/session/session.h"
#include "graph/base/cancellation.h"
#include "graph/base/error.h"
#include "graph/base/status_macros.h"
#include "graph/ir/builder.h"
#include "graph/ops/op_table.h"

namespace {

using sluice::GraphBuilder;
using sluice::Output;

// while true: x = x + 1
absl::StatusOr<sluice::Graph> MakeEndlessLoop() {
  GraphBuilder b(sluice::NewOpRegistry());
  const Output start = b.Placeholder("start", sluice::DType::kDouble, sluice::PartialShape::Scalar());
  const Output enter = b.Op("Enter", "enter", {start}, {{"frame_name", "endless"}});
  const Output merge = b.Op("Merge", "merge", {enter, enter});
  const Output is_number = b.Op("LoopCond", "cond", {b.Op("Equal", "is_number", {merge, merge})});
  const Output live = b.Op("Switch", "switch", {merge, is_number});
  const Output x = GraphBuilder::Nth(live, 1);
  b.SetInput(merge, 1, b.Op("NextIteration", "next", {b.Op("AddV2", "add", {x, b.Op("OnesLike", "one", {x})})}));
  b.Op("Exit", "end", {live});
  return b.Build();
}

// Whether the run was stopped as `expected`; says what happened.
bool Report(const char* what, const absl::Status& status, absl::StatusCode expected) {
  std::printf("%s: %s\n", what, sluice::FormatError(status, /*one_line=*/true).c_str());
  return status.code() == expected;
}

absl::StatusOr<bool> RunMain() {
  SLUICE_ASSIGN_OR_RETURN(sluice::Graph graph, MakeEndlessLoop());
  SLUICE_ASSIGN_OR_RETURN(const auto session, sluice::Session::Create(sluice::SessionOptions(), std::move(graph)));
  const sluice::NamedTensors feeds = {{"start", sluice::Tensor::Scalar(0.0)}};

  sluice::CancellationManager cancellation;
  sluice::CallOptions cancelled;
  cancelled.cancellation = &cancellation;
  std::thread canceller([&cancellation] {
    absl::SleepFor(absl::Milliseconds(50));
    cancellation.StartCancel();
  });
  const absl::Status first = session->Run(feeds, {"end"}, {}, cancelled).status();
  canceller.join();

  sluice::CallOptions timed;
  timed.deadline = absl::Now() + absl::Milliseconds(50);
  const absl::Status second = session->Run(feeds, {"end"}, {}, timed).status();
  const bool was_cancelled = Report("another thread", first, absl::StatusCode::kCancelled);
  return Report("deadline", second, absl::StatusCode::kDeadlineExceeded) && was_cancelled;
}

}  // namespace

int main() {
  const absl::StatusOr<bool> stopped = RunMain();
  if (stopped.ok()) return *stopped ? 0 : 1;
  return std::fprintf(stderr, "%s\n", sluice::FormatError(stopped.status()).c_str()), 1;
}

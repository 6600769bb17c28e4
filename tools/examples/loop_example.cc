// A loop of the dataflow kind: Collatz steps of a number until it is 1, in one run of the graph.
//
//   Enter -> Merge -> Switch --true--> body -> NextIteration -> (back to Merge)
//              |         '----false--> Exit
//              '-> condition -> LoopCond -> (to both Switches)

#include <cstdio>
#include <cstdlib>

#include "executor/session/session.h"
#include "graph/base/error.h"
#include "graph/base/status_macros.h"
#include "graph/ir/builder.h"
#include "graph/ops/op_table.h"

namespace {

using sluice::GraphBuilder;
using sluice::Output;
using sluice::Tensor;

// A value that is the same in all iterations, brought into the frame.
Output Invariant(GraphBuilder& b, const char* name, int64_t value) {
  const Output outside = b.Const(std::string(name) + "_value", Tensor::Scalar(value));
  return b.Op("Enter", name, {outside}, {{"frame_name", "collatz"}, {"is_constant", true}});
}

Output LoopVariable(GraphBuilder& b, const char* name, Output start) {
  const Output enter = b.Op("Enter", std::string(name) + "_in", {start}, {{"frame_name", "collatz"}});
  return b.Op("Merge", name, {enter, enter});  // The second input becomes the back edge.
}

// while n > 1: n = n odd ? 3 n + 1 : n / 2; steps = steps + 1
absl::StatusOr<sluice::Graph> MakeLoop() {
  GraphBuilder b(sluice::NewOpRegistry());
  const Output start = b.Placeholder("start", sluice::DType::kInt64, sluice::PartialShape::Scalar());
  const Output one = Invariant(b, "one", 1), two = Invariant(b, "two", 2), three = Invariant(b, "three", 3);
  const Output n = LoopVariable(b, "n", start);
  const Output steps = LoopVariable(b, "steps", b.Const("zero", Tensor::Scalar(int64_t{0})));

  const Output goes_on = b.Op("LoopCond", "goes_on", {b.Op("Greater", "above_one", {n, one})});
  const Output n_switch = b.Op("Switch", "n_switch", {n, goes_on});
  const Output steps_switch = b.Op("Switch", "steps_switch", {steps, goes_on});

  const Output n_now = GraphBuilder::Nth(n_switch, 1);
  const Output half = b.Op("FloorDiv", "half", {n_now, two});
  const Output is_even = b.Op("Equal", "is_even", {b.Op("Mul", "twice_half", {half, two}), n_now});
  const Output tripled = b.Op("AddV2", "tripled", {b.Op("Mul", "thrice", {n_now, three}), one});
  const Output n_next = b.Op("NextIteration", "n_next", {b.Op("SelectV2", "chosen", {is_even, half, tripled})});
  const Output counted = b.Op("AddV2", "counted", {GraphBuilder::Nth(steps_switch, 1), one});
  b.SetInput(n, 1, n_next);
  b.SetInput(steps, 1, b.Op("NextIteration", "steps_next", {counted}));
  b.Op("Exit", "total_steps", {steps_switch});
  return b.Build();
}

absl::Status RunMain(int64_t start) {
  SLUICE_ASSIGN_OR_RETURN(sluice::Graph graph, MakeLoop());
  SLUICE_ASSIGN_OR_RETURN(const auto session, sluice::Session::Create(sluice::SessionOptions(), std::move(graph)));
  SLUICE_ASSIGN_OR_RETURN(const std::vector<Tensor> results,
                          session->Run({{"start", Tensor::Scalar(start)}}, {"total_steps"}, {}));
  SLUICE_ASSIGN_OR_RETURN(const int64_t steps, results[0].AsScalar<int64_t>());
  std::printf("%lld reaches 1 after %lld steps\n", static_cast<long long>(start), static_cast<long long>(steps));
  return absl::OkStatus();
}

}  // namespace

int main(int argc, char** argv) {
  const absl::Status status = RunMain(argc > 1 ? std::atoll(argv[1]) : 27);
  if (status.ok()) return 0;
  return std::fprintf(stderr, "%s\n", sluice::FormatError(status).c_str()), 1;
}

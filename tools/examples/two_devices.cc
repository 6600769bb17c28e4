// A step over two devices of one process: y = -(x + x), the sum on CPU:1 and the rest on CPU:0. Run as one
// graph, since the devices share memory and threads, and cut at the border, where the parts meet in the step's
// rendezvous.

#include <cstdio>
#include <string>
#include <vector>

#include "executor/session/session.h"
#include "graph/base/error.h"
#include "graph/base/status_macros.h"
#include "graph/ir/builder.h"
#include "graph/ops/op_table.h"

namespace {

absl::Status RunStep(const sluice::Graph& graph, bool cut_by_device) {
  sluice::SessionOptions options;
  options.num_cpu_devices = 2;
  options.num_threads = 2;
  options.cut_by_device = cut_by_device;
  SLUICE_ASSIGN_OR_RETURN(const auto session, sluice::Session::Create(options, graph));
  SLUICE_ASSIGN_OR_RETURN(const auto step, session->Prepare({{"x"}, {"y"}, {}, {}}));
  for (const sluice::NodeId id : step->graph().Nodes()) {
    std::printf("%-8s on %s\n", std::string(step->graph().name(id)).c_str(),
                std::string(step->graph().device(id)).c_str());
  }
  sluice::Tensor in[] = {sluice::Tensor::Vector<float>({1, 2, 3})};
  sluice::Tensor out[1];
  SLUICE_RETURN_IF_ERROR(step->Run(in, absl::MakeSpan(out)));
  std::printf("%s: y = %s\n", cut_by_device ? "in two parts" : "as one graph", out[0].ToString().c_str());
  if (out[0].flat<float>()[2] == -6) return absl::OkStatus();
  return absl::InternalError("y is wrong");
}

absl::Status RunMain() {
  sluice::GraphBuilder b(sluice::NewOpRegistry());
  const sluice::Output x = b.Placeholder("x", sluice::DType::kFloat, sluice::PartialShape::Of({3}));
  const sluice::Output sum = b.Op("AddV2", "sum", {x, x});
  b.SetDevice(sum, "/device:CPU:1");
  b.SetDevice(b.Op("Neg", "y", {sum}), "/device:CPU:0");
  SLUICE_ASSIGN_OR_RETURN(const sluice::Graph graph, b.Build());
  SLUICE_RETURN_IF_ERROR(RunStep(graph, /*cut_by_device=*/false));
  return RunStep(graph, /*cut_by_device=*/true);
}

}  // namespace

int main() {
  const absl::Status status = RunMain();
  if (status.ok()) return 0;
  return std::fprintf(stderr, "%s\n", sluice::FormatError(status).c_str()), 1;
}

// A network made and trained without TensorFlow: two layers tell two half moons apart. The trained model is written as
// a SavedModel, which `sluice run` and TensorFlow load:
//
//   train_mlp moons
//   sluice run moons --feed 'input=[[0,1],[1,-0.5]]' --fetch answer

#include <cstdio>
#include <string>

#include "graph/base/error.h"
#include "graph/base/status_macros.h"
#include "tools/examples/example_data.h"
#include "tools/examples/example_network.h"

namespace sluice {
namespace {

constexpr double kWanted = 0.97;  // The share of right answers, for points that it was not trained with.

absl::Status Run(const std::string& directory) {
  NetworkBuilder net(PartialShape::Of({-1, 2}));
  net.Dense("hidden", 2, 32);
  net.Relu();
  net.Dense("classes", 32, 2);
  SLUICE_ASSIGN_OR_RETURN(const Graph graph, net.Finish());
  Training training;
  training.optimizer.kind = Optimizer::Kind::kAdam;
  SLUICE_ASSIGN_OR_RETURN(const double accuracy, TrainNetwork(graph, TwoMoons(1024, /*seed=*/1),
                                                              TwoMoons(1000, /*seed=*/2), {2}, training, directory));
  std::printf("right: %.1f %% of 1000 new points; wrote %s\n", 100 * accuracy, directory.c_str());
  if (accuracy >= kWanted) return absl::OkStatus();
  return Error(ErrorCode::kInternal).Text("the network has learnt less than it should");
}

}  // namespace
}  // namespace sluice

int main(int argc, char** argv) {
  const absl::Status status = sluice::Run(argc > 1 ? argv[1] : "moons");
  if (!status.ok()) std::fprintf(stderr, "%s\n", sluice::FormatError(status).c_str());
  return status.ok() ? 0 : 1;
}

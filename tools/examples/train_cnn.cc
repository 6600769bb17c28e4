// A network of convolutions that reads digits, made and trained without TensorFlow. It leaves in its directory what it
// has learnt (digit_model, a SavedModel), and the same network and digits for `sluice train` (digit_trainer.pb,
// drawn_digits.npz: those beside this file were written so):
//
//   train_cnn out
//   sluice train out/digit_trainer.pb out/drawn_digits.npz --loss loss --metric accuracy -o run

#include <cstdio>
#include <string>

#include "graph/base/error.h"
#include "graph/base/file.h"
#include "graph/base/status_macros.h"
#include "graph/ir/export.h"
#include "tools/cli/numpy/npz.h"
#include "tools/examples/example_data.h"
#include "tools/examples/example_network.h"

namespace sluice {
namespace {

constexpr double kWanted = 0.95;  // The share of right answers, for digits that it was not trained with.

absl::Status WriteForSluiceTrain(const Graph& graph, const ExampleData& data, const std::string& directory) {
  SLUICE_RETURN_IF_ERROR(WriteFile(directory + "/digit_trainer.pb", ExportGraph(graph)));
  SLUICE_ASSIGN_OR_RETURN(const Shape shape, Shape::Make({data.count, 8, 8, 1}));
  const NamedTensor arrays[] = {{"input", Tensor::Of<float>(shape, data.values)},
                                {"label", Tensor::Vector<int32_t>(data.labels)}};
  SLUICE_ASSIGN_OR_RETURN(const std::string npz, WriteNpz(arrays));
  return WriteFile(directory + "/drawn_digits.npz", npz);
}

absl::Status Run(const std::string& directory) {
  NetworkBuilder net(PartialShape::Of({-1, 8, 8, 1}));
  net.Conv("first", 1, 8);
  net.Relu();
  net.MaxPool();
  net.Conv("second", 8, 16);
  net.Relu();
  net.MaxPool();
  net.Reshape({-1, 64});
  net.Dense("classes", 64, 10);
  SLUICE_ASSIGN_OR_RETURN(const Graph graph, net.Finish());
  Training training;
  training.optimizer.kind = Optimizer::Kind::kAdam;
  training.learning_rate = 0.005;
  training.epochs = 10;
  SLUICE_ASSIGN_OR_RETURN(const double accuracy,
                          TrainNetwork(graph, DrawnDigits(3200, /*seed=*/1), DrawnDigits(1000, /*seed=*/2), {8, 8, 1},
                                       training, directory + "/digit_model"));
  SLUICE_RETURN_IF_ERROR(WriteForSluiceTrain(graph, DrawnDigits(800, /*seed=*/3), directory));
  std::printf("right: %.1f %% of 1000 new digits; wrote %s/digit_model\n", 100 * accuracy, directory.c_str());
  if (accuracy >= kWanted) return absl::OkStatus();
  return Error(ErrorCode::kInternal).Text("the network has learnt less than it should");
}

}  // namespace
}  // namespace sluice

int main(int argc, char** argv) {
  const absl::Status status = sluice::Run(argc > 1 ? argv[1] : ".");
  if (!status.ok()) std::fprintf(stderr, "%s\n", sluice::FormatError(status).c_str());
  return status.ok() ? 0 : 1;
}

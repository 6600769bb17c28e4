#ifndef SLUICE_TOOLS_EXAMPLES_EXAMPLE_NETWORK_H_
#define SLUICE_TOOLS_EXAMPLES_EXAMPLE_NETWORK_H_

// What the training examples share: layers with variables, and a loop that trains them.

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "graph/ir/builder.h"
#include "graph/ir/graph.h"
#include "graph/training/train_step.h"
#include "graph/value/shape.h"
#include "tools/examples/example_data.h"

namespace sluice {

// Builds a network that tells classes apart: layers one by one, then Finish. Weights begin with random numbers of a
// fixed seed. Not thread-safe.
//
//   NetworkBuilder net(PartialShape::Of({-1, 2}));
//   net.Dense("hidden", 2, 16);
//   net.Relu();
//   net.Dense("out", 16, 2);
//   SLUICE_ASSIGN_OR_RETURN(Network network, net.Finish());
class NetworkBuilder {
 public:
  // Begins with the placeholder "input".
  explicit NetworkBuilder(const PartialShape& input);

  void Dense(const std::string& name, int64_t inputs, int64_t outputs);
  // Of 3 x 3, the picture's size kept.
  void Conv(const std::string& name, int64_t inputs, int64_t outputs);
  void Relu() { last_ = builder_.Op("Relu", "", {last_}); }
  void MaxPool();
  void Reshape(const std::vector<int32_t>& shape);

  // Adds the placeholder "label", the outputs "probabilities", "answer", "accuracy" and "loss", and the node "init",
  // which gives variables their first values.
  absl::StatusOr<Graph> Finish();

 private:
  // A variable as TensorFlow's programs make them: the handle, what it begins with, and a read.
  Output Variable(const std::string& name, const Shape& shape, float deviation);
  Output Ints(absl::string_view name, const std::vector<int32_t>& values);

  GraphBuilder builder_;
  ExampleRandom random_;
  Output last_;
  std::vector<Output> assigns_;
};

// How TrainNetwork trains.
struct Training {
  Optimizer optimizer;
  double learning_rate = 0.01;
  int64_t batch = 32;
  int64_t epochs = 20;
};

// Trains all variables of the graph on `train`, whose rows have the shape `row`; prints the loss of each epoch; writes
// the trained network to the SavedModel `directory` and gives the share of `test` that it then answers right, read from
// there.
absl::StatusOr<double> TrainNetwork(const Graph& untrained, const ExampleData& train, const ExampleData& test,
                                    const std::vector<int64_t>& row, const Training& training,
                                    const std::string& directory);

}  // namespace sluice

#endif  // SLUICE_TOOLS_EXAMPLES_EXAMPLE_NETWORK_H_

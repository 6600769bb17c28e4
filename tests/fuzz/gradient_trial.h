#ifndef SLUICE_TESTS_FUZZ_GRADIENT_TRIAL_H_
#define SLUICE_TESTS_FUZZ_GRADIENT_TRIAL_H_

// Gradients of graphs that were changed at random.

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "graph/ir/graph.h"

namespace sluice {

// A graph with what AddGradients or AddTrainStep has added, and what to run of it, in this order.
struct DifferentiatedGraph {
  Graph graph;
  std::vector<std::string> starts;   // Targets that give variables and slots their first values; may be empty.
  std::vector<std::string> fetches;  // The gradients, or the loss.
  std::vector<std::string> targets;  // The update.
};

// A copy of `graph` with gradients of some outputs with respect to some others, mostly those that they depend on, or
// with a training step: which ones, and with what options, follows from the seed and the names of nodes. The error,
// where that is refused. Ends the process where a promise is broken: what is refused leaves the graph as it was, what
// is added is sound.
absl::StatusOr<DifferentiatedGraph> Differentiate(const Graph& graph, uint64_t seed);

}  // namespace sluice

#endif  // SLUICE_TESTS_FUZZ_GRADIENT_TRIAL_H_

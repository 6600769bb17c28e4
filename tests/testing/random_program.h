#ifndef SLUICE_TESTS_TESTING_RANDOM_PROGRAM_H_
#define SLUICE_TESTS_TESTING_RANDOM_PROGRAM_H_

// Random graphs with control flow, for comparing drivers with TokenEvaluator.

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "graph/ir/graph.h"
#include "graph/value/tensor.h"

namespace sluice {

struct RandomProgramOptions {
  int max_statements = 6;  // Per block.
  int max_depth = 3;       // Of conditionals and loops in each other.
  bool with_state = true;  // Variables: behind references, and behind handles that loops update.
};

// A program of nested conditionals (of two sides and of several, on the same predicate and on others) and loops
// (swapped, unchanged and captured variables, work in the condition, exits of other values), as TensorFlow would write
// it down: what a branch uses comes through Switches, or directly under a control edge; what a loop uses through
// constant Enters. Arguments: RandomArguments. All values are int32, scalars or vectors of 32; answers do not depend on
// the order. The same seed gives the same graph. Some results may be dead.
absl::StatusOr<Graph> RandomStructuredProgram(uint32_t seed, const RandomProgramOptions& options = {});
std::vector<Tensor> RandomArguments(uint32_t seed);

// Rewires `count` random inputs of `graph` and adds control edges, within frames: most of what comes out is no longer
// structured, some of it waits for ever or depends on the order. The graph stays valid.
void RewireAtRandom(uint32_t seed, int count, Graph* graph);

}  // namespace sluice

#endif  // SLUICE_TESTS_TESTING_RANDOM_PROGRAM_H_

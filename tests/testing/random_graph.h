#ifndef SLUICE_TESTS_TESTING_RANDOM_GRAPH_H_
#define SLUICE_TESTS_TESTING_RANDOM_GRAPH_H_

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "graph/ir/graph.h"

namespace sluice {

// A graph with nested conditionals and loops, dead branches, values of different branches mixed and joined by GradSums,
// control edges, ControlTriggers, and two variables behind references that go through all of this, in an order that
// control edges tell; and which of its outputs a test should look at.
struct RandomGraph {
  Graph graph;
  std::map<std::string, std::vector<float>> constants;
  std::vector<Output> watched;  // Outside of loops; node "watch<i>" is the _Retval of watched[i].
};

// The graph of `seed`: always the same. Ops are those of ReferenceEvaluator. `size`: about how many statements.
RandomGraph MakeRandomGraph(uint32_t seed, int size);

}  // namespace sluice

#endif  // SLUICE_TESTS_TESTING_RANDOM_GRAPH_H_

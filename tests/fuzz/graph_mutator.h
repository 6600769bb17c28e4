#ifndef SLUICE_TESTS_FUZZ_GRAPH_MUTATOR_H_
#define SLUICE_TESTS_FUZZ_GRAPH_MUTATOR_H_

#include <cstdint>
#include <string>
#include <vector>

#include "graph/proto/graph.pb.h"
#include "tests/fuzz/node_scope.h"
#include "tests/testing/hostile_values.h"
#include "tests/testing/op_cases.h"

namespace sluice {

// Makes hostile graphs out of sound ones: three of four with changes only that import mostly accepts, so that they get
// as far as the kernels; the others with damage to names, edges, attrs, functions or to the encoded bytes as well.
// Immutable; thread-safe.
class GraphMutator {
 public:
  GraphMutator();

  // The bytes of a GraphDef made from `graph`.
  std::string Mutate(const proto::GraphDef& graph, FuzzRandom& random) const;
  const std::vector<OpCase>& ops() const { return ops_; }

 private:
  bool ChangeOnce(proto::GraphDef* graph, FuzzRandom& random) const;
  bool ChangeNodes(NodeScope& scope, FuzzRandom& random) const;
  bool DamageOnce(proto::GraphDef* graph, FuzzRandom& random) const;

  const std::vector<OpCase> ops_;
};

}  // namespace sluice

#endif  // SLUICE_TESTS_FUZZ_GRAPH_MUTATOR_H_

#ifndef SLUICE_TESTS_FUZZ_GRAPH_SEEDS_H_
#define SLUICE_TESTS_FUZZ_GRAPH_SEEDS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "graph/proto/graph.pb.h"
#include "tests/testing/hostile_values.h"
#include "tests/testing/op_cases.h"

namespace sluice {

// Sound graphs to start from: small files of some directories, the random programs of tests/testing, and one graph for
// each op that has a kernel. Immutable after construction.
class GraphSeeds {
 public:
  // Reads all binary graphs (GraphDef, MetaGraphDef, SavedModel) below the directories that are not large.
  explicit GraphSeeds(const std::vector<std::string>& directories);

  size_t num_files() const { return graphs_.size(); }
  proto::GraphDef Pick(const std::vector<OpCase>& ops, FuzzRandom& random) const;

 private:
  void AddFile(const std::string& path);

  std::vector<proto::GraphDef> graphs_;
};

// The random program number `seed`, perhaps rewired so that it is structured no more.
proto::GraphDef RandomProgramDef(uint32_t seed, int rewired);

}  // namespace sluice

#endif  // SLUICE_TESTS_FUZZ_GRAPH_SEEDS_H_

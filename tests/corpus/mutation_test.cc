// Real graphs cut at every byte and damaged at random: a load ends with a graph or an error, and keeps nothing.

#include <cstdlib>
#include <fstream>
#include <iostream>
#include <iterator>
#include <string>

#include "graph/base/error.h"
#include "graph/ir/export.h"
#include "graph/load/load_graph.h"
#include "graph/value/allocator.h"
#include "tests/corpus/corpus_row.h"
#include "tests/corpus/mutator.h"
#include "tests/graph/ir/graph_equal.h"
#include "tests/testing/counting_new.h"
#include "tests/testing/status_matchers.h"

namespace sluice {
namespace {

std::string ReadBytes(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return std::string(std::istreambuf_iterator<char>(file), {});
}

// Mutations of each graph: 2,000, so 10,000 in all; SLUICE_MUTATIONS sets another number.
uint32_t MutationsPerGraph() {
  const char* text = std::getenv("SLUICE_MUTATIONS");
  return text == nullptr ? 2000 : static_cast<uint32_t>(std::atoi(text));
}

// Looks at everything of a graph that a command would show.
void Inspect(const Graph& graph) {
  size_t bytes = 0;
  for (const NodeId id : graph.Nodes()) {
    for (const NamedAttr& attr : graph.attrs(id)) bytes += attr.name.size() + attr.value.ToString().size();
    for (const Output& input : graph.all_inputs(id)) bytes += graph.OutputName(input).size();
    bytes += graph.device(id).size() + graph.signature(id).outputs.size();
    (void)graph.GetShape(id, "shape");
  }
  for (const std::string& name : graph.library().Names()) bytes += graph.library().Find(name)->nodes.size();
  EXPECT_GE(bytes, graph.num_nodes() == 0 ? 0u : 1u);
}

// Loads damaged bytes. An accepted graph must survive export and import; a refusal must state a reason.
bool LoadDamaged(const std::string& bytes) {
  LoadOptions options;
  options.format = GraphFormat::kGraphDef;
  const absl::StatusOr<LoadedGraph> model = LoadGraphBytes(bytes, nullptr, "damaged.pb", options);
  if (!model.ok()) {
    EXPECT_TRUE(ErrorInfoOf(model.status()).has_value()) << model.status();
    EXPECT_FALSE(FormatError(model.status()).empty());
    return false;
  }
  Inspect(model->graph);
  for (const ShapeProblem& problem : model->shapes->problems()) EXPECT_FALSE(FormatError(problem.status).empty());
  const std::string exported = ExportGraph(model->graph);
  const absl::StatusOr<LoadedGraph> again = LoadGraphBytes(exported, nullptr, "again.pb", options);
  EXPECT_OK(again.status());
  std::string why;
  EXPECT_TRUE(again.ok() && GraphsEqual(model->graph, again->graph, &why)) << why;
  return true;
}

// Every other time the damage is in what the fields say rather than in how they are written down.
std::string Damaged(const Mutator& mutator, uint32_t seed) {
  return seed % 2 == 0 ? mutator.Mutate(seed) : mutator.MutateTree(seed);
}

class MutationTest : public ::testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    bytes_ = ReadBytes(GetParam());
    ASSERT_FALSE(bytes_.empty()) << GetParam();
    ASSERT_TRUE(LoadDamaged(bytes_));
  }

  std::string bytes_;
};

TEST_P(MutationTest, AGraphCutAnywhereIsRefusedOrASmallerGraph) {
  const int64_t tensors = HostAllocatorLiveBytes();
  const int64_t live = LiveNewBytes();
  size_t accepted = 0;
  for (size_t size = 0; size < bytes_.size(); ++size) {
    const absl::StatusOr<Graph> graph = LoadCorpusGraph(absl::string_view(bytes_).substr(0, size));
    if (graph.ok()) ++accepted;
    if (HasFailure()) FAIL() << "cut after " << size << " bytes";
  }
  EXPECT_GE(accepted, 1u);
  EXPECT_EQ(HostAllocatorLiveBytes(), tensors);
  EXPECT_LE(LiveNewBytes() - live, 64 << 10);
}

TEST_P(MutationTest, RandomDamageIsRefusedOrAnotherGraph) {
  const Mutator mutator(bytes_);
  const uint32_t count = MutationsPerGraph();
  const int64_t tensors = HostAllocatorLiveBytes();
  uint32_t accepted = 0;
  for (uint32_t seed = 0; seed < count; ++seed) {
    accepted += LoadDamaged(Damaged(mutator, seed)) ? 1 : 0;
    ASSERT_FALSE(HasFailure()) << "seed " << seed << " of " << GetParam();
  }
  std::cout << GetParam() << ": seeds 0 to " << count - 1 << ", " << accepted << " still are graphs\n";
  EXPECT_EQ(HostAllocatorLiveBytes(), tensors);
  // Once more: by now the op registry knows all ops that damage can name.
  const int64_t live = LiveNewBytes();
  for (uint32_t seed = 0; seed < count; ++seed) (void)LoadCorpusGraph(Damaged(mutator, seed)).status();
  EXPECT_EQ(LiveNewBytes(), live);
}

INSTANTIATE_TEST_SUITE_P(Models, MutationTest,
                         ::testing::Values("tools/examples/digits.pb", "tools/examples/power_iteration.pb",
                                           "tools/examples/writer_lstm.pb",
                                           "tests/goldens/functions/map_and_fold/graph.pb",
                                           "tests/goldens/control_flow/loops_in_loops/graph.pb"));

}  // namespace
}  // namespace sluice

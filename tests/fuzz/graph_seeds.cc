#include "tests/fuzz/graph_seeds.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <utility>

#include "graph/base/check.h"
#include "graph/ir/export.h"
#include "graph/proto/saved_model.pb.h"
#include "tests/testing/random_program.h"
#include "tests/testing/session_program.h"

namespace sluice {
namespace {

constexpr size_t kMaxFileBytes = 24 << 10;
constexpr int kMaxNodes = 250;

}  // namespace

proto::GraphDef RandomProgramDef(uint32_t seed, int rewired) {
  RandomProgramOptions options;
  options.max_statements = 1 + static_cast<int>(seed % 4);
  options.max_depth = 1 + static_cast<int>(seed / 4 % 3);
  absl::StatusOr<Graph> graph = RandomStructuredProgram(seed, options);
  SLUICE_CHECK_OK(graph.status());
  SLUICE_CHECK_OK(ArgumentsToPlaceholders(&*graph));
  if (rewired > 0) RewireAtRandom(seed, rewired, &*graph);
  proto::GraphDef def;
  SLUICE_CHECK(def.ParseFromString(ExportGraph(*graph)));
  // Only rewrites may make _Retval: the values are fetched where they are made.
  auto& nodes = *def.mutable_node();
  nodes.erase(std::remove_if(nodes.begin(), nodes.end(), [](const proto::NodeDef& n) { return n.op() == "_Retval"; }),
              nodes.end());
  return def;
}

GraphSeeds::GraphSeeds(const std::vector<std::string>& directories) {
  std::vector<std::string> paths;
  for (const std::string& directory : directories) {
    std::error_code error;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(directory, error)) {
      const bool is_graph = entry.path().extension() == ".pb" && entry.is_regular_file();
      if (is_graph && entry.file_size() <= kMaxFileBytes) paths.push_back(entry.path());
    }
  }
  std::sort(paths.begin(), paths.end());
  for (const std::string& path : paths) AddFile(path);
}

void GraphSeeds::AddFile(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  const std::string bytes(std::istreambuf_iterator<char>(file), {});
  proto::GraphDef graph;
  proto::SavedModel saved;
  if (std::filesystem::path(path).filename() == "saved_model.pb") {
    if (!saved.ParseFromString(bytes) || saved.meta_graphs_size() == 0) return;
    graph = saved.meta_graphs(0).graph_def();
  } else if (!graph.ParseFromString(bytes)) {
    return;
  }
  // A TensorProto reads as some GraphDef too.
  if (graph.node_size() == 0 || graph.node_size() > kMaxNodes || graph.node(0).op().empty()) return;
  graphs_.push_back(std::move(graph));
}

proto::GraphDef GraphSeeds::Pick(const std::vector<OpCase>& ops, FuzzRandom& random) const {
  const int kind = random.Int(10);
  if (kind < 4 && !graphs_.empty()) return random.Pick(graphs_);
  if (kind < 6) return RandomProgramDef(static_cast<uint32_t>(random.Next()), random.OneIn(3) ? random.Int(6) : 0);
  return MakeOpGraph(random.Pick(ops), kOpPlaces[random.Below(3)]).graph;
}

}  // namespace sluice

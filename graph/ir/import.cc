#include "graph/ir/import.h"

#include "graph/base/as_status.h"
#include "graph/base/status_macros.h"
#include "graph/ir/graph_importer.h"
#include "graph/ir/topo_order.h"

namespace sluice {

GraphSource GraphSource::Copy(absl::string_view bytes, std::string name) {
  GraphSource source;
  auto owned = std::make_shared<const std::string>(bytes);
  source.bytes = *owned;
  source.owner = std::move(owned);
  source.name = std::move(name);
  return source;
}

absl::StatusOr<ImportResult> ImportInto(Graph& graph, GraphSource source, const ImportOptions& options) {
  return AsStatus([&] { return GraphImporter(graph, std::move(source), options).Run(); });
}

absl::StatusOr<Graph> ImportGraph(GraphSource source, const ImportOptions& options) {
  return AsStatus([&]() -> absl::StatusOr<Graph> {
    Graph graph(options.ops);
    SLUICE_RETURN_IF_ERROR(ImportInto(graph, std::move(source), options).status());
    return graph;
  });
}

}  // namespace sluice

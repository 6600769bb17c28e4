// Bytes -> any binary model -> graph, with all checks. What loads can be exported, and the export loads as an equal
// graph.

#include <string>

#include "graph/base/check.h"
#include "graph/base/error.h"
#include "graph/ir/export.h"
#include "graph/load/load_graph.h"
#include "tests/fuzz/fuzz_target.h"
#include "tests/graph/ir/graph_equal.h"

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace sluice;  // NOLINT: the function must stand outside.
  LoadOptions options;
  options.limits = FuzzLimits();
  const absl::StatusOr<LoadedGraph> model = LoadGraphBytes(FuzzBytes(data, size), nullptr, "fuzz.pb", options);
  if (!model.ok()) {
    SLUICE_CHECK(ErrorInfoOf(model.status()).has_value());
    SLUICE_CHECK(!FormatError(model.status()).empty());
    return 0;
  }
  const std::string exported = ExportGraph(model->graph);
  options.format = GraphFormat::kGraphDef;
  const absl::StatusOr<LoadedGraph> again = LoadGraphBytes(exported, nullptr, "again.pb", options);
  SLUICE_CHECK(again.ok());
  SLUICE_CHECK(GraphsEqual(model->graph, again->graph, nullptr));
  return 0;
}

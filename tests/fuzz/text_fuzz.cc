// Bytes -> GraphDef in text form -> graph.

#include "graph/base/check.h"
#include "graph/base/error.h"
#include "graph/load/load_graph.h"
#include "tests/fuzz/fuzz_target.h"

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace sluice;  // NOLINT: the function must stand outside.
  LoadOptions options;
  options.limits = FuzzLimits();
  options.format = GraphFormat::kGraphDefText;
  const absl::StatusOr<LoadedGraph> model = LoadGraphBytes(FuzzBytes(data, size), nullptr, "fuzz.pbtxt", options);
  if (model.ok()) return 0;
  SLUICE_CHECK(ErrorInfoOf(model.status()).has_value());
  SLUICE_CHECK(!FormatError(model.status()).empty());
  return 0;
}

#ifndef SLUICE_TOOLS_CLI_CONVERT_CONVERSION_LOSS_H_
#define SLUICE_TOOLS_CLI_CONVERT_CONVERSION_LOSS_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "graph/load/load_graph.h"

namespace sluice {

// What `model` holds beside its graph and a GraphDef cannot: signatures with the tensors they name, the values of
// variables, assets, the init op, collections. One line each; empty for a GraphDef.
std::vector<std::string> ConversionLosses(const LoadedGraph& model);

// kSavedModelKind when the graph of `model`, or what is left of it, has variables whose values are in files beside the
// model: as a GraphDef of its own it could not run.
absl::Status CheckRunsWithoutVariables(const LoadedGraph& model);

}  // namespace sluice

#endif  // SLUICE_TOOLS_CLI_CONVERT_CONVERSION_LOSS_H_

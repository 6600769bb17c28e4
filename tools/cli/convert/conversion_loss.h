#ifndef SLUICE_TOOLS_CLI_CONVERT_CONVERSION_LOSS_H_
#define SLUICE_TOOLS_CLI_CONVERT_CONVERSION_LOSS_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "graph/load/load_graph.h"

namespace sluice {

// What `model` holds beside its graph and a GraphDef cannot: signatures with the tensors they name, assets, the init
// op, collections. One line each; empty for a GraphDef.
std::vector<std::string> ConversionLosses(const LoadedGraph& model);

// What the graph of `model`, or what is left of it, needs and a GraphDef cannot hold: the values of variables that are
// in files beside the model; the contents of lookup tables, where the node that fills them is not in the graph any
// more. Each may be empty.
struct MissingState {
  std::vector<std::string> variables;
  std::vector<std::string> tables;
};
MissingState FindMissingState(const LoadedGraph& model);

// "the values of 2 variables", "the contents of 1 table": one line each; empty where nothing is missing.
std::vector<std::string> StateLosses(const MissingState& missing);

// kSavedModelKind when something is missing: as a GraphDef of its own the graph could not run.
absl::Status CheckRunsWithout(const MissingState& missing);

}  // namespace sluice

#endif  // SLUICE_TOOLS_CLI_CONVERT_CONVERSION_LOSS_H_

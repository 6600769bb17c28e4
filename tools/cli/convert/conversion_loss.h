#ifndef SLUICE_TOOLS_CLI_CONVERT_CONVERSION_LOSS_H_
#define SLUICE_TOOLS_CLI_CONVERT_CONVERSION_LOSS_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "graph/load/load_graph.h"

namespace sluice {

// Lists the parts of `model` that a GraphDef cannot hold: signatures with their tensors, assets, the init op,
// collections. One line each; empty for a GraphDef.
std::vector<std::string> ConversionLosses(const LoadedGraph& model);

// State that the remaining graph needs and a GraphDef cannot hold: values of variables in files beside the model;
// contents of lookup tables whose filling node was pruned. Each may be empty.
struct MissingState {
  std::vector<std::string> variables;
  std::vector<std::string> tables;
};
MissingState FindMissingState(const LoadedGraph& model);

// "the values of 2 variables", "the contents of 1 table": one line each; empty if nothing is missing.
std::vector<std::string> StateLosses(const MissingState& missing);

// kSavedModelKind if something is missing: the GraphDef alone could not run.
absl::Status CheckRunsWithout(const MissingState& missing);

}  // namespace sluice

#endif  // SLUICE_TOOLS_CLI_CONVERT_CONVERSION_LOSS_H_

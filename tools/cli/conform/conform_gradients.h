#ifndef SLUICE_TOOLS_CLI_CONFORM_CONFORM_GRADIENTS_H_
#define SLUICE_TOOLS_CLI_CONFORM_CONFORM_GRADIENTS_H_

#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "graph/gradients/custom_gradient.h"
#include "graph/ir/graph.h"
#include "tools/cli/conform/conform_case.h"

namespace sluice {

// The graph's tensors for a case's names of gradients ("g/0"); empty: not connected.
using GradientNames = std::map<std::string, std::string>;

// Adds the gradients that a case asks for, one after the other; a later one may use names of an earlier one. Sparse
// ones are made dense. `custom`: the gradients in the case's SavedModel.
absl::StatusOr<GradientNames> AddCaseGradients(Graph& graph, const std::vector<ConformGradients>& gradients,
                                               const std::vector<CustomGradient>& custom);

}  // namespace sluice

#endif  // SLUICE_TOOLS_CLI_CONFORM_CONFORM_GRADIENTS_H_

#ifndef SLUICE_GRAPH_LOAD_CUSTOM_GRADIENTS_H_
#define SLUICE_GRAPH_LOAD_CUSTOM_GRADIENTS_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "graph/gradients/custom_gradient.h"
#include "graph/ir/graph.h"

namespace sluice {

// What a SavedModel says of the gradients that the library of its graph registers (tf.custom_gradient). The library
// knows which function is the gradient of which op type; which of its results belong to which inputs, and which values
// of the forward pass it takes, stands in the object graph. For GradientOptions::custom:
//
//   SLUICE_ASSIGN_OR_RETURN(options.custom, ReadCustomGradients(path, graph));
//
// `path` is a SavedModel's directory or file. Empty where nothing is registered, or the file is no binary SavedModel.
// Gradients that the object graph does not tell of, or with results or captures of kinds unknown here, are left out:
// AddGradients says so where one of them is needed. Errors are those of reading the file.
absl::StatusOr<std::vector<CustomGradient>> ReadCustomGradients(const std::string& path, const Graph& graph);

// The same of the bytes of a SavedModel message.
std::vector<CustomGradient> FindCustomGradients(absl::string_view saved_model, const Graph& graph);

}  // namespace sluice

#endif  // SLUICE_GRAPH_LOAD_CUSTOM_GRADIENTS_H_

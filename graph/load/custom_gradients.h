#ifndef SLUICE_GRAPH_LOAD_CUSTOM_GRADIENTS_H_
#define SLUICE_GRAPH_LOAD_CUSTOM_GRADIENTS_H_

#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "graph/base/limits.h"
#include "graph/base/stop_poll.h"
#include "graph/gradients/custom_gradient.h"
#include "graph/ir/graph.h"
#include "graph/load/load_graph.h"

namespace sluice {

// Reads how a SavedModel's custom gradients (tf.custom_gradient) are called. The library says which function is the
// gradient of which op type. The object graph of the loaded MetaGraph says which of its results belong to which inputs,
// and which values of the forward pass it takes, in binary and text SavedModels. For GradientOptions::custom:
//
//   SLUICE_ASSIGN_OR_RETURN(options.custom, FindCustomGradients(model));
//
// Empty where nothing is registered, or there is no object graph. Omits gradients that are not in the object graph, or
// have results or captures of unknown kinds: AddGradients fails if one of them is needed. Linear. `stop` is polled; it
// may be null. kLimitNodes where all of them together have more than limits.max_expanded_nodes results and captures.
absl::StatusOr<std::vector<CustomGradient>> FindCustomGradients(const LoadedGraph& model, StopPoll* stop = nullptr,
                                                                const LoadLimits& limits = LoadLimits());

// The same of an encoded SavedObjectGraph.
absl::StatusOr<std::vector<CustomGradient>> FindCustomGradients(absl::string_view object_graph, const Graph& graph,
                                                                StopPoll* stop = nullptr,
                                                                const LoadLimits& limits = LoadLimits());

}  // namespace sluice

#endif  // SLUICE_GRAPH_LOAD_CUSTOM_GRADIENTS_H_

#ifndef SLUICE_EXECUTOR_SAVED_MODEL_WRITE_SAVED_MODEL_H_
#define SLUICE_EXECUTOR_SAVED_MODEL_WRITE_SAVED_MODEL_H_

// From a graph and the values of its variables to a SavedModel, without TensorFlow.

#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "executor/session/session.h"
#include "graph/ir/graph.h"
#include "graph/load/meta_graph.h"

namespace sluice {

// What a SavedModel is to offer: tensors by the keys that callers use.
struct ModelExport {
  std::string signature = "serving_default";
  std::vector<std::pair<std::string, Output>> inputs, outputs;
  std::vector<NodeId> trainable;  // Variables that say so; others are saved all the same.
  std::string tensorflow_version = "2.19.1";
};

// What TensorFlow's loaders want to know of the variables of a graph: for each, the node that gives it its first value
// and a read of it. Those that are not there are added: `assigns`, by variable, stand for missing initialisers.
absl::StatusOr<std::vector<ModelCollection>> VariableCollections(Graph& graph, absl::Span<const NodeId> variables,
                                                                 absl::Span<const NodeId> assigns,
                                                                 absl::Span<const NodeId> trainable);

// Writes the SavedModel `directory` (one signature, tag "serve"): what its outputs need of `graph`, a saver, the values
// of the variables, which stand in `values` by the names of their nodes, and how they begin. TensorFlow's loaders of
// both versions read it, and OpenSavedModel does. The file that names the model is written last, so that a model that
// is there is whole; the directory is made where it is missing.
// kFetchUnknown without outputs; kUninitialized for a variable without a value; kFileWrite.
absl::Status WriteSavedModel(const std::string& directory, const Graph& graph, const ModelExport& what,
                             const NamedTensors& values);

}  // namespace sluice

#endif  // SLUICE_EXECUTOR_SAVED_MODEL_WRITE_SAVED_MODEL_H_

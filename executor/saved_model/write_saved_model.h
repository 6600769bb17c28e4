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

// The signatures of a SavedModel: tensors by the keys that callers use.
struct ModelExport {
  std::string signature = "serving_default";
  std::vector<std::pair<std::string, Output>> inputs, outputs;
  std::vector<NodeId> trainable;           // Variables that say so; others are saved all the same.
  std::vector<ModelSignature> signatures;  // More of them, by names of tensors of the graph.
  std::string init_op;                     // A node that loaders run once, to fill tables; empty if there is none.
  std::vector<ModelAsset> assets;          // Files that it reads, and
  std::vector<std::string> asset_paths;    // where each is now.
  std::string tensorflow_version = "2.19.1";
};

// The facts that TensorFlow's loaders need of each variable: the node that initialises it, and a node that reads it.
// Those that are not there are added: `assigns`, by variable, stand for missing initialisers.
absl::StatusOr<std::vector<ModelCollection>> VariableCollections(Graph& graph, absl::Span<const NodeId> variables,
                                                                 absl::Span<const NodeId> assigns,
                                                                 absl::Span<const NodeId> trainable);

// Writes the SavedModel `directory` (tag "serve"): what its signatures and its init op need of `graph`, a saver, the
// values of the variables, which stand in `values` by the names of their nodes, how they begin, and copies of the
// assets. TensorFlow's loaders of both versions read it, and OpenSavedModel does. The file that names the model is
// written last, so that a model that is there is whole; the directory is made where it is missing. kFetchUnknown
// without outputs and signatures; kUninitialized for a variable without a value; kFileWrite.
absl::Status WriteSavedModel(const std::string& directory, const Graph& graph, const ModelExport& what,
                             const NamedTensors& values);

}  // namespace sluice

#endif  // SLUICE_EXECUTOR_SAVED_MODEL_WRITE_SAVED_MODEL_H_

#ifndef SLUICE_EXECUTOR_SAVED_MODEL_WRITE_SAVED_MODEL_H_
#define SLUICE_EXECUTOR_SAVED_MODEL_WRITE_SAVED_MODEL_H_

// Writes a SavedModel from a graph and the values of its variables, without TensorFlow.

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

// What a SavedModel offers its callers: tensors by the keys that they use.
struct ModelExport {
  std::string signature = "serving_default";
  std::vector<std::pair<std::string, Output>> inputs, outputs;
  std::vector<NodeId> trainable;           // Variables listed as trainable; others are saved too.
  std::vector<ModelSignature> signatures;  // Further ones, by names of tensors of the graph.
  std::string init_op;                     // A node that loaders run once, to fill tables; empty if there is none.
  std::vector<ModelAsset> assets;          // Files that it reads, and
  std::vector<std::string> asset_paths;    // where each is now.
  std::string tensorflow_version = "2.19.1";
};

// Returns what TensorFlow's loaders need of each variable: the node that initialises it and one that reads it. Adds
// missing readers; `assigns`, by variable, replace missing initialisers.
absl::StatusOr<std::vector<ModelCollection>> VariableCollections(Graph& graph, absl::Span<const NodeId> variables,
                                                                 absl::Span<const NodeId> assigns,
                                                                 absl::Span<const NodeId> trainable);

// Writes the SavedModel `directory` (tag "serve"): what its signatures and its init op need of `graph`, a saver, the
// values of the variables (`values` has them by the names of their nodes), their initialisers, and copies of the
// assets. TensorFlow's loaders of both versions and OpenSavedModel read it. saved_model.pb is written last, so that a
// model whose file exists is complete; a missing directory is made. kFetchUnknown without outputs and signatures;
// kUninitialized for a variable without a value; kFileWrite.
absl::Status WriteSavedModel(const std::string& directory, const Graph& graph, const ModelExport& what,
                             const NamedTensors& values);

}  // namespace sluice

#endif  // SLUICE_EXECUTOR_SAVED_MODEL_WRITE_SAVED_MODEL_H_

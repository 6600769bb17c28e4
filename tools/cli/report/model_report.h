#ifndef SLUICE_TOOLS_CLI_REPORT_MODEL_REPORT_H_
#define SLUICE_TOOLS_CLI_REPORT_MODEL_REPORT_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "graph/load/load_graph.h"
#include "graph/value/dtype.h"
#include "graph/value/shape.h"
#include "tools/cli/report/scope_tree.h"

namespace sluice {

// How often something occurs, by name.
struct NamedCount {
  std::string name;
  int64_t count = 0;
};

// A tensor by name, as an input or output of the model.
struct TensorFact {
  std::string name;  // "node:0" for outputs beyond the first, "node" otherwise.
  std::string op;
  DType dtype = DType::kInvalid;
  PartialShape shape;
};

struct FunctionFact {
  std::string name;
  std::vector<std::pair<std::string, std::string>> args, results;  // Name and type ("float32", "T").
  int64_t num_nodes = 0;
  std::vector<NamedCount> ops;  // Most frequent first.
  std::string gradient;         // The function stated as its gradient, or empty.
};

struct FrameFact {
  std::string name;
  std::string parent;  // Empty for the root.
  int64_t num_nodes = 0;
  int64_t num_loop_variables = 0;  // Enters that are not constant in the loop.
  int64_t num_constants = 0;       // Enters that are.
  int64_t parallel_iterations = 0;
};

struct VariableFact {
  std::string name;
  bool is_resource = false;
  DType dtype = DType::kInvalid;
  PartialShape shape;
  int64_t bytes = -1;                // -1 if the shape is not fully known.
  bool is_read = false;              // By a signature.
  std::vector<std::string> aliases;  // Handles of the same variable that no signature reads.
};

// A node that a training graph names for its user: "train op", "loss" or "summary".
struct TrainingFact {
  std::string role, name;
};

struct ConstantFact {
  std::string name;
  DType dtype = DType::kInvalid;
  PartialShape shape;
  int64_t bytes = 0;
};

// The facts that `sluice show` prints about a model. Views nothing.
struct ModelReport {
  std::string source, format, tensorflow_version;
  int64_t source_bytes = 0, graph_memory_bytes = 0;
  GraphVersions versions;
  std::vector<std::string> tags;
  std::vector<std::vector<std::string>> tag_sets;
  std::vector<std::string> warnings;
  std::vector<absl::Status> errors;  // Why the graph cannot run; the facts below may then be incomplete.
  int64_t num_errors = 0;            // Of all.

  int64_t num_nodes = 0, num_data_edges = 0, num_control_edges = 0;
  std::vector<NamedCount> ops;           // Of the graph, most frequent first.
  std::vector<NamedCount> function_ops;  // In bodies of functions.
  std::vector<NamedCount> devices;       // Devices that nodes request; "" for none.
  std::vector<TensorFact> inputs, outputs;
  std::vector<NamedCount> targets;  // Nodes without outputs or successors; the count is of their inputs.
  std::vector<ModelSignature> signatures;
  std::vector<FunctionFact> functions;
  std::vector<FrameFact> frames;
  // Those that signatures read first, then by name. An alias is listed with its variable only.
  std::vector<VariableFact> variables;
  std::vector<TrainingFact> training;
  std::vector<NamedCount> resources;  // Ops that keep other state: queues, tables, iterators, ...
  int64_t variable_bytes = 0;         // Of those with known shapes.
  int64_t num_constants = 0, constant_bytes = 0;
  std::vector<ConstantFact> largest_constants;
  std::vector<NameScope> scopes;  // The root first.
  std::vector<std::string> init_ops;
  std::vector<ModelAsset> assets;
  std::vector<ModelCollection> collections;
};

// Gathers the facts. Inputs and outputs are guessed (GuessEndpoints) unless signatures name them. Linear in the graph.
ModelReport ReportModel(const LoadedGraph& model);

// "float32", or "?" for the type of an unknown op.
std::string DTypeText(DType dtype);

// The inferred shape of an output, else the one that the node states.
PartialShape OutputShape(const LoadedGraph& model, const Output& output);

}  // namespace sluice

#endif  // SLUICE_TOOLS_CLI_REPORT_MODEL_REPORT_H_

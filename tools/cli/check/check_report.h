#ifndef SLUICE_TOOLS_CLI_CHECK_CHECK_REPORT_H_
#define SLUICE_TOOLS_CLI_CHECK_CHECK_REPORT_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "graph/base/limits.h"
#include "graph/load/load_graph.h"
#include "graph/placement/kernel_catalog.h"
#include "tools/cli/console/console.h"

namespace sluice {

// An op of the model that cannot run here.
struct MissingKernel {
  std::string op;
  int64_t count = 0;               // Nodes of the graph.
  int64_t count_in_functions = 0;  // Nodes in bodies of functions.
  std::string first_node;          // In the graph, else "function/node".
  std::string way_out;             // May be empty.
  bool out_of_scope = false;       // Will never have a kernel.
};

// The findings of `sluice check`, on two questions: whether the graph is sound, and whether it can run here, which
// takes kernels and the values of its variables.
struct CheckReport {
  std::string source;
  std::string format;  // Empty when the file could not be read.
  int64_t num_nodes = 0;
  std::vector<absl::Status> errors;            // Why the graph is not sound; those that the load kept.
  int64_t num_errors = 0;                      // Of all.
  std::vector<absl::Status> unneeded;          // Errors in parts that no run of the model needs.
  absl::Status checkpoint;                     // The error of the model's variables; OK if it has none.
  std::vector<absl::Status> shape_errors;      // Nodes that fail whenever they run unfed.
  std::vector<absl::Status> shape_warnings;    // Nodes that fail if they run with the shapes we assume.
  std::vector<MissingKernel> missing_kernels;  // Most frequent first.
  std::string import_problem;                  // Why tf.import_graph_def refuses the graph, though it runs; or empty.
  std::string absent_devices;                  // A sentence on nodes that request missing devices, or empty.
  std::vector<std::string> warnings;           // From the load, `import_problem` and `absent_devices`.

  bool graph_ok() const { return num_errors == 0; }
  bool runnable() const { return graph_ok() && missing_kernels.empty() && checkpoint.ok(); }
};

// Judges the result of loading under `limits`. `catalog` has the ops that can run.
CheckReport CheckModel(const std::string& source, const absl::StatusOr<LoadedGraph>& model,
                       const KernelCatalog& catalog, const LoadLimits& limits);

// For people: one line for each question, then the errors in full and a table of ops. Errors of one cause are shown
// once with their places, or (`all`) each.
std::string RenderCheckText(const CheckReport& report, const Paint& paint, bool all = false);
// One JSON document, ending in a newline. The same of errors.
std::string RenderCheckJson(const CheckReport& report, bool all = false);

}  // namespace sluice

#endif  // SLUICE_TOOLS_CLI_CHECK_CHECK_REPORT_H_

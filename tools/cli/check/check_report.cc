#include "tools/cli/check/check_report.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "graph/base/error.h"
#include "graph/base/error_groups.h"
#include "graph/functions/inliner.h"
#include "graph/gradients/symbolic_gradients.h"
#include "graph/ir/tensor_id.h"
#include "graph/passes/prune.h"
#include "graph/placement/reachable_functions.h"
#include "graph/placement/unknown_colocation.h"
#include "tools/cli/check/way_out.h"
#include "tools/cli/report/absent_devices.h"
#include "tools/cli/report/endpoint_guess.h"

namespace sluice {
namespace {

// Gathers ops without a kernel.
class MissingTable {
 public:
  explicit MissingTable(const Graph& graph) : graph_(graph) {}

  // `is_in_body`: the node came out of a function's body.
  void AddNode(NodeId id, bool is_in_body) {
    MissingKernel& missing = Entry(graph_.op_name(id));
    const bool is_first = missing.count + missing.count_in_functions == 0;
    ++(is_in_body ? missing.count_in_functions : missing.count);
    if (!is_first) return;
    missing.first_node = std::string(graph_.name(id));
    missing.way_out = WayOut(graph_, id);
  }

  std::vector<MissingKernel> Take() {
    std::vector<MissingKernel> rows;
    for (auto& entry : by_op_) rows.push_back(std::move(entry.second));
    std::sort(rows.begin(), rows.end(), [](const MissingKernel& a, const MissingKernel& b) {
      const int64_t in_a = a.count + a.count_in_functions, in_b = b.count + b.count_in_functions;
      return in_a != in_b ? in_a > in_b : a.op < b.op;
    });
    return rows;
  }

 private:
  MissingKernel& Entry(absl::string_view op) {
    MissingKernel& missing = by_op_[op];
    if (missing.op.empty()) {
      missing.op = std::string(op);
      missing.out_of_scope = IsOutOfScope(op);
    }
    return missing;
  }

  const Graph& graph_;
  absl::flat_hash_map<absl::string_view, MissingKernel> by_op_;
};

// Finds the nodes that a run would need and that have no kernel. Looks at the inlined bodies of calls, or at the calls
// themselves if they cannot be inlined.
std::vector<MissingKernel> FindMissing(const Graph& graph, const KernelCatalog& catalog, const LoadLimits& limits) {
  Graph expanded = graph;
  InlineOptions inlining;
  inlining.limits = limits;
  inlining.lower_unmarked = true;
  inlining.ignore_marks = true;
  const Graph& looked_at = InlineCallsAndGradients(expanded, inlining).ok() ? expanded : graph;
  MissingTable table(looked_at);
  for (const NodeId id : looked_at.Nodes()) {
    if (catalog.HasKernel(looked_at, id, "CPU")) continue;
    table.AddNode(id, !graph.Find(looked_at.name(id)).valid());
  }
  return table.Take();
}

// Returns what callers of the model may run: results of its signatures and its init ops, else guessed outputs.
std::vector<std::string> Endpoints(const LoadedGraph& model) {
  std::vector<std::string> names = model.meta.init_ops;
  for (const ModelSignature& signature : model.meta.signatures) {
    for (const SignatureTensor& result : signature.outputs) {
      if (!result.name.empty()) names.push_back(result.name);
      names.insert(names.end(), result.components.begin(), result.components.end());
    }
  }
  if (!names.empty()) return names;
  const GraphEndpoints guessed = GuessEndpoints(model.graph, model.control_flow);
  for (const Output& output : guessed.outputs) names.push_back(model.graph.OutputName(output));
  for (const NodeId target : guessed.targets) names.emplace_back(model.graph.name(target));
  return names;
}

// Separates findings that fail runs of the model from those about parts that nothing needs.
class NeededParts {
 public:
  explicit NeededParts(const LoadedGraph& model) : graph_(nullptr) {
    std::vector<std::string> there;
    for (std::string& name : Endpoints(model)) {
      if (model.graph.Contains(model.graph.Find(ParseTensorId(name).node))) there.push_back(std::move(name));
    }
    absl::StatusOr<Graph> needed = PruneToNames(model.graph, there);
    graph_ = needed.ok() ? *std::move(needed) : model.graph;
    KeepReachableFunctions(graph_);
  }

  bool Have(const absl::Status& finding) const {
    const std::optional<ErrorInfo> info = ErrorInfoOf(finding);
    if (!info.has_value()) return true;
    // An argument can be fed, and a signature may never be called.
    if (info->code == ErrorCode::kOpInternal || info->code == ErrorCode::kSavedModelSignature) return false;
    if (!info->function.empty()) return graph_.library().Contains(info->function);
    return info->node.empty() || graph_.Contains(graph_.Find(info->node));
  }

 private:
  Graph graph_;
};

// tf.import_graph_def refuses colocation with missing nodes; runs, in TensorFlow too, ignore it.
void AddUnknownColocations(const Graph& graph, CheckReport* report) {
  const std::vector<UnknownColocation> unknown = FindUnknownColocations(graph);
  if (unknown.empty()) return;
  report->import_problem = absl::StrCat("'", PrintableName(graph.name(unknown[0].first)), "' is to stand with '",
                                        PrintableName(unknown[0].name), "' (attr _class), which is not in the graph",
                                        unknown.size() > 1 ? ", and others with others" : "",
                                        ": it runs, but tf.import_graph_def refuses it");
  report->warnings.push_back(report->import_problem);
}

void AddDeferred(const LoadedGraph& model, CheckReport* report) {
  if (model.deferred.ok()) return;
  const NeededParts needed(model);
  for (const absl::Status& finding : AllErrors(model.deferred)) {
    (needed.Have(finding) ? report->errors : report->unneeded).push_back(finding);
  }
  report->num_errors = static_cast<int64_t>(report->errors.size());
}

}  // namespace

CheckReport CheckModel(const std::string& source, const absl::StatusOr<LoadedGraph>& model,
                       const KernelCatalog& catalog, const LoadLimits& limits) {
  CheckReport report;
  report.source = source;
  if (!model.ok()) {
    report.errors = AllErrors(model.status());
    report.num_errors = CountErrors(model.status());
    return report;
  }
  report.format = std::string(GraphFormatName(model->format));
  report.num_nodes = static_cast<int64_t>(model->graph.num_nodes());
  report.warnings = model->warnings;
  AddUnknownColocations(model->graph, &report);
  report.absent_devices = FindAbsentDevices(model->graph).Note();
  if (!report.absent_devices.empty()) report.warnings.push_back(report.absent_devices);
  AddDeferred(*model, &report);
  report.missing_kernels = FindMissing(model->graph, catalog, limits);
  if (!model->shapes.has_value()) return report;
  for (const ShapeProblem& problem : model->shapes->problems()) {
    const absl::Status located = model->Locate(problem.node, problem.status);
    (problem.certain ? report.shape_errors : report.shape_warnings).push_back(located);
  }
  return report;
}

}  // namespace sluice

#include "tools/cli/check/check_report.h"

#include <algorithm>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "graph/base/error.h"
#include "graph/base/error_groups.h"
#include "graph/functions/inliner.h"
#include "tools/cli/check/way_out.h"

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

// The nodes that a run would need and that have no kernel. Calls are answered by the bodies of their functions, which
// stand in the graph then; where they cannot be put there, the calls themselves are asked about.
std::vector<MissingKernel> FindMissing(const Graph& graph, const KernelCatalog& catalog) {
  Graph expanded = graph;
  InlineOptions inlining;
  inlining.lower_unmarked = true;
  inlining.ignore_marks = true;
  const Graph& looked_at = InlineFunctionCalls(expanded, inlining).ok() ? expanded : graph;
  MissingTable table(looked_at);
  for (const NodeId id : looked_at.Nodes()) {
    if (catalog.HasKernel(looked_at, id, "CPU")) continue;
    table.AddNode(id, !graph.Find(looked_at.name(id)).valid());
  }
  return table.Take();
}

}  // namespace

CheckReport CheckModel(const std::string& source, const absl::StatusOr<LoadedGraph>& model,
                       const KernelCatalog& catalog) {
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
  report.missing_kernels = FindMissing(model->graph, catalog);
  if (!model->shapes.has_value()) return report;
  for (const ShapeProblem& problem : model->shapes->problems()) {
    const absl::Status located = model->Locate(problem.node, problem.status);
    (problem.certain ? report.shape_errors : report.shape_warnings).push_back(located);
  }
  return report;
}

}  // namespace sluice

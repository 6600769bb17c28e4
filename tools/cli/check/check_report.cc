#include "tools/cli/check/check_report.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "graph/base/error.h"
#include "graph/base/error_info_codec.h"
#include "tools/cli/check/way_out.h"

namespace sluice {
namespace {

// How many errors `status` stands for, those not kept included.
int64_t CountErrors(const absl::Status& status) {
  if (const auto payload = status.GetPayload(kErrorListUrl)) {
    const std::optional<ErrorList> list = DecodeErrorList(std::string(*payload));
    if (list.has_value()) return list->total;
  }
  return status.ok() ? 0 : 1;
}

// Gathers ops without a kernel.
class MissingTable {
 public:
  explicit MissingTable(const Graph& graph) : graph_(graph) {}

  void AddNode(NodeId id) {
    MissingKernel& missing = Entry(graph_.op_name(id));
    if (missing.count++ > 0) return;
    missing.first_node = std::string(graph_.name(id));
    missing.way_out = WayOut(graph_, id);
  }

  void AddBodyNode(const std::string& function, const NodeDefView& node) {
    MissingKernel& missing = Entry(node.op);
    if (missing.count + missing.count_in_functions++ == 0) missing.first_node = absl::StrCat(function, "/", node.name);
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

// Without a catalog nothing has a kernel, bodies of functions included. With one, each node is asked about; calls of
// functions are answered by their bodies, which the run instantiates.
std::vector<MissingKernel> FindMissing(const Graph& graph, const KernelCatalog* catalog) {
  MissingTable table(graph);
  for (const NodeId id : graph.Nodes()) {
    if (graph.library().Contains(graph.op_name(id))) continue;
    if (catalog == nullptr || !catalog->HasKernel(graph, id, "CPU")) table.AddNode(id);
  }
  if (catalog != nullptr) return table.Take();
  for (const std::string& name : graph.library().Names()) {
    for (const NodeDefView& node : graph.library().Find(name)->nodes) {
      if (!graph.library().Contains(node.op)) table.AddBodyNode(name, node);
    }
  }
  return table.Take();
}

}  // namespace

CheckReport CheckModel(const std::string& source, const absl::StatusOr<LoadedGraph>& model,
                       const KernelCatalog* catalog) {
  CheckReport report;
  report.source = source;
  report.has_kernels = catalog != nullptr;
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

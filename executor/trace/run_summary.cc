#include "executor/trace/run_summary.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "graph/base/hash_table.h"
#include "graph/ir/graph.h"
#include "graph/ir/made_nodes.h"
#include "graph/ir/op_class.h"

namespace sluice {
namespace {

using RowIndex = HashMap<std::string, size_t>;

SummaryRow& RowOf(absl::string_view key, RowIndex* index, std::vector<SummaryRow>* rows) {
  const auto [found, is_new] = index->try_emplace(std::string(key), rows->size());
  if (is_new) rows->emplace_back();
  return (*rows)[found->second];
}

void AddTo(SummaryRow& row, const NodeRecord& record, int64_t bytes) {
  const int64_t time_ns = record.end_ns - record.start_ns;
  ++row.times;
  row.total_ns += time_ns;
  row.max_ns = std::max(row.max_ns, time_ns);
  row.bytes += bytes;
}

bool IsCall(const Graph& graph, absl::string_view op) {
  return OpClassOf(op) == OpClass::kCall || graph.library().Contains(op);
}

void SortByTime(std::vector<SummaryRow>* rows) {
  std::sort(rows->begin(), rows->end(), [](const SummaryRow& a, const SummaryRow& b) {
    if (a.total_ns != b.total_ns) return a.total_ns > b.total_ns;
    return std::tie(a.op, a.name) < std::tie(b.op, b.name);
  });
}

}  // namespace

RunSummary Summarize(absl::Span<const StepStatsCollector* const> collectors) {
  RunSummary summary;
  RowIndex op_index, node_index;
  int64_t first_ns = INT64_MAX, last_ns = 0;
  for (const StepStatsCollector* const collector : collectors) {
    const Graph& graph = collector->graph();
    summary.dropped += collector->num_dropped();
    for (const NodeRecord& record : collector->Records()) {
      const int64_t bytes = record.output_bytes();
      MadeFor user =
          record.called != nullptr ? MadeFor{record.called->op, record.called->name} : MadeForOf(graph, record.node);
      SummaryRow& node = RowOf(absl::StrCat(user.op, " ", user.name), &node_index, &summary.nodes);
      node.name = std::move(user.name);
      node.op = std::move(user.op);
      node.nodes = 1;
      AddTo(node, record, bytes);
      ++summary.times;
      // The nodes of its body are told of, too.
      if (!IsCall(graph, collector->OpOf(record))) summary.total_ns += record.end_ns - record.start_ns;
      summary.bytes += bytes;
      first_ns = std::min(first_ns, record.start_ns);
      last_ns = std::max(last_ns, record.end_ns);
    }
  }
  if (summary.times > 0) summary.span_ns = last_ns - first_ns;
  for (const SummaryRow& node : summary.nodes) {
    SummaryRow& op = RowOf(node.op, &op_index, &summary.ops);
    op.op = node.op;
    ++op.nodes;
    op.times += node.times;
    op.total_ns += node.total_ns;
    op.max_ns = std::max(op.max_ns, node.max_ns);
    op.bytes += node.bytes;
  }
  SortByTime(&summary.ops);
  SortByTime(&summary.nodes);
  return summary;
}

}  // namespace sluice

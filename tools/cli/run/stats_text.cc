#include "tools/cli/run/stats_text.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "graph/base/error.h"
#include "tools/cli/console/number_text.h"

namespace sluice {
namespace {

constexpr size_t kMaxNameBytes = 48;

double MeanNs(const SummaryRow& row) { return static_cast<double>(row.total_ns) / static_cast<double>(row.times); }

double Share(const SummaryRow& row, const RunSummary& summary) {
  return summary.total_ns > 0 ? static_cast<double>(row.total_ns) / static_cast<double>(summary.total_ns) : 0;
}

std::string RowText(const SummaryRow& row, const RunSummary& summary, const std::string& label, size_t width) {
  return absl::StrFormat("  %-*s %9s %10s %10s %6.1f%% %10s\n", static_cast<int>(width), label, CountText(row.times),
                         TimeText(static_cast<double>(row.total_ns)), TimeText(MeanNs(row)), 100 * Share(row, summary),
                         BytesText(row.bytes));
}

// Name and op of a row below each other's; `name_width` is that of the longest name shown.
std::string Label(const SummaryRow& row, size_t name_width) {
  const std::string op = PrintableName(row.op, kMaxNameBytes);
  if (row.name.empty()) return op;
  return absl::StrFormat("%-*s  %s", static_cast<int>(name_width), PrintableName(row.name, kMaxNameBytes), op);
}

std::string RenderTable(const std::string& title, const std::vector<SummaryRow>& rows, const RunSummary& summary,
                        size_t max_rows, const Paint& paint) {
  const size_t shown = std::min(rows.size(), max_rows);
  size_t name_width = title.size();
  for (size_t i = 0; i < shown; ++i)
    name_width = std::max(name_width, PrintableName(rows[i].name, kMaxNameBytes).size());
  std::vector<std::string> labels;
  size_t width = title.size();
  for (size_t i = 0; i < shown; ++i) {
    labels.push_back(Label(rows[i], name_width));
    width = std::max(width, labels.back().size());
  }
  const std::string head = absl::StrFormat("  %-*s %9s %10s %10s %7s %10s", static_cast<int>(width), title, "times",
                                           "total", "mean", "share", "bytes");
  std::string text = absl::StrCat("\n", paint.Bold(head), "\n");
  for (size_t i = 0; i < shown; ++i) absl::StrAppend(&text, RowText(rows[i], summary, labels[i], width));
  if (shown < rows.size()) {
    absl::StrAppend(&text, "  and ", CountText(static_cast<int64_t>(rows.size() - shown)), " more\n");
  }
  return text;
}

nlohmann::ordered_json RowJson(const SummaryRow& row, const RunSummary& summary) {
  nlohmann::ordered_json json = {{"op", row.op},
                                 {"times", row.times},
                                 {"total_us", static_cast<double>(row.total_ns) / 1000},
                                 {"mean_us", MeanNs(row) / 1000},
                                 {"max_us", static_cast<double>(row.max_ns) / 1000},
                                 {"share", Share(row, summary)},
                                 {"bytes", row.bytes}};
  if (row.name.empty()) {
    json["nodes"] = row.nodes;
  } else {
    json["name"] = row.name;
  }
  return json;
}

}  // namespace

std::string TimeText(double ns) {
  if (ns < 1e3) return absl::StrFormat("%.0f ns", ns);
  if (ns < 1e6) return absl::StrFormat("%.1f us", ns / 1e3);
  if (ns < 1e9) return absl::StrFormat("%.1f ms", ns / 1e6);
  return absl::StrFormat("%.2f s", ns / 1e9);
}

std::string RenderStats(const RunSummary& summary, bool with_nodes, size_t max_rows, const Paint& paint) {
  std::string text =
      absl::StrCat("\n", CountOf(summary.times, "kernel call"), ", ", TimeText(static_cast<double>(summary.total_ns)),
                   " in kernels, ", BytesText(summary.bytes), " of outputs\n");
  if (summary.dropped > 0) absl::StrAppend(&text, CountText(summary.dropped), " more calls were not recorded\n");
  absl::StrAppend(&text, RenderTable("op", summary.ops, summary, max_rows, paint));
  if (with_nodes) absl::StrAppend(&text, RenderTable("node", summary.nodes, summary, max_rows, paint));
  return text;
}

nlohmann::ordered_json StatsJson(const RunSummary& summary) {
  nlohmann::ordered_json json = {{"times", summary.times},
                                 {"total_us", static_cast<double>(summary.total_ns) / 1000},
                                 {"span_us", static_cast<double>(summary.span_ns) / 1000},
                                 {"bytes", summary.bytes},
                                 {"dropped", summary.dropped},
                                 {"ops", nlohmann::ordered_json::array()},
                                 {"nodes", nlohmann::ordered_json::array()}};
  for (const SummaryRow& row : summary.ops) json["ops"].push_back(RowJson(row, summary));
  for (const SummaryRow& row : summary.nodes) json["nodes"].push_back(RowJson(row, summary));
  return json;
}

}  // namespace sluice

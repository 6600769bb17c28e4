// RenderCheckText and RenderCheckJson.

#include <algorithm>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "graph/base/error.h"
#include "graph/base/error_groups.h"
#include "nlohmann/json.hpp"
#include "tools/cli/check/check_report.h"
#include "tools/cli/console/error_json.h"
#include "tools/cli/console/json_document.h"
#include "tools/cli/console/number_text.h"

namespace sluice {
namespace {

using Json = nlohmann::ordered_json;

constexpr size_t kMaxOpRows = 60;
constexpr size_t kMaxErrorCauses = 200;
constexpr size_t kMaxShapeProblems = 20;

// The code of the error that a run would give, for `sluice explain`.
constexpr absl::string_view kNoKernelCode = "SLC2504";
static_assert(static_cast<int>(ErrorCode::kNoKernel) == 2504);

// "  graph    sound".
std::string Line(absl::string_view name, absl::string_view answer) {
  return absl::StrFormat("  %-7s  %s\n", name, answer);
}

std::string GraphLine(const CheckReport& report, const Paint& paint) {
  const auto unneeded = static_cast<int64_t>(report.unneeded.size());
  const std::string warnings = unneeded == 0 ? "" : absl::StrCat(", ", CountOf(unneeded, "warning"));
  return absl::StrCat(report.graph_ok() ? paint.Green("sound") : paint.Red(CountOf(report.num_errors, "error")),
                      paint.Yellow(warnings));
}

std::string KernelLine(const CheckReport& report, const Paint& paint) {
  if (!report.graph_ok()) return paint.Dim("not looked at: the graph is not sound");
  if (report.missing_kernels.empty()) return paint.Green("all there");
  int64_t nodes = 0;
  for (const MissingKernel& missing : report.missing_kernels) nodes += missing.count + missing.count_in_functions;
  const std::string ops = CountOf(static_cast<int64_t>(report.missing_kernels.size()), "op");
  return paint.Red(absl::StrCat(ops, " without a kernel, ", CountOf(nodes, "node")));
}

// Lists `problems`, those of one cause once, or (`all`) each; at most `max` entries.
void AppendProblems(absl::string_view title, const std::vector<absl::Status>& problems, size_t max, bool all,
                    const Paint& paint, std::string* out) {
  if (problems.empty()) return;
  std::vector<std::string> entries;
  if (all) {
    for (const absl::Status& problem : problems) entries.push_back(FormatError(problem));
  } else {
    for (const ErrorGroup& group : GroupErrors(problems)) entries.push_back(FormatErrorGroup(group));
  }
  absl::StrAppend(out, "\n", paint.Bold(title), "\n");
  const size_t shown = all ? entries.size() : std::min(entries.size(), max);
  for (size_t i = 0; i < shown; ++i) absl::StrAppend(out, PaintedErrorText(entries[i], paint));
  if (shown < entries.size())
    absl::StrAppend(out, "… and ", CountText(static_cast<int64_t>(entries.size() - shown)), " more (--all)\n");
}

void AppendMissing(const CheckReport& report, const Paint& paint, std::string* out) {
  if (report.missing_kernels.empty()) return;
  absl::StrAppend(out, "\n", paint.Bold("Ops without a kernel"), "\n");
  size_t width = 2, node_width = 10;
  const size_t shown = std::min(report.missing_kernels.size(), kMaxOpRows);
  for (size_t i = 0; i < shown; ++i) {
    width = std::max(width, std::min(report.missing_kernels[i].op.size(), size_t{40}));
    node_width = std::max(node_width, std::min(report.missing_kernels[i].first_node.size(), size_t{48}));
  }
  absl::StrAppendFormat(out, "  %-*s  %8s  %s\n", static_cast<int>(width), "op", "nodes", "first node");
  for (size_t i = 0; i < shown; ++i) {
    const MissingKernel& missing = report.missing_kernels[i];
    const std::string count = CountText(missing.count + missing.count_in_functions);
    const bool has_way_out = !missing.way_out.empty();
    absl::StrAppendFormat(out, "  %-*s  %8s  %-*s", static_cast<int>(width), PrintableName(missing.op), count,
                          has_way_out ? static_cast<int>(node_width) : 0, PrintableName(missing.first_node));
    absl::StrAppend(out, has_way_out ? "  " : "", PrintableName(missing.way_out, std::string::npos), "\n");
  }
  if (shown < report.missing_kernels.size()) {
    absl::StrAppend(out, "  … and ", report.missing_kernels.size() - shown, " more ops (--json lists all)\n");
  }
  absl::StrAppend(out, "  ", paint.Cyan("see  "), " sluice explain ", kNoKernelCode, "\n");
}

}  // namespace

std::string RenderCheckText(const CheckReport& report, const Paint& paint, bool all) {
  std::string out = paint.Bold(report.source == "-" ? "standard input" : PrintableName(report.source));
  if (!report.format.empty()) absl::StrAppend(&out, "  ", report.format, ", ", CountOf(report.num_nodes, "node"));
  absl::StrAppend(&out, "\n", Line("graph", GraphLine(report, paint)));
  if (report.graph_ok()) {
    const auto problems = static_cast<int64_t>(report.shape_errors.size());
    const auto doubts = static_cast<int64_t>(report.shape_warnings.size());
    const std::string contradictions =
        absl::StrCat(CountOf(problems, "node"), " will fail if run, ", CountText(doubts), " more may");
    out += Line("shapes", problems + doubts == 0 ? paint.Green("no contradiction") : paint.Yellow(contradictions));
  }
  out += Line("kernels", KernelLine(report, paint));
  if (!report.absent_devices.empty()) out += Line("devices", paint.Yellow(report.absent_devices));
  if (!report.import_problem.empty()) {
    out += Line("import", paint.Yellow(PrintableName(report.import_problem, std::string::npos)));
  }
  if (!report.checkpoint.ok()) out += Line("values", paint.Red("those of the variables cannot be read"));
  AppendProblems("Errors", report.errors, kMaxErrorCauses, all, paint, &out);
  if (report.num_errors > static_cast<int64_t>(report.errors.size())) {
    const int64_t not_kept = report.num_errors - static_cast<int64_t>(report.errors.size());
    absl::StrAppend(&out, "… and ", CountText(not_kept), " more, which were only counted\n");
  }
  AppendProblems("Warnings: wrong, but nothing that the model is run for needs it", report.unneeded, kMaxErrorCauses,
                 all, paint, &out);
  AppendProblems("Shapes that contradict", report.shape_errors, kMaxShapeProblems, all, paint, &out);
  AppendProblems("Shapes that may contradict", report.shape_warnings, kMaxShapeProblems, all, paint, &out);
  if (!report.checkpoint.ok()) AppendProblems("Variables", {report.checkpoint}, 1, all, paint, &out);
  AppendMissing(report, paint, &out);
  return out;
}

std::string RenderCheckJson(const CheckReport& report, bool all) {
  Json missing = Json::object();
  for (const MissingKernel& row : report.missing_kernels) {
    Json entry = {{"code", std::string(kNoKernelCode)},
                  {"count", row.count},
                  {"in_functions", row.count_in_functions},
                  {"first_node", row.first_node}};
    if (!row.way_out.empty()) entry["way_out"] = row.way_out;
    entry["out_of_scope"] = row.out_of_scope;
    missing[row.op] = std::move(entry);
  }
  const Json out = {{"model", report.source},
                    {"format", report.format.empty() ? Json(nullptr) : Json(report.format)},
                    {"nodes", report.num_nodes},
                    {"graph_ok", report.graph_ok()},
                    {"runnable", report.runnable()},
                    {"num_errors", report.num_errors},
                    {"errors", ErrorsJson(report.errors, all)},
                    {"unneeded", ErrorsJson(report.unneeded, all)},
                    {"shape_errors", ErrorsJson(report.shape_errors, all)},
                    {"shape_warnings", ErrorsJson(report.shape_warnings, all)},
                    {"checkpoint_error", report.checkpoint.ok() ? Json(nullptr) : ErrorJson(report.checkpoint)},
                    {"missing_kernels", missing},
                    {"warnings", report.warnings}};
  return JsonDocument(out);
}

}  // namespace sluice

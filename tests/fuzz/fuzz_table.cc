#include "tests/fuzz/fuzz_table.h"

#include <algorithm>
#include <cstdio>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "graph/ops/op_table.h"

namespace sluice {
namespace {

std::string Row(absl::string_view name, uint64_t count, uint64_t of) {
  char percent[32] = "";
  if (of > 0)
    std::snprintf(percent, sizeof(percent), "%.1f %%", 100 * static_cast<double>(count) / static_cast<double>(of));
  char row[128];
  std::snprintf(row, sizeof(row), "  %-28.*s %12llu  %s\n", static_cast<int>(name.size()), name.data(),
                static_cast<unsigned long long>(count), percent);
  return row;
}

}  // namespace

std::string FuzzLine(const FuzzCounts& c) {
  return absl::StrCat(c.executions.load(), " inputs, ", c.imported.load(), " imported, ", c.reached_run.load(),
                      " reached a run, ", c.ran_ok.load(), " ran well, ", c.differentiated.load(), " with gradients, ",
                      c.runs.load(), " steps, ", c.internal_errors.load(), " internal errors, ", c.differences.load(),
                      " differences");
}

std::string FuzzTable(const FuzzCounts& c, double seconds) {
  std::string table = Row("inputs", c.executions, 0);
  const uint64_t all = c.executions;
  absl::StrAppend(&table, Row("passed import", c.imported, all), Row("went through conversion", c.converted, all),
                  Row("prepared", c.prepared, all), Row("reached a run", c.reached_run, all),
                  Row("ran well", c.ran_ok, all), Row("refused (files)", c.rejected, all),
                  Row("got gradients", c.differentiated, all), Row("ran well with gradients", c.gradients_ok, all),
                  Row("gradients refused", c.gradients_refused, all), Row("steps", c.runs, 0),
                  Row("steps without error", c.runs_ok, c.runs), Row("internal errors", c.internal_errors, c.runs),
                  Row("drivers differ", c.differences, all));
  size_t num_codes = 0, num_ops = 0, index = 0;
  for (const auto& count : c.codes) num_codes += count > 0 ? 1 : 0;
  std::vector<std::pair<uint64_t, std::string>> ops;
  BuiltinOps().ForEachName([&](absl::string_view name) {
    const uint64_t count = c.op_calls[index++ % FuzzCounts::kMaxOps];
    num_ops += count > 0 ? 1 : 0;
    if (count > 0) ops.emplace_back(count, std::string(name));
  });
  std::sort(ops.begin(), ops.end());
  absl::StrAppend(&table, Row("distinct error codes", num_codes, 0), Row("distinct ops with calls", num_ops, 0),
                  "seconds ", static_cast<int64_t>(seconds), ", inputs per second ",
                  static_cast<int64_t>(static_cast<double>(all) / std::max(seconds, 1e-3)), "\nfewest calls:");
  for (size_t i = 0; i < std::min<size_t>(ops.size(), 12); ++i) {
    absl::StrAppend(&table, " ", ops[i].second, " ", ops[i].first);
  }
  return absl::StrCat(table, "\n");
}

}  // namespace sluice

#ifndef SLUICE_TOOLS_CLI_RUN_STATS_TEXT_H_
#define SLUICE_TOOLS_CLI_RUN_STATS_TEXT_H_

#include <string>

#include "executor/trace/run_summary.h"
#include "nlohmann/json.hpp"
#include "tools/cli/console/console.h"

namespace sluice {

// "850 ns", "1.2 us", "35.0 ms", "2.1 s".
std::string TimeText(double ns);

// The sums as two tables, by op and by node, most time first, at most `max_rows` each: times run, total and mean time,
// share of all kernel time, bytes of outputs. `with_nodes` false: by op only.
std::string RenderStats(const RunSummary& summary, bool with_nodes, size_t max_rows, const Paint& paint);

// Everything as {"times":…,"total_us":…,"span_us":…,"bytes":…,"ops":[…],"nodes":[…]}.
nlohmann::ordered_json StatsJson(const RunSummary& summary);

}  // namespace sluice

#endif  // SLUICE_TOOLS_CLI_RUN_STATS_TEXT_H_

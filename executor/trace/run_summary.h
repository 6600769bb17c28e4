#ifndef SLUICE_EXECUTOR_TRACE_RUN_SUMMARY_H_
#define SLUICE_EXECUTOR_TRACE_RUN_SUMMARY_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/types/span.h"
#include "executor/trace/step_stats_collector.h"

namespace sluice {

// What all runs of one node, or of all nodes of one op, come to.
struct SummaryRow {
  std::string name;  // Of the node; empty in rows that stand for an op.
  std::string op;
  int64_t nodes = 0;  // Different ones.
  int64_t times = 0;
  int64_t total_ns = 0;
  int64_t max_ns = 0;
  int64_t bytes = 0;  // Of all outputs of all times.
};

// Times inside kernels, by op and by node: nodes that rewrites have made count as what the user wrote
// there, "feed 'x'" or "If 'cond'" (Note [Made nodes]). A value type.
struct RunSummary {
  int64_t times = 0;     // Nodes run.
  int64_t total_ns = 0;  // In kernels, all threads together.
  int64_t bytes = 0;
  int64_t span_ns = 0;            // From the first start to the last end.
  int64_t dropped = 0;            // Run, but beyond a collector's limit.
  std::vector<SummaryRow> ops;    // Most time first.
  std::vector<SummaryRow> nodes;  // Most time first.
};

// Sums up what the collectors hold; a node of the same op and name in several of them is one row.
RunSummary Summarize(absl::Span<const StepStatsCollector* const> collectors);

}  // namespace sluice

#endif  // SLUICE_EXECUTOR_TRACE_RUN_SUMMARY_H_

#ifndef SLUICE_EXECUTOR_TRACE_CHROME_TRACE_H_
#define SLUICE_EXECUTOR_TRACE_CHROME_TRACE_H_

#include <string>

#include "absl/types/span.h"
#include "executor/trace/step_stats_collector.h"

namespace sluice {

// What the collectors hold as one JSON document in the Chrome trace event format, which chrome://tracing and
// ui.perfetto.dev open: a process per device, a row per thread, a slice per node (named after it, of its op's
// category), with op, inputs, outputs, bytes and iteration as arguments. Times count from the first node.
std::string ChromeTrace(absl::Span<const StepStatsCollector* const> collectors);

}  // namespace sluice

#endif  // SLUICE_EXECUTOR_TRACE_CHROME_TRACE_H_

#ifndef SLUICE_EXECUTOR_TRACE_STEP_STATS_H_
#define SLUICE_EXECUTOR_TRACE_STEP_STATS_H_

#include "absl/types/span.h"
#include "executor/trace/step_stats_collector.h"
#include "graph/proto/run.pb.h"
#include "graph/proto/step_stats.pb.h"

namespace sluice {

// Converts the collected statistics to TensorFlow's message, one entry per device, nodes by start: micros are nanos /
// 1000, times inside a node relative to all_start. Timeline viewers read it.
proto::StepStats ToStepStats(absl::Span<const StepStatsCollector* const> collectors);

// The same as what a run reports (the file of `sluice run --trace FILE.pb`).
proto::RunMetadata ToRunMetadata(absl::Span<const StepStatsCollector* const> collectors);

}  // namespace sluice

#endif  // SLUICE_EXECUTOR_TRACE_STEP_STATS_H_

#ifndef SLUICE_TOOLS_CLI_RUN_LATENCY_H_
#define SLUICE_TOOLS_CLI_RUN_LATENCY_H_

#include <cstdint>
#include <vector>

#include "nlohmann/json.hpp"

namespace sluice {

// Statistics of the times of many runs, in nanoseconds. A value type.
struct Latency {
  int64_t runs = 0;
  double min = 0, p50 = 0, p90 = 0, p99 = 0, mean = 0;

  // {"min":…,"p50":…,"p90":…,"p99":…,"mean":…} in microseconds.
  nlohmann::ordered_json ToJson() const;
};

// Percentiles are times that were measured: the smallest that so many runs did not exceed (nearest rank).
// REQUIRES: !times_ns.empty().
Latency SummarizeLatency(std::vector<int64_t> times_ns);

}  // namespace sluice

#endif  // SLUICE_TOOLS_CLI_RUN_LATENCY_H_
